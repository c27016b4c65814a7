async def plain(order, /, rate=2, *extra, dry: bool = False, **more):
    """Nothing awaits, so everything is one node."""
    global SEEN
    import math
    total = 0
    for item in order:
        if item.free:
            continue
        total += item.price
    with open_book() as book:
        book.note(total)
    try:
        del more["x"]
    except KeyError:
        pass
    assert total >= 0, "negative"
    return math.ceil(total * rate)
