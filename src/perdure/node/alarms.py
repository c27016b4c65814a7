"""When runs are due: one heap of (time, run), one alarm of the loop. Never a task for each sleeper.

Holds what is resident, and what will be due soon of all others; the rest stays in the store.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

FULL = 1_000
"""So many alarms are kept whether or not they are wanted."""


class Alarms:
    """Calls `ring` with the runs that are due, each time some are."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now_us: Callable[[], int],
        ring: Callable[[list[int]], None],
        due_of: Callable[[int, int], int | None],
    ) -> None:
        self.loop = loop
        self.now_us = now_us
        self.ring = ring
        self.due_of = due_of
        """When a run for which there is an alarm has to be rung for now; perhaps never."""
        self.heap: list[tuple[int, int]] = []
        self.handle: asyncio.TimerHandle | None = None
        self.handle_us = 0
        self.full = FULL

    def push(self, due_us: int, rid: int) -> None:
        """Have a run rung for; ringing too often, or for one that is not due, does no harm."""
        if len(self.heap) >= self.full:
            self._tidy()
        heapq.heappush(self.heap, (due_us, rid))
        self._arm()

    def _tidy(self) -> None:
        """Keep one alarm of each run that still wants one; seldom, so it costs a push nothing."""
        found: dict[int, int] = {}
        for due_us, rid in self.heap:
            now_due_us = self.due_of(rid, due_us)
            if now_due_us is not None:
                found[rid] = min(now_due_us, found.get(rid, now_due_us))
        self.heap = [(due_us, rid) for rid, due_us in found.items()]
        heapq.heapify(self.heap)
        self.full = max(FULL, 2 * len(self.heap))

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
