"""Which run, if any, the running code belongs to. Set in the context of every task of a run.

A context variable, not a global: threads and callbacks outside of the fold see no run.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from perdure.errors import NoRun

CURRENT: ContextVar[Any] = ContextVar("perdure.run", default=None)
"""The `Run`, or `None`. Untyped here, since the run itself is built on this."""


def here(what: str = "this") -> Any:
    """Give the `Run` that the calling code belongs to."""
    run = CURRENT.get()
    if run is None:
        raise NoRun(
            f"{what} was called outside of a run",
            remedy="call it from a workflow, or try the workflow with `perdure.testing`",
        )
    return run
