from perdure import workflow

COUNT = 0


async def _count():
    global COUNT
    COUNT += 1


@workflow
async def flow():
    await _count()
    return COUNT
