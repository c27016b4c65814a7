"""An order on a file waits for a person, and goes on in the next process: run it again and again.

Every run of this script is a process of its own. The first one starts an order and leaves it
waiting; the second one, as a web request might, says yes; the third one finds what came of it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from perdure import Perdure, action, signal, workflow


@action(retry=3)
async def charge(order: str, total: int) -> str:
    """Take the money; a bank that knows the idempotency key takes it once."""
    return f"receipt for {order}, {total}"


@workflow
async def approve(order: str, total: int) -> str:
    """Charge an order when somebody has agreed to it."""
    if not await signal("approval", bool, timeout="2d"):
        return "rejected"
    return await charge(order, total)


async def begin(file: Path) -> None:
    """Start the order, once: its id says which one it is."""
    async with Perdure(file) as app:
        run = await app.start(approve, "lamp", 120, id="order-lamp")
        print("started:", (await run.info()).status)


async def agree(file: Path) -> None:
    """Say yes; the key says that it is said once, however often it is sent."""
    async with Perdure(file, serve=False) as app:
        await (await app.get("order-lamp")).signal("approval", True, key="ann")
        print("agreed, and nobody serves: it waits in the file")


async def end(file: Path) -> None:
    """Serve until the order is done."""
    async with Perdure(file) as app:
        run = await app.get("order-lamp")
        print("ended:", await run.result(timeout="30s"))
        print("facts:", [type(row.fact).__name__ for row in await run.facts()])


def main() -> None:
    """Make the three steps, each with an engine of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "orders.db"
        for step in (begin, agree, end):
            asyncio.run(step(file))


if __name__ == "__main__":
    main()
