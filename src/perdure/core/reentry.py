"""What lowered code calls: the unit of each restorable function, and the helpers of its guards.

Forward execution reads one attribute (`entering`, None) at the start of a coroutine; the rest is
called where an exception, a `with`, or a restore passes.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Generator, Iterator
from types import CodeType
from typing import Any

from perdure.core.ambient import CURRENT
from perdure.kinds import kind_of
from perdure.lang.lower import Outline
from perdure.ordered import OrderedFrozenSet, OrderedSet


class _Never(BaseException):
    """Is never raised: what an `except*` looks for while its frame is dropped."""


class Reentry:
    """One frame on its way back: what its prologue takes, and what it waits on at the end of it."""

    __slots__ = ("cells", "contexts", "ends", "locals", "pc", "step", "wait")

    def __init__(self, at: int, step: Any, *, closes: bool = False) -> None:
        self.ends: Any = GeneratorExit if closes else ()
        """What an asynchronous generator lets pass, which is closed again on its way back."""
        self.step = step
        """What drives the frame: the coroutine itself, or a step of an asynchronous generator."""
        self.cells: Any = None
        self.pc = at
        self.locals: dict[str, Any] = {}
        self.wait: Any = None
        self.contexts: dict[str, tuple[BaseException, BaseException | None]] = {}

    def __await__(self) -> Generator[Any, Any, None]:
        """Stop in the prologue, until the rest of the run is there."""
        yield self

    def put_right(self, name: str) -> None:
        """Give an exception that was raised again the context and the traceback that it had."""
        kept = self.contexts.get(name)
        if kept is not None:
            error, context = kept
            error.__context__ = context
            error.__traceback__ = None


class Unit:
    """One restorable function: how its frames are written down and entered again."""

    __slots__ = (
        "cells", "code", "entering", "module", "own", "place", "saved", "sites", "thread"
    )  # fmt: skip

    def __init__(self, module: str, outline: Outline, *, own: bool) -> None:
        self.module = module
        self.own = own
        """Whether it runs on the namespace of the run, not on that of its module."""
        self.sites = outline.sites
        self.place = outline.place
        self.cells = sorted(outline.cells)
        self.saved = [
            () if site is None else (*outline.locals, *site.hidden) for site in outline.sites
        ]
        """By the number of an await, the locals that an image keeps."""
        self.code: CodeType | None = None
        self.entering: Reentry | None = None
        self.thread = 0

    def __repr__(self) -> str:
        # Part of the text that a program is hashed by: no address may show.
        return "<unit>"

    def yields_from(self, at: int) -> bool:
        """Whether it stands at a `yield from`, in which anything can be gone through."""
        site = self.sites[at]
        return site is not None and site.kind == "from"

    # --- entering

    def begin(self, reentry: Reentry) -> None:
        """Have the next frame of this thread that begins be a restored one."""
        self.thread = get_ident()
        self.entering = reentry

    def enter(self) -> Reentry | None:
        """Take the frame that is to be restored; another thread's is not for this one."""
        if self.thread != get_ident():
            return None
        reentry, self.entering = self.entering, None
        return reentry

    # --- is the run being driven, or is the frame being dropped?

    current: Callable[[], Any] = staticmethod(CURRENT.get)

    @staticmethod
    def live(run: Any) -> bool:
        """Whether the frame's run is what runs: if not, the frame is being dropped."""
        return CURRENT.get() is run

    @staticmethod
    def gone(run: Any) -> Any:
        """Give what to let pass before the user's handlers: the end of a frame that is dropped."""
        return () if CURRENT.get() is run else GeneratorExit

    # --- names that no user can shadow

    exc = staticmethod(sys.exception)
    Everything = BaseException
    Refuted = AssertionError
    Ended = StopAsyncIteration
    Never = _Never
    empty_set = set

    @staticmethod
    def merged(function: Any, words: dict[str, Any], more: Any) -> dict[str, Any]:
        """Add keywords to those of a call, as a call with several `**` does."""
        if not hasattr(more, "keys"):
            kind = type(more).__name__
            raise TypeError(f"{_told(function)} argument after ** must be a mapping, not {kind}")
        for key in more.keys():  # noqa: SIM118 — what a mapping is asked here
            if key in words:
                raise TypeError(
                    f"{_told(function)} got multiple values for keyword argument '{key}'"
                )
            words[key] = more[key]
        return words

    # --- loops

    @staticmethod
    def iterate(iterable: Any) -> Any:
        """Give the iterator of a loop, in a form that can be written down."""
        if type(iterable) in _WALKED:
            return Walk(iterable)
        iterator = iter(iterable)
        return iterator if type(iterator) in _STEADY else Steps(iterator)

    @staticmethod
    def again(iterator: Any) -> Again:
        """Give the iterator of a loop that is entered again, in the middle of a turn."""
        return Again(iterator)

    # --- `with`

    @staticmethod
    def guard(manager: Any, run: Any) -> Guard:
        """Give what enters and leaves a context manager once, restored or not."""
        return Guard(manager, run)

    @staticmethod
    def aenter(manager: Any) -> Any:
        """Begin to enter an asynchronous context manager."""
        cls = kind_of(manager)
        enter = _special(cls, "__aenter__")
        leave = _special(cls, "__aexit__")
        if enter is None or leave is None:
            raise TypeError(_no_protocol(cls, "asynchronous context manager", "__aexit__", enter))
        return _awaitable(enter(manager), "async with", "__aenter__")

    @staticmethod
    def aexit(manager: Any, error: BaseException | None) -> Any:
        """Begin to leave an asynchronous context manager."""
        leave = kind_of(manager).__aexit__
        if error is None:
            left = leave(manager, None, None, None)
        else:
            left = leave(manager, type(error), error, error.__traceback__)
        return _awaitable(left, "async with", "__aexit__")

    @staticmethod
    def aiter(iterable: Any) -> Any:
        """Begin an asynchronous loop."""
        begin = _special(type(iterable), "__aiter__")
        name = type(iterable).__name__
        if begin is None:
            raise TypeError(f"'async for' requires an object with __aiter__ method, got {name}")
        iterator = begin(iterable)
        if _special(type(iterator), "__anext__") is None:
            raise TypeError(
                "'async for' received an object from __aiter__ that does not implement "
                f"__anext__: {type(iterator).__name__}"
            )
        return iterator

    @staticmethod
    def anext(iterator: Any) -> Any:
        """Begin the next turn of an asynchronous loop."""
        return kind_of(iterator).__anext__(iterator)


def _told(function: Any) -> str:
    """Name a function as the interpreter does when its arguments clash."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def _special(cls: Any, name: str) -> Any:
    """Give a special method as the interpreter looks it up."""
    for owner in cls.__mro__:
        if name in vars(owner):
            return getattr(cls, name)
    return None


def _no_protocol(cls: Any, protocol: str, second: str, first: Any) -> str:
    missed = f" (missed {second} method)" if first is not None else ""
    return f"'{cls.__name__}' object does not support the {protocol} protocol{missed}"


def _awaitable(value: Any, what: str, method: str) -> Any:
    if (
        hasattr(kind_of(value), "__await__")
        or hasattr(value, "cr_code")
        or hasattr(value, "gi_code")
    ):
        return value
    raise TypeError(
        f"'{what}' received an object from {method} that does not implement "
        f"__await__: {type(value).__name__}"
    )


# --- which code is restorable

ENGINE_MODULES = [
    "perdure.core.loop", "perdure.core.run", "perdure.core.prelude.tasks",
    "perdure.core.prelude.groups", "perdure.core.prelude.locks", "perdure.core.prelude.queues",
]  # fmt: skip
"""Modules of the engine whose coroutines stand in images."""

_engine: dict[str, CodeType] = {}


def engine_codes() -> dict[str, CodeType]:
    """Give all code of the engine that a run may hold frames of, by name; filled once."""
    return _engine


def unit_of(code: CodeType) -> Unit | None:
    """Give the unit of restorable code: it is one of its constants."""
    return next((each for each in code.co_consts if type(each) is Unit), None)


class Again:
    """The rest of a loop: first the turn in which it stood, whose value is bound already."""

    __slots__ = ("first", "iterator")

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.first = True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.first:
            self.first = False
            return None
        return next(self.iterator)


class Steps:
    """An iterator of the user's or a library's: `iter` was called on it, and is not again."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.iterator)


class Walk:
    """Goes through a dict, a view of one, or a set, and knows how far it has come."""

    __slots__ = ("iterator", "length", "over", "taken")

    def __init__(self, over: Any) -> None:
        self.over = over
        self.iterator = iter(over)
        self.length = len(over)
        self.taken = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        value = next(self.iterator)
        self.taken += 1
        return value

    def go_on(self, taken: int, length: int) -> None:
        """Go as far as another had come; one whose container has changed stands still."""
        self.length = length
        self.taken = taken
        if len(self.over) != length:
            self.iterator = _changed(self.over)
            return
        for _ in range(taken):
            next(self.iterator)


def _changed(over: Any) -> Iterator[Any]:
    """Give what an iterator is whose container has changed: it says so when it is asked."""
    kind = "Set" if type(over) in (set, frozenset) else "dictionary"
    raise_it: dict[int, None] = {0: None}
    iterator = iter(raise_it)
    raise_it[1] = None
    return iterator if kind == "dictionary" else iter(_ChangedSet())


class _ChangedSet:
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise RuntimeError("Set changed size during iteration")


class Guard:
    """Enters and leaves a context manager; a frame that is dropped leaves it as it is."""

    __slots__ = ("inside", "manager", "run")

    def __init__(self, manager: Any, run: Any) -> None:
        cls = kind_of(manager)
        enter = _special(cls, "__enter__")
        if enter is None or _special(cls, "__exit__") is None:
            raise TypeError(_no_protocol(cls, "context manager", "__exit__", enter))
        self.manager = manager
        self.run = run
        self.inside = False

    def __enter__(self) -> Any:
        if self.inside:
            return None
        value = kind_of(self.manager).__enter__(self.manager)
        self.inside = True
        return value

    def __exit__(self, *left: object) -> Any:
        if CURRENT.get() is not self.run:
            return None
        return kind_of(self.manager).__exit__(self.manager, *left)


_ITERABLES: tuple[Any, ...] = ([], (), range(0), range(1 << 70), "", "é", b"", bytearray())
_STEADY: frozenset[Any] = frozenset({Walk, Steps, *(type(iter(each)) for each in _ITERABLES)})
"""Iterators of our own, and those of the builtins: written down as a container and a position."""

_DICT: dict[Any, Any] = {}
_WALKED: frozenset[Any] = frozenset(
    {dict, set, frozenset, OrderedSet, OrderedFrozenSet}
    | {type(_DICT.keys()), type(_DICT.values()), type(_DICT.items())}
)
