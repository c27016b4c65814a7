"""What a picture is made of: frozen data, for people to look at and for programs to read."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, Literal, TypeAlias

import msgspec

Status: TypeAlias = Literal[
    "pending", "running", "waiting", "completed", "failed", "cancelled", "skipped"
]

PARTS_MAX: Final = 12
"""How many parts of one node a picture names; the others are counted."""


class Place(msgspec.Struct, frozen=True):
    """A line of the user's."""

    file: str
    line: int
    function: str
    source: str = ""


class Trouble(msgspec.Struct, frozen=True):
    """An exception, with what led to it."""

    kind: str
    """Its class."""
    text: str
    notes: list[str]
    place: Place | None
    """The line of the user's that raised it, or through which it came."""
    cause: Trouble | None = None
    is_direct: bool = True
    """Whether `cause` was given with `from`; else it was being handled when this was raised."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One of many at a node: an item of a fan-out, or a call made in a helper function."""

    what: str
    status: Status
    place: str = ""
    """Where in a helper: `_approved:78`."""
    begun: int = 1
    done: int = 0
    attempts: int = 0
    call: int | None = None
    began: dt.datetime | None = None
    ended: dt.datetime | None = None
    note: str = ""
    trouble: Trouble | None = None


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the graph, and how it stands."""

    id: str
    kind: str
    label: str
    line: int
    depth: int
    region: str
    arm: str
    status: Status
    begun: int = 0
    """How often it was begun, or passed."""
    done: int = 0
    """How often it came to an end, in whatever way."""
    failed: int = 0
    """How often that was an exception."""
    gate: tuple[int, int] | None = None
    """So many of so many have arrived, where several things run side by side."""
    rounds: int = 0
    """How often the body of a loop was entered."""
    attempts: int = 0
    """Of the call that is under way, or else of the last one."""
    began: dt.datetime | None = None
    """When it was last begun."""
    ended: dt.datetime | None = None
    """When it last came to an end; None while it is under way."""
    note: str = ""
    """What it waits for."""
    trouble: Trouble | None = None
    parts: list[Part] = []
    more: int = 0
    """How many parts there are that are not named."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it stood after one of its facts."""

    id: str
    workflow: str
    file: str
    status: str
    """As of the run: `pending`, `running`, `completed`, `failed`, `cancelled` or `stopped`."""
    seq: int
    """The number of the fact."""
    at: dt.datetime | None
    began: dt.datetime | None
    ended: dt.datetime | None
    nodes: list[NodeView]
    """In the order of the outline. Empty if the program of the run cannot be had."""
    facts: dict[str, int]
    """How many facts of each kind there are."""
    recent: list[str]
    """The last facts in words."""
    said: list[str]
    """The last lines that the run printed."""
    holder: str = ""
    """Who carries it out, as far as is known, while it is open: `process 4711`, or `nobody`."""
    trouble: Trouble | None = None
    """Why it failed or was cancelled."""
    why: str = ""
    """Why the picture shows less than the run: its log could not be folded here."""


def to_data(picture: Picture) -> dict[str, Any]:
    """Give a picture as plain dicts, lists, strings and numbers."""
    data: dict[str, Any] = msgspec.to_builtins(picture)
    return data


def time_of(us: int | None) -> dt.datetime | None:
    """Give a time of the log."""
    return None if us is None else dt.datetime.fromtimestamp(us / 1_000_000, dt.UTC)
