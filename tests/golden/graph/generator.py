async def generator(items):
    for item in items:
        yield await act(item)
        reply = yield
        if reply:
            return
