from perdure import workflow


@workflow
async def flow(xs):
    for x in xs:
        yield x
