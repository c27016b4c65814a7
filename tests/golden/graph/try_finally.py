async def try_finally(items):
    for item in items:
        try:
            if item.skip:
                continue
            if item.last:
                break
            if item.bad:
                return await act(item)
            await charge(item)
        finally:
            await notify(item)
    return "done"
