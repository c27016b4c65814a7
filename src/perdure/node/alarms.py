"""When runs are due: one heap of (time, run), one alarm of the loop. Never a task for each sleeper.

Holds what is resident, and what will be due soon of all others; the rest stays in the store.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable


class Alarms:
    """Calls `ring` with the runs that are due, each time some are."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now_us: Callable[[], int],
        ring: Callable[[list[int]], None],
    ) -> None:
        self.loop = loop
        self.now_us = now_us
        self.ring = ring
        self.heap: list[tuple[int, int]] = []
        self.handle: asyncio.TimerHandle | None = None
        self.handle_us = 0

    def push(self, due_us: int, rid: int) -> None:
        """Have a run rung for; ringing too often, or for one that is not due, does no harm."""
        heapq.heappush(self.heap, (due_us, rid))
        self._arm()

    def _arm(self) -> None:
        if not self.heap:
            return
        due_us = self.heap[0][0]
        if self.handle is not None:
            if self.handle_us <= due_us:
                return
            self.handle.cancel()
        self.handle_us = due_us
        # Years ahead is past what the loop can wait for; it rings early then, and arms again.
        delay_s = min(max(0, due_us - self.now_us()) / 1_000_000, 86_400)
        self.handle = self.loop.call_later(delay_s, self._rung)

    def look(self) -> None:
        """Ring if it is time: the clock may have been set, or the machine have slept."""
        if self.heap and self.heap[0][0] <= self.now_us():
            if self.handle is not None:
                self.handle.cancel()
            self._rung()

    def _rung(self) -> None:
        self.handle = None
        now_us = self.now_us()
        due: dict[int, None] = {}
        heap = self.heap
        while heap and heap[0][0] <= now_us:
            due[heapq.heappop(heap)[1]] = None
        if due:
            self.ring(list(due))
        self._arm()

    def close(self) -> None:
        """Ring no more."""
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None
        self.heap.clear()
