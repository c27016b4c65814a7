"""An order: charge, wait for approval when it is large, ship line by line, keep the books.

perdure check examples/orders.py
perdure graph examples/orders.py:fulfil
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from perdure import Retry, action, signal, workflow


@dataclass(frozen=True)
class Line:
    """So many of one thing."""

    item: str
    count: int


@dataclass(frozen=True)
class Order:
    """What somebody ordered."""

    number: str
    total: int
    lines: list[Line]


@action(retry=Retry(attempts=5, backoff="1s"), timeout="30s")
async def charge(order: Order) -> str:
    """Take the money; give a receipt."""
    await asyncio.sleep(2)
    return f"receipt-{order.number}"


@action
async def refund(receipt: str) -> None:
    """Give the money back."""
    await asyncio.sleep(1)


@action(timeout="1m")
async def ship(line: Line) -> str:
    """Send one line; give the number of the parcel."""
    await asyncio.sleep(line.count)
    return f"parcel-{line.item}"


@action
def notify(text: str) -> None:
    """Tell the customer."""


@workflow
async def fulfil(order: Order) -> str:
    """See an order through."""
    receipt = await charge(order)
    if order.total > 1000 and not await _approved(order):
        await refund(receipt)
        return "rejected"
    try:
        async with asyncio.timeout(3600):
            parcels = await asyncio.gather(*[ship(line) for line in order.lines])
    except TimeoutError:
        await refund(receipt)
        return "given up"
    print(f"order {order.number}: {', '.join(parcels)}")
    await asyncio.sleep(24 * 3600)
    await notify(f"how was {order.number}?")
    return f"shipped {len(parcels)} parcels"


async def _approved(order: Order) -> bool:
    try:
        return await signal("approval", bool, timeout="2d")
    except TimeoutError:
        await notify(f"nobody approved {order.number}")
        return False
