async def for_loop(items):
    total = 0
    for index, item in enumerate(items):
        if item.free:
            continue
        cost = await price(item)
        if cost is None:
            break
        total += cost
    else:
        await notify("all priced")
    return total
