"""The store port: what every store promises, and the plain data that crosses it.

Knows rows and bytes, never what a fact means. A store is used by one node through a `Writer`
(which owns runs, and can be fenced) and by anybody through the rest, which only reads and leaves
messages. Times are microseconds since 1970 by the clock of the store. What a store raises is a
`StoreError`: `Down` while it is out of reach, and another one where waiting is no use.

Who may write what: a run's rows are written by its owner alone, in `flush`, and never without a
fact of that run in the same call, but for `wake_at_us` and why an open run waits. Everybody else
leaves messages.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from perdure.errors import DataRefused, FateUnclear, Fenced, StoreDown

PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, STOPPED = range(6)
"""How a run stands: started by a client and not begun, under way, ended in three ways, or stopped
by the engine, which could not go on without doing something other than before."""

STATUSES = ("pending", "running", "completed", "failed", "cancelled", "stopped")
OPEN = RUNNING
"""Up to here, a run is not over."""

ACTIVE = 0
"""`wake_at_us` of a run that something is under way for: whoever takes over looks at it at once."""
NEVER = (1 << 63) - 1
"""`wake_at_us` of a run that waits for nothing but messages."""


class FactRow(msgspec.Struct, frozen=True, gc=False):
    """One row of a run's log. `body` is text; `image` is the run after the fact, or nothing."""

    rid: int
    seq: int
    crc: int
    body: bytes
    key: str | None = None
    """Of a message that was folded: kept so that the same one is never folded again."""
    image: bytes | None = None


def checksum(rid: int, seq: int, body: bytes) -> int:
    """Give the checksum of a row: that of another run, or another place, is another."""
    return zlib.crc32(body, (rid ^ seq) & 0xFFFFFFFF)


class NewRun(msgspec.Struct, frozen=True, gc=False):
    """A run that begins. `id` is the user's, unique for ever; `rid` is ours, ordered by time."""

    rid: int
    id: str
    workflow: str
    program: str
    input_digest: bytes
    created_us: int
    wake_at_us: int = ACTIVE
    status: int = RUNNING
    parent: int | None = None
    parent_call: int | None = None
    attrs: str = "{}"


class RunChange(msgspec.Struct, frozen=True, gc=False):
    """What the row of a run says from now on; a program that is `None` stays."""

    rid: int
    status: int
    wake_at_us: int
    program: str | None = None
    ended_us: int | None = None
    result: bytes | None = None
    """The value, or the error, that the run ended with; why it was stopped, or cannot go on."""


class RunRow(msgspec.Struct, frozen=True, gc=False):
    """The row of a run, as it stands."""

    rid: int
    id: str
    workflow: str
    program: str
    status: int
    wake_at_us: int
    created_us: int
    ended_us: int | None
    input_digest: bytes
    parent: int | None
    parent_call: int | None
    attrs: str
    result: bytes | None
    head: int
    """The number of its last fact; 0 if there is none."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """Something from outside for one run. A key that the run has, or waits with, is not added."""

    rid: int
    kind: str
    body: bytes
    key: str | None = None
    n: int = 0
    """Where it stands in the inbox; given by the store."""


class ProgramRow(msgspec.Struct, frozen=True, gc=False):
    """A program that runs of this store were started on, and its text with a keyed checksum."""

    hash: str
    name: str
    text: bytes | None = None
    mac: bytes = b""


class ProgramUse(msgspec.Struct, frozen=True, gc=False):
    """A program that is stored, and how many runs are on it."""

    hash: str
    name: str
    runs: int


class Batch(msgspec.Struct, frozen=True, gc=False):
    """What one flush writes: all of it, or nothing."""

    facts: Sequence[FactRow] = ()
    runs: Sequence[NewRun] = ()
    changes: Sequence[RunChange] = ()
    consumed: Sequence[int] = ()
    """Messages of the inbox that were folded or refused."""
    messages: Sequence[Message] = ()
    programs: Sequence[ProgramRow] = ()


class Flushed(msgspec.Struct, frozen=True, gc=False):
    """What became of a batch that is durable."""

    refused: frozenset[int] = frozenset()
    """New runs whose id was taken, and their children: of them, nothing at all was written."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A run as the store has it: its row, and its newest image with the facts after it."""

    run: RunRow
    facts: list[FactRow]
    """The first carries the image, unless there is none; then all facts from the first on."""


class Query(msgspec.Struct, frozen=True):
    """Which runs to list, newest first; what is not given does not count."""

    statuses: tuple[int, ...] = ()
    workflow: str | None = None
    since_us: int | None = None
    """Created then or later."""
    until_us: int | None = None
    """Created before then."""
    attrs: dict[str, str] = {}
    parent: int | None = None
    before: int | None = None
    """Only runs with a smaller `rid`: the last of the page before."""
    limit: int = 100


class Report(msgspec.Struct, frozen=True):
    """What a store says of itself."""

    kind: str
    place: str
    environment: str
    facts: dict[str, str]
    """What is worth knowing, in the words of people: sizes, versions, settings, counts."""
    problems: list[str]
    """What is wrong; empty is well."""


Fence = Fenced
"""This writer was declared dead, or replaced: it wrote nothing, and can write nothing more."""
Unclear = FateUnclear
"""Whether the batch was written is not known: the heads of its runs tell."""
Refused = DataRefused
"""The store will not take these data, however often they are sent; nothing was written."""
Down = StoreDown
"""The store is out of reach, or full; nothing was written. It may come back."""


class Writer(Protocol):
    """The owner's side: one at a time for each run.

    `flush` and `renew` raise `Fence`, `Unclear`, `Refused` and `Down` and nothing else: whatever is
    wrong with the store itself is `Down`, and the owner tries again until somebody has mended it.
    """

    @property
    def was_left_in_order(self) -> bool:
        """Whether the writer before this one was closed: what it had under way did not die."""
        ...

    async def flush(self, batch: Batch) -> Flushed:
        """Write a batch durably, all or nothing; raises `Fence`, `Unclear`, `Refused`, `Down`."""
        ...

    async def renew(self) -> None:
        """Become a new incarnation: whatever the old one still had under way can write no more.

        Raises `Fence` if this writer was replaced, and `Down` while the store is out of reach.
        """
        ...

    async def heads(self, rids: Sequence[int]) -> dict[int, int]:
        """Give the number of the last fact of each run; 0 where there is none.

        Raises `Fence` if this writer was replaced: numbers do not say whose facts they are.
        """
        ...

    async def load(self, rids: Sequence[int]) -> list[Stored]:
        """Give runs as they stand; those that are not there are left out."""
        ...

    async def due(self, after: tuple[int, int], until_us: int, limit: int) -> list[tuple[int, int]]:
        """Give `(wake_at_us, rid)` of open runs in that order, from `after` on, `until_us` incl."""
        ...

    async def inbox(self, limit: int) -> list[Message]:
        """Give the oldest messages for runs of this writer; they stay until a flush takes them."""
        ...

    async def close(self, *, in_order: bool = True) -> None:
        """Let go of the runs, so that another writer may have them at once.

        `in_order`: what was under way has come to an end, or is written off, durably.
        """
        ...


class Store(Protocol):
    """Everybody's side: reading what is durable, and leaving messages."""

    async def writer(self, *, wait: bool = False) -> Writer | None:
        """Become the owner; if another process is, give `None`, or wait until it no longer is."""
        ...

    async def send(self, runs: Sequence[NewRun], messages: Sequence[Message]) -> frozenset[int]:
        """Add runs that wait to begin, and messages, durably; give the runs whose id was taken.

        Messages of runs that were not added are not added either.
        """
        ...

    async def find(self, ids: Sequence[str]) -> list[RunRow]:
        """Give the rows of runs by the ids of users; those that are not there are left out."""
        ...

    async def rows(self, query: Query) -> list[RunRow]:
        """Give the rows of runs that a query asks for, newest first."""
        ...

    async def facts(self, rid: int, after: int, limit: int, *, images: bool) -> list[FactRow]:
        """Give the facts of a run in order, those after number `after`."""
        ...

    async def program(self, hash_: str) -> ProgramRow | None:
        """Give a program by its hash."""
        ...

    async def programs(self) -> list[ProgramUse]:
        """Give all programs by name and hash; goes through all runs once to count them."""
        ...

    async def prune(self, ended_before_us: int, limit: int) -> int:
        """Delete the facts of runs that ended before then; their rows, and so their ids, stay.

        At most `limit` runs in one call; gives how many there were, 0 when there are no more.
        """
        ...

    def version(self) -> int:
        """Give a number that changes when somebody has written; cheap enough for every 25 ms."""
        ...

    async def backup(self, path: str, progress: Callable[[int, int], None]) -> None:
        """Copy the store while it is in use; `progress` hears of pages done and of all."""
        ...

    async def examine(self, *, thorough: bool) -> Report:
        """Say what the store is, how full, and what is wrong with it."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...
