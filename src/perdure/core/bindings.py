"""What the names of the outside world mean inside of a run. One table: name to stand-in.

Linking finds the objects of users' modules here by identity, so aliases are found as well.
"""

from __future__ import annotations

import builtins
import contextlib
import datetime as dt
import functools
import importlib
import operator
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from perdure import value_types
from perdure.core import clock, console
from perdure.core.calls import Target
from perdure.core.clock import Refusal
from perdure.core.policy import Policy
from perdure.core.prelude import groups, locks, queues, tasks
from perdure.core.reentry import ENGINE_MODULES, Unit, engine_codes
from perdure.core.run import Run
from perdure.lang.inplace import (
    named,
    restorable_classes,
    restorable_functions,
    restorable_module,
)
from perdure.lang.lower import Outline
from perdure.lang.outside import ONLY_BARE, OUTSIDE, remedy_for
from perdure.ordered import OrderedFrozenSet, OrderedSet
from perdure.registry import lookup

Binder = Callable[[Run], Any]


def _same(value: Any) -> Binder:
    return lambda _: value


_ASYNCIO: dict[str, Any] = {
    "Future": tasks.FutureClass,
    "Task": tasks.TaskClass,
    "gather": tasks.gather,
    "create_task": tasks.create_task,
    "ensure_future": tasks.ensure_future,
    "sleep": tasks.sleep,
    "wait": tasks.wait,
    "wait_for": tasks.wait_for,
    "as_completed": tasks.as_completed,
    "shield": tasks.shield,
    "current_task": tasks.current_task,
    "all_tasks": tasks.all_tasks,
    "get_running_loop": tasks.get_running_loop,
    "get_event_loop": tasks.get_running_loop,
    "iscoroutine": tasks.iscoroutine,
    "TaskGroup": groups.TaskGroup,
    "timeout": groups.timeout,
    "timeout_at": groups.timeout_at,
    "Timeout": groups.Timeout,
    "Lock": locks.Lock,
    "Event": locks.Event,
    "Condition": locks.Condition,
    "Semaphore": locks.Semaphore,
    "BoundedSemaphore": locks.BoundedSemaphore,
    "Barrier": locks.Barrier,
    "Queue": queues.Queue,
    "PriorityQueue": queues.PriorityQueue,
    "LifoQueue": queues.LifoQueue,
}

_RANDOM = (
    "betavariate", "binomialvariate", "choice", "choices", "expovariate", "gammavariate", "gauss",
    "getrandbits", "getstate", "lognormvariate", "normalvariate", "paretovariate", "randbytes",
    "randint", "random", "randrange", "sample", "setstate", "shuffle", "triangular",
    "uniform", "vonmisesvariate", "weibullvariate",
)  # fmt: skip

_IMPORT_MODULE = "importlib:import_module"

BOUND: dict[str, Binder] = {
    **{f"asyncio:{name}": _same(value) for name, value in _ASYNCIO.items()},
    "datetime:datetime": lambda run: clock.class_of_time(run, dt.datetime),
    "datetime:date": lambda run: clock.class_of_time(run, dt.date),
    "time:time": clock.time_s,
    **dict.fromkeys(
        ("time:monotonic", "time:perf_counter", "time:process_time", "time:thread_time"),
        clock.monotonic_s,
    ),
    **{
        f"time:{name}_ns": clock.time_ns
        for name in ("time", "monotonic", "perf_counter", "process_time")
    },
    "time:localtime": lambda run: clock.broken_down(run, local=True),
    "time:gmtime": lambda run: clock.broken_down(run, local=False),
    "time:strftime": clock.strftime,
    "time:ctime": clock.ctime,
    "time:asctime": clock.asctime,
    "time:mktime": clock.mktime,
    "uuid:uuid4": clock.uuid4,
    "uuid:uuid1": clock.uuid4,
    **{f"random:{name}": clock.random_method(name) for name in _RANDOM},
    "random:seed": clock.seed,
    "random:Random": clock.random_class,
    "logging:getLogger": console.get_logger,
    **{f"logging:{name}": console.root_method(name) for name in console.METHODS},
    _IMPORT_MODULE: lambda run: run.stand_ins[_IMPORT_MODULE],  # put there by `builtins_of`
    "builtins:print": console.bound_print,
    "builtins:anext": _same(tasks.anext_),
    "builtins:set": _same(OrderedSet),
    "builtins:frozenset": _same(OrderedFrozenSet),
}
"""`module:name` to what a run has in its place."""

BOUND_MODULES: dict[str, None] = dict.fromkeys(
    ["builtins", "asyncio", *(key.partition(":")[0] for key in (*BOUND, *OUTSIDE))]
)
"""Modules that a run sees through a stand-in. In order: an object of two names has the first."""


class BoundModule(ModuleType):
    """A module of the outside as a run sees it: some of it bound, the rest the real one."""

    def __init__(self, run: Run, real: ModuleType) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(_run=run, _real=real)

    def __getattr__(self, name: str) -> Any:
        value = bind(self.__dict__["_run"], getattr(self.__dict__["_real"], name))
        self.__dict__[name] = value
        return value


def bind(run: Run, value: Any) -> Any:
    """Give what `value` is inside of `run`: a stand-in, a refusal, or itself."""
    if isinstance(value, ModuleType):
        return BoundModule(run, value) if _is_bound_module(value) else value
    key = key_of(value)
    if key is None:
        logger = logger_of(value)
        if logger is not None:
            return console.RunLogger(run, logger, value if hasattr(value, "process") else None)
        if not _is_class_of_time(value):
            return value
        key = value_types.named(value)
        return _once(run, key, lambda run: clock.class_of_time(run, value))
    return _replaced(run, key, value)


def _replaced(run: Run, key: str, value: Any) -> Any:
    return _once(run, key, BOUND[key]) if key in BOUND else _refusal(key, value)


def _refusal(key: str, value: Any) -> Refusal:
    found = _refusals.get(key)
    if found is None:
        name = key.replace(":", ".").removeprefix("builtins.")
        found = Refusal(name, remedy_for(key), value, only_bare=key in ONLY_BARE)
        _refusals[key] = found
    return found


_refusals: dict[str, Refusal] = {}
"""What refuses something is the same for all runs."""


def _once(run: Run, key: str, make: Binder) -> Any:
    if key not in run.stand_ins:
        run.stand_ins[key] = make(run)
    return run.stand_ins[key]


def stand_in(run: Run, key: str) -> Any:
    """Give what stands for the `module:name` that an image names; `None` for anything else."""
    module, _, name = key.partition(":")
    if not name:
        return bind(run, sys.modules[module]) if module in BOUND_MODULES else None
    value = load(key) if key in BOUND else value_types.find(key)
    return bind(run, value) if is_bound(value) else None


def key_of(value: Any) -> str | None:
    """Give the `module:name` under which a value is bound or refused, if it is."""
    found = _by_identity().get(id(value))
    return found[0] if found is not None and found[1] is value else None


def is_bound(value: Any) -> bool:
    """Whether a run sees something else in the place of `value`."""
    if isinstance(value, ModuleType):
        return _is_bound_module(value)
    return key_of(value) is not None or logger_of(value) is not None or _is_class_of_time(value)


def _is_bound_module(module: ModuleType) -> bool:
    # `os.path` has a name of its own on every system.
    return module.__name__ in BOUND_MODULES or module is sys.modules["os.path"]


def _is_class_of_time(value: Any) -> bool:
    """Whether it is a subclass of `datetime` or `date`, which inherits their clock."""
    return type(value) is type and issubclass(value, dt.date) and "<" not in value.__qualname__


def logger_of(value: Any) -> str | None:
    """Give the name of a logger, or `None`."""
    logging = sys.modules.get("logging")
    if logging is not None and isinstance(value, (logging.Logger, logging.LoggerAdapter)):
        return str(value.name)
    return None


_identities: dict[int, tuple[str, Any]] = {}
_not_loaded = dict(BOUND_MODULES)


def _by_identity() -> dict[int, tuple[str, Any]]:
    """Give the table by identity of the real objects, of the modules that are loaded by now."""
    for name in [each for each in _not_loaded if each in sys.modules]:
        del _not_loaded[name]
        module = sys.modules[name]
        for key in (*BOUND, *OUTSIDE):
            owner, _, attribute = key.partition(":")
            if owner == name and attribute in vars(module):
                value = vars(module)[attribute]
                _identities.setdefault(id(value), (key, value))
    return _identities


def builtins_of(run: Run, views: Callable[[str], Any]) -> dict[str, Any]:
    """Give the builtins of a run: CPython's, with what reaches outside replaced.

    `views` gives what a user's module is inside of the run, or `None`.
    """
    own = _common_builtins().copy()
    for name, key in _OF_EACH_RUN.items():
        own[name] = _once(run, key, BOUND[key])
    own["__import__"] = _importer(run, views)
    run.stand_ins[_IMPORT_MODULE] = _module_importer(run, views)
    return own


_OF_EACH_RUN = {"print": "builtins:print"}
"""Builtins that every run has its own of, beside its `__import__`."""


@functools.cache
def _common_builtins() -> dict[str, Any]:
    """Give the builtins of CPython, and what all runs have in the place of some of them."""
    nobody: Any = None
    own = dict(vars(builtins))
    for key in (*BOUND, *OUTSIDE):
        module, _, name = key.partition(":")
        if module == "builtins" and name in own and name not in _OF_EACH_RUN:
            own[name] = BOUND[key](nobody) if key in BOUND else _refusal(key, own[name])
    return own


def _importer(run: Run, views: Callable[[str], Any]) -> Callable[..., Any]:
    def import_(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        module = builtins.__import__(name, globals, locals, fromlist, level)
        view = views(module.__name__)
        return bind(run, module) if view is None else view

    return import_


def _module_importer(run: Run, views: Callable[[str], Any]) -> Callable[..., Any]:
    def import_module(name: str, package: str | None = None) -> Any:
        module = importlib.import_module(name, package)
        view = views(module.__name__)
        return bind(run, module) if view is None else view

    return import_module


def prepare() -> None:
    """Make the engine's own coroutines restorable, once, before anything of them runs."""
    if not engine_codes():
        for name in ENGINE_MODULES:
            engine_codes().update(restorable_module(sys.modules[name], _SELF))
        # What `@asynccontextmanager` waits in, and the functions that it makes around the user's.
        engine_codes().update(restorable_classes(contextlib, _SELF))
        for module in [sys.modules[name] for name in _WAITING if name in sys.modules]:
            engine_codes().update(restorable_classes(module, _SELF))
            functions = [getattr(module, name) for name in _WAITS if hasattr(module, name)]
            engine_codes().update(named(functions) | restorable_functions(functions, _SELF))
        engine_codes().update(named(_MANAGERS))


_WAITING = (
    "asyncio.futures", "asyncio.locks", "asyncio.queues", "asyncio.taskgroups", "asyncio.tasks",
    "asyncio.timeouts",
)  # fmt: skip
_WAITS = ("sleep", "wait_for", "_set_result_unless_cancelled")
"""What the methods of users' classes wait in: they call asyncio itself, on the run's own loop."""

_MANAGERS: Any = (
    contextlib.contextmanager,
    contextlib.asynccontextmanager,
    contextlib.ContextDecorator.__call__,
    vars(contextlib)["_BaseExitStack"]._create_cb_wrapper,
)

_SELF: Any = sys.modules[__name__]


def unit(module: str, outline: Outline, *, own: bool) -> Unit:
    """Give what the code of a restorable function finds its helpers in."""
    return Unit(module, outline, own=own)


def callee_of(value: Any) -> dict[str, Any] | None:
    """Give what tells an action or a workflow, its policy included, or `None`."""
    target = getattr(value, "target", None)
    if type(target) is not Target:
        return None
    return {"kind": target.kind, "name": target.name, "policy": msgspec.to_builtins(value.policy)}


def callee(told: dict[str, Any]) -> Any:
    """Give the action or the workflow that was told, under the policy that was told."""
    policy = msgspec.convert(told["policy"], Policy)
    return lookup(told["kind"], told["name"]).pinned(policy)


def load(key: str) -> Any:
    """Give the real object of a `module:name`."""
    module, _, name = key.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))
