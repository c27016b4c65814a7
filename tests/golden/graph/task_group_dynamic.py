async def task_group_dynamic(items):
    async with asyncio.TaskGroup() as tg:
        for item in items:
            if item.open:
                tg.create_task(act(item))
        if not items:
            return "nothing"
    async with asyncio.TaskGroup() as tg:
        many = [tg.create_task(slow(item)) for item in items]
    return [task.result() for task in many]
