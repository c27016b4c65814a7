"""The native frames of a run: found, described, and put back to where they stood.

A task's coroutine awaits another coroutine, and so on down to a future; each frame of such a
chain is a unit, the number of an await, and locals. Nothing here knows how these are written.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable
from types import CellType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from perdure.core.futures import Future, Task
from perdure.core.reentry import Reentry, Unit
from perdure.errors import NotNow

Units = dict[int, tuple[int, Unit]]
"""By the identity of a code object: its number among the anchors, and its unit."""

UNSET = type("UNSET", (), {"__slots__": (), "__repr__": lambda _: "<unset>"})()
"""Stands for a local that is not bound."""


async def _nothing() -> None:
    return None


def _wrapper_type() -> type:
    coro = _nothing()
    wrapper = coro.__await__()
    coro.close()
    return type(wrapper)


_AWAIT = Future.__await__.__code__
_WRAPPER = _wrapper_type()
_CLEARED = sys.version_info < (3, 13)
"""Up to 3.12, `f_locals` is a dict that the frame keeps, and with it what was in it."""


class Stood:
    """One frame where it stood."""

    __slots__ = ("at", "cells", "child", "code", "coro", "unit", "values", "wait")

    def __init__(self, coro: Any, code: int, unit: Unit) -> None:
        self.coro = coro
        self.code = code
        self.unit = unit
        self.at = 0
        self.values: tuple[Any, ...] = ()
        self.cells: list[CellType] = []
        self.child = False
        """Whether it awaits the next frame of the list."""
        self.wait: Any = None
        """The future that it awaits, if it is the last of its chain."""


def standing(tasks: list[Task], units: Units) -> list[Stood]:
    """Give every frame of the tasks of a run, chain by chain, outermost first."""
    found: list[Stood] = []
    for task in tasks:
        _chain(task, units, found)
    return found


def _chain(task: Task, units: Units, found: list[Stood]) -> None:
    coro = task.coro
    while True:
        if type(coro) is not CoroutineType:
            raise NotNow(f"{task.name} runs a `{type(coro).__qualname__}`")
        known = units.get(id(coro.cr_code))
        if known is None:
            code = coro.cr_code
            raise NotNow(f"`{code.co_qualname}` is not restorable", at=_place(coro))
        stood = Stood(coro, *known)
        found.append(stood)
        inner = coro.cr_await
        _take_locals(stood, coro)
        if type(inner) is GeneratorType and inner.gi_code is _AWAIT:
            stood.wait = task.waits_on
            return
        if type(inner) is _WRAPPER:  # what `__await__` gave: the same coroutine, in C
            (inner,) = gc.get_referents(inner)
        if type(inner) is not CoroutineType:
            what = f"`{coro.cr_code.co_qualname}` awaits a `{type(inner).__qualname__}`"
            raise NotNow(what, at=_place(coro))
        stood.child = True
        coro = inner


def _place(coro: Any) -> str:
    frame = coro.cr_frame
    if frame is None:
        return ""
    return f"{frame.f_code.co_qualname}:{frame.f_lineno}"


def _take_locals(stood: Stood, coro: Any) -> None:
    held: Any = coro.cr_frame.f_locals
    stood.at = at = held[".at"]
    get = held.get
    stood.values = tuple([get(name, UNSET) for name in stood.unit.saved[at]])
    shown = get(".c")
    if shown is not None:
        by_name = dict(zip(shown.__code__.co_freevars, shown.__closure__, strict=True))
        stood.cells = [by_name[name] for name in stood.unit.cells]
    if _CLEARED:
        held.clear()


# --- putting frames back


def begin_again(
    unit: Unit,
    at: int,
    numbers: tuple[int, ...],
    cells: dict[int, CellType],
    space: dict[str, Any],
    run_in: Callable[..., Any],
) -> tuple[Any, Reentry]:
    """Begin a frame up to the end of its prologue, where it has given its own cells."""
    code: CodeType | None = unit.code
    assert code is not None
    by_name = dict(zip(unit.cells, numbers, strict=True))
    free = tuple(cells.setdefault(by_name[name], CellType()) for name in code.co_freevars)
    coro = _called(FunctionType(code, space, code.co_name, None, free))
    reentry = Reentry(at)
    unit.begin(reentry)
    stopped = run_in(coro.send, None)
    assert stopped is reentry, "a restored frame has to stop in its prologue"
    shown, reentry.cells = reentry.cells, None
    if shown is not None:
        for name, cell in zip(shown.__code__.co_freevars, shown.__closure__, strict=True):
            cells[by_name[name]] = cell
    return coro, reentry


def _called(function: FunctionType) -> Any:
    """Call a coroutine function with nothing in its arguments: they are restored as locals."""
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return function(*[None] * code.co_argcount, **dict.fromkeys(names))


def give_back(reentry: Reentry, unit: Unit, values: tuple[Any, ...], wait: Any) -> None:
    """Hand a frame its locals, and what it awaits."""
    names = unit.saved[reentry.pc]
    held = zip(names, values, strict=True)
    reentry.locals = {name: value for name, value in held if value is not UNSET}
    reentry.wait = wait
    for name in names:
        if name[:2] in _ERRORS:
            error = reentry.locals.get(name)
            if type(error) is tuple and len(error) == 2:
                error = error[1]
            if isinstance(error, BaseException):
                reentry.contexts[name] = (error, error.__context__)


_ERRORS = (".x", ".h")
"""Hidden locals that hold an exception which is raised again on the way back."""


class Child:
    """Awaits a frame that is on its way back, as its coroutine does itself: in C, with no hop."""

    __slots__ = ("coro",)

    def __init__(self, coro: Any) -> None:
        self.coro = coro

    def __await__(self) -> Any:
        """Give the awaiting side of the coroutine."""
        return self.coro.__await__()


def is_unstarted(coro: Any) -> bool:
    """Whether a coroutine has not begun."""
    return inspect.getcoroutinestate(coro) == inspect.CORO_CREATED
