"""What messages of the inbox carry. Plain data, told apart by the kind of the message."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from msgspec import Raw


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Begin a run whose row is there already."""

    workflow: str
    args: Raw
    seed: int = 0
    zone: str = "UTC"


class Signal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hand something to whoever waits for it by name."""

    name: str
    value: Raw


class Cancel(msgspec.Struct, frozen=True, omit_defaults=True):
    """End a run; its `finally` blocks run."""

    reason: str = ""
    actor: str = ""


class Outcome(msgspec.Struct, frozen=True):
    """A child run has ended."""

    call: int
    token: int
    completed: bool
    value: Raw


class Retry(msgspec.Struct, frozen=True, omit_defaults=True):
    """Go on from the failed await, or from where the engine had stopped."""

    actor: str = ""


class Upgrade(msgspec.Struct, frozen=True, omit_defaults=True):
    """Move a run to the program that its workflow has in the process of its owner."""

    actor: str = ""


CANCEL_BY_PARENT = msgspec.json.encode(Cancel("its parent no longer waits for it"))


def digest_of(args: Raw) -> bytes:
    """Give what tells two inputs apart."""
    return blake2b(bytes(args), digest_size=12).digest()
