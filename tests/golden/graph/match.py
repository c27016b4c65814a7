async def match(message):
    match message:
        case {"kind": "pay", "amount": amount} if amount > 0:
            result = await charge(amount)
        case ["ship", *lines] | Shipment(lines=lines):
            result = await ship(lines)
        case str() as text if await approve(text):
            result = text
        case None:
            return
        case _:
            result = message
    match await act(result):
        case 1:
            await act(1)
        case 2:
            await act(2)
    return result
