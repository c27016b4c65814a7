async def async_for(stream):
    best = None
    async for event in stream.events(await act(0)):
        if event.kind == "end":
            return best
        best = await act(event, best)
    names = [event.name async for event in stream]
    return names
