async def order_of_awaits(a, b):
    pick(a)[await act(1)] = await act(2)
    x = {await act(3): await act(4), **await act(5)}
    y = call(await act(6), *await act(7), k=await act(8), **await act(9))
    z = a < await act(10) < await act(11) < b
    text = f"{await act(12)!r:>{await act(13)}}"
    part = x[await act(14) : await act(15)]
    (w := await act(16)).note(w, y, z, text, part)
    del x[await act(17)]
    return await act(18), [await act(19), await (await act(20))]
