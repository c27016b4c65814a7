"""Effects: what the world must now do because of a fact. Frozen, and digested per fact.

Nothing here does anything: whoever owns the run carries effects out, after the fact is durable.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec
from msgspec import Raw

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


def digest(effects: Sequence[AnyEffect]) -> int:
    """Give the checksum that a refold of the same fact has to meet."""
    return zlib.crc32(_ENCODER.encode(effects)) if effects else 0


def outline(effects: Sequence[AnyEffect]) -> tuple[str, ...]:
    """Say in a line each what the effects are, for people who compare two sides."""
    return tuple(_describe(effect) for effect in effects)


def _describe(effect: AnyEffect) -> str:
    if isinstance(effect, Dispatch):
        again = f", attempt {effect.attempt}" if effect.attempt > 1 else ""
        args = bytes(effect.args).decode(errors="replace")
        return f"call {effect.call} {effect.target}{_short(args)} at {effect.site}{again}"
    fields = (f"{name}={_plain(getattr(effect, name))}" for name in effect.__struct_fields__)
    return f"{type(effect).__name__.lower()} " + " ".join(fields)


def _plain(value: object) -> str:
    return _short(bytes(value).decode(errors="replace") if isinstance(value, Raw) else repr(value))


def _short(text: str, chars_max: int = 120) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
