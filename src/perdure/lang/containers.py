"""Containers and wrappers: by kind, how what a module holds is copied for each run.

A table from type to maker; a maker looks at a live object and gives the recipe of its copy.
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
    """What a maker needs of the capture: recipes for the parts."""

    recipes: list[Any]

    def capture(self, value: Any, place: Any) -> int:
        """Give the index of the recipe of `value`."""
        ...


Maker = Callable[["Capturing", Any, Any], Recipe]


def _list_like(make: Callable[[Any], Callable[[], Any]]) -> Maker:
    def maker(capture: Capturing, value: Any, place: Any) -> Recipe:
        members = tuple(capture.capture(each, place) for each in _in_order(value))
        return Items(make(value), _extend, members)

    return maker


def _in_order(value: Any) -> Any:
    """Give the members of a plain set in an order that every process comes to."""
    if type(value) not in (set, frozenset):
        return value
    return sorted(value, key=lambda each: (type(each).__qualname__, repr(each)))


def _extend(made: Any, members: list[Any]) -> None:
    for member in members:
        (made.append if hasattr(made, "append") else made.add)(member)


def _dict_like(make: Callable[[Any], Callable[[], Any]]) -> Maker:
    def maker(capture: Capturing, value: Any, place: Any) -> Recipe:
        pairs = cast("dict[Any, Any]", value).items()
        flat: list[Any] = [each for pair in pairs for each in pair]
        return Items(make(value), _put, tuple(capture.capture(each, place) for each in flat))

    return maker


def _put(made: dict[Any, Any], members: list[Any]) -> None:
    made.update(zip(members[::2], members[1::2], strict=True))


def _tuple(capture: Capturing, value: Any, place: Any) -> Recipe:
    members = tuple(capture.capture(each, place) for each in _in_order(value))
    if type(value) is tuple and all(isinstance(capture.recipes[each], Same) for each in members):
        return Same(value)
    return Frozen(OrderedFrozenSet if isinstance(value, frozenset) else tuple, members)


def _buffer(capture: Capturing, value: Any, place: Any) -> Recipe:
    kept = value.tobytes() if isinstance(value, array) else bytes(value)
    kind = (array, value.typecode) if isinstance(value, array) else (bytearray,)
    return Frozen(functools.partial(_fill_buffer, *kind), (capture.capture(kept, place),))


def _fill_buffer(*parts: Any) -> Any:
    kind, *rest, members = parts
    return kind(*rest, members[0])


def _partial(capture: Capturing, value: Any, place: Any) -> Recipe:
    parts = [value.func, *value.args, *value.keywords.values()]
    names = tuple(value.keywords)
    members = tuple(capture.capture(each, place) for each in parts)
    return Frozen(functools.partial(_make_partial, names), members)


def _make_partial(names: tuple[str, ...], parts: list[Any]) -> Any:
    split = len(parts) - len(names)
    return functools.partial(
        parts[0], *parts[1:split], **dict(zip(names, parts[split:], strict=True))
    )


def _cached(capture: Capturing, value: Any, place: Any) -> Recipe:
    again = functools.partial(_make_cached, dict(value.cache_parameters()))
    return Frozen(again, (capture.capture(value.__wrapped__, place),))


def _make_cached(parameters: dict[str, Any], parts: list[Any]) -> Any:
    return functools.lru_cache(**parameters)(parts[0])


def _builtin_method(capture: Capturing, value: Any, place: Any) -> Recipe:
    """`log = LOG.append` at the top of a module: the method of the run's own `LOG`."""
    owner = value.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return Same(value)
    return Frozen(functools.partial(_bound_again, value.__name__), (capture.capture(owner, place),))


def _bound_again(name: str, parts: list[Any]) -> Any:
    return getattr(parts[0], name)


def _mapping_proxy(capture: Capturing, value: Any, place: Any) -> Recipe:
    return Frozen(_proxied, (capture.capture(value | {}, place),))


def _proxied(parts: list[Any]) -> Any:
    return types.MappingProxyType(parts[0])


def _generator(capture: Capturing, value: random.Random, place: Any) -> Recipe:
    return Frozen(_restored, (capture.capture(value.getstate(), place),))


def _restored(parts: list[Any]) -> random.Random:
    made = random.Random(0)  # noqa: S311 — the user's own, with the state that it had
    made.setstate(parts[0])
    return made


def _default_dict(capture: Capturing, value: Any, place: Any) -> Recipe:
    flat: list[Any] = [value.default_factory]
    for pair in value.items():
        flat += pair
    members = tuple(capture.capture(each, place) for each in flat)
    return Items(_empty_default_dict, _fill_default_dict, members)


def _empty_default_dict() -> Any:
    return defaultdict[Any, Any]()


def _fill_default_dict(made: Any, members: list[Any]) -> None:
    made.default_factory = members[0]
    _put(made, members[1:])


def _method(capture: Capturing, value: types.MethodType, place: Any) -> Recipe:
    members = (capture.capture(value.__func__, place), capture.capture(value.__self__, place))
    return Frozen(lambda parts: types.MethodType(*parts), members)


def _plain(kind: type) -> Callable[[Any], Callable[[], Any]]:
    return lambda _: kind


CONTAINERS: dict[type, Maker] = {
    types.MethodType: _method,
    functools.partial: _partial,
    type(functools.lru_cache(lambda: None)): _cached,
    list: _list_like(_plain(list)),
    set: _list_like(_plain(OrderedSet)),
    OrderedSet: _list_like(_plain(OrderedSet)),
    deque: _list_like(lambda value: functools.partial(deque[Any], maxlen=value.maxlen)),
    dict: _dict_like(_plain(dict)),
    OrderedDict: _dict_like(_plain(OrderedDict)),
    Counter: _dict_like(_plain(Counter)),
    defaultdict: _default_dict,
    types.BuiltinMethodType: _builtin_method,
    types.MappingProxyType: _mapping_proxy,
    random.Random: _generator,
    tuple: _tuple,
    frozenset: _tuple,
    OrderedFrozenSet: _tuple,
    bytearray: _buffer,
    array: _buffer,
}
