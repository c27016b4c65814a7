"""Workflows that look at the namespace of their run: what is fresh in it, and what is shared."""

# ruff: noqa: C416  (users write such things, and that is what is tested)

from __future__ import annotations

import array
import asyncio
import functools
import importlib
import types
from collections import ChainMap, Counter, OrderedDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from perdure import action, workflow
from tests.core import helpers, other_helpers
from tests.core.helpers import price

SEEN: list[int] = []
BY_NAME: dict[str, int] = {}
NAMES: set[str] = set()
QUEUE: deque[int] = deque(maxlen=2)
COUNTS: Counter[str] = Counter()
GROUPS: defaultdict[str, list[int]] = defaultdict(list)
ORDERED: OrderedDict[str, int] = OrderedDict()
BUFFER = bytearray()

INNER: list[Any] = [1]
OUTER: dict[str, Any] = {"a": INNER, "b": [INNER, (INNER,)], "c": {"deep": INNER}}
OUTER["self"] = OUTER

MISSING = object()
BY_SENTINEL = {MISSING: "missing"}


class Kind:
    pass


class Ledger:
    """A class of the user's: one instance lives in the module."""

    entries_in_all: int = 0

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.owner = MISSING

    def add(self, entry: int) -> int:
        self.entries.append(entry)
        return len(self.entries)


class Slotted:
    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[int] = []


LEDGER = Ledger()
SLOTTED = Slotted()
ADD = LEDGER.add
SPACE = types.SimpleNamespace(count=0)
CHAIN: ChainMap[str, int] = ChainMap({"count": 0})
USER_LIST: UserList[int] = UserList()
NUMBERS = array.array("i")


@action
async def act(value: Any = None) -> Any:
    return value


@workflow
async def fills_everything(number: int) -> Any:
    SEEN.append(number)
    BY_NAME[str(number)] = number
    NAMES.add(str(number))
    QUEUE.append(number)
    COUNTS["x"] += 1
    GROUPS["g"].append(number)
    ORDERED[str(number)] = number
    BUFFER.append(number)
    await act()
    kept = [list(SEEN), dict(BY_NAME), list(NAMES), list(QUEUE), dict(COUNTS), dict(GROUPS)]
    return [*kept, dict(ORDERED), list(BUFFER), QUEUE.maxlen]


def _defaults(number: int, seen: list[int] = [], *, named: dict[str, int] = {}) -> Any:  # noqa: B006
    seen.append(number)
    named[str(number)] = number
    return [list(seen), dict(named)]


@workflow
async def mutable_defaults(number: int) -> Any:
    _defaults(number)
    return _defaults(number + 1)


@functools.cache
def _once(number: int) -> list[int]:
    SEEN.append(number)
    return [number]


@functools.lru_cache(maxsize=1)
def _least_recent(number: int) -> int:
    SEEN.append(number)
    return number


@workflow
async def caches() -> Any:
    same = _once(1) is _once(1)
    for number in (5, 6, 5):
        _least_recent(number)
    return [same, list(SEEN), _least_recent.cache_info().misses]


@workflow
async def shared_identity() -> list[bool]:
    INNER.append(2)
    return [
        OUTER["a"] is INNER,
        OUTER["b"][0] is INNER,
        OUTER["b"][1][0] is INNER,
        OUTER["c"]["deep"] is INNER,
        OUTER["self"] is OUTER,
        OUTER["a"] == [1, 2],
    ]


def _default(value: Any = MISSING) -> bool:
    return value is MISSING


@workflow
async def sentinels() -> list[bool]:
    return [_default(), not _default(1), MISSING in BY_SENTINEL, LEDGER.owner is MISSING]


@workflow
async def through_a_module() -> Any:
    helpers.note("a")
    helpers.CALLS.append("b")
    return [helpers.note("c"), helpers.price(10), price(10), helpers.price is price]


@workflow
async def prices() -> int:
    return price(10)


@workflow
async def prices_through_the_module() -> int:
    return helpers.price(10)


def counter() -> Callable[[], int]:
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return count

    return step


STEP = counter()
STEPS = [STEP, STEP, counter()]


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        SEEN.append(len(SEEN))
        return [function(*args), function(*args)]

    return wrapper


@twice
def _tagged(value: int) -> Any:
    return (value, STEP())


@workflow
async def closures() -> Any:
    STEP()
    return [STEPS[0](), STEPS[1](), STEPS[2](), _tagged(9), _tagged.__name__, list(SEEN)]


@contextmanager
def _noting(number: int) -> Iterator[int]:
    SEEN.append(number)
    try:
        yield number
    finally:
        SEEN.append(-number)


@asynccontextmanager
async def _acting(number: int) -> Any:
    try:
        yield await act(number)
    finally:
        await act(-number)


@workflow
async def contexts() -> Any:
    with _noting(1) as one:
        async with _acting(2) as two:
            SEEN.append(one + two)
    return list(SEEN)


note_five = functools.partial(_defaults, 5, named={})
act_seven = functools.partial(act, 7)


@workflow
async def partials() -> Any:
    return [note_five(), note_five(), await act_seven()]


@workflow
async def instances() -> Any:
    SLOTTED.items.append(1)
    counted = [LEDGER.add(1), ADD(2), len(LEDGER.entries)]
    return [*counted, len(SLOTTED.items), type(LEDGER) is Ledger, ADD.__self__ is LEDGER]


@workflow
async def library_space() -> int:
    SPACE.count += 1
    return SPACE.count


@workflow
async def library_chain() -> int:
    CHAIN["count"] += 1
    return CHAIN["count"]


@workflow
async def library_list() -> int:
    USER_LIST.append(1)
    return len(USER_LIST)


@workflow
async def library_array() -> int:
    NUMBERS.append(1)
    return len(NUMBERS)


@workflow
async def recursion(depth: int) -> int:
    return await _down(depth)


async def _down(depth: int) -> int:
    return 0 if depth == 0 else 1 + await _up(depth - 1)


async def _up(depth: int) -> int:
    await asyncio.sleep(0)
    return await _down(depth)


@workflow
async def set_orders() -> Any:
    words = ["pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"]
    made = set(words)
    made.discard("fig")
    made.add("fig")
    return {
        "literal": list({"pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"}),
        "comprehension": list({word for word in words}),
        "call": list(set(words)),
        "of a set": list(set(frozenset(words))),
        "unpacked": [*{*words[:4], *words[2:]}],
        "added last": list(made)[-1:],
        "frozen": list(frozenset(words)),
        "union": list({"pear", "apple"} | set(words)),
        "difference": list(set(words) - {"plum"}),
        "intersection": list(set(words) & {"lime", "pear", "date"}),
        "popped": [set(words).pop(), {"b", "a"}.pop()],
        "loop": [word for word in ("z", "y", "x", "w", "v", "u")],
        "constant": [word for word in ("pear", "zoo") if word in {"pear", "fig"}],
        "isinstance": [isinstance({1}, set), isinstance(frozenset(), frozenset)],
    }


@workflow
async def set_of_keys() -> Any:
    one = dict.fromkeys(["pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"])
    return list(one.keys() & one.keys())


@workflow
async def imports_inside() -> Any:
    from tests.core import helpers as again

    again.CALLS.append("inside")
    return [again.note("x"), helpers.note("y")]


@workflow
async def packages_imported_inside() -> Any:
    import tests.core.helpers
    import tests.core.helpers as again
    from tests.core.helpers import CALLS

    again.CALLS.append("inside")
    return [CALLS, tests.core.helpers.note("x"), tests.core.helpers.CALLS is CALLS]


@workflow
async def attributes_by_name(name: str) -> Any:
    found = [getattr(helpers, name)("x"), getattr(helpers, "note")("y"), hasattr(helpers, "no")]  # noqa: B009
    listed = [name in vars(helpers), name in helpers.__dict__, name in dir(helpers)]
    return [*found, *listed, helpers.CALLS is vars(helpers)["CALLS"]]


@workflow
async def modules_by_name(name: str) -> Any:
    known = importlib.import_module("tests.core.helpers")
    return [known.note("x"), importlib.import_module(name).note("y")]


def _ask(module: Any, name: str) -> Any:
    return getattr(module, name)


@workflow
async def asks_for_what_was_not_named(name: str) -> Any:
    return [_ask(other_helpers, "__name__"), _ask(other_helpers, name)]


@workflow
async def imports_what_was_not_named(name: str) -> Any:
    return [importlib.import_module("json").dumps(1), importlib.import_module(name)]


TENANT: ContextVar[str] = ContextVar("tenant", default="nobody")


@workflow
async def knows_its_tenant(name: str) -> list[str]:
    before = TENANT.get()
    TENANT.set(name)
    await asyncio.create_task(_renames("inner"))
    return [before, TENANT.get()]


async def _renames(name: str) -> None:
    TENANT.set(name)
    await act(name)


class Settings:
    loaded: ClassVar[list[str]] = []

    @classmethod
    def load(cls, name: str) -> None:
        cls.loaded.append(name)


@workflow
async def keeps_in_a_class(name: str) -> list[str]:
    Settings.load(name)
    return list(Settings.loaded)


@workflow
async def says_where_it_is() -> list[str]:
    return [__name__, counter.__module__, Ledger.__module__, counter.__qualname__]
