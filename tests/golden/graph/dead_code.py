async def dead_code(x):
    while True:
        if await act(x):
            return x
        continue
        x = await act(2)
    await asyncio.gather(act(3), act(4))
    raise AssertionError
