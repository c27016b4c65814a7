"""An order: charge, wait for approval when it is large, ship line by line, keep the books.

perdure check examples/orders.py
perdure graph examples/orders.py:fulfil
python examples/demo.py

`fulfil` is the workflow: ordinary Python, which may be killed at any of its lines and goes on in
another process. What touches the world is an action. If ORDERS_JOURNAL names a file, actions write
into it what they begin and what they have done: so the demo can tell what ran in which process.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from perdure import Retry, action, attempt, signal, workflow


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
    """Take the money; give a receipt. The bank is away whenever it is asked for the first time."""
    _note("begun", f"charge {order.number}")
    await asyncio.sleep(0.5)
    if attempt().number == 1:
        _note("failed", f"charge {order.number}")
        raise ConnectionError("the bank does not answer")
    _note("done", f"charge {order.number}")
    return f"receipt-{order.number}"


@action
async def refund(receipt: str) -> None:
    """Give the money back."""
    await asyncio.sleep(1)


@action(timeout="1m")
async def ship(line: Line) -> str:
    """Send one line, a second for each thing; give the number of the parcel."""
    _note("begun", f"ship {line.item}")
    await asyncio.sleep(line.count)
    _note("done", f"ship {line.item}")
    return f"parcel-{line.item}"


@action
def notify(text: str) -> None:
    """Tell the customer."""
    _note("begun", "notify")
    _note("done", "notify")


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
    await asyncio.sleep(2)  # or a year: a run that waits is a row in the file, and nothing else
    await notify(f"how was {order.number}?")
    return f"shipped {len(parcels)} parcels"


async def _approved(order: Order) -> bool:
    try:
        return await signal("approval", bool, timeout="2d")
    except TimeoutError:
        await notify(f"nobody approved {order.number}")
        return False


def _note(word: str, what: str) -> None:
    """Write a line into the journal, which the engine knows nothing of."""
    path = os.environ.get("ORDERS_JOURNAL")
    if path:
        with Path(path).open("a", encoding="utf-8") as journal:
            journal.write(f"{os.getpid()} {word} {attempt().idempotency_key} {what}\n")
