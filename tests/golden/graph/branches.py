async def branches(order):
    if order.total > 1000:
        ok = await approve(order)
    elif order.total > 100:
        ok = order.known
    elif order.vip:
        ok = True
    else:
        raise ValueError("too small")
    if not ok:
        return "refused"
    if order.late:
        await notify(order)
    return ok
