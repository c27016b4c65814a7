"""Perdure: asyncio whose running coroutines can be put on disk."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from perdure.node.context import Attempt, attempt, heartbeat
from perdure.workflows import Workflow, workflow

if TYPE_CHECKING:
    from perdure.app import Call, Perdure
    from perdure.client import Handle, Moment, RunInfo
    from perdure.core.picture import Picture
    from perdure.node.options import Options

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

_ENGINE = {
    "Call": "perdure.app",
    "Handle": "perdure.client",
    "Moment": "perdure.client",
    "Options": "perdure.node.options",
    "Perdure": "perdure.app",
    "Picture": "perdure.core.picture",
    "RunInfo": "perdure.client",
}
"""What a module of workflows and actions does not need: imported when it is asked for."""


def __getattr__(name: str) -> Any:
    """Give a name of the engine."""
    if name not in _ENGINE:
        raise AttributeError(f"module `perdure` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(_ENGINE[name]), name)
    return value
