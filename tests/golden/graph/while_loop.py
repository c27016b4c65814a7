async def while_loop(order):
    tries = 0
    while tries < 5:
        tries += 1
        if await charge(order):
            break
        await asyncio.sleep(2 ** tries)
    else:
        raise TimeoutError(order)
    return tries
