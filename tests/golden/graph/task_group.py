async def task_group(order):
    async with asyncio.TaskGroup() as tg:
        paid = tg.create_task(charge(order))
        tg.create_task(ship(order))
        count = await act(order)
    return paid.result(), count
