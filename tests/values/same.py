"""Equality as the codec promises it: types and keys and order, and nan equals itself."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from typing import Any

import attrs
import msgspec
import pydantic

from perdure.ordered import OrderedFrozenSet, OrderedSet

READ_AS = {set: OrderedSet, frozenset: OrderedFrozenSet}


def same(given: Any, read: Any) -> bool:
    """Tell whether `read` is what `given` should come back as."""
    if READ_AS.get(type(given), type(given)) is not type(read):
        return False
    return _same_inside(given, read)


def _same_inside(given: Any, read: Any) -> bool:
    match given:
        case float():
            return _same_float(given, read)
        case complex():
            return _same_float(given.real, read.real) and _same_float(given.imag, read.imag)
        case set() | frozenset():
            return len(given) == len(read) and all(any(same(a, b) for b in read) for a in given)
        case dict():
            return _same_items(given.items(), read.items()) and getattr(
                given, "default_factory", None
            ) is getattr(read, "default_factory", None)
        case tuple() if hasattr(given, "_fields"):
            mine, other = getattr(given, "__dict__", {}), getattr(read, "__dict__", {})
            return _same_items(given, read) and same(mine, other)
        case deque():
            return given.maxlen == read.maxlen and _same_items(given, read)
        case list() | tuple():
            return _same_items(given, read)
        case slice():
            return _same_items(_ends(given), _ends(read))
        case pydantic.BaseModel():
            return _same_items(_model_parts(given), _model_parts(read))
        case msgspec.Struct():
            names = given.__struct_fields__
            return _same_items(
                [getattr(given, n) for n in names], [getattr(read, n) for n in names]
            )
    if hasattr(type(given), "__slots__") and attrs.has(type(given)):
        names = [f.name for f in attrs.fields(type(given))]
        return _same_items([getattr(given, n) for n in names], [getattr(read, n) for n in names])
    if dataclasses.is_dataclass(given):
        names = [f.name for f in dataclasses.fields(given)]
        return same(
            {n: getattr(given, n) for n in names if hasattr(given, n)},
            {n: getattr(read, n) for n in names if hasattr(read, n)},
        ) and same(getattr(given, "__dict__", {}), getattr(read, "__dict__", {}))
    return str(given) == str(read) if _is_nan(given) else bool(given == read)


def _same_items(given: Any, read: Any) -> bool:
    given, read = list(given), list(read)
    return len(given) == len(read) and all(map(same, given, read))


def _same_float(given: float, read: float) -> bool:
    if math.isnan(given):
        return math.isnan(read)
    return given == read and math.copysign(1, given) == math.copysign(1, read)


def _is_nan(value: Any) -> bool:
    return hasattr(value, "is_nan") and value.is_nan()


def _ends(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def _model_parts(model: pydantic.BaseModel) -> list[Any]:
    return [
        model.__dict__,
        sorted(model.__pydantic_fields_set__),
        model.__pydantic_extra__,
        model.__pydantic_private__,
    ]
