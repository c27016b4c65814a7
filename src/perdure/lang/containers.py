"""Containers and wrappers: by kind, how what a module holds is copied for each run.

A table from type to capturer, which looks at a live object and gives the recipe of its copy.
"""

from __future__ import annotations

import functools
import random
import types
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Protocol, cast

from perdure.lang.recipes import Frozen, Items, Recipe, Same
from perdure.ordered import OrderedFrozenSet, OrderedSet


class Capturing(Protocol):
    """What a capturer needs of the capture: recipes for the parts."""

    recipes: list[Any]

    def capture(self, value: Any, place: Any) -> int:
        """Give the index of the recipe of `value`."""
        ...


Capturer = Callable[["Capturing", Any, Any], Recipe]


def _every(capture: Capturing, values: Any, place: Any) -> tuple[int, ...]:
    return tuple([capture.capture(each, place) for each in values])


def _members(kind: str) -> Capturer:
    def capturer(capture: Capturing, value: Any, place: Any) -> Recipe:
        return Items(kind, (), _every(capture, _in_order(value), place))

    return capturer


def _in_order(value: Any) -> Any:
    """Give the members of a plain set in an order that every process comes to."""
    if type(value) not in (set, frozenset):
        return value
    return sorted(value, key=lambda each: (type(each).__qualname__, repr(each)))


def _deque(capture: Capturing, value: Any, place: Any) -> Recipe:
    return Items("deque", (value.maxlen,), _every(capture, value, place))


def _pairs(kind: str) -> Capturer:
    def capturer(capture: Capturing, value: Any, place: Any) -> Recipe:
        return Items(kind, (), _every(capture, _flat(value), place))

    return capturer


def _flat(mapping: Any) -> list[Any]:
    pairs = cast("dict[Any, Any]", mapping).items()
    return [each for pair in pairs for each in pair]


def _default_dict(capture: Capturing, value: Any, place: Any) -> Recipe:
    members = [value.default_factory, *_flat(value)]
    return Items("defaultdict", (), _every(capture, members, place))


def _tuple(capture: Capturing, value: Any, place: Any) -> Recipe:
    members = _every(capture, _in_order(value), place)
    if type(value) is tuple and all(isinstance(capture.recipes[each], Same) for each in members):
        return Same(value)
    return Frozen("frozenset" if isinstance(value, frozenset) else "tuple", (), members)


def _bytes(capture: Capturing, value: bytearray, place: Any) -> Recipe:
    return Frozen("bytearray", (), _every(capture, [bytes(value)], place))


def _array(capture: Capturing, value: array[Any], place: Any) -> Recipe:
    return Frozen("array", (value.typecode,), _every(capture, [value.tobytes()], place))


def _partial(capture: Capturing, value: Any, place: Any) -> Recipe:
    parts = [value.func, *value.args, *value.keywords.values()]
    return Frozen("partial", (tuple(value.keywords),), _every(capture, parts, place))


def _cached(capture: Capturing, value: Any, place: Any) -> Recipe:
    told = value.cache_parameters()
    members = _every(capture, [value.__wrapped__], place)
    return Frozen("cache", (told["maxsize"], told["typed"]), members)


def _builtin_method(capture: Capturing, value: Any, place: Any) -> Recipe:
    """`log = LOG.append` at the top of a module: the method of the run's own `LOG`."""
    owner = value.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return Same(value)
    return Frozen("attribute", (value.__name__,), _every(capture, [owner], place))


def _mapping_proxy(capture: Capturing, value: Any, place: Any) -> Recipe:
    return Frozen("mappingproxy", (), _every(capture, [value | {}], place))


def _generator(capture: Capturing, value: random.Random, place: Any) -> Recipe:
    return Frozen("random", (), _every(capture, [value.getstate()], place))


def _method(capture: Capturing, value: types.MethodType, place: Any) -> Recipe:
    return Frozen("method", (), _every(capture, [value.__func__, value.__self__], place))


CAPTURERS: dict[type, Capturer] = {
    types.MethodType: _method,
    functools.partial: _partial,
    type(functools.lru_cache(lambda: None)): _cached,
    list: _members("list"),
    set: _members("set"),
    OrderedSet: _members("set"),
    deque: _deque,
    dict: _pairs("dict"),
    OrderedDict: _pairs("OrderedDict"),
    Counter: _pairs("Counter"),
    defaultdict: _default_dict,
    types.BuiltinMethodType: _builtin_method,
    types.MappingProxyType: _mapping_proxy,
    random.Random: _generator,
    tuple: _tuple,
    frozenset: _tuple,
    OrderedFrozenSet: _tuple,
    bytearray: _bytes,
    array: _array,
}
