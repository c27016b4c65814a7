"""The exception classes of asyncio, which users' `except` clauses name, and what its versions do.

The one place of the core that names asyncio, and for classes only: no loop, no clock.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import BrokenBarrierError, CancelledError, InvalidStateError, QueueEmpty, QueueFull

__all__ = [
    "EAGER_GATHER",
    "LATE_UNCANCEL",
    "LAZY_AS_COMPLETED",
    "SINCE_3_12",
    "SINCE_3_13",
    "TASK_WAIT_FOR",
    "BrokenBarrierError",
    "CancelledError",
    "InvalidStateError",
    "QueueEmpty",
    "QueueFull",
    "QueueShutDown",
]


class _QueueShutDown(Exception):
    """Stands in for `asyncio.QueueShutDown` where Python does not have it yet."""


QueueShutDown: type[Exception] = getattr(asyncio, "QueueShutDown", _QueueShutDown)

SINCE_3_12 = sys.version_info >= (3, 12)
SINCE_3_13 = sys.version_info >= (3, 13)
"""A run has what asyncio has in the Python that it runs on, and no more."""

EAGER_GATHER = sys.version_info >= (3, 12)
"""Since 3.12, `gather` counts children that are done already at once, not one turn later."""

TASK_WAIT_FOR = sys.version_info < (3, 12)
"""Before 3.12, `wait_for` made a task of what it was given."""

LAZY_AS_COMPLETED = sys.version_info < (3, 13)
"""Before 3.13, `as_completed` started its tasks when it was first asked for one."""

LATE_UNCANCEL = sys.version_info >= (3, 13)
"""Since 3.13, a task group takes back its own cancellation after its children are done,
a last `uncancel` clears a pending cancellation, and a time-out marks nested errors."""
