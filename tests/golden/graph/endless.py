async def endless(box):
    seen = []
    while True:
        message = await signal("message")
        seen.append(message)
        await notify(box, seen)
