"""Gates: what every waiting thing waits on. Knows nothing of tasks, facts or time.

A gate opens when, and only when, `completed == required`; it opens once, and opening puts
its waiters on the ready queue. `arrive` is the only place where readiness is decided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from perdure.errors import ReadinessOverflow

Waiter = Callable[[Any], object]
Ready = deque[tuple[Waiter, Any]]
"""The ready queue: what to call, and the one thing to call it with. Data, in order."""


class Gate:
    """A counter of arrivals: one of one, n of n, one of n, or an in-degree."""

    __slots__ = ("completed", "required", "waiters")

    def __init__(self, required: int = 1) -> None:
        self.required = required
        self.completed = 0
        self.waiters: list[Waiter] = []

    @property
    def open(self) -> bool:
        """Whether all that is required has arrived."""
        return self.completed == self.required


def arrive(gate: Gate, ready: Ready) -> bool:
    """Count one arrival; say whether it opened the gate, whose waiters are then ready."""
    gate.completed += 1
    if gate.completed < gate.required:
        return False
    if gate.completed > gate.required:
        raise ReadinessOverflow(
            f"a gate that requires {gate.required} had {gate.completed} arrivals",
            remedy="this is a fault of Perdure: please report it with the log of the run",
        )
    waiters, gate.waiters = gate.waiters, []
    for waiter in waiters:
        ready.append((waiter, gate))
    return True
