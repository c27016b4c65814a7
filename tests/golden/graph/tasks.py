async def tasks(items):
    early = asyncio.create_task(charge(items))
    total = sum(items)
    if total > 10:
        early2 = asyncio.create_task(ship(total))
        await early2
    many = [asyncio.create_task(act(x)) for x in items]
    await asyncio.sleep(1)
    queued = []
    for item in items:
        queued.append(asyncio.create_task(slow(item)))
    results = await asyncio.gather(*many, *queued)
    return await early, results
