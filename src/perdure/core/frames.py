"""The native frames of a run: found, described, and put back to where they stood.

A task's coroutine awaits another coroutine, and so on down to a future; each frame of such a
chain is a unit, the number of an await, and locals. Nothing here knows how these are written.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from operator import attrgetter
from types import (
    AsyncGeneratorType,
    CellType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
)
from typing import Any

from perdure.core.futures import Future, Task
from perdure.core.reentry import Again, Reentry, Unit, unit_of
from perdure.errors import NotNow
from perdure.kinds import kind_of

Units = dict[int, tuple[int | str, Unit]]
"""By the identity of a code object: its number among the anchors or its name, and its unit."""


class _Unset:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<unset>"


UNSET = _Unset()
"""Stands for a local that is not bound."""


async def _nothing() -> None:
    return None


def _wrapper_type() -> type:
    coro = _nothing()
    wrapper = coro.__await__()
    coro.close()
    return type(wrapper)


async def _no_steps() -> AsyncGenerator[None, None]:
    yield


def _step_types() -> tuple[type, type]:
    step, end = _no_steps().asend(None), _no_steps().aclose()
    step.close()
    end.close()
    return type(step), type(end)


_AWAIT = Future.__await__.__code__
_STEP, _ENDING = _step_types()
WRAPPERS = (_wrapper_type(), _STEP, _ENDING)
_CLEARED = sys.version_info < (3, 13)
"""Up to 3.12, `f_locals` is a dict that the frame keeps, and with it what was in it."""


_NONE: list[Any] = []


ALONE, AWAITS, CLOSES = range(3)
"""What a frame has to do with the next one of the list."""


class Stood:
    """One frame where it stood."""

    __slots__ = ("at", "cells", "child", "code", "coro", "unit", "values", "wait")

    def __init__(self, coro: Any, code: int | str, unit: Unit) -> None:
        self.coro = coro
        self.code = code
        self.unit = unit
        self.at = 0
        self.values: list[Any] = _NONE
        self.cells: list[CellType] = _NONE
        self.child = ALONE
        """Whether it awaits the next frame of the list, or that this one is closed."""
        self.wait: Any = None
        """The future that it awaits, if it is the last of its chain."""


def standing(tasks: list[Task], units: Units) -> list[Stood]:
    """Give every frame of the tasks of a run, chain by chain, outermost first."""
    found: list[Stood] = []
    for task in tasks:
        kind = kind_of(task.coro)
        if kind is not CoroutineType:
            raise NotNow(f"{task.name} runs a `{kind.__qualname__}`")
        chain(task.coro, task.waits_on, units, found)
    return found


def chain(outer: Any, waits_on: Any, units: Units, found: list[Stood]) -> None:
    """Add the frames of a coroutine or a generator, and of what it awaits, and so on."""
    coro = outer
    while True:
        code, frame, inner = _PARTS[type(coro)](coro)
        known = units.get(id(code))
        if known is None:
            raise NotNow(f"`{code.co_qualname}` is not restorable", at=place(coro))
        stood = Stood(coro, *known)
        found.append(stood)
        _take_locals(stood, frame)
        kind = kind_of(inner)
        if kind in _LEAVES:
            return  # a generator that has yielded, and is asked for more by nobody now
        if kind is GeneratorType and inner.gi_code is _AWAIT:
            stood.wait = waits_on if waits_on is not None else inner.gi_frame.f_locals["self"]
            return
        stood.child = AWAITS
        if kind in WRAPPERS:
            if _is_closing(inner):
                stood.child = CLOSES
            inner = behind(inner)
        if type(inner) not in _PARTS:
            stood.child = ALONE
            if stood.unit.yields_from(stood.at):
                stood.wait = inner
                return
            what = f"`{code.co_qualname}` awaits a `{type(inner).__qualname__}`"
            raise NotNow(what, at=place(coro))
        coro = inner


_CODE: dict[type, str] = {
    CoroutineType: "cr_code",
    GeneratorType: "gi_code",
    AsyncGeneratorType: "ag_code",
}
_FRAME: dict[type, str] = {
    CoroutineType: "cr_frame",
    GeneratorType: "gi_frame",
    AsyncGeneratorType: "ag_frame",
}
_PARTS: dict[type, Callable[[Any], tuple[Any, Any, Any]]] = {
    CoroutineType: attrgetter("cr_code", "cr_frame", "cr_await"),
    GeneratorType: attrgetter("gi_code", "gi_frame", "gi_yieldfrom"),
    AsyncGeneratorType: attrgetter("ag_code", "ag_frame", "ag_await"),
}
"""Its code, its frame, and what it awaits."""
_LEAVES = (type(None),)


def frame_of(coro: Any) -> Any:
    """Give the frame of a coroutine or a generator; None when it is over."""
    return getattr(coro, _FRAME[type(coro)])


def code_of(coro: Any) -> CodeType:
    """Give the code of a coroutine or a generator."""
    code: CodeType = getattr(coro, _CODE[type(coro)])
    return code


def has_begun(coro: Any) -> bool:
    """Whether a coroutine or a generator has begun."""
    kind = kind_of(coro)
    if kind is CoroutineType:
        return inspect.getcoroutinestate(coro) != inspect.CORO_CREATED
    if kind is GeneratorType:
        return inspect.getgeneratorstate(coro) != inspect.GEN_CREATED
    # One that is not lowered does not tell: it counts as begun, for it must not begin twice.
    return unit_of(coro.ag_code) is None or ".r" in coro.ag_frame.f_locals


def awaited_by(coro: Any) -> Any:
    """Give the coroutine that a coroutine awaits, be it through a wrapper that is made in C."""
    inner = coro.cr_await
    return behind(inner) if kind_of(inner) in WRAPPERS else inner


def behind(wrapper: Any) -> Any:
    """Give what an awaiting wrapper, which is made in C, drives."""
    held = gc.get_referents(wrapper)
    return next((each for each in held if type(each) in _CODE), wrapper)


def _is_closing(wrapper: Any) -> bool:
    """Whether it is what `aclose` gave: what `athrow` gave holds an exception besides."""
    if kind_of(wrapper) is not _ENDING:
        return False
    return all(type(each) in _CODE for each in gc.get_referents(wrapper))


def place(coro: Any) -> str:
    """Say where a coroutine or a generator stands."""
    frame = frame_of(coro)
    return "" if frame is None else f"{frame.f_code.co_qualname}:{frame.f_lineno}"


def _take_locals(stood: Stood, frame: Any) -> None:
    held: Any = frame.f_locals
    at: int = held[".at"]
    stood.at = at
    unit = stood.unit
    get = held.get
    stood.values = [get(name, UNSET) for name in unit.saved[at]]
    shown = get(".c") if unit.cells else None
    if shown is not None:
        by_name = dict(zip(shown.__code__.co_freevars, shown.__closure__, strict=True))
        stood.cells = [by_name[name] for name in unit.cells]
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
    *,
    closes: bool,
) -> tuple[Any, Reentry]:
    """Begin a frame up to the end of its prologue, where it has given its own cells.

    With `closes` it is an asynchronous generator that was being closed.
    """
    code: CodeType | None = unit.code
    assert code is not None
    by_name = dict(zip(unit.cells, numbers, strict=True))
    free = tuple(cells.setdefault(by_name[name], CellType()) for name in code.co_freevars)
    coro = _called(FunctionType(code, space, code.co_name, None, free))
    reentry = Reentry(at, coro, closes=closes)
    unit.begin(reentry)
    if kind_of(coro) is AsyncGeneratorType:
        stopped = _first_step(coro, run_in)
        reentry.step = coro.aclose() if closes else coro.asend(None)
    else:
        stopped = run_in(coro.send, None)
    assert stopped is reentry, "a restored frame has to stop in its prologue"
    shown, reentry.cells = reentry.cells, None
    if shown is not None:
        for name, cell in zip(shown.__code__.co_freevars, shown.__closure__, strict=True):
            cells[by_name[name]] = cell
    return coro, reentry


def _first_step(generator: Any, run_in: Callable[..., Any]) -> Any:
    """Have an asynchronous generator yield for the first time."""
    try:
        return run_in(generator.asend(None).send, None)
    except StopIteration as yielded:
        return yielded.value


def _called(function: FunctionType) -> Any:
    """Call a coroutine function with nothing in its arguments: they are restored as locals."""
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return function(*[None] * code.co_argcount, **dict.fromkeys(names))


def give_back(reentry: Reentry, unit: Unit, values: list[Any], wait: Any) -> None:
    """Hand a frame its locals, and what it awaits."""
    names = unit.saved[reentry.pc]
    if wait is not None and type(wait) is not Child and unit.yields_from(reentry.pc):
        wait = wait if isinstance(wait, Future) else Again(wait)
    held = zip(names, values, strict=True)
    reentry.locals = {name: value for name, value in held if value is not UNSET}
    reentry.wait = wait
    for name in names:
        if name[:2] in _ERRORS:
            error: Any = reentry.locals.get(name)
            if kind_of(error) is tuple and len(error) == 2:
                error = error[1]
            if isinstance(error, BaseException):
                reentry.contexts[name] = (error, error.__context__)


_ERRORS = (".x", ".h")
"""Hidden locals that hold an exception which is raised again on the way back."""


class Child:
    """Stands for a frame that is on its way back, awaited as it was: in C, with no hop."""

    __slots__ = ("step",)

    def __init__(self, step: Any) -> None:
        self.step = step

    def __await__(self) -> Any:
        """Give what drives it."""
        return self.step.__await__() if kind_of(self.step) is CoroutineType else self.step

    __iter__ = __await__
