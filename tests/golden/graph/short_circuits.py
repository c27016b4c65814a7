async def short_circuits(a):
    if a and await act(1) or await act(2):
        a = await act(3) or await act(4) or a
    while a.more and await act(5):
        a = await boom(a) if await act(6) else None
    assert a, f"lost {await act(7)}"
    return not (await act(8) and a)
