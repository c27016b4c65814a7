"""Threads for actions that block: made when they are needed, kept, and never waited for at the end.

A thread cannot be stopped. One whose action does not end must not keep the process from ending, so
these are daemons, and their number is bounded by the turns of whoever gives them work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

Work = Callable[[], Any]
Job = tuple[Work, Callable[[Any], object]]


class Threads:
    """Idle threads of one loop, each with a box into which the next job is put."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.idle: list[SimpleQueue[Job | None]] = []

    def run(self, work: Work, done: Callable[[Any], object]) -> None:
        """Do work that raises nothing on a thread; hand what it gives to `done`, on the loop."""
        if self.idle:
            box = self.idle.pop()
        else:
            box = SimpleQueue[Job | None]()
            threading.Thread(
                target=self._serve, args=(box,), daemon=True, name="perdure-action"
            ).start()
        box.put((work, done))

    def _serve(self, box: SimpleQueue[Job | None]) -> None:
        while (job := box.get()) is not None:
            work, done = job
            given = work()
            with suppress(RuntimeError):  # the loop is closed: nobody wants to know
                self.loop.call_soon_threadsafe(self._done, box, done, given)
            del job, work, done, given

    def _done(
        self, box: SimpleQueue[Job | None], done: Callable[[Any], object], given: Any
    ) -> None:
        self.idle.append(box)
        done(given)

    def close(self) -> None:
        """Let idle threads end."""
        for box in self.idle:
            box.put(None)
        self.idle.clear()
