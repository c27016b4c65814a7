async def gather(order):
    receipt, label = await asyncio.gather(charge(order), ship(order, await price(order)))
    both = await asyncio.gather(
        asyncio.gather(act(1), act(2)), helper(receipt), return_exceptions=True
    )
    await asyncio.gather()
    return label, both
