"""How much the runs in memory take, and which of them leave it: those that waited longest.

Counts what each run weighs as it changes, never all of them. How a run leaves is not known here.
"""

from __future__ import annotations

from collections import deque

from perdure.node.house import House
from perdure.node.resident import Resident


class Room:
    """The memory of one node."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.options = node.options
        self.bytes = 0
        """What the runs in memory take, as far as it can be estimated."""
        self.idle: deque[tuple[int, float]] = deque()
        """Runs that came to wait for something else than actions, oldest first."""

    def weigh(self, resident: Resident) -> None:
        """Count what a run takes; costs the same for every run."""
        is_here = self.node.residents.get(resident.rid) is resident
        weight = resident.weight if is_here else 0
        self.bytes += weight - resident.weighed
        resident.weighed = weight

    def rests(self, resident: Resident) -> None:
        """A run has come to rest: it may leave the memory when others have come."""
        self.weigh(resident)
        self.idle.append((resident.rid, resident.touched_s))

    def make(self) -> None:
        """Let runs go if there is too much."""
        if self._surplus() > 0 or self._surplus_bytes() > 0:
            self.sweep(self.node.clock())

    def _surplus(self) -> int:
        return len(self.node.residents) - self.options.residents_max

    def _surplus_bytes(self) -> int:
        return self.bytes - self.options.resident_bytes_max

    def sweep(self, now_s: float) -> None:
        """Let runs go that have waited longest: those too many, and all that waited too long."""
        surplus, surplus_bytes = self._surplus(), self._surplus_bytes()
        while self.idle:
            rid, touched_s = self.idle[0]
            resident = self.node.residents.get(rid)
            if resident is None or resident.touched_s != touched_s:
                self.idle.popleft()  # something has happened to it since
                continue
            is_much = surplus > 0 or surplus_bytes > 0
            if not is_much and now_s - touched_s < self.options.idle_s:
                return
            self.idle.popleft()
            weight = resident.weighed
            if self.node.loading.evict(resident):
                surplus -= 1
                surplus_bytes -= weight
