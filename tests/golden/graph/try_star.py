async def try_star(order):
    try:
        await charge(order)
    except* ValueError as group:
        await notify(group)
    except* (KeyError, OSError):
        order = None
    return order
