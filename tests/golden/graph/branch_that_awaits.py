async def branch_that_awaits(order):
    if await approve(order):
        note = "yes"
    elif (grade := await price(order)) > 3:
        note = grade
    else:
        note = await charge(order) if order.paid else "no"
    return note
