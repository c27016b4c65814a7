async def as_completed(items):
    for done in asyncio.as_completed([act(x) for x in items]):
        result = await done
        await notify(result)
    for done in asyncio.as_completed([act(1), act(2)], timeout=3):
        print(await done)
