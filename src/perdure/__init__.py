"""Perdure: asyncio whose running coroutines can be put on disk."""

from perdure.actions import Action, action
from perdure.api import now, record, signal, sleep_until
from perdure.combinators import Task, all_of, any_of, first, race
from perdure.core.policy import Retry
from perdure.errors import (
    ActionTimeout,
    Diverged,
    Interrupted,
    PerdureError,
    Refused,
    RetryAfter,
    Stale,
)
from perdure.workflows import Workflow, workflow

__all__ = [
    "Action",
    "ActionTimeout",
    "Diverged",
    "Interrupted",
    "PerdureError",
    "Refused",
    "Retry",
    "RetryAfter",
    "Stale",
    "Task",
    "Workflow",
    "action",
    "all_of",
    "any_of",
    "first",
    "now",
    "race",
    "record",
    "signal",
    "sleep_until",
    "workflow",
]

__version__ = "0.1.0"
