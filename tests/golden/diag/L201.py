import asyncio

from perdure import action, workflow


@action
async def note(text):
    return text


async def _helper():
    return await note("h")


@workflow
async def flow():
    note("never sent")
    _helper()
    task = asyncio.create_task(note("sent"))
    return await task
