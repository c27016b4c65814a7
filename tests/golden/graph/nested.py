async def nested(order):
    rate = 2

    @trace(await act(1))
    async def inner(item, scale=await act(2)):
        nonlocal rate
        rate = rate + 1
        return await price(item) * scale

    class Box:
        size = rate

    double = lambda x: x * rate
    value = await inner(order)
    return double(value), Box, rate
