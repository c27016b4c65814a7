async def timeouts(order):
    try:
        async with asyncio.timeout(30):
            await charge(order)
            await ship(order)
    except TimeoutError:
        await notify("slow")
    label = await asyncio.wait_for(price(order), timeout=5)
    return await asyncio.shield(act(label))
