"""Workloads in which a process dies and another one goes on: recovery, restart, sleepers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from perdure.bench.figures import Figure, Tell, at_least, at_most
from perdure.bench.life import MARK


class Life:
    """A process with an engine, as the bench sees it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self) -> dict[str, Any]:
        """Wait for the next that it says."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the bench ended with {await self.process.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def life(kind: str, file: Path, *words: object) -> AsyncGenerator[Life]:
    """Begin a life on a file; it is over when the block is."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "perdure.bench.life", kind, str(file), *map(str, words)),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    begun = Life(process)
    try:
        yield begun
    finally:
        await begun.kill()


async def recover(tell: Tell, *, quick: bool) -> list[Figure]:
    """One run of 2,000 and one of 1,000,000 completed steps; SIGKILL; the first next step."""
    figures: list[Figure] = []
    for steps in (2_000,) if quick else (2_000, 1_000_000):
        up: list[float] = []
        step: list[float] = []
        with tempfile.TemporaryDirectory(prefix="perdure-bench-", dir=".") as folder:
            file = Path(folder) / "engine.db"
            tell(f"{steps:,} steps are taken")
            async with life("grow", file, steps) as first:
                await first.says()
            for number in range(1 if quick else 5):
                tell(f"{steps:,} steps: recovery {number + 1}")
                async with life("go_on", file, 1, 0) as later:
                    said = await later.says()
                up.append(said["open_ms"])
                step.append(said["begun_ms"])
        name = f"{steps:,} steps"
        figures += [
            Figure("recover", f"{name}, to open", "ms", up),
            Figure("recover", f"{name}, up to next step", "ms", step, at_most(50)),
        ]
    return figures


async def restart(tell: Tell, *, quick: bool) -> list[Figure]:
    """100,000 open runs of which 1,000 are active; SIGKILL; all are dispatched again."""
    runs, active = (100, 10) if quick else (100_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-", dir=".") as folder:
        file = Path(folder) / "engine.db"
        tell(f"{runs:,} runs are started")
        async with life("fill", file, runs - active, active) as first:
            due_s = (await first.says())["due_s"]
        tell("another process goes on")
        async with life("go_on", file, active, due_s) as later:
            said = await later.says()
    return [
        Figure("restart", "to open", "ms", [said["open_ms"]]),
        Figure("restart", "open to all dispatched", "ms", [said["all_ms"]], at_most(2_000)),
        Figure("restart", "the latest of 10 timers", "ms", [said["late_ms"]], at_most(250)),
    ]


async def sleepers(tell: Tell, *, quick: bool) -> list[Figure]:
    """100,000 runs that sleep, all due within one minute, with one SIGKILL in that minute."""
    count, within_s, ahead_s = (200, 3, 4) if quick else (100_000, 60, 60)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-", dir=".") as folder:
        file = Path(folder) / "engine.db"
        due_s = time.time() + ahead_s
        tell(f"{count:,} sleepers are started")
        async with life("sleep", file, count, due_s, within_s) as first:
            said = await first.says()
            if said["ready_s"] > due_s:
                raise RuntimeError("this machine is too slow to start so many in time")
            await _until(due_s + within_s / 2, tell)
        async with life("sleep", file, 0, 0, 0):
            await _until(due_s + within_s + 2, tell)
        late_us = sorted(_marks(file).values())
    middle_ms, most_ms = late_us[len(late_us) // 2] / 1e3, late_us[-1] / 1e3
    p95_ms = late_us[len(late_us) * 95 // 100] / 1e3
    each = said["grown"] / count
    return [
        Figure("sleepers", "woken", "", [len(late_us)], at_least(count), at_most=False),
        Figure("sleepers", "growth of memory for each", "B", [each], at_most(100)),
        Figure("sleepers", "late, median", "ms", [middle_ms]),
        Figure("sleepers", "late, p95", "ms", [p95_ms], at_most(250)),
        Figure("sleepers", "late, most", "ms", [most_ms]),
    ]


async def _until(when_s: float, tell: Tell) -> None:
    while (left_s := when_s - time.time()) > 0:
        tell(f"{left_s:.0f} s")
        await asyncio.sleep(min(1, left_s))


def _marks(file: Path) -> dict[int, int]:
    """Give of each sleeper how late it was first woken."""
    found: dict[int, int] = {}
    for due_us, late_us in _read(Path(f"{file}.marks")):
        found[due_us] = min(late_us, found.get(due_us, late_us))
    return found


def _read(journal: Path) -> Iterator[tuple[int, int]]:
    return MARK.iter_unpack(journal.read_bytes())
