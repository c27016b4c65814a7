"""An event loop of asyncio whose time is virtual: a sleep of thirty days takes no time.

When nothing is ready, time jumps to the next timer; timers that are due together come one
at a time, oldest first, and all that follows from one happens before the next. While a thread
works for the loop, no time passes.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from perdure.errors import Deadlocked, Endless


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, with a clock that jumps."""

    jumps_max = 10_000_000
    """How many timers may come before a test is taken to have no end."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self._now = start
        self._due: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = itertools.count()
        self._at_work = 0
        self.jumps = 0
        self.explain: Callable[[], str] | None = None
        self.jumped: Callable[[float], object] | None = None

    def time(self) -> float:
        """Give the virtual time."""
        return self._now

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at a virtual time."""
        when = round(when, 6)  # whole microseconds, so that equal times are equal
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._due, (when, next(self._order), handle))
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back after a virtual delay."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing: a cancelled handle is skipped when its time comes."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Have a thread work, and wait for it in real time."""
        future = super().run_in_executor(executor, func, *args)
        self._at_work += 1
        future.add_done_callback(self._has_worked)
        return future

    def _has_worked(self, _: object) -> None:
        self._at_work -= 1

    async def shutdown_default_executor(self, *limit: Any) -> None:
        """Wait, in real time, for threads that still work."""
        self._at_work += 1
        try:
            await super().shutdown_default_executor(*limit)
        finally:
            self._at_work -= 1

    def _run_once(self) -> None:
        if not self._ready and not self._at_work:  # type: ignore[attr-defined]
            self._jump()
        super()._run_once()  # type: ignore[misc]

    def _jump(self) -> None:
        while self._due:
            when, _, handle = heapq.heappop(self._due)
            if not handle.cancelled():
                self._now = max(self._now, when)
                self.jumps += 1
                if self.jumps > self.jumps_max:
                    raise Endless(
                        f"{self.jumps_max:,} events passed and there is no end",
                        remedy="raise `VirtualLoop.jumps_max` if that is what you test",
                    )
                self._ready.append(handle)  # type: ignore[attr-defined]
                if self.jumped is not None:
                    self.jumped(self._now)
                return
        if not self._waits_for_the_world():
            waits = f": it waits for {self.explain()}" if self.explain is not None else ""
            raise Deadlocked(
                f"nothing is left that could happen{waits}",
                remedy="send what is awaited, or give the wait a time-out",
            )

    def _waits_for_the_world(self) -> bool:
        """Whether there is a file that may still wake the loop."""
        return len(self._selector.get_map()) > 1  # type: ignore[attr-defined]
