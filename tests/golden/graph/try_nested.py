async def try_nested(order):
    try:
        try:
            await charge(order)
            raise KeyError(order)
        except ValueError:
            await act(1)
        finally:
            state = await act(2)
    except LookupError as lost:
        raise RuntimeError("lost") from lost
    try:
        raise Stop
    finally:
        await act(state)
