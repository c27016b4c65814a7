async def race_three(order):
    winner = await race(charge(order), asyncio.sleep(30), signal("cancel"))
    two = await first(2, act(1), act(2), act(3))
    any_one = await race(*[act(x) for x in two])
    done, pending = await asyncio.wait(
        [act(4), act(5)], return_when=asyncio.FIRST_COMPLETED
    )
    return winner, any_one, done, pending
