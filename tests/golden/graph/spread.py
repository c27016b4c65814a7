async def spread(items, extra):
    results = await asyncio.gather(*[charge(x, extra) for x in items if x.open])
    more = await asyncio.gather(*(ship(x) for x in results), notify(extra))
    mapped = await asyncio.gather(*map(price, more))
    later = [act(x) for x in mapped]
    return await asyncio.gather(*later)
