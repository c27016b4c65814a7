async def fulfil(order, *, rush=False):
    total = sum(line.price for line in order.lines)
    if total > 1000:
        if not await approve(order):
            return "refused"
    for attempt in range(3):
        try:
            receipt = await charge.options(retry=5, timeout=30)(order.card, total)
            break
        except CardDeclined as problem:
            await notify(order, problem)
            await asyncio.sleep(60 * 2**attempt)
    else:
        raise PaymentFailed(order.id)
    labels = await asyncio.gather(*[ship(line, rush) for line in order.lines])
    reminder = asyncio.create_task(notify(order, "on its way"))
    async with asyncio.TaskGroup() as group:
        group.create_task(notify(order, receipt))
        group.create_task(price(total))
    answer = await race(signal("returned"), asyncio.sleep(30 * 86400))
    await reminder
    return receipt if answer is None else labels
