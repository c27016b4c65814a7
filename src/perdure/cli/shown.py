"""What is stored, as people read it: values, times, how long something took."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, cast

from perdure import values
from perdure.cli.terminal import clean
from perdure.errors import NotDecodable

COLOURS = {
    "pending": "dim",
    "running": "blue",
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "stopped": "magenta",
}
"""The colour of each status."""

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def print_json(data: Any) -> None:
    """Print an object on one line; what might move a cursor is escaped in it."""
    print(json.dumps(data, separators=(", ", ": ")), flush=True)


def many(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def took(seconds: float) -> str:
    """Say how long something took."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def ago(when: dt.datetime, now: dt.datetime) -> str:
    """Say how long ago something was."""
    seconds = (now - when).total_seconds()
    if seconds < 10:
        return "now" if seconds < 1 else f"{int(seconds)} s ago"
    return f"{took(seconds)} ago"


def clock(us: int) -> str:
    """Give a time as the clocks of this machine show it, to the millisecond."""
    when = dt.datetime.fromtimestamp(us // 1_000_000, dt.UTC).astimezone()
    return f"{when:%Y-%m-%d %H:%M:%S}.{us % 1_000_000 // 1000:03d}"


def value(raw: bytes) -> str:
    """Give a stored value as code would write it; as the stored text where its class is unknown.

    No code of a user's is asked how it looks: only what is plain is shown by `repr`.
    """
    try:
        read = values.decode(raw)
    except NotDecodable:
        read = None
    if _is_plain(read) and not (read is None and raw != b"null"):
        return clean(repr(read))
    return clean(raw.decode(errors="replace"))


def error(raw: bytes) -> str:
    """Give a stored error as the last line of its traceback."""
    try:
        found = values.decode_error(raw)
        return clean(f"{type(found).__name__}: {found}".rstrip(": "))
    except Exception:  # noqa: BLE001 — `str` of an error is the code of whoever wrote its class
        return clean(raw.decode(errors="replace"))


def _is_plain(read: Any) -> bool:
    kind = cast("Any", type(read))
    if kind is dict:
        return all(_is_plain(k) and _is_plain(v) for k, v in read.items())
    return kind in _PLAIN and (kind not in _HOLDERS or all(map(_is_plain, read)))


_HOLDERS = {list, tuple, set, frozenset}
_PLAIN = _HOLDERS | {
    bool, int, float, str, bytes, type(None),
    dt.datetime, dt.date, dt.time, dt.timedelta,
}  # fmt: skip
