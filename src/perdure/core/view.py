"""What a run looks like at rest, for people: its frames with their variables, what it waits for.

Reads a run and changes nothing. The values are the run's own: who keeps them keeps parts of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.core.frames import awaited_by
from perdure.core.run import Run


class FrameView(msgspec.Struct, frozen=True):
    """One function that has not returned."""

    function: str
    file: str
    line: int
    variables: dict[str, Any]


class TaskView(msgspec.Struct, frozen=True):
    """One task, its outermost function first."""

    name: str
    frames: list[FrameView]


def tasks_of(run: Run) -> list[TaskView]:
    """Give the tasks of a run that have not ended, in the order of their creation."""
    return [TaskView(task.name, _frames(task.coro)) for task in run.tasks.values()]


def _frames(coro: Any) -> list[FrameView]:
    found: list[FrameView] = []
    while coro is not None:
        frame = getattr(coro, "cr_frame", None)
        if frame is None:
            break
        code = frame.f_code
        shown = {name: value for name, value in frame.f_locals.items() if name.isidentifier()}
        if not code.co_filename.startswith(_OWN):
            found.append(FrameView(code.co_qualname, code.co_filename, frame.f_lineno, shown))
        coro = awaited_by(coro)
    return found


def waits_of(run: Run) -> list[str]:
    """Say in a line each what has to happen before a run goes on."""
    parts = [f"signal `{name}`" for name in run.mailbox.waiting]
    return parts + [
        f"call {each.call} of {each.target.name} at {each.site}" for each in run.calls.values()
    ]


_OWN = __file__.rpartition("core")[0]
"""Where the engine's own functions are: nobody asked about these."""
