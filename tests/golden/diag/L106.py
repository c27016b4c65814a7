import asyncio

from perdure import workflow

SLOTS = asyncio.Semaphore(3)
GATES = {"open": asyncio.Event()}


async def _one():
    async with SLOTS:
        return 1


@workflow
async def flow():
    await GATES["open"].wait()
    return await _one()
