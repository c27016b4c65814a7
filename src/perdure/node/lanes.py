"""Turns: how many attempts of one kind may be under way at once, and who is next.

Runs take turns: one that makes ten thousand calls keeps none waiting that makes one. Knows only
numbers of runs, and whatever waits.
"""

from __future__ import annotations

from collections import deque
from typing import Any


class Lane:
    """A bounded number of turns, given to runs in rotation, and within a run in order."""

    __slots__ = ("free", "kind", "order", "waiting")

    def __init__(self, kind: str, turns_max: int) -> None:
        self.kind = kind
        self.free = turns_max
        self.order: deque[int] = deque()
        self.waiting: dict[int, deque[Any]] = {}

    def wait(self, rid: int, what: Any) -> None:
        """Have something wait for a turn of its run."""
        queue = self.waiting.get(rid)
        if queue is None:
            queue = self.waiting[rid] = deque()
            self.order.append(rid)
        queue.append(what)

    def next(self) -> Any:
        """Give what is next; its run goes to the end of the line."""
        rid = self.order.popleft()
        queue = self.waiting[rid]
        what = queue.popleft()
        if queue:
            self.order.append(rid)
        else:
            del self.waiting[rid]
        return what

    def clear(self) -> None:
        """Forget all that waits."""
        self.order.clear()
        self.waiting.clear()
