"""How runs end, as commands tell it: one way to wait for it, to print it, and to exit by it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from perdure.app import Perdure
from perdure.cli import shown
from perdure.cli.terminal import clean, paint, wants_colour
from perdure.client import Handle
from perdure.errors import StoreDown
from perdure.store.port import COMPLETED, OPEN, STATUSES, RunRow

EXIT = {"completed": 0, "failed": 1, "cancelled": 3, "stopped": 4}
"""The exit code for each way in which a run ends."""
NOT_OVER = 5
"""The exit code while a run has not ended."""
REST_S = 0.05
"""How often at most a run is looked at."""
TICK_S = 0.2
"""How often what is shown of a run is brought up to date."""


async def ending(app: Perdure, handle: Handle[Any], seen: Callable[[RunRow], None]) -> RunRow:
    """Wait for the end of a run; `seen` hears how it stands, a few times a second."""
    with app.changes(handle.rid) as changed:
        while True:
            changed.clear()
            try:
                [row] = await app.store.find([handle.id])
            except StoreDown:
                await asyncio.sleep(TICK_S)  # it may come back, and the run with it
                continue
            seen(row)
            if row.status > OPEN and not _goes_on(app, handle):
                return row
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), TICK_S)
            await asyncio.sleep(REST_S)


def _goes_on(app: Perdure, handle: Handle[Any]) -> bool:
    """Whether a run that is over was just taken up again by this process."""
    return app.owner is not None and app.owner.goes_on(handle.rid)


def tell(row: RunRow, *, as_json: bool) -> int:
    """Print how a run ended, its value on standard output; give the exit code."""
    status = STATUSES[row.status]
    raw = row.result or b"null"
    if as_json:
        shown.print_json(told(row))
    elif row.status == COMPLETED:
        print(_for_people(raw))
    else:
        line = f"{status}: {shown.error(raw)}"
        print(paint(line, shown.COLOURS[status], on=wants_colour(sys.stderr)), file=sys.stderr)
    return EXIT.get(status, NOT_OVER)


def told(row: RunRow) -> dict[str, Any]:
    """Give how a run stands as an object for programs."""
    ended_well = row.status == COMPLETED
    raw = row.result
    return {
        "run": row.id,
        "workflow": row.workflow,
        "status": STATUSES[row.status],
        "result": json.loads(raw) if ended_well and raw is not None else None,
        "error": shown.error(raw) if not ended_well and raw is not None else None,
        "facts": row.head,
        "attrs": msgspec.json.decode(row.attrs),
    }


def _for_people(raw: bytes) -> str:
    """Text is printed as it is, but for what moves the cursor; other values as code writes them."""
    try:
        plain = json.loads(raw)
    except ValueError:
        plain = None
    if isinstance(plain, str):
        return "\n".join(clean(line) for line in plain.split("\n"))
    return shown.value(raw)
