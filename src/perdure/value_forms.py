"""The written forms of what JSON does not have: one writer and one reader for each.

A form is a JSON object whose key `$` names it. A type without an entry in the table is looked
at once, when the first instance of it comes by; what is found is put into the table.

Knows the forms, not the text: a writer makes a tree that JSON can hold, a reader takes one.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from math import inf, isfinite, nan
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from sys import stdlib_module_names
from types import EllipsisType, NoneType
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from perdure import value_errors
from perdure.errors import NotDecodable
from perdure.limits import LIMITS
from perdure.ordered import OrderedFrozenSet, OrderedSet
from perdure.value_types import (
    RECORDS,
    Refusal,
    class_of,
    member_key,
    member_of,
    record_of,
    reference,
    tag_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TAG: Final = "$"
"""The key that marks a written form; a dict of the user that has it is written as pairs."""

INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 64) - 1
"""Beyond these, JSON readers disagree, and msgspec stops at 4,300 digits."""

_LINKS_MAX = 100
_KEY_TEXT_MAX = 60
_FORM_BYTES_MIN = len('{"$":"x","v":}')
_HEAP_TYPE = 1 << 9
_STR: Final = frozenset({str})
_NESTED: Final = frozenset({list, dict})

_dump = msgspec.json.Encoder().encode


type_of: Callable[[object], type] = type
"""The type of anything; type checkers would take that of an `Any` for something unknown."""


# --- writing ---------------------------------------------------------------------------------


class Pen:
    """What is left of the bounds of one payload while it is being written."""

    __slots__ = ("active", "left", "links", "room", "trace")

    def __init__(self, *, trace: bool = False) -> None:
        self.room = LIMITS.payload_depth_max
        self.left = LIMITS.payload_bytes_max
        self.links = _LINKS_MAX
        self.active: set[int] = set()
        self.trace = trace

    def write(self, value: Any, /) -> Any:
        """Return a tree that JSON can hold, or raise `Refusal`."""
        kind = type_of(value)
        return (_WRITERS.get(kind) or _writer_for(kind))(value, self)

    def spend(self, size: int) -> None:
        """Take bytes from the budget."""
        self.left -= size
        if self.left < 0:
            raise oversized()


_Writer: TypeAlias = "Callable[[Any, Pen], Any]"
_Reader: TypeAlias = "Callable[[dict[str, Any]], Any]"


def oversized() -> Refusal:
    """Say that a value has become too large while it is being written."""
    return Refusal(
        f"takes more bytes than the {LIMITS.payload_bytes_max:,} that a payload may take",
        "store it elsewhere and pass its name",
        large=True,
    )


def _each(items: Iterable[Any], holder: Any, step: Any, names: Any, pen: Pen) -> list[Any]:
    """Write the items of one container; `step(names, i)` is the path to the i-th of them."""
    if not pen.room:
        limit = LIMITS.payload_depth_max
        raise Refusal(f"is nested deeper than {limit} levels", "flatten it", large=True)
    pen.room -= 1
    out: list[Any] = []
    put = out.append
    size = 0
    try:
        for item in items:
            kind = type_of(item)
            if kind is str and item.isascii():
                size += len(item)
                put(item)
            elif kind is bool or item is None or (kind is int and INT_MIN <= item <= INT_MAX):
                put(item)
            else:
                put((_WRITERS.get(kind) or _writer_for(kind))(item, pen))
        pen.spend(size + len(out) + 1)
    except Refusal as refusal:
        refusal.passed(step(names, len(out)) if len(out) < len(names) else "", holder)
        raise
    pen.room += 1
    return out


def _at_index(_names: Any, i: int) -> str:
    return f"[{i}]"


def _at_field(names: Any, i: int) -> str:
    return f".{list(names)[i]}"


def _at_key(names: Any, i: int) -> str:
    return f"[{_key_text(list(names)[i])}]"


def _at_pair(flat: Any, i: int) -> str:
    key = _key_text(flat[i - i % 2])
    return f"[{key}]" if i % 2 else f" (its key {key})"


def _at_member(_names: Any, _i: int) -> str:
    return " (a member of it)"


def _key_text(key: object) -> str:
    if type(key) in (str, int, bool, NoneType, bytes):
        text = repr(key)
        return text if len(text) <= _KEY_TEXT_MAX else f"{text[:_KEY_TEXT_MAX]}…"
    return f"a `{_type_text(type(key))}`"


def _list(value: list[Any], pen: Pen) -> Any:
    return _each(value, value, _at_index, value, pen)


def _dict(value: dict[Any, Any], pen: Pen) -> Any:
    if _STR.issuperset(map(type, value)) and TAG not in value and _sound("".join(value)):
        return dict(zip(value, _each(value.values(), value, _at_key, value, pen), strict=True))
    return {TAG: "dict", "v": _pairs(value, pen)}


def _pairs(value: dict[Any, Any], pen: Pen) -> list[Any]:
    flat = list(chain.from_iterable(value.items()))
    return _each(flat, value, _at_pair, flat, pen)


def _set(value: Any, pen: Pen) -> list[Any]:
    members = _each(value, value, _at_member, value, pen)
    if type(value) in (OrderedSet, OrderedFrozenSet):
        return members
    # The order of a plain set depends on the hash seed: that of the written texts does not.
    keyed = sorted(
        (type(item).__qualname__, _dump(tree), i)
        for i, (item, tree) in enumerate(zip(value, members, strict=True))
    )
    return [members[i] for _, _, i in keyed]


def _sound(text: str) -> bool:
    """Tell whether UTF-8 can hold a text: half a surrogate pair it cannot."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def _str(value: str, pen: Pen) -> Any:
    pen.spend(len(value))
    if _sound(value):
        return value
    return {TAG: "str", "v": b64encode(value.encode("utf-8", "surrogatepass")).decode()}


def _int(value: int, pen: Pen) -> Any:
    if INT_MIN <= value <= INT_MAX:
        return value
    pen.spend(value.bit_length() // 4)
    return {TAG: "int", "v": hex(value)}


def _float(value: float, _pen: Pen) -> Any:
    return value if isfinite(value) else {TAG: "float", "v": repr(value)}


def _bytes(value: bytes | bytearray, pen: Pen) -> Any:
    pen.spend(len(value))
    return {TAG: type(value).__name__, "v": b64encode(value).decode()}


def _zoned(value: datetime | time, pen: Pen) -> Any:
    zone = value.tzinfo
    node: dict[str, Any] = {TAG: type(value).__name__}
    if zone is None or (type(zone) is timezone and len(_zone_parts(zone)) == 1):
        node["v"] = value.isoformat()
    else:
        node["v"] = value.replace(tzinfo=None).isoformat()
        node["tz"] = _each((zone,), value, _at_field, ("tzinfo",), pen)[0]
    if value.fold:
        node["fold"] = 1
    return node


def _zone_parts(zone: timezone) -> tuple[Any, ...]:
    held: Any = zone
    parts: tuple[Any, ...] = held.__getinitargs__()
    return parts


def _timezone(value: timezone, pen: Pen) -> Any:
    offset, *name = _zone_parts(value)
    node = {TAG: "timezone", "v": _delta_parts(offset)}
    return {**node, "name": _str(name[0], pen)} if name else node


def _zone(value: Any, _pen: Pen) -> Any:
    if value.key is None:
        raise Refusal("is a `ZoneInfo` without a key", "make it by `ZoneInfo(key)`")
    return {TAG: "zone", "v": value.key}


def _delta_parts(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _defaultdict(value: defaultdict[Any, Any], pen: Pen) -> Any:
    factory = value.default_factory
    name = None if factory is None else _FACTORY_NAMES.get(factory)
    if factory is not None and name is None:
        raise Refusal(
            "is a `defaultdict` whose factory is no builtin type", "pass `dict(value)` instead"
        )
    return {TAG: "defaultdict", "of": name, "v": _pairs(value, pen)}


def _error(value: BaseException, pen: Pen) -> Any:
    return value_errors.written(value, pen)


def _type(value: type, _pen: Pen) -> Any:
    return {TAG: "type", "of": reference(value)}


def _numbers(*names: str) -> _Writer:
    """Make the writer of a type that is all in a few attributes."""

    def write(value: Any, pen: Pen) -> Any:
        parts = [getattr(value, name) for name in names]
        return {TAG: type(value).__name__, "v": _each(parts, value, _at_field, names, pen)}

    return write


def _tagged(tag: str, body: _Writer) -> _Writer:
    def write(value: Any, pen: Pen) -> Any:
        pen.spend(_FORM_BYTES_MIN)
        return {TAG: tag, "v": body(value, pen)}

    return write


def _texted(tag: str, text: Callable[[Any], str]) -> _Writer:
    return _tagged(tag, lambda value, pen: _str(text(value), pen))


def _deque(value: deque[Any], pen: Pen) -> Any:
    return {TAG: "deque", "max": value.maxlen, "v": _each(value, value, _at_index, value, pen)}


# --- tables of writers -------------------------------------------------------------------------

_FACTORIES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict)
} | {"set": OrderedSet, "frozenset": OrderedFrozenSet}
_FACTORY_NAMES: dict[Any, str] = {cls: name for name, cls in _FACTORIES.items()} | {
    set: "set",
    frozenset: "frozenset",
}
_PATHS: dict[str, type[PurePath]] = {
    cls.__name__: cls for cls in (PurePosixPath, PosixPath, PureWindowsPath, WindowsPath)
}

_WRITERS: dict[type, _Writer] = {
    NoneType: lambda value, _pen: value,
    bool: lambda value, _pen: value,
    str: _str,
    int: _int,
    float: _float,
    list: _list,
    dict: _dict,
    tuple: _tagged("tuple", _list),
    set: _tagged("set", _set),
    frozenset: _tagged("frozenset", _set),
    OrderedSet: _tagged("set", _set),
    OrderedFrozenSet: _tagged("frozenset", _set),
    OrderedDict: _tagged("OrderedDict", _pairs),
    Counter: _tagged("Counter", _pairs),
    defaultdict: _defaultdict,
    deque: _deque,
    bytes: _bytes,
    bytearray: _bytes,
    complex: _numbers("real", "imag"),
    Fraction: _numbers("numerator", "denominator"),
    range: _numbers("start", "stop", "step"),
    slice: _numbers("start", "stop", "step"),
    Decimal: _texted("Decimal", str),
    UUID: _texted("UUID", str),
    date: _texted("date", date.isoformat),
    datetime: _zoned,
    time: _zoned,
    timedelta: _tagged("timedelta", lambda value, _pen: _delta_parts(value)),
    timezone: _timezone,
    ZoneInfo: _zone,
    EllipsisType: lambda _value, _pen: {TAG: "ellipsis"},
    **{cls: _texted(name, str) for name, cls in _PATHS.items()},
}


def _writer_for(cls: type) -> _Writer:
    """Look at a type that the table does not have; put it there if it is found by its name."""
    if type in cls.__mro__:
        return _type
    if BaseException in cls.__mro__:
        return _error  # not put into the table: a class made inside of a function is fine here
    tag = "enum" if Enum in cls.__mro__ else tag_of(cls)
    if tag is None:
        raise _stranger(cls)
    name = reference(cls)
    make = _enum_writer if tag == "enum" else _record_writer
    writer = _WRITERS[cls] = make(cls, tag, name)
    return writer


def _enum_writer(_cls: type, tag: str, name: str) -> _Writer:
    return lambda value, pen: {TAG: tag, "of": name, "v": pen.write(member_key(value))}


def _record_writer(cls: type, tag: str, name: str) -> _Writer:
    record = record_of(tag, cls)
    take, more = record.take, record.more

    def write(value: Any, pen: Pen) -> Any:
        pen.spend(_FORM_BYTES_MIN)
        state = take(value)
        if not _STR.issuperset(map(type, state)):
            raise Refusal("has an attribute whose name is no string", "use a dict for that")
        fields = _each(state.values(), value, _at_field, state, pen)
        node = {TAG: tag, "of": name, "v": dict(zip(state, fields, strict=True))}
        if more is not None:
            rest = more(value)
            node |= zip(rest, _each(rest.values(), value, _at_field, rest, pen), strict=True)
        return node

    return write


_OUTSIDE = "pass data instead, or open it inside the action"
_CALLABLE = "pass its name, or the data that it would be called with"
_LAZY = "pass a list of its items"
_AWAIT = "await it, and pass the result"
_REMEDIES: dict[str, str] = {
    "function": _CALLABLE,
    "builtin_function_or_method": _CALLABLE,
    "method": _CALLABLE,
    "functools.partial": _CALLABLE,
    "coroutine": _AWAIT,
    "_asyncio.Future": _AWAIT,
    "asyncio.futures.Future": _AWAIT,
    "generator": _LAZY,
    "async_generator": _LAZY,
    "map": _LAZY,
    "filter": _LAZY,
    "zip": _LAZY,
    "dict_keys": _LAZY,
    "dict_values": _LAZY,
    "dict_items": _LAZY,
    "memoryview": "pass `bytes(view)`",
    "module": "pass its name",
    "datetime.tzinfo": "use `zoneinfo.ZoneInfo` or `datetime.timezone`",
    "datetime.datetime": "pass a plain `datetime`",
    "numpy.generic": "pass `x.item()`",
    "numpy.ndarray": "pass `x.tolist()`, or store it and pass its name",
    **{
        kind: f"pass a plain `{kind}`"
        for kind in ("str", "int", "float", "bytes", "list", "tuple", "dict", "set", "frozenset")
    },
}
"""By the text of a class or of the nearest base of it that is listed."""


def _stranger(cls: type) -> Refusal:
    texts = map(_type_text, cls.__mro__)
    remedy = next((_REMEDIES[text] for text in texts if text in _REMEDIES), None)
    if remedy is None:
        is_of_user = cls.__flags__ & _HEAP_TYPE and cls.__module__ not in stdlib_module_names
        remedy = "make its class a dataclass, or pass data instead" if is_of_user else _OUTSIDE
    return Refusal(f"is a `{_type_text(cls)}`, which cannot be written down", remedy)


def _type_text(cls: type) -> str:
    name = cls.__qualname__
    return name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}"


# --- reading ---------------------------------------------------------------------------------


def read(tree: Any) -> Any:
    """Return the value of a tree, which is used up: its lists and dicts become the value's."""
    kind = type_of(tree)
    if kind is list:
        for i, item in enumerate(tree):
            if type(item) in _NESTED:
                tree[i] = read(item)
        return tree
    if kind is not dict:
        return tree
    if TAG in tree:
        reader = _READERS.get(tree[TAG])
        if reader is None:
            raise NotDecodable(
                f"there is no written form `{str(tree[TAG])[:_KEY_TEXT_MAX]}`",
                remedy="read it with the version of Perdure that wrote it, or a later one",
            )
        return reader(tree)
    return _read_fields(tree)


def _read_fields(tree: Any) -> dict[str, Any]:
    kind = type_of(tree)
    if kind is not dict:
        raise TypeError("fields are no object")
    for name, item in tree.items():
        if type(item) in _NESTED:
            tree[name] = read(item)
    return tree  # type: ignore[no-any-return]


def _items(node: dict[str, Any]) -> list[Any]:
    items = node["v"]
    if not isinstance(items, list):
        raise TypeError("items are no array")
    return read(items)  # type: ignore[no-any-return]


def _read_pairs(node: dict[str, Any]) -> dict[Any, Any]:
    flat = _items(node)
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _filled(empty: Any, node: dict[str, Any]) -> Any:
    # `Counter.update` would add to the counts, and ask them to be numbers.
    _mapping.update(empty, _read_pairs(node))
    return empty


def _read_defaultdict(node: dict[str, Any]) -> Any:
    name = node["of"]
    return _filled(defaultdict(None if name is None else _FACTORIES[name]), node)


def _read_zoned(kind: Any) -> _Reader:
    def reader(node: dict[str, Any]) -> Any:
        value = kind.fromisoformat(node["v"])
        if "tz" in node:
            value = value.replace(tzinfo=read(node["tz"]))
        return value.replace(fold=node["fold"]) if "fold" in node else value

    return reader


def _read_timezone(node: dict[str, Any]) -> Any:
    offset = timedelta(*node["v"])
    return timezone(offset, read(node["name"])) if "name" in node else timezone(offset)


def _read_record(node: dict[str, Any]) -> Any:
    record = record_of(node.pop(TAG), class_of(node.pop("of")))
    fields = _read_fields(node.pop("v"))
    return record.make(fields, _read_fields(node))


def _read_path(node: dict[str, Any]) -> Any:
    return _PATHS[node[TAG]](read(node["v"]))


# `Any`: nothing is known of their members.
_mapping: Any = dict
_ordered: Any = OrderedSet
_ordered_frozen: Any = OrderedFrozenSet

_FLOATS = {"nan": nan, "inf": inf, "-inf": -inf}

_READERS: dict[str, _Reader] = {
    "str": lambda node: a2b_base64(node["v"]).decode("utf-8", "surrogatepass"),
    "int": lambda node: int(node["v"], 16),
    "float": lambda node: _FLOATS[node["v"]],
    "tuple": lambda node: tuple(_items(node)),
    "set": lambda node: _ordered(_items(node)),
    "frozenset": lambda node: _ordered_frozen(_items(node)),
    "dict": _read_pairs,
    "OrderedDict": lambda node: OrderedDict(_read_pairs(node)),
    "Counter": lambda node: _filled(Counter(), node),
    "defaultdict": _read_defaultdict,
    "deque": lambda node: deque(_items(node), node["max"]),
    "bytes": lambda node: a2b_base64(node["v"]),
    "bytearray": lambda node: bytearray(a2b_base64(node["v"])),
    "complex": lambda node: complex(*_items(node)),
    "Fraction": lambda node: Fraction(*_items(node)),
    "range": lambda node: range(*_items(node)),
    "slice": lambda node: slice(*_items(node)),
    "Decimal": lambda node: Decimal(node["v"]),
    "UUID": lambda node: UUID(node["v"]),
    "date": lambda node: date.fromisoformat(node["v"]),
    "datetime": _read_zoned(datetime),
    "time": _read_zoned(time),
    "timedelta": lambda node: timedelta(*node["v"]),
    "timezone": _read_timezone,
    "zone": lambda node: ZoneInfo(node["v"]),
    "ellipsis": lambda _node: ...,
    "type": lambda node: class_of(node["of"]),
    "enum": lambda node: member_of(class_of(node["of"]), read(node["v"])),
    "error": lambda node: value_errors.rebuilt(node, read),
    **dict.fromkeys(_PATHS, _read_path),
    **dict.fromkeys(RECORDS, _read_record),
}
