"""A run in the memory of its owner: the fold, where it stands on disk, and when to image it.

Knows one run; neither stores nor workers nor other runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from perdure.core import image
from perdure.core.facts import Row, encode_row
from perdure.core.run import Run
from perdure.errors import NotNow
from perdure.limits import LIMITS
from perdure.node.flush import Entry
from perdure.store.port import ACTIVE, NEVER, FactRow, checksum

ACTION, WORKFLOW = "action", "workflow"


class Parent(msgspec.Struct, frozen=True):
    """Who waits for the end of a child run, and under which token."""

    rid: int
    call: int
    token: int


class Child(msgspec.Struct, frozen=True, gc=False):
    """A child run that is under way."""

    rid: int
    goes_on: bool
    """Whether it does when its parent no longer waits for it."""


def child_id(parent: str, call: int, token: int) -> str:
    """Give the id of a child run: it says whose, of which call, and under which token."""
    return f"{parent}/{call}.{token}" if token > 1 else f"{parent}/{call}"


BARE_BYTES = 16 << 10
"""What a run with next to no state takes in memory, measured."""
SPREAD = 4
"""How many bytes a byte of an image takes in memory, measured."""


class Resident:
    """One run in memory."""

    __slots__ = (
        "children", "durable_seq", "id", "image_bytes", "image_seq", "is_stored", "is_told_of",
        "last_seq", "note", "parent", "rid", "run", "slow", "stored_wake_us", "tail_bytes",
        "touched_s", "weighed", "why_tail", "workflow",
    )  # fmt: skip

    def __init__(self, rid: int, id_: str, workflow: str, run: Run) -> None:
        self.rid = rid
        self.id = id_
        self.workflow = workflow
        self.run = run
        self.parent: Parent | None = None
        self.is_stored = True
        """Whether its row is there, be it without a fact."""
        self.children: dict[int, Child] = {}
        """By call, the child runs that are under way."""
        self.durable_seq = 0
        """The last fact that is known to be durable."""
        self.stored_wake_us = ACTIVE
        """What the row of the run says of when it has to be looked at."""
        self.last_seq = 0
        """The last fact that was gathered."""
        self.image_bytes = 0
        self.image_seq = 0
        self.tail_bytes = 0
        """The bytes of the facts since the last image."""
        self.slow = False
        """Whether a fold since the last image took so long that it should not be done again."""
        self.why_tail = ""
        """Why the last image was not taken, if it was not."""
        self.is_told_of = False
        """Whether its row says why it could not go on, and need not once it does."""
        self.note: bytes | None = None
        """What its row says beside: why it cannot go on, or was not moved to other code."""
        self.weighed = 0
        """What it was last counted with, in the bytes that all runs in memory take."""
        self.touched_s = 0.0
        """When something last happened to it, by the node's own clock."""

    @property
    def weight(self) -> int:
        """Estimate what it takes in memory, in bytes; costs nothing, however large it is."""
        return BARE_BYTES + SPREAD * (self.image_bytes + self.tail_bytes)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.run.outcome is not None

    @property
    def settled(self) -> bool:
        """Whether everything that happened to it is durable."""
        return self.durable_seq == self.run.seq

    def entry(self, row: Row, effects: Any, key: str | None) -> Entry:
        """Give the part of a batch that one fold makes."""
        body = encode_row(row)
        self.tail_bytes += len(body)
        self.last_seq = row.seq
        return Entry(self, fact_row(self.rid, row.seq, body, key), effects)

    def wake_us(self, now_us: int) -> int:
        """Say when the run has to be looked at: now if somebody works for it, else when it is due.

        A child that it waits for, or a signal, comes by itself.
        """
        due = self.run.timers.next_due_us()
        wake = NEVER if due is None else due
        if len(self.run.calls) == len(self.children):
            return wake
        for call in self.run.calls.values():
            if call.target.kind == WORKFLOW:
                continue
            if call.not_before_us <= now_us:
                return ACTIVE
            wake = min(wake, call.not_before_us)
        return wake

    def image(self, key: bytes) -> bytes | None:
        """Take an image if one is due: of a small run always, else when the tail outweighs it."""
        run = self.run
        if run.outcome is not None or not self.wants_image():
            return None
        try:
            taken = image.take(run, key)
        except NotNow as why:
            self.why_tail = str(why)
            self.image_bytes = max(self.image_bytes, self.tail_bytes, LIMITS.image_small_bytes) * 2
            self.tail_bytes = 0
            return None
        self.took(taken)
        return taken

    def took(self, taken: bytes) -> None:
        """Note that an image of the run as it stands was taken."""
        self.why_tail = ""
        self.image_bytes = len(taken)
        self.image_seq = self.run.seq
        self.tail_bytes = 0
        self.slow = False

    def wants_image(self) -> bool:
        """Whether the last image was small, or is outweighed by the facts after it."""
        return (
            self.image_bytes <= LIMITS.image_small_bytes
            or self.tail_bytes >= self.image_bytes
            or self.slow
        )


def fact_row(
    rid: int, seq: int, body: bytes, key: str | None = None, image: bytes | None = None
) -> FactRow:
    """Give the row of a fact for the store, with a checksum that holds for this run and number."""
    return FactRow(rid, seq, checksum(rid, seq, body), body, key, image)


def with_images(entries: Iterable[Entry], key: bytes) -> None:
    """Put an image into the last row of every run of a batch for which one is due."""
    last: dict[int, Entry] = {}
    for entry in entries:
        if entry.fact is not None and entry.owner is not None:
            last[entry.fact.rid] = entry
    for entry in last.values():
        fact, resident = entry.fact, entry.owner
        assert fact is not None
        if resident.run.seq != fact.seq or resident.run.broken is not None:
            continue  # it is ahead of this batch: a later one carries its image
        taken = resident.image(key)
        if taken is not None:
            entry.fact = FactRow(fact.rid, fact.seq, fact.crc, fact.body, fact.key, taken)
