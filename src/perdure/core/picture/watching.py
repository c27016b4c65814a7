"""Where the tasks of a run stop: seen from outside, while the run is folded. Changes nothing in it.

A host around the host of the process hears of every step of every task; a dict in the place of
that of the tasks hears of every new one, while whoever makes it still is on the stack.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple

from perdure.core.frames import WRAPPERS, behind
from perdure.core.futures import CANCELLED, FINISHED, Future, Task
from perdure.core.loop import Host, Loop
from perdure.core.picture.shown import Status
from perdure.lang.graph import Span

OWN = __file__.rpartition("core")[0]
"""Where the engine's own functions are."""

Key = tuple[str, str, int]
"""What code of a function is known by: images bring frames back whose code is another object."""


def key_of(code: CodeType) -> Key:
    """Give what code is known by."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def family(main: CodeType) -> frozenset[Key]:
    """Give the keys of a function and of the comprehensions in it, which it may run as frames."""
    return frozenset(map(key_of, _with_hidden(main)))


def _with_hidden(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name.startswith("<"):
            yield from _with_hidden(constant)


class Birth(NamedTuple):
    """Where a task was made."""

    span: Span | None
    """The place in the workflow's own function that led to it."""
    parent: int
    """The number of the task that made it; 0 if none did."""
    is_direct: bool
    """Whether the workflow itself made it, not a helper of the user's."""


class Births(dict[int, Task]):
    """The tasks of a run, in the place of its own dict."""

    def __init__(self, loop: Loop, own: frozenset[Key]) -> None:
        super().__init__(loop.tasks)
        self.loop = loop
        self.own = own
        self.of: dict[int, Birth] = {}

    def __setitem__(self, number: int, task: Task) -> None:
        super().__setitem__(number, task)
        current = self.loop.current
        parent = 0 if current is None or current is task else current.number
        span, is_direct = self._made_at()
        self.of[number] = Birth(span, parent, is_direct)

    def _made_at(self) -> tuple[Span | None, bool]:
        frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        is_direct = True
        while frame is not None:
            code = frame.f_code
            if key_of(code) in self.own:
                return span_at(code, frame.f_lasti), is_direct
            is_direct = is_direct and is_engine(code)
            frame = frame.f_back
        return None, False


class Watcher:
    """A host around another one, if there is one: tells where a task stops, and when it ends.

    It holds nothing of a run between steps, and no frame while asynchronous generators live:
    what dies when the last one lets go of it must die when it did before.
    """

    def __init__(self, inner: Host | None, hear: Callable[[Task, Any], None]) -> None:
        self.inner = inner
        self.hear = hear
        self.frame: Any = None

    def enter(self, loop: Loop) -> object:
        """Pass it on."""
        return None if self.inner is None else self.inner.enter(loop)

    def leave(self, loop: Loop, entered: object) -> None:
        """Pass it on."""
        if self.inner is not None:
            self.inner.leave(loop, entered)

    def enter_task(self, loop: Loop, task: Task) -> None:
        """Pass it on, and hold the frame that runs: when it is over, it still says where."""
        if not loop.asyncgens:
            self.frame = getattr(task.coro, "cr_frame", None)
        if self.inner is not None:
            self.inner.enter_task(loop, task)

    def leave_task(self, loop: Loop, task: Task) -> None:
        """Pass it on, and tell."""
        if self.inner is not None:
            self.inner.leave_task(loop, task)
        frame, self.frame = self.frame, None
        self.hear(task, frame)


# --- frames


class Step(NamedTuple):
    """One frame of a task that stands, and what runs it."""

    owner: Any
    frame: Any


_PARTS = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


def chain(coro: Any) -> list[Step]:
    """Give the frames of a coroutine and of what it awaits, outermost first."""
    found: list[Step] = []
    while coro is not None:
        if type(coro) in WRAPPERS:
            coro = behind(coro)
        for held, awaited in _PARTS:
            frame = getattr(coro, held, None)
            if frame is not None:
                found.append(Step(coro, frame))
                coro = getattr(coro, awaited)
                break
        else:
            return found
    return found


def is_engine(code: CodeType) -> bool:
    """Whether code is the engine's own."""
    return code.co_filename.startswith(OWN)


_spans: dict[tuple[int, int], tuple[CodeType, Span]] = {}
_SPANS_MAX = 50_000


def span_at(code: CodeType, lasti: int) -> Span:
    """Give what an instruction of some code covers in the text."""
    key = (id(code), lasti)
    found = _spans.get(key)
    if found is None:
        if len(_spans) >= _SPANS_MAX:
            _spans.clear()
        line, end, col, end_col = next(islice(code.co_positions(), lasti // 2, None))
        start = line or code.co_firstlineno
        span = Span(start, col or 0, end or start, 9_999 if end_col is None else end_col)
        found = _spans[key] = (code, span)
    return found[1]


def outcome(future: Any) -> tuple[Status, BaseException | None]:
    """Say how something that was awaited came out; what is still pending was given up."""
    state = getattr(future, "state", None)
    if state == FINISHED:
        error = future.error
        return ("completed", None) if error is None else ("failed", error)
    if state == CANCELLED or isinstance(future, Future):
        return "cancelled", None
    return "completed", None
