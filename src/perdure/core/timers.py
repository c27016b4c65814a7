"""The timers of one run, by due time. Knows no clock: somebody else says when one is due."""

from __future__ import annotations

import heapq
from typing import Any

from perdure.core.gates import Waiter


class Timer:
    """One timer: what to make ready when it fires."""

    __slots__ = ("due_us", "number", "timers", "waiter", "what")

    def __init__(self, timers: Timers, number: int, due_us: int, waiter: Waiter, what: Any) -> None:
        self.timers = timers
        self.number = number
        self.due_us = due_us
        self.waiter = waiter
        self.what = what


class Timers:
    """Armed timers by number, with the next due one at hand."""

    __slots__ = ("armed", "heap", "last")

    def __init__(self) -> None:
        self.armed: dict[int, Timer] = {}
        self.heap: list[tuple[int, int]] = []
        self.last = 0

    def arm(self, due_us: int, waiter: Waiter, what: Any) -> Timer:
        """Add a timer."""
        self.last += 1
        timer = Timer(self, self.last, due_us, waiter, what)
        self.armed[timer.number] = timer
        heapq.heappush(self.heap, (due_us, timer.number))
        return timer

    def restore(self, timer: Timer) -> None:
        """Put a timer back that was armed before."""
        self.armed[timer.number] = timer
        heapq.heappush(self.heap, (timer.due_us, timer.number))

    def take(self, number: int) -> Timer | None:
        """Take a timer out, because it fires or is no longer wanted."""
        timer = self.armed.pop(number, None)
        if len(self.heap) > 64 and len(self.heap) > 2 * len(self.armed):
            self.heap = [(each.due_us, each.number) for each in self.armed.values()]
            heapq.heapify(self.heap)
        return timer

    def next_due_us(self) -> int | None:
        """Give the time of the next timer, if there is one."""
        while self.heap and self.heap[0][1] not in self.armed:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else None
