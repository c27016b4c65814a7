"""Serving from a process of its own: until a signal comes, or until some work is done.

The first SIGTERM or SIGINT drains: nothing more is begun, what is under way may end, runs are
handed over. The second aborts: the process is gone at once, and nothing is lost by it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType

from perdure.app import Perdure

STOPPING = (signal.SIGTERM, signal.SIGINT)
DRAINED = 0
"""The exit code of a process that was told to stop, and did so in order."""


async def serve(
    app: Perdure,
    work: Callable[[Perdure], Awaitable[int]] | None = None,
    *,
    ready: Callable[[], object] | None = None,
) -> int:
    """Open an engine and serve until a signal comes; give the exit code of the process.

    `work` is done beside it, and when it is over, serving is too: its exit code is given. If a
    signal comes first, the work is cancelled, and the exit code is 128 and the number of the
    signal, as of a process that the signal ended. Without work it is 0. `ready` is called when runs
    can be started. Call it on the main thread: only there are signals heard.
    """
    spare_the_collector()
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[int] = loop.create_future()
    with _hearing(loop, asked):
        async with app:
            if ready is not None:
                ready()
            if work is None:
                await asked
                return DRAINED
            doing = asyncio.ensure_future(work(app))
            try:
                await asyncio.wait((asked, doing), return_when=asyncio.FIRST_COMPLETED)
            finally:
                doing.cancel()
            if asked.done():
                await asyncio.wait((doing,))
                return 128 + asked.result()
            return doing.result()


def spare_the_collector() -> None:
    """Have the garbage collector leave alone what a process that only serves has loaded by now."""
    gc.collect()
    gc.freeze()


@contextmanager
def _hearing(loop: asyncio.AbstractEventLoop, asked: asyncio.Future[int]) -> Generator[None]:
    """Hear signals between two instructions, not by the loop, which may be blocked.

    So the second one is heard although an action blocks the loop, unless it does so inside of C.
    """
    heard: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        if heard:
            os._exit(128 + number)
        heard.append(number)
        loop.call_soon_threadsafe(asked.set_result, number)

    before = {each: signal.signal(each, hear) for each in STOPPING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
