"""The one codec for payloads: a Python value as JSON text, and the same value from that text.

What JSON has is written as it is; everything else as an object with the key `$` that names its
form. The same value makes the same bytes in every process. Reading never imports a module, never
runs code of a user, and raises nothing but `NotDecodable`.

One value is one tree: what is referred to twice inside of it comes back as two copies.

Knows nothing of runs, facts or stores.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

import msgspec

from perdure import value_errors
from perdure.errors import NotDecodable, NotEncodable, ValueTooLarge
from perdure.limits import LIMITS
from perdure.value_convert import converted
from perdure.value_errors import remote_traceback
from perdure.value_forms import INT_MAX, INT_MIN, TAG, Pen, oversized, read, type_of
from perdure.value_types import Refusal

__all__ = ["convert", "decode", "decode_error", "encode", "encode_error", "remote_traceback"]

_BULK_MIN = 16
_NOT_PLAIN = -1
_STR: Final = frozenset({str})
_NESTED: Final = frozenset({list, dict})

_dump = msgspec.json.Encoder().encode
_parse = msgspec.json.Decoder().decode


# --- the entrance --------------------------------------------------------------------------


def encode(value: object, what: str = "value") -> bytes:
    """Write a value down as JSON text; `what` is how an error calls it."""
    kind = type(value)
    try:
        if kind in _NESTED:
            plain = _weigh(value, LIMITS.payload_depth_max) >= 0
        elif kind is int:
            plain = INT_MIN <= value <= INT_MAX  # type: ignore[operator]
        elif kind is float:
            plain = isfinite(value)  # type: ignore[arg-type]
        else:
            plain = kind is str or kind is bool or value is None
        data = _dump(value) if plain else _dump_tagged(value, what)
    except UnicodeEncodeError:  # a lone surrogate in a tree that was plain otherwise
        data = _dump_tagged(value, what)
    except Refusal as refusal:
        raise _explained(refusal, what) from None
    except RecursionError:
        raise ValueTooLarge(f"{what} is nested deeper than this thread's stack allows") from None
    if len(data) > LIMITS.payload_bytes_max:
        raise _too_large(what, len(data))
    return data


def decode(data: bytes | bytearray | memoryview | str) -> Any:
    """Read a value from what `encode` wrote."""
    text: Any = bytes(data) if type(data) is memoryview else data
    try:
        tree = _parse(text)
        if text.find('"$"' if type(text) is str else b'"$"') < 0:
            return tree
        return read(tree)
    except NotDecodable:
        raise
    except RecursionError:
        raise NotDecodable("stored text is nested too deep") from None
    except MemoryError:
        raise
    except Exception as error:
        raise NotDecodable(f"stored text is no value: {_line(error)}") from error


def encode_error(exc: BaseException, *, trace: bool = True) -> bytes:
    """Write an exception down, whatever it holds.

    Without `trace`, equal errors make equal bytes: where they were raised is left out.
    """
    pen = Pen(trace=trace)
    try:
        data = _dump(value_errors.written(exc, pen))
        if len(data) <= LIMITS.payload_bytes_max:
            return data
    except (Refusal, RecursionError, UnicodeEncodeError):
        pass
    return _dump(value_errors.bare(exc, trace=trace))


def decode_error(data: bytes | bytearray | memoryview | str) -> BaseException:
    """Read an exception from what `encode_error` wrote."""
    exc = decode(data)
    if isinstance(exc, BaseException):
        return exc
    raise NotDecodable(f"stored text is a `{type(exc).__name__}`, where an error should be")


def line_of(exc: BaseException) -> str:
    """Give the class and the text of an exception, whatever its `__str__` does."""
    return f"{type(exc).__name__}: {value_errors.text_of(exc)}"


def _dump_tagged(value: object, what: str) -> bytes:
    try:
        return _dump(Pen().write(value))
    except Refusal as refusal:
        raise _explained(refusal, what) from None
    except UnicodeEncodeError:
        raise NotEncodable(f"{what} has an attribute whose name is no text") from None


def _explained(refusal: Refusal, what: str) -> NotEncodable:
    steps = refusal.steps[::-1]
    path = what
    seen: dict[int, str] = {}
    for step, holder in steps:
        if holder in seen:
            return NotEncodable(
                f"{path} refers back to {seen[holder]}, and a payload is a tree",
                remedy="pass an id in place of the back reference",
            )
        seen[holder] = path
        path += step
    if len(steps) >= LIMITS.payload_depth_max:
        path = what + "".join(step for step, _ in steps[:5]) + "…"
    kind = ValueTooLarge if refusal.large else NotEncodable
    return kind(f"{path} {refusal.fault}", remedy=refusal.remedy)


def convert(value: Any, type_: Any, what: str = "value") -> Any:
    """Return a value as an instance of the type that was asked for: data from JSON becomes one."""
    result = converted(value, type_, what)
    if result is value:
        return value
    try:
        # The sets inside of it have the order of hashes, which no run may see.
        return decode(encode(result))
    except (NotEncodable, NotDecodable):
        return result


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:200]


def _too_large(what: str, size: int) -> ValueTooLarge:
    return ValueTooLarge(
        f"{what} takes {size:,} bytes, and a payload may take {LIMITS.payload_bytes_max:,}",
        remedy="store it elsewhere and pass its name",
    )


# --- the fast path: trees that JSON holds as they are ----------------------------------------


def _weigh(value: Any, room: int) -> int:
    """Return the least bytes that a tree takes, or -1 if it holds what needs a tag or a refusal."""
    if not room:
        return _NOT_PLAIN
    weight = 1 + len(value)
    items: Any = value
    if type_of(value) is dict:
        if not _STR.issuperset(map(type, value)) or TAG in value:
            return _NOT_PLAIN
        items = value.values()
    if weight > _BULK_MIN:
        bulk = _weigh_alike(items)
        if bulk is not None:
            return bulk
    for item in items:
        kind = type_of(item)
        if kind is str:
            weight += len(item)
        elif kind is int:
            if not INT_MIN <= item <= INT_MAX:
                return _NOT_PLAIN
        elif kind is list or kind is dict:
            inner = _weigh(item, room - 1)
            if inner < 0:
                return _NOT_PLAIN
            weight += inner
            # A tree that shares its branches can be exponentially larger than the objects in it.
            if weight > LIMITS.payload_bytes_max:
                raise oversized()
        elif kind is float:
            if not isfinite(item):
                return _NOT_PLAIN
        elif kind is not bool and item is not None:
            return _NOT_PLAIN
    return weight


def _weigh_alike(items: Any) -> int | None:
    """Weigh many items of one type at the speed of C; None if they are not of one such type."""
    kinds: set[type] = set(map(type, items))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is str:
        return sum(map(len, items))
    if kind is int:
        alike = min(items) >= INT_MIN and max(items) <= INT_MAX
        return len(items) if alike else _NOT_PLAIN
    if kind is float:
        return len(items) if isfinite(sum(items)) else None
    return None
