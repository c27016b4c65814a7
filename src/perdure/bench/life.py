"""One life of an engine in a process of its own, which the bench ends with SIGKILL.

`python -m perdure.bench.life KIND FILE …` says on standard output, as JSON in a line each, what
the bench waits for. Knows workloads, and nothing of bars.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from perdure.app import Call, Perdure
from perdure.bench import flows
from perdure.bench.figures import resident_bytes
from perdure.serving import spare_the_collector

MARK = struct.Struct("<qq")
"""When a sleeper was due, and how late its step began, in microseconds."""
CHUNK = 1_000
WIDTH = 1_000
SLEEPERS = 10
APART_S = 0.1


def say(**words: Any) -> None:
    """Tell the bench something."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


async def _start(app: Perdure, calls: Iterable[Call]) -> None:
    """Start runs, so many at once that all of them never are in memory."""
    chunk: list[Call] = []
    for call in calls:
        chunk.append(call)
        if len(chunk) == CHUNK:
            await app.start_many(chunk)
            chunk = []
    await app.start_many(chunk)


async def _for_ever() -> None:
    await asyncio.Event().wait()


def _sleeping(first_s: float, count: int, apart_s: float) -> Iterable[Call]:
    return (Call(flows.sleeps_of, (first_s + at * apart_s,)) for at in range(count))


class Begun:
    """How many attempts have begun, and when the last one that was waited for."""

    def __init__(self, wanted: int, where: list[Callable[[int], object]]) -> None:
        self.wanted = wanted
        self.at_s = 0.0
        self.all = asyncio.Event()
        where.append(self)

    def __call__(self, _: int) -> None:
        """One more."""
        self.wanted -= 1
        if self.wanted == 0:
            self.at_s = time.perf_counter()
            self.all.set()


# --- one run of many steps


async def grow(file: str, steps: str) -> None:
    """Take so many steps in one run, then begin one that does not end."""
    begun = Begun(1, flows.HELD)
    async with Perdure(file) as app:
        await app.start(flows.long_of, int(steps), WIDTH, id="long")
        await begun.all.wait()
        say(ready=True)
        await _for_ever()


async def go_on(file: str, wanted: str, due_s: str) -> None:
    """Open the file; say when so many attempts have begun, and how late the sleepers were."""
    flows.long_of.program()  # a process that serves has imported and linked what it serves
    begun = Begun(int(wanted), flows.HELD)
    woken = Begun(SLEEPERS, flows.BEGUN)
    late_us: list[int] = []
    flows.BEGUN.append(lambda due_us: late_us.append(time.time_ns() // 1000 - due_us))
    await asyncio.sleep(max(0.0, float(due_s) - 0.3 - time.time()))
    opened_s = time.perf_counter()
    async with Perdure(file):
        up_s = time.perf_counter()
        await begun.all.wait()
        if float(due_s):
            await woken.all.wait()
        say(
            open_ms=(up_s - opened_s) * 1e3,
            begun_ms=(begun.at_s - up_s) * 1e3,
            all_ms=(begun.at_s - opened_s) * 1e3,
            late_ms=max(late_us, default=0) / 1e3,
        )
        await _for_ever()


# --- many runs that are open


async def fill(file: str, waiting: str, active: str) -> None:
    """Start runs that wait, runs with an attempt under way, and ten that are due very soon."""
    begun = Begun(int(active), flows.HELD)
    async with Perdure(file) as app:
        await _start(app, (Call(flows.waits_of, ("go",)) for _ in range(int(waiting))))
        await _start(app, (Call(flows.holds_of, (at,)) for at in range(int(active))))
        await begun.all.wait()
        due_s = time.time() + 3.0
        await _start(app, _sleeping(due_s, SLEEPERS, APART_S))
        say(due_s=due_s)
        await _for_ever()


# --- many runs that sleep


async def sleep(file: str, count: str, due_s: str, within_s: str) -> None:
    """Start sleepers, all due within a minute, and serve them; `count` may be none."""
    many = int(count)
    journal = os.open(file + ".marks", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hear(due_us: int) -> None:
        os.write(journal, MARK.pack(due_us, time.time_ns() // 1_000 - due_us))

    flows.BEGUN.append(hear)
    async with Perdure(file) as app:
        some = min(many, 10 * CHUNK)
        await _start(app, _sleeping(1e10, some, 0.001))  # what grows once has grown
        before = resident_bytes()
        await _start(app, _sleeping(float(due_s), many, float(within_s) / max(many, 1)))
        await asyncio.sleep(1)
        say(ready_s=time.time(), grown=resident_bytes() - before)
        await _for_ever()


KINDS: dict[str, Callable[..., Awaitable[None]]] = {
    "grow": grow,
    "go_on": go_on,
    "fill": fill,
    "sleep": sleep,
}

if __name__ == "__main__":
    Path(sys.argv[2]).parent.mkdir(exist_ok=True)
    spare_the_collector()
    asyncio.run(KINDS[sys.argv[1]](*sys.argv[2:]))  # type: ignore[arg-type]
