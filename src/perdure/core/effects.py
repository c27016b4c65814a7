"""Effects: what the world must now do because of a fact. Frozen, and digested per fact.

Nothing here does anything: whoever owns the run carries effects out, after the fact is durable.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.policy import Policy


class Effect(msgspec.Struct, frozen=True, gc=False, tag_field="effect"):
    """One thing to do."""


class Dispatch(Effect, frozen=True, gc=False, tag="dispatch.1"):
    """Have an attempt of a call made: an action, or a child run, not before `not_before_us`."""

    call: int
    token: int
    attempt: int
    kind: str
    target: str
    args: Raw
    site: str
    policy: Policy
    not_before_us: int = 0


class Revoke(Effect, frozen=True, gc=False, tag="revoke.1"):
    """Tell the holder of a call that nobody waits for it any more."""

    call: int
    token: int


class Arm(Effect, frozen=True, gc=False, tag="arm.1"):
    """Have a timer fire when it is due."""

    timer: int
    due_us: int


class Disarm(Effect, frozen=True, gc=False, tag="disarm.1"):
    """Forget a timer."""

    timer: int


class Say(Effect, frozen=True, gc=False, tag="say.1"):
    """Show a line: of `print` (level 0), or of a logger by its name and level."""

    text: str
    level: int = 0
    logger: str = ""


class Finished(Effect, frozen=True, gc=False, tag="finished.1"):
    """The run has ended: `completed` with a value, `failed` or `cancelled` with an error."""

    status: str
    value: Raw


AnyEffect = Dispatch | Revoke | Arm | Disarm | Say | Finished

_ENCODER = msgspec.json.Encoder()


def arguments_of(raw: Raw) -> tuple[list[Any], dict[str, Any]]:
    """Give the positional and the keyword arguments of a call."""
    decoded = values.decode(bytes(raw))
    return decoded[0], decoded[1] if len(decoded) > 1 else {}


def digest(effects: Sequence[AnyEffect]) -> int:
    """Give the checksum that a refold of the same fact has to meet."""
    return zlib.crc32(_ENCODER.encode(effects)) if effects else 0


def outline(effects: Sequence[AnyEffect]) -> tuple[str, ...]:
    """Say in a line each what the effects are, for people who compare two sides."""
    return tuple(_describe(effect) for effect in effects)


def _describe(effect: AnyEffect) -> str:
    """Describe an effect; the mark at the end differs whenever anything in two effects does."""
    return f"{_DESCRIBE[type(effect)](effect)}  #{zlib.crc32(_ENCODER.encode(effect)):08x}"


def _dispatched(effect: Dispatch) -> str:
    again = f", attempt {effect.attempt}" if effect.attempt > 1 else ""
    name = effect.target.rpartition(":")[2]
    return f"call {effect.call} {name}({shown_arguments(effect.args)}) at {effect.site}{again}"


def shown_arguments(raw: Raw, chars_max: int = 120) -> str:
    """Write the arguments of a call for people."""
    try:
        args, kwargs = arguments_of(raw)
        shown = [repr(each) for each in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    except Exception as error:  # noqa: BLE001 — only a picture: `repr` is the user's code
        return f"… {type(error).__name__}"
    return _short(", ".join(shown), chars_max)


def _armed(effect: Arm) -> str:
    try:
        due = f"{datetime.fromtimestamp(effect.due_us // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        due = f"in the year {1970 + effect.due_us // 31_556_952_000_000:,}"
    return f"timer {effect.timer} due {due}.{effect.due_us % 1_000_000:06d}"


def _said(effect: Say) -> str:
    return f"{effect.logger or 'print'}: {_short(effect.text)}"


def _finished(effect: Finished) -> str:
    return f"{effect.status} {_short(bytes(effect.value).decode(errors='replace'))}"


_DESCRIBE: dict[type[AnyEffect], Callable[[Any], str]] = {
    Dispatch: _dispatched,
    Revoke: lambda effect: f"call {effect.call} no longer wanted",
    Arm: _armed,
    Disarm: lambda effect: f"timer {effect.timer} no longer wanted",
    Say: _said,
    Finished: _finished,
}


def _short(text: str, chars_max: int = 120) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
