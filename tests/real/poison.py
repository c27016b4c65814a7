"""Poison: what becomes of runs whose action is poisonous, and of all others meanwhile.

    python -m tests.real.poison [NAME …]

Each poison is taken in a process of its own; the table says what became of its run, how often its
process died of it, and how long innocent runs took at the 99th percentile, before and during.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from perdure import Perdure
from tests.real.kit import LATEST_S, ROOT
from tests.real.poisons import POISONS, swallow

ENGINE = "tests.real.poison_engine"
QUIET_S, AFTER_S = 1.5, 1.0


@dataclass
class Engine:
    """The process that serves, made anew whenever it dies."""

    folder: Path
    deaths: int = 0
    popen: subprocess.Popen[bytes] | None = None

    @property
    def times(self) -> Path:
        """Where it writes how long innocent runs took."""
        return self.folder / "times"

    def make(self) -> None:
        """Begin a process."""
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        with (self.folder / "output").open("ab") as output:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", ENGINE, str(self.folder / "runs.db"), str(self.times)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=ROOT,
                env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip

    async def keep(self) -> None:
        """Begin it again whenever it ends, as whoever supervises it does."""
        while True:
            self.make()
            assert self.popen is not None
            while self.popen.poll() is None:
                await asyncio.sleep(0.01)
            self.deaths += 1

    def took_s(self, since: float, until: float) -> list[float]:
        """Give how long innocent runs took that ended between two instants, the longest last."""
        if not self.times.exists():
            return []
        lines = [line.split() for line in self.times.read_text().splitlines()]
        return sorted(float(took) for at, took in lines if since <= float(at) < until)


@asynccontextmanager
async def engine(folder: Path) -> AsyncIterator[Engine]:
    """Have a process serve the store in a folder, until the end."""
    made = Engine(folder)
    keeping = asyncio.create_task(made.keep())
    try:
        yield made
    finally:
        keeping.cancel()
        if made.popen is not None:
            made.popen.kill()
            made.popen.wait()


async def become(client: Perdure, names: Iterable[str], limit_s: float) -> dict[str, str]:
    """Start a run of each poison, and say what became of it."""
    handles = {name: await client.start(swallow, name, id=f"swallow-{name}") for name in names}
    outcomes: dict[str, str] = {}
    async with asyncio.timeout(limit_s):
        for name, handle in handles.items():
            async for _ in handle.watch():
                pass
            info = await handle.info()
            error = (info.error or "").partition(":")[0]
            outcomes[name] = error or info.status
    return outcomes


async def take(folder: Path, name: str) -> str:
    """Take one poison; give its line of the table."""
    async with engine(folder) as made, Perdure(folder / "runs.db", serve=False) as client:
        while not made.took_s(0, time.monotonic()):
            await asyncio.sleep(0.05)
        begun = time.monotonic()
        await asyncio.sleep(QUIET_S)
        poisoned = time.monotonic()
        try:
            became = (await become(client, [name], LATEST_S))[name]
        except TimeoutError:
            became = "HANGS"
        took_s = time.monotonic() - poisoned
        await asyncio.sleep(AFTER_S)
        quiet = _p99(made.took_s(begun, poisoned))
        during = _p99(made.took_s(poisoned, time.monotonic()))
    poison, _, kind = name.rpartition("_")
    verdict = "ok" if became == POISONS[poison][kind] else f"not {POISONS[poison][kind]}"
    return (
        f"{poison:30} {kind:8} {became:15} {made.deaths} {took_s:6.1f} "
        f"{quiet * 1000:7.1f} {during * 1000:8.1f} {during / quiet:6.1f}  {verdict}"
    )


def _p99(found: list[float]) -> float:
    return found[len(found) * 99 // 100] if found else float("inf")


def main(*wanted: str) -> None:
    """Take the poisons that are asked for, or all, one after the other."""
    print("poison, kind, what became of its run, deaths of its engine, after s; p99 before, during")
    for poison, kinds in POISONS.items():
        for kind in kinds:
            if not wanted or poison in wanted:
                with tempfile.TemporaryDirectory() as folder:
                    print(asyncio.run(take(Path(folder), f"{poison}_{kind}")), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
