"""A process of a deployment: `step FILE STEP`, with the module `billing` as it is deployed by then.

`begin` has a run wait, `move` asks for its upgrade, `die-before` and `die-after` are killed as the
move is written, `end` gives what the run waits for, and says what came of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import billing

from perdure import Options, Perdure
from perdure.core.facts import Upgraded, decode_row
from perdure.errors import PerdureError
from perdure.store.sqlite.writer import SqliteWriter
from tests.real.kit import say


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_the_move(*, before: bool) -> None:
    """Be killed just before, or just after, the write of an upgrade."""
    flush = SqliteWriter.flush

    async def dying(self: Any, batch: Any) -> Any:
        moves = any(isinstance(decode_row(each.body).fact, Upgraded) for each in batch.facts)
        if moves and before:
            die()
        done = await flush(self, batch)
        if moves:
            die()
        return done

    SqliteWriter.flush = dying  # type: ignore[method-assign]


async def step(file: str, what: str) -> None:
    async with Perdure(file, options=Options(drain_s=0.1)) as app:
        if what == "begin":
            run = await app.start(billing.flow, id="a")
            async for row in run.watch():
                if row.seq == 2:
                    break
            say("waits")
            die()
        run = await app.get("a")
        if what in ("move", "die-before", "die-after"):
            try:
                await run.upgrade()
                say("moved")
            except PerdureError as error:
                say("refused", error)
            die()
        await run.signal("go", 7, key="go")
        say("result", await run.result())
        facts = await run.facts()
        say("moves", sum(isinstance(each.fact, Upgraded) for each in facts))


if __name__ == "__main__":
    _, file, what = sys.argv
    if what.startswith("die-"):
        die_at_the_move(before=what == "die-before")
    asyncio.run(step(file, what))
