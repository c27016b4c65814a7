async def task_in_loop(n):
    task = asyncio.create_task(act(0))
    for number in range(n):
        value = await task
        task = asyncio.create_task(act(number, value))
    return await task
