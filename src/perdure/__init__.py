"""Perdure: asyncio whose running coroutines can be put on disk."""

from perdure.actions import Action, action
from perdure.api import now, record, signal, sleep_until
from perdure.app import Call, Perdure
from perdure.client import Handle, Moment, RunInfo
from perdure.combinators import Task, all_of, any_of, first, race
from perdure.core.picture import Picture
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
from perdure.node.context import Attempt, attempt, heartbeat
from perdure.node.options import Options
from perdure.workflows import Workflow, workflow

__all__ = [
    "Action",
    "ActionTimeout",
    "Attempt",
    "Call",
    "Diverged",
    "Handle",
    "Interrupted",
    "Moment",
    "Options",
    "Perdure",
    "PerdureError",
    "Picture",
    "Refused",
    "Retry",
    "RetryAfter",
    "RunInfo",
    "Stale",
    "Task",
    "Workflow",
    "action",
    "all_of",
    "any_of",
    "attempt",
    "first",
    "heartbeat",
    "now",
    "race",
    "record",
    "signal",
    "sleep_until",
    "workflow",
]

__version__ = "0.1.0"
