"""A process that serves a store in which runs of `poisons` wait, and runs innocent ones meanwhile.

    python -m tests.real.poison_engine FILE TIMES

It appends to TIMES how long each innocent run took, and when it ended, as lines of two numbers.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time

from perdure import Options, Perdure
from tests.real.poisons import innocent

PAUSE_S = 0.02


async def go_on(app: Perdure, times: int) -> None:
    """Run innocent runs, a few at a time."""
    turns = asyncio.Semaphore(4)

    async def one(number: int) -> None:
        begun = time.monotonic()
        try:
            handle = await app.start(innocent, id=f"innocent-{os.getpid()}-{number}")
            await handle.result()
        finally:
            turns.release()
        now = time.monotonic()
        os.write(times, f"{now} {now - begun}\n".encode())

    async with asyncio.TaskGroup() as group:
        for number in itertools.count():
            await turns.acquire()
            group.create_task(one(number))
            await asyncio.sleep(PAUSE_S)


async def main(file: str, times: str) -> None:
    descriptor = os.open(times, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 700)  # where an action that closes files does not find it
    options = Options(drain_s=0.1, processes_max=4)
    async with Perdure(file, options=options) as app:
        while app.owner is None:
            await asyncio.sleep(0.01)
        await go_on(app, 700)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
