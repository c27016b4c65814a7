"""Making things again: what an image has the pickler call while it is read.

Each is found by its number among the anchors, never by a name. No code of a user runs here, but
the `__hash__` and `__eq__` of what stands in a set or as a key.
"""

from __future__ import annotations

import contextlib
import decimal
import re
import sys
import warnings
from collections.abc import AsyncGenerator, Callable
from contextvars import Context
from types import AsyncGeneratorType, CellType, CodeType, CoroutineType, FunctionType, MethodType
from typing import Any, cast

from msgspec import Raw

from perdure import value_types
from perdure.core import bindings
from perdure.core.allowed import is_allowed
from perdure.core.ambient import CURRENT
from perdure.core.calls import Call
from perdure.core.frames import UNSET
from perdure.core.futures import PENDING, Future, Task
from perdure.core.prelude import tasks
from perdure.core.reentry import Walk
from perdure.core.run import Run
from perdure.errors import BadImage
from perdure.kinds import kind_of
from perdure.value_types import shape_of

_HEAP_TYPE = 1 << 9

FUTURES: dict[type, tuple[str, ...]] = {
    Future: (),
    tasks.Gathering: tasks.Gathering.__slots__,
    tasks.Shield: tasks.Shield.__slots__,
}
"""Futures of the engine, and what each holds beyond what all hold."""


WAKES: dict[Any, Any] = {
    Task: Task.wake,
    Run: vars(Run)["_main_done"],
    tasks.Gathering: tasks.Gathering.child_done,
}
"""What wakes most waiters: such a method is written as the object that it belongs to."""


def slots_of(cls: Any) -> tuple[str, ...]:
    """Give the names of what an object of the engine's holds."""
    known = _slots.get(cls)
    if known is None:
        known = _slots[cls] = tuple(shape_of(cls).slots)
    return known


_slots: dict[Any, tuple[str, ...]] = {}
_WRAPPERS: tuple[Any, ...] = (staticmethod, classmethod)


async def _ended_coroutine() -> None:
    return None


def _ended_generator() -> Any:
    yield


def _ended_steps() -> Any:
    async def steps() -> AsyncGenerator[None, None]:
        yield

    made = steps()
    with contextlib.suppress(StopIteration):
        made.aclose().send(None)
    return made


class Gone:
    """Stands for something that the new code of a run does not have; it is never written down."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


class Reading:
    """What makes things again while an image is read."""

    def __init__(self, run: Any, shared: Any) -> None:
        self.run = run
        self.shared = shared
        self.coroutines: list[Any] = []
        self.cells: dict[int, CellType] = {}
        self.walks: list[tuple[Walk, int, int]] = []
        self.things: list[Any] | None = None
        """What the new program has in the place of what was built, when a run is moved."""
        self.held: Callable[[Any, Any], Any] | None = None
        """Gives the code and the cells that a function has from now on, when a run is moved."""

    def code(self, ref: int | str) -> CodeType:
        """Give code by its number, or by its name."""
        if isinstance(ref, int):
            numbered: CodeType = self.shared.anchors[ref]
            return numbered
        found: CodeType | None = self.shared.named.get(ref)
        if found is None:
            raise BadImage(f"`{ref.partition('#')[0]}` is not what it was when the image was taken")
        return found

    def frame(self, number: int) -> Any:
        """Give a coroutine that has begun."""
        return self.coroutines[number]

    def built(self, at: int) -> Any:
        """Give what the program built for the run."""
        return (self.run.space.built if self.things is None else self.things)[at]

    def part(self, name: str) -> Any:
        """Give a part of the run, or the run itself."""
        return self.run if name == "" else getattr(self.run, name)

    def cell(self, number: int) -> CellType:
        """Give a variable that functions share."""
        return self.cells.setdefault(number, CellType())

    @staticmethod
    def unstarted(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give a coroutine that has not begun."""
        return function(*args, **kwargs)

    @staticmethod
    def nothing() -> None:
        """Give what stands for a traceback."""

    @staticmethod
    def over(kind: Any) -> Any:
        """Give a coroutine or a generator that has ended."""
        if kind is AsyncGeneratorType:
            return _ended_steps()
        made = _ended_coroutine() if kind is CoroutineType else _ended_generator()
        made.close()
        return made

    # --- functions

    def function(self, code: Any, own: Any, module: str, cells: tuple[Any, ...]) -> FunctionType:
        """Give a function that the run made."""
        if self.held is not None:
            code, cells = self.held(code, cells)
        space = self.space(module, own=own)
        return FunctionType(code, space, code.co_name, None, cells)

    def space(self, module: str, *, own: bool) -> dict[str, Any]:
        """Give the namespace that code of a module runs on."""
        if own:
            found: dict[str, Any] = self.run.space.modules[module]
            return found
        live = value_types.live_module(module)
        if live is None:
            raise BadImage(f"there is no module `{module}` in this process")
        return vars(live)

    @staticmethod
    def fill_function(function: Any, state: tuple[Any, ...]) -> None:
        """Give a function its defaults and what else hangs on it."""
        function.__defaults__, function.__kwdefaults__ = state[:2]
        function.__name__, function.__qualname__, function.__module__ = state[2:5]
        function.__doc__, function.__annotations__ = state[5:7]
        function.__dict__.update(state[7])

    @staticmethod
    def method(owner: Any, name: str) -> Any:
        """Give a bound method, without asking the object."""
        for cls in type(owner).__mro__:
            if name in vars(cls):
                return vars(cls)[name].__get__(owner, type(owner))
        raise BadImage(f"`{type(owner).__qualname__}` has no method `{name}`")

    @staticmethod
    def bound(function: Any, owner: Any) -> MethodType:
        """Give a method of a function that belongs to no class."""
        return MethodType(function, owner)

    @staticmethod
    def attribute(kind: type, name: str) -> Any:
        """Give a function that a class holds."""
        found: Any = vars(kind)[name]
        return found.__func__ if isinstance(found, _WRAPPERS) else found

    def stand_in(self, key: str) -> Any:
        """Give what stands for something of the outside."""
        found = bindings.stand_in(self.run, key)
        if found is None:
            raise BadImage(f"the image names `{key}`")
        return found

    # --- classes and their instances

    @staticmethod
    def cls(name: str) -> type:
        """Give a class of the user's by its name."""
        found = value_types.find(name)
        if found is None or not is_allowed(found):
            raise BadImage(f"there is no class `{name}` in this process that an image may name")
        return found

    @staticmethod
    def local_class(kind: Any, name: str, bases: tuple[Any, ...], held: dict[str, Any]) -> type:
        """Make a class that a run made, without running its body again."""
        made: type = kind(name, bases, held)
        return made

    @staticmethod
    def fill_class(made: Any, qualname: str) -> None:
        """Give such a class the name that it had."""
        made.__qualname__ = qualname

    @staticmethod
    def wrapped(kind: Any, parts: tuple[Any, ...]) -> Any:
        """Make a property, or another thing that a class wraps its functions in."""
        return kind(*parts)

    @staticmethod
    def new(kind: Any) -> Any:
        """Make an object bare."""
        return object.__new__(kind)

    @staticmethod
    def plain(base: Any, kind: Any, value: Any) -> Any:
        """Make an object that is a text, a number or a tuple besides."""
        return base.__new__(kind, value)

    @staticmethod
    def match(
        pattern: re.Pattern[Any], text: Any, pos: int, endpos: int, how: str, span: tuple[int, int]
    ) -> Any:
        """Match a pattern again, as it was matched."""
        found: Any = getattr(pattern, how)(text, pos, endpos)
        if how == "finditer":
            return next((each for each in found if each.span() == span), None)
        return found

    @staticmethod
    def container(base: Any, kind: Any) -> Any:
        """Make an object that is a dict, a list or a set besides, empty."""
        return base.__new__(kind)

    @staticmethod
    def fill_slots(made: Any, state: tuple[Any, ...]) -> None:
        """Give an object of the engine's its attributes."""
        for name, value in zip(slots_of(type(made)), state, strict=True):
            if value is not UNSET:
                setattr(made, name, value)

    @staticmethod
    def fill(made: Any, state: dict[str, Any]) -> None:
        """Give an object its attributes, below its properties and `__setattr__`."""
        shape_of(kind_of(made)).fill(made, state)

    @staticmethod
    def struct(kind: Any, fields: dict[str, Any]) -> Any:
        """Make a struct without its `__post_init__`."""
        return value_types.record_of("struct", kind).make(fields, {})

    @staticmethod
    def member(kind: Any, key: Any) -> Any:
        """Give a member of an enum."""
        return value_types.member_of(kind, key)

    @staticmethod
    def module(name: str) -> Any:
        """Give a module that is imported."""
        return sys.modules[name]

    @staticmethod
    def view(mapping: dict[Any, Any], kind: str) -> Any:
        """Give a view of a dict."""
        return {"keys": mapping.keys, "values": mapping.values, "items": mapping.items}[kind]()

    @staticmethod
    def walk(over: Any) -> Walk:
        """Begin to go through a dict or a set."""
        return Walk(over)

    @staticmethod
    def fill_walk(walk: Walk, state: tuple[Reading, int, int]) -> None:
        """Go on where it stood, once all is there."""
        reading, taken, length = state
        reading.walks.append((walk, taken, length))

    @staticmethod
    def itertool(kind: Any, args: tuple[Any, ...], state: Any = None) -> Any:
        """Make an iterator of `itertools`, which says on 3.12 and 3.13 that it soon cannot."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            made = kind(*args)
            if state is not None:
                made.__setstate__(state)
        return made

    # --- what the engine is made of

    def new_future(self, cls: Any, number: int) -> Any:
        """Make a future that can be hashed already."""
        made = cls.__new__(cls)
        made.loop = self.run
        made.number = number
        made.required = 1
        made.traceback = None
        return made

    @staticmethod
    def fill_future(made: Any, state: tuple[Any, ...]) -> None:
        """Give a future its state."""
        made.state, made.value, made.error, made.message, waiters, notes, *more = state
        made.completed = 0 if made.state == PENDING else 1
        made.waiters = [
            each if (wake := WAKES.get(type(each))) is None else MethodType(wake, each)
            for each in waiters
        ]
        if notes:
            made.__dict__.update(notes)
        if type(made) is Task:
            Reading._fill_task(made, more)
        elif type(made) is Call:
            Reading._fill_call(made, more)
        else:
            for name, value in zip(FUTURES[type(made)], more, strict=True):
                setattr(made, name, value)

    @staticmethod
    def _fill_task(task: Task, more: list[Any]) -> None:
        task.coro, task.waits_on, task.must_cancel, task.cancels, task.name, context = more
        task.lent = type(context) is Context
        if context is True:
            context = Context()
            context.run(CURRENT.set, task.loop)
        task.context = Context() if context is None else context

    @staticmethod
    def _fill_call(call: Call, more: list[Any]) -> None:
        call.call, call.target, args, call.site, call.policy = more[:5]
        call.token, call.failures, call.lost, call.deadline = more[5:9]
        call.not_before_us, call.details = more[9:]
        call.run = cast("Any", call.loop)
        call.args = Raw(args)

    def new_context(self) -> Context:
        """Make a context of the run."""
        made = Context()
        made.run(CURRENT.set, self.run)
        return made

    @staticmethod
    def fill_context(made: Context, held: list[tuple[Any, Any]]) -> None:
        """Set the variables of a context."""
        for var, value in held:
            if var is None:
                made.run(decimal.setcontext, value)
            else:
                made.run(var.set, value)

    @staticmethod
    def new_error(kind: Any, group: tuple[Any, ...] | None) -> Any:
        """Make an exception without its `__init__`."""
        if group is not None:
            return BaseExceptionGroup.__new__(kind, *group)
        native: Any = next(each for each in kind.__mro__ if not each.__flags__ & _HEAP_TYPE)
        return native.__new__(kind)

    @staticmethod
    def fill_error(made: BaseException, state: tuple[Any, ...]) -> None:
        """Give an exception all that it held."""
        args, attributes, fields, cause, context, suppress = state
        made.args = args
        shape_of(type(made)).fill(made, attributes)
        for base, name, value in fields:
            base.__dict__[name].__set__(made, value)
        made.__cause__, made.__context__ = cause, context
        made.__suppress_context__ = suppress

    @staticmethod
    def raw(data: bytes) -> Raw:
        """Give text that is a value."""
        return Raw(data)


READING = type("READING", (), {"__slots__": ()})()
"""Stands for the reading in what is written; on reading, it is the reading itself."""

RUN = type("RUN", (), {"__slots__": ()})()
"""Stands for the run in the same way, where it waits for its main task."""
