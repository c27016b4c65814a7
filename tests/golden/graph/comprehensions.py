async def comprehensions(groups):
    prices = [await price(x) for x in await act(groups)]
    known = {x: await act(x, y) for g in groups if await approve(g) for x, y in g.pairs if x}
    x = "outer"
    lazy = (await slow(x) for x in prices)
    return x, known, lazy
