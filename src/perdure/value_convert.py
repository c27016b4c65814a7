"""Turn plain data, as JSON has it, into an instance of the type that somebody asked for.

What is of the type already is returned as it is. Unlike in reading a payload, constructors and
validators do run here: the data comes from outside, and the type is named by the caller's code.

Knows types and data, not how either is written down.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from pathlib import PurePath
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, is_typeddict
from zoneinfo import ZoneInfo

import msgspec

from perdure.errors import WrongType
from perdure.ordered import OrderedFrozenSet, OrderedSet

if TYPE_CHECKING:
    from collections.abc import Callable

_VALUE_TEXT_MAX = 80

# `Any`: what these hold is looked at part by part.
_ARRAYS: Any = (list, tuple)
_SETS: Any = (list, tuple, set, frozenset)
_MAPPING: Any = Mapping


def converted(value: Any, type_: Any, what: str) -> Any:
    """Return the value as an instance of a type, or raise `WrongType`."""
    try:
        return _to(value, type_)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise WrongType(
            f"{what} should be `{_type_text(type_)}`, but is {_value_text(value)}: {reason}"
        ) from error


def _to(value: Any, type_: Any) -> Any:
    if type_ is Any or type_ is object:
        return value
    if type_ is None:
        type_ = NoneType
    origin: Any = get_origin(type_)
    rebuild = _STRUCTURES.get(origin)
    if rebuild is not None:
        return rebuild(value, get_args(type_))
    cls = origin if isinstance(origin, type) else type_
    if _is_class(cls) and isinstance(value, cls):
        return value
    return _from_data(value, type_)


def _from_data(value: Any, type_: Any) -> Any:
    if _is_model(type_):
        return type_.model_validate(value)
    if type_ in _STAND_INS:
        return _STRUCTURES[type_](value, (Any,))
    if isinstance(value, str) and _is_from_text(type_):
        return type_(value)
    return msgspec.convert(value, type_, dec_hook=_inner)


def _inner(type_: Any, value: Any) -> Any:
    """Convert what msgspec leaves to its caller: a type that it has never heard of."""
    origin = get_origin(type_) or type_
    if origin in _STRUCTURES or _is_model(origin) or _is_from_text(origin):
        return _to(value, type_)
    if isinstance(value, origin):
        return value
    raise TypeError(f"no data can be turned into a `{_type_text(type_)}`")


def _is_class(cls: Any) -> bool:
    return isinstance(cls, type) and not is_typeddict(cls)


def _is_from_text(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, _FROM_TEXT)


def _is_model(type_: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    return (
        pydantic is not None
        and isinstance(type_, type)
        and getattr(pydantic, "BaseModel", None) in type_.__mro__
    )


# --- containers and unions, part by part -----------------------------------------------------


def _union(value: Any, arms: tuple[Any, ...]) -> Any:
    # An arm that the value is an instance of goes before one that it could be turned into.
    for arm in arms:
        if _is_class(get_origin(arm) or arm) and isinstance(value, get_origin(arm) or arm):
            return _to(value, arm)
    reasons: list[str] = []
    for arm in arms:
        try:
            return _to(value, arm)
        except Exception as error:  # noqa: BLE001 -- whatever a validator raises: the next arm
            reasons.append(str(error).partition("\n")[0])
    raise TypeError("; ".join(dict.fromkeys(reasons)))


def _sequence(make: Callable[[Any], Any], came: Any) -> Callable[[Any, tuple[Any, ...]], Any]:
    def rebuild(value: Any, args: tuple[Any, ...]) -> Any:
        if not isinstance(value, came):
            raise TypeError("it is no array")
        return make([_part(item, args[0], f"[{i}]") for i, item in enumerate(value)])

    return rebuild


def _tuple(value: Any, args: tuple[Any, ...]) -> Any:
    if not isinstance(value, _ARRAYS):
        raise TypeError("it is no array")
    if len(args) == 2 and args[1] is ...:
        args = (args[0],) * len(value)
    if len(args) != len(value):
        raise TypeError(f"it has {len(value)} items, not {len(args)}")
    parts = zip(value, args, strict=True)
    return tuple([_part(item, arg, f"[{i}]") for i, (item, arg) in enumerate(parts)])


def _mapping(value: Any, args: tuple[Any, ...]) -> Any:
    if not isinstance(value, _MAPPING):
        raise TypeError("it is no object")
    key_type, item_type = args
    return {
        _key(key, key_type): _part(item, item_type, f"[{key!r}]") for key, item in value.items()
    }


def _key(key: Any, type_: Any) -> Any:
    try:
        return _to(key, type_)
    except Exception:
        if isinstance(key, str):  # the keys of JSON are strings, whatever they stand for
            return msgspec.convert(key, type_, strict=False)
        raise


def _part(value: Any, type_: Any, step: str) -> Any:
    try:
        return _to(value, type_)
    except Exception as error:
        raise TypeError(f"at {step}: {str(error).partition(chr(10))[0]}") from error


_STRUCTURES: dict[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    Union: _union,
    UnionType: _union,
    list: _sequence(list, list),
    Sequence: _sequence(list, _ARRAYS),
    MutableSequence: _sequence(list, _ARRAYS),
    set: _sequence(OrderedSet, _SETS),
    OrderedSet: _sequence(OrderedSet, _SETS),
    MutableSet: _sequence(OrderedSet, _SETS),
    AbstractSet: _sequence(OrderedSet, _SETS),
    frozenset: _sequence(OrderedFrozenSet, _SETS),
    OrderedFrozenSet: _sequence(OrderedFrozenSet, _SETS),
    tuple: _tuple,
    dict: _mapping,
    Mapping: _mapping,
    MutableMapping: _mapping,
}
"""By the origin of a type with parameters: how to convert its parts."""

_STAND_INS = (OrderedSet, OrderedFrozenSet, set, frozenset)

_FROM_TEXT: tuple[type, ...] = (PurePath, Fraction, ZoneInfo)
"""Types that JSON has as text, that can be made of it, and that msgspec does not know."""


def _type_text(type_: Any) -> str:
    if isinstance(type_, type) and get_origin(type_) is None:
        known = type_.__module__ == "builtins" or type_ in _STAND_INS
        return type_.__name__ if known else f"{type_.__module__}.{type_.__qualname__}"
    return str(type_).replace("typing.", "")


def _value_text(value: Any) -> str:
    name = type(value).__name__
    if type(value) not in (str, int, float, bool, NoneType):
        return f"a `{name}`"
    text = repr(value)
    return f"`{text if len(text) <= _VALUE_TEXT_MAX else f'{text[:_VALUE_TEXT_MAX]}…'}`"
