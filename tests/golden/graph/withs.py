async def withs(pool, lock):
    async with pool.acquire(await act(1)) as one, lock, pool.get() as two:
        await act(one, two)
    with suppress(KeyError, LookupError):
        one = await act(2)
    with tracer("x") as span:
        await act(span, one)
