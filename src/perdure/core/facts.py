"""Facts: what a run could not have computed itself. Frozen, one log row each, versioned by tag.

Knows nothing of how they are folded or stored. `at_us` is when the node learned of the fact,
in microseconds since 1970; inside of a run it is the time.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from perdure.errors import NotDecodable

NOTHING = Raw(b"null")
"""What stands where nothing is to be said: a field of raw text cannot be left out."""


class Fact(msgspec.Struct, frozen=True, tag_field="fact"):
    """One thing that happened. The number in a tag is the version of its fields."""

    at_us: int


class Started(Fact, frozen=True, tag="started.1"):
    """The run began: which program, with which arguments, seed and time zone."""

    program: str
    args: Raw
    seed: int = 0
    zone: str = "UTC"
    run_id: str = ""


class Completed(Fact, frozen=True, tag="completed.1"):
    """A call returned this. `token` is that of the dispatch which it answers."""

    call: int
    token: int
    value: Raw


class Failed(Fact, frozen=True, tag="failed.1"):
    """One attempt of a call raised this; whether there is another, the fold decides."""

    call: int
    token: int
    error: Raw


class Lost(Fact, frozen=True, tag="lost.1"):
    """The holder of a call died; nobody will answer this dispatch any more."""

    call: int
    token: int
    counted: bool = True
    """Whether it counts as a death: a holder that was asked to leave did not die of the call."""


class Progressed(Fact, frozen=True, tag="progressed.1"):
    """The holder of a call told how far it is; the next attempt can read it."""

    call: int
    token: int
    details: Raw


class Fired(Fact, frozen=True, tag="fired.1"):
    """A timer is due."""

    timer: int


class Signalled(Fact, frozen=True, tag="signalled.1"):
    """A message came from outside. A key that was seen before is refused."""

    name: str
    value: Raw
    key: str | None = None


class Cancelled(Fact, frozen=True, tag="cancelled.1"):
    """Somebody wants the run to end; its `finally` blocks run."""

    reason: str = ""
    actor: str = ""


class Stopped(Fact, frozen=True, tag="stopped.1"):
    """The engine could not go on: why, and the fact that it could not fold. Never folded itself."""

    code: str
    reason: str
    cause: Raw = NOTHING


class Retried(Fact, frozen=True, tag="retried.1"):
    """An operator had the run go on from an earlier state: what came after `back_to` is history."""

    back_to: int
    seq: int
    """The number of this row: those between belong to what did not come to be."""
    calls_made: int
    """How many calls there were in all: new ones have other numbers, and so other keys."""
    call: int = 0
    """The call that failed, and is made again; 0 if it was not a call that failed."""
    actor: str = ""


class Upgraded(Fact, frozen=True, tag="upgraded.1"):
    """The run goes on with other code. Its row carries the run on that code: nothing else does."""

    program: str
    before: str
    """The program that it had."""
    seq: int
    """The number of this row: a stop may lie between it and the last row that was folded."""
    actor: str = ""


AnyFact = (
    Started
    | Completed
    | Failed
    | Lost
    | Progressed
    | Fired
    | Signalled
    | Cancelled
    | Stopped
    | Retried
    | Upgraded
)


class Row(msgspec.Struct, frozen=True):
    """One row of a log: the fact, what inline code recorded under it, and what it caused."""

    seq: int
    fact: AnyFact
    digest: int
    recorded: tuple[Raw, ...] = ()
    outline: tuple[str, ...] = ()


_ROWS = msgspec.json.Decoder(Row)
_ENCODER = msgspec.json.Encoder()


def encode_row(row: Row) -> bytes:
    """Write a row as one line of JSON."""
    return _ENCODER.encode(row)


def decode_row(text: bytes) -> Row:
    """Read a row; text of a newer version, or none at all, is refused."""
    try:
        return _ROWS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotDecodable(
            f"this is no row of a log that this version can read: {error}",
            remedy="it may come from a newer Perdure, or be damaged",
        ) from error
