"""How the copied things of a program are made for a run: makers by name, in two tables.

The names stand in the texts of programs for ever: one may be added, none may change its meaning.
Runs no code of a user.
"""

from __future__ import annotations

import functools
import random
import sys
import types
from array import array
from collections import (
    ChainMap,
    Counter,
    OrderedDict,
    UserDict,
    UserList,
    UserString,
    defaultdict,
    deque,
)
from collections.abc import Callable
from typing import Any

from perdure.lang.names import every_code
from perdure.ordered import OrderedFrozenSet, OrderedSet

DICT: Any = dict
LIST: Any = list
SET: Any = set
TUPLE: Any = tuple
OBJECT: Any = object
"""The bases whose own methods copy an object of the user's, whatever its class overrides."""

COPIED: tuple[Any, ...] = (types.SimpleNamespace, UserDict, UserList, UserString, ChainMap)
"""Containers of the standard library that are plain objects: copied like the user's own."""


def bare(cls: Any) -> Any:
    """Give an object of a class without anything in it."""
    return cls.__new__(cls) if cls in COPIED else OBJECT.__new__(cls)


# --- containers: made empty, filled later, for a member may lead back to them


def _empty(kind: Callable[[], Any]) -> Callable[..., Any]:
    def make(*_: Any) -> Any:
        return kind()

    return make


def _deque(maxlen: int | None) -> Any:
    return deque[Any](maxlen=maxlen)


def _subclass(base: Any) -> Callable[..., Any]:
    def make(cls: Any, *_: Any) -> Any:
        return base.__new__(cls)

    return make


def _append(made: Any, members: list[Any], *_: Any) -> None:
    for member in members:
        (made.append if hasattr(made, "append") else made.add)(member)


def _put(made: Any, members: list[Any], *_: Any) -> None:
    made.update(zip(members[::2], members[1::2], strict=True))


def _put_default(made: Any, members: list[Any]) -> None:
    made.default_factory = members[0]
    _put(made, members[1:])


def _fill_subclass(
    made: Any, members: list[Any], _: type, count: int, names: tuple[str, ...]
) -> None:
    flat = members[:count]
    if isinstance(made, DICT):
        DICT.update(made, zip(flat[::2], flat[1::2], strict=True))
    elif isinstance(made, LIST):
        LIST.extend(made, flat)
    else:
        SET.update(made, flat)
    made.__dict__.update(zip(names, members[count:], strict=True))


CONTAINERS: dict[str, tuple[Callable[..., Any], Callable[..., None]]] = {
    "list": (_empty(list), _append),
    "set": (_empty(OrderedSet), _append),
    "deque": (_deque, _append),
    "dict": (_empty(dict), _put),
    "OrderedDict": (_empty(OrderedDict), _put),
    "Counter": (_empty(Counter), _put),
    "defaultdict": (_empty(defaultdict), _put_default),
    "subclass of dict": (_subclass(DICT), _fill_subclass),
    "subclass of list": (_subclass(LIST), _fill_subclass),
    "subclass of set": (_subclass(SET), _fill_subclass),
}
"""By name: how a container is made empty of its arguments, and how its members are put in."""


# --- wholes: made of their members in one go


def _partial(parts: list[Any], names: tuple[str, ...]) -> Any:
    split = len(parts) - len(names)
    words = dict(zip(names, parts[split:], strict=True))
    return functools.partial(parts[0], *parts[1:split], **words)


def _cache(parts: list[Any], *told: Any) -> Any:
    return functools.lru_cache(*told)(parts[0])


def _generator(parts: list[Any]) -> random.Random:
    made = random.Random(0)  # noqa: S311 — the user's own, with the state that it had
    made.setstate(parts[0])
    return made


def codes_named(module: str, qualname: str) -> list[types.CodeType]:
    """Give the code that a module makes functions of that name from, inside of another function."""
    outer = qualname.partition(".<locals>")[0]
    found: Any = sys.modules.get(module)
    for part in outer.split("."):
        found = getattr(found, part, None)
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    return (
        [] if code is None else [each for each in every_code(code) if each.co_qualname == qualname]
    )


def _wrapper(
    parts: list[Any],
    code: types.CodeType | tuple[str, int],
    module: str,
    told: tuple[str, str, str, str | None],
    defaults: tuple[Any, ...] | None,
    words: tuple[tuple[str, Any], ...],
    names: tuple[str, ...],
) -> types.FunctionType:
    """Make the function that a library's decorator made around the user's."""
    if isinstance(code, tuple):
        code = codes_named(module, code[0])[code[1]]
    cells, attributes = parts[: len(code.co_freevars)], parts[len(code.co_freevars) :]
    space = vars(sys.modules[module])
    made = types.FunctionType(code, space, told[0], defaults, tuple(cells))
    made.__name__, made.__qualname__, made.__module__, made.__doc__ = told
    made.__kwdefaults__ = dict(words) or None
    made.__dict__.update(zip(names, attributes, strict=True))
    return made


def _tuple(parts: list[Any]) -> Any:
    return TUPLE(parts)


def _named_tuple(parts: list[Any], cls: Any) -> Any:
    return TUPLE.__new__(cls, parts)


def _bytes(parts: list[Any]) -> Any:
    return bytearray(parts[0])


def _array(parts: list[Any], code: str) -> Any:
    kind: Any = array
    return kind(code, parts[0])


def _method(parts: list[Any]) -> Any:
    return types.MethodType(*parts)


def _attribute(parts: list[Any], name: str) -> Any:
    return getattr(parts[0], name)


def _proxy(parts: list[Any]) -> Any:
    return types.MappingProxyType(parts[0])


WHOLES: dict[str, Callable[..., Any]] = {
    "tuple": _tuple,
    "frozenset": OrderedFrozenSet,
    "namedtuple": _named_tuple,
    "bytearray": _bytes,
    "array": _array,
    "partial": _partial,
    "cache": _cache,
    "method": _method,
    "attribute": _attribute,
    "mappingproxy": _proxy,
    "random": _generator,
    "wrapper": _wrapper,
}
"""By name: how a thing is made of its members and its arguments."""
