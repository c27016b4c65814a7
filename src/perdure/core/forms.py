"""How each kind of thing in a run is written into an image.

A table from type to form; a form gives what the pickler calls on reading, which is always one of
the makers of `Reading`. What is not in the table, and has no code of a user's in its pickling, is
left to C. Nothing is written by importable name but classes, and a few functions.
"""

from __future__ import annotations

import abc
import collections
import datetime as dt
import decimal
import enum
import fractions
import functools
import gc
import re
import sys
import uuid
import warnings
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any

import msgspec
from msgspec import Raw

from perdure import value_types
from perdure.core.allowed import is_allowed, is_known
from perdure.core.ambient import CURRENT
from perdure.core.calls import Call, Target
from perdure.core.clock import Refusal
from perdure.core.console import RunLogger
from perdure.core.contents import put_user_state
from perdure.core.effects import Finished
from perdure.core.facade import Facade, Handle
from perdure.core.frames import UNSET, code_of, frame_of, has_begun
from perdure.core.futures import PENDING, Callback, Future, Task
from perdure.core.gates import Gate
from perdure.core.loop import Last
from perdure.core.mailbox import Mailbox
from perdure.core.object_forms import (
    PLAIN,
    attrs_form,
    container_form,
    error_form,
    instance_form,
    match_form,
    member_form,
    plain_form,
    struct_form,
)
from perdure.core.policy import DEFAULT_POLICY, Policy, RetryPolicy
from perdure.core.prelude import groups, locks, queues, tasks
from perdure.core.reentry import Guard, Steps, Walk
from perdure.core.remade import FUTURES, READING, RUN, WAKES, Gone, Reading, slots_of
from perdure.core.run import RUNNING, Run
from perdure.core.timers import Timer, Timers
from perdure.errors import NotNow
from perdure.kinds import kind_of
from perdure.lang.source import member
from perdure.ordered import OrderedFrozenSet, OrderedSet
from perdure.value_types import shape_of

Form = Callable[["Writing", Any], Any]
_HEAP_TYPE = 1 << 9
R = Reading


class Writing:
    """What is known while an image is written: the run, its frames and its cells, by number."""

    def __init__(self, run: Any, coroutines: dict[int, int]) -> None:
        self.run = run
        self.coroutines = coroutines
        self.cells: list[CellType] = []
        self.numbers: dict[int, int] = {}
        self.found: list[Any] = []
        """Generators that were met, and are not yet among the frames."""

    def find(self, generator: Any) -> int:
        """Give the number that the frame of a generator will have."""
        number = len(self.coroutines)
        self.coroutines[id(generator)] = number
        self.found.append(generator)
        return number

    def cell_number(self, cell: CellType) -> int:
        """Give the number of a cell; its content is written after everything else."""
        number = self.numbers.get(id(cell))
        if number is None:
            number = self.numbers[id(cell)] = len(self.cells)
            self.cells.append(cell)
        return number


# --- functions and coroutines


def _cell(writing: Writing, cell: CellType) -> Any:
    return R.cell, (READING, writing.cell_number(cell))


def _coroutine(writing: Writing, coro: Any) -> Any:
    """Write a coroutine or a generator: one that runs, waits, is over, or has not begun."""
    number = writing.coroutines.get(id(coro))
    if number is not None:
        return R.frame, (READING, number)
    code = code_of(coro)
    frame = frame_of(coro)
    if frame is None:
        return R.over, (type(coro),)
    if has_begun(coro):
        if type(coro) is CoroutineType:
            raise NotNow(f"`{code.co_qualname}` is held, and is not what a task runs")
        return R.frame, (READING, writing.find(coro))
    function = next((each for each in gc.get_referents(coro) if type(each) is FunctionType), None)
    if function is None or function.__code__ is not code:
        raise NotNow(f"the call of `{code.co_qualname}` that has not begun has no function")
    return R.unstarted, (function, *_arguments(code, frame.f_locals))


def _arguments(code: Any, held: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    names = code.co_varnames
    end = code.co_argcount + code.co_kwonlyargcount
    args = [held[name] for name in names[: code.co_argcount]]
    kwargs = {name: held[name] for name in names[code.co_argcount : end]}
    if code.co_flags & 0x04:
        args += held[names[end]]
        end += 1
    if code.co_flags & 0x08:
        kwargs |= held[names[end]]
    return tuple(args), kwargs


def _function(writing: Writing, function: FunctionType) -> Any:
    code = function.__code__
    module = str(function.__globals__.get("__name__"))
    space = writing.run.space.modules
    own = any(function.__globals__ is each for each in space.values())
    if not own:
        if is_known(function):
            return function.__qualname__
        found = _in_class(function) or _stood_in(writing, function)
        if found is not None:
            return found
    if id(code) not in writing.run.anchors.shared.refs:
        raise NotNow(
            f"`{function.__qualname__}` of `{function.__module__}` is a library's function"
        )
    if own:
        module = next(name for name, each in space.items() if each is function.__globals__)
    state = (
        function.__defaults__,
        function.__kwdefaults__,
        function.__name__,
        function.__qualname__,
        function.__module__,
        function.__doc__,
        function.__annotations__,
        function.__dict__,
    )
    args = (READING, code, own, module, function.__closure__ or ())
    return R.function, args, state, None, None, R.fill_function


def _code(writing: Writing, code: CodeType) -> Any:
    """Write code that the program did not capture: it stays where it is, and has a name."""
    ref = writing.run.anchors.shared.refs.get(id(code))
    if ref is None:
        raise NotNow(f"the code of `{code.co_qualname}` is a library's")
    return R.code, (READING, ref)


def _in_class(function: FunctionType) -> Any:
    """Write a function that a class, or a module of the engine's, holds, as where to find it."""
    module = sys.modules.get(function.__module__)
    owner: Any = module
    *path, name = function.__qualname__.split(".")
    for part in path:
        owner = getattr(owner, part, None)
    if isinstance(owner, type):
        held = vars(owner).get(name)
        if held is function or getattr(held, "__func__", None) is function:
            return R.attribute, (owner, name)
    return None


def _stood_in(writing: Writing, value: Any) -> Any:
    for key, made in writing.run.stand_ins.items():
        if made is value:
            return R.stand_in, (READING, key)
    return None


def _method(_: Writing, method: MethodType) -> Any:
    owner, function = method.__self__, method.__func__
    name = getattr(function, "__name__", "")
    for cls in type(owner).__mro__:
        if name in vars(cls):
            if vars(cls)[name] is function:
                return R.method, (owner, name)
            break
    return R.bound, (function, owner)


def _builtin(_: Writing, function: Any) -> Any:
    owner = function.__self__
    if owner is None or isinstance(owner, (ModuleType, type)):
        if is_known(function):
            return function.__qualname__
        if type(owner) is type and "__" not in function.__name__:
            return R.attribute, (owner, function.__name__)
        raise NotNow(f"`{function.__qualname__}` is a library's function")
    return R.method, (owner, function.__name__)


# --- classes, instances, modules


def _class(writing: Writing, cls: type) -> Any:
    stood_in = _stood_in(writing, cls)
    if stood_in is not None:
        return stood_in
    if "<locals>" in cls.__qualname__:
        return _local_class(writing, cls)
    if not is_allowed(cls):
        raise NotNow(
            f"the class `{cls.__module__}.{cls.__qualname__}` may not be named in an image"
        )
    if cls.__module__ in sys.stdlib_module_names or cls.__module__.startswith("asyncio."):
        return NotImplemented
    return R.cls, (_reference(cls),)


def _local_class(writing: Writing, cls: type) -> Any:
    """Write a class that the run made as what it holds: its body is not run again."""
    kind = type(cls)
    name = f"the class `{cls.__qualname__}`, which is made inside of a function,"
    if kind not in (type, abc.ABCMeta) or any("__init_subclass__" in vars(b) for b in _users(cls)):
        raise NotNow(f"{name} has a class or a base that takes part in making it")
    if type(vars(cls).get("__hash__")) is FunctionType:
        raise NotNow(f"{name} has a `__hash__` that would run while it is made again")
    held = {
        key: value
        for key, value in vars(cls).items()
        if key not in _MADE_BY_TYPE and type(value) is not MemberDescriptorType
    }
    refs = writing.run.anchors.shared.refs
    for each in held.values():
        if type(each) is FunctionType and id(each.__code__) not in refs:
            raise NotNow(f"{name} has code that was made for it: `{each.__qualname__}`")
    args = (kind, cls.__name__, cls.__bases__, held)
    return R.local_class, args, cls.__qualname__, None, None, R.fill_class


_MADE_BY_TYPE = ("__dict__", "__weakref__", "_abc_impl", "__abstractmethods__")


def _users(cls: type) -> list[type]:
    return [each for each in cls.__mro__[1:] if each.__flags__ & _HEAP_TYPE]


def _wrapper(_: Writing, value: Any) -> Any:
    return R.wrapped, (type(value), (value.__func__,))


def _property(_: Writing, value: property) -> Any:
    return R.wrapped, (property, (value.fget, value.fset, value.fdel, value.__doc__))


def _reference(cls: type) -> str:
    try:
        return value_types.reference(cls)
    except value_types.Refusal as refusal:
        raise NotNow(f"the run {refusal.fault}") from None


def _module(_: Writing, module: ModuleType) -> Any:
    name = module.__name__
    if sys.modules.get(name) is not module:
        return R.stand_in, (READING, f"{name}:")
    return R.module, (name,)


def _never(what: str) -> Form:
    def form(_: Writing, value: Any) -> Any:
        name = getattr(value, "__qualname__", type(value).__qualname__)
        raise NotNow(f"{what} `{name}` is alive")

    return form


def _traceback(_: Writing, __: Any) -> Any:
    return R.nothing, ()  # frames that are gone: where it was raised is kept with the exception


def _itertool(_: Writing, iterator: Any) -> Any:
    with warnings.catch_warnings():  # from Python 3.14 on they cannot be written down any more
        warnings.simplefilter("ignore", DeprecationWarning)
        made = iterator.__reduce__()
    return (R.itertool, made) if len(made) <= _ARGS_AND_STATE else made


_ARGS_AND_STATE = 3


def _view(kind: str) -> Form:
    def form(_: Writing, view: Any) -> Any:
        (mapping,) = gc.get_referents(view)
        return R.view, (mapping, kind)

    return form


def _cached(_: Writing, function: Any) -> Any:
    raise NotNow(f"`functools.cache` of `{function.__qualname__}` cannot be written down")


# --- what the engine is made of


def _future(_: Writing, future: Any) -> Any:
    kind = kind_of(future)
    state = (
        future.state, future.value, future.error, future.message, _told(future.waiters),
        future.__dict__ or None, *[getattr(future, name) for name in FUTURES[kind]],
    )  # fmt: skip
    return R.new_future, (READING, kind, future.number), state, None, None, R.fill_future


def _told(waiters: list[Any]) -> tuple[Any, ...]:
    """Give what waits; methods that wake are told by what they belong to."""
    if not waiters:
        return ()
    return tuple([_waiter(each) for each in waiters])


def _waiter(each: Any) -> Any:
    if type(each) is not MethodType or each.__func__ not in _WAKES:
        return each
    return RUN if type(each.__self__) is Run else each.__self__


_WAKES = tuple(WAKES.values())


def _task(writing: Writing, task: Task) -> Any:
    coro: Any = None
    waits_on = context = None
    if task.state == PENDING:
        coro, waits_on = task.coro, task.waits_on
        coro = writing.coroutines.get(id(coro), coro)
        # One that is its own alone, and holds its run alone, says nothing more.
        context = task.context if task.lent or len(task.context) > 1 else True
    state = (
        task.state, task.value, task.error, task.message, _told(task.waiters),
        task.__dict__ or None, coro, waits_on, task.must_cancel, task.cancels, task.name, context,
    )  # fmt: skip
    return R.new_future, (READING, Task, task.number), state, None, None, R.fill_future


def _call(_: Writing, call: Call) -> Any:
    state = (
        call.state, call.value, call.error, call.message, _told(call.waiters), None,
        call.call, call.target, bytes(call.args), call.site, call.policy, call.token,
        call.failures, call.lost, call.deadline, call.not_before_us, call.details,
    )  # fmt: skip
    return R.new_future, (READING, Call, call.number), state, None, None, R.fill_future


def _part(name: str) -> Form:
    """Give the form of something that a run has one of."""

    def form(writing: Writing, value: Any) -> Any:
        own = writing.run if name == "" else getattr(writing.run, name)
        if value is not own:
            raise NotNow(f"a `{type(value).__qualname__}` of another run is held")
        return R.part, (READING, name)

    return form


def _deque(writing: Writing, value: deque[Any]) -> Any:
    return (R.part, (READING, "ready")) if value is writing.run.ready else NotImplemented


def _context(writing: Writing, context: Context) -> Any:
    if context is writing.run.context:
        return R.part, (READING, "context")
    if len(context) <= 1:
        return R.new_context, (READING,)  # it holds its run, and nothing else
    held: list[tuple[Any, Any]] = []
    for var, value in context.items():
        if var is CURRENT:
            continue
        held.append((None if type(value) is decimal.Context else var, value))
    return R.new_context, (READING,), held, None, None, R.fill_context


def _variable(_: Writing, variable: ContextVar[Any]) -> Any:
    raise NotNow(f"the context variable `{variable.name}` is not of the program's")


def _slotted(_: Writing, value: Any) -> Any:
    state = tuple([getattr(value, name, UNSET) for name in slots_of(type(value))])
    return R.new, (type(value),), state, None, None, R.fill_slots


def _walk(_: Writing, walk: Walk) -> Any:
    return R.walk, (walk.over,), (READING, walk.taken, walk.length), None, None, R.fill_walk


def _itself(_: Writing, value: Any) -> Any:
    return value.__reduce__()


def _gone(_: Writing, gone: Gone) -> Any:
    raise NotNow(gone.why)


def _raw(_: Writing, raw: Raw) -> Any:
    return R.raw, (bytes(raw),)


_DICT: dict[Any, Any] = {}
_SLOTTED = (Timer, Gate, Callback, Handle, Guard, Steps, Last)

FORMS: dict[type, Form | None] = {
    **dict.fromkeys(FUTURES, _future),
    Task: _task,
    Call: _call,
    **dict.fromkeys(_SLOTTED, _slotted),
    **dict.fromkeys((range, type(iter(range(0))), type(iter([])), enumerate), _itself),
    CellType: _cell,
    CodeType: _code,
    CoroutineType: _coroutine,
    FunctionType: _function,
    MethodType: _method,
    BuiltinFunctionType: _builtin,
    Run: _part(""),
    Facade: _part("facade"),
    Timers: _part("timers"),
    Mailbox: _part("mailbox"),
    deque: _deque,
    Context: _context,
    ContextVar: _variable,
    Walk: _walk,
    TracebackType: _traceback,
    staticmethod: _wrapper,
    classmethod: _wrapper,
    property: _property,
    Raw: _raw,
    re.Match: match_form,
    Gone: _gone,
    ModuleType: _module,
    GeneratorType: _coroutine,
    AsyncGeneratorType: _coroutine,
    type(functools.lru_cache(lambda: None)): _cached,
    type(_DICT.keys()): _view("keys"),
    type(_DICT.values()): _view("values"),
    type(_DICT.items()): _view("items"),
}

_HOOKS = (
    "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__",
    "__getnewargs_ex__",
)  # fmt: skip


def form_of(kind: Any) -> Form | None:
    """Give the form of a type that is not in the table; None leaves it to the pickler."""
    if issubclass(kind, type):
        return _class
    if issubclass(kind, BaseException):
        return error_form
    if issubclass(kind, enum.Enum):
        return member_form
    if issubclass(kind, ModuleType):
        return _module
    if kind.__module__ == "itertools":
        return _itertool
    if issubclass(kind, msgspec.Struct):
        return struct_form
    if issubclass(kind, Future):
        return _never("the future")
    if not kind.__flags__ & _HEAP_TYPE or kind.__module__ in sys.stdlib_module_names:
        return None
    return _form_of_users(kind)


def _form_of_users(kind: type) -> Form | None:
    if value_types.tag_of(kind) == "attrs":
        return attrs_form
    owners = [each for each in kind.__mro__ if each.__flags__ & _HEAP_TYPE]
    if kind in (OrderedSet, OrderedFrozenSet):
        return None
    hooked = any(name in vars(owner) for owner in owners for name in _HOOKS)
    natively = next(each for each in kind.__mro__ if not each.__flags__ & _HEAP_TYPE)
    if natively in (dict, list, set):
        return container_form
    hooked = hooked or any("__new__" in vars(owner) for owner in owners)
    if natively is object and (hooked or shape_of(kind).slots):
        return instance_form
    if hooked and any(natively is base for base, _ in PLAIN):
        return plain_form
    return None


ENGINE: list[Any] = [
    *(each for name in vars(Reading) if type(each := getattr(Reading, name)) is FunctionType),
    *FUTURES, Task, Call, *_SLOTTED, Walk, Policy, RetryPolicy, DEFAULT_POLICY, Target,
    Finished, RunLogger, Refusal, OrderedSet, OrderedFrozenSet, groups.TaskGroup,
    groups.Timeout, locks.Lock, locks.Event, locks.Condition, locks.Semaphore,
    locks.BoundedSemaphore, locks.Barrier,
    queues.Queue, queues.PriorityQueue, queues.LifoQueue, tasks.Waiting, tasks.AsCompleted,
    CURRENT, put_user_state, tasks.settle, member, CoroutineType, GeneratorType,
    AsyncGeneratorType, CellType, MethodType, deque, ..., NotImplemented,
    iter, reversed, range, enumerate, zip, map, filter, set, frozenset, bytearray, complex, slice,
    dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone,
    decimal.Decimal, fractions.Fraction, uuid.UUID, uuid.SafeUUID, collections.Counter,
    collections.defaultdict, collections.OrderedDict, "", "UTC", RUNNING, "action", "workflow",
]  # fmt: skip
"""What the engine is made of, in the order that every image knows it by."""
