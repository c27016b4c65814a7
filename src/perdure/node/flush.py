"""The flush pipeline: what is gathered, what is under way, and what became of it. Sans-IO.

One batch is in flight at a time, its bytes never change, and the next one gathers meanwhile; there
is no fixed delay, so a batch is one fact under light load and thousands under heavy load. A batch
is committed (its effects are released), absent (the same bytes are sent again), or fenced (its
runs are dropped). Knows rows, and what belongs together; neither stores nor runs nor clocks.

                 next                committed
        IDLE ───────────▶ IN_FLIGHT ───────────▶ IDLE
          ▲                   │ unclear
          └──── recovered ── UNKNOWN            any ── fenced ──▶ FENCED
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec

from perdure.store.port import Batch, FactRow, Message, NewRun, ProgramRow, RunChange

IDLE, IN_FLIGHT, UNKNOWN, FENCED = "idle", "in flight", "unknown", "fenced"

_OVERHEAD_BYTES = 200
"""What an entry takes beside its bodies."""


class Entry:
    """One fold's part of a batch: its row, what goes with it, and what is released after it."""

    __slots__ = (
        "about", "atom", "change", "consumed", "effects", "fact", "messages", "new_run", "owner",
        "program", "size", "waiters",
    )  # fmt: skip

    def __init__(self, owner: Any, fact: FactRow | None, effects: Any = ()) -> None:
        self.owner = owner
        self.fact = fact
        self.effects = effects
        self.atom = 0
        """Entries of one atom caused each other: they are written together or not at all."""
        self.about = 0
        """The run that it is about, if it writes nothing of one but would be wrong without it."""
        self.new_run: NewRun | None = None
        self.change: RunChange | None = None
        self.consumed = 0
        self.messages: list[Message] | None = None
        self.program: ProgramRow | None = None
        self.waiters: list[Any] | None = None
        self.size = _OVERHEAD_BYTES + (len(fact.body) if fact is not None else 0)

    @property
    def rid(self) -> int:
        """The run of which it says anything; 0 if of none."""
        if self.fact is not None:
            return self.fact.rid
        return self.about if self.change is None else self.change.rid


class Recovered(msgspec.Struct, frozen=True):
    """What to do with runs after the heads of all of them were read."""

    release: list[Entry] = []
    """They are durable after all: carry their effects out."""
    refused: frozenset[int] = frozenset()
    """New runs among them whose id was taken."""
    resend: bool = False
    """They are absent: `again` gives the same bytes."""
    lost: list[Entry] = []
    """They are given up, because of the next."""
    reload: frozenset[int] = frozenset()
    """What the store has of these runs is neither: drop them and load them again."""


class Pipeline:
    """The machine. Whoever drives it takes batches from `next` and says what became of them."""

    def __init__(self, batch_entries_max: int = 2_000, batch_bytes_max: int = 16 << 20) -> None:
        self.state = IDLE
        self.gathering: deque[Entry] = deque()
        self.parts: deque[list[Entry]] = deque()
        """Halves of a batch that was refused, still to be sent."""
        self.flying: list[Entry] = []
        self.batch: Batch | None = None
        self.undurable_bytes = 0
        self.atoms = 0
        self.batches = 0
        self._entries_max = batch_entries_max
        self._bytes_max = batch_bytes_max

    @property
    def quiet(self) -> bool:
        """Whether everything that was added is durable."""
        return self.state == IDLE and not self.gathering and not self.parts

    def add(self, entry: Entry, atom: int = 0) -> None:
        """Gather an entry for the next batch, in the order of what caused what."""
        assert self.state != FENCED, "a fenced writer takes nothing any more"
        if not atom:
            self.atoms += 1
            atom = self.atoms
        entry.atom = atom
        self.gathering.append(entry)
        self.undurable_bytes += entry.size

    def new_atom(self) -> int:
        """Give a number for entries that have to be written together."""
        self.atoms += 1
        return self.atoms

    def facts_in_flight(self) -> list[FactRow]:
        """Give the rows of the batch that is under way."""
        return [each.fact for each in self.flying if each.fact is not None]

    def last_of(self, rids: frozenset[int] | None) -> Entry | None:
        """Give the last entry of these runs, or of any, that is not known to be durable."""
        parts = [each for part in self.parts for each in part]
        for entry in chain(reversed(self.gathering), reversed(parts), reversed(self.flying)):
            if rids is None or entry.rid in rids:
                return entry
        return None

    def take(self) -> list[Entry]:
        """Give the entries of the next batch, none if there is nothing to do; `seal` them next."""
        if self.state != IDLE:
            return []
        if self.parts:
            return self.parts.popleft()
        gathering = self.gathering
        if len(gathering) <= self._entries_max and self.undurable_bytes <= self._bytes_max:
            self.gathering = deque()
            return list(gathering)
        taken: list[Entry] = []
        size = 0
        while gathering and (
            not taken
            or gathering[0].atom == taken[-1].atom
            or (len(taken) < self._entries_max and size < self._bytes_max)
        ):
            taken.append(gathering.popleft())
            size += taken[-1].size
        return taken

    def seal(self, entries: list[Entry]) -> Batch:
        """Make the batch of what `take` gave; from here on its bytes do not change."""
        assert self.state == IDLE
        assert entries
        self.flying = entries
        self.batch = batch_of(entries)
        self.state = IN_FLIGHT
        self.batches += 1
        return self.batch

    def again(self) -> Batch:
        """Give the batch whose fate is known to be "absent", to send the same bytes."""
        assert self.state == IN_FLIGHT
        assert self.batch is not None
        return self.batch

    def committed(self) -> list[Entry]:
        """The batch is durable: give its entries, to be released in order."""
        assert self.state == IN_FLIGHT, self.state
        return self._landed()

    def refused(self) -> list[Entry]:
        """The batch was refused for its data: split it, or give the one atom that is at fault."""
        assert self.state == IN_FLIGHT, self.state
        entries = self.flying
        middle = _middle(entries)
        if middle == 0:
            return self._landed()
        self.parts.appendleft(entries[middle:])
        self.parts.appendleft(entries[:middle])
        self.flying, self.batch, self.state = [], None, IDLE
        return []

    def unclear(self) -> None:
        """Nobody knows what became of the batch: read the heads of all runs."""
        assert self.state == IN_FLIGHT, self.state
        self.state = UNKNOWN

    def recovered(self, heads: Mapping[int, int], durable: Mapping[int, int]) -> Recovered:
        """Hold what the store has against what it should have.

        `heads` is what the store says; `durable` is what was known to be there before the batch,
        of every resident run.
        """
        assert self.state == UNKNOWN, self.state
        before, after = _span(self.flying)
        torn = frozenset(
            rid
            for rid, head in heads.items()
            if head != (after[rid] if rid in after else durable.get(rid, 0))
            and head != before.get(rid, -1)
        )
        landed = [rid for rid in after if heads.get(rid, 0) == after[rid]]
        self.state = IN_FLIGHT
        absent = frozenset(after).difference(landed)
        new = {entry.new_run.rid for entry in self.flying if entry.new_run is not None}
        if torn:
            # Somebody else has written, or the store was put back: nothing here can be relied on.
            return Recovered(lost=self._landed(), reload=torn | frozenset(after))
        if landed and absent <= new:  # a batch is written as a whole, but for ids that are taken
            return Recovered(release=self._landed(), refused=absent)
        if not landed:
            return Recovered(resend=True)
        return Recovered(lost=self._landed(), reload=frozenset(after))

    def bound(self, rids: frozenset[int]) -> frozenset[int]:
        """Give these runs, and all that what waits to be written of them has to be written with."""
        waiting = [*(entry for part in self.parts for entry in part), *self.gathering]
        size = -1
        while size != len(rids):
            size = len(rids)
            atoms = {entry.atom for entry in waiting if entry.rid in rids}
            rids |= {entry.rid for entry in waiting if entry.atom in atoms and entry.rid}
        return rids

    def forget(self, rids: frozenset[int]) -> list[Entry]:
        """Give up what waits to be written of some runs, `bound` ones, for they are dropped."""
        waiting = [*(entry for part in self.parts for entry in part), *self.gathering]
        atoms = {entry.atom for entry in waiting if entry.rid in rids}
        dropped = [entry for entry in waiting if entry.atom in atoms]
        parts = ([each for each in part if each.atom not in atoms] for part in self.parts)
        self.parts = deque(part for part in parts if part)
        self.gathering = deque(each for each in self.gathering if each.atom not in atoms)
        self.undurable_bytes -= sum(entry.size for entry in dropped)
        return dropped

    def fence(self) -> list[Entry]:
        """Another writer owns the runs now: give everything that was not durable."""
        lost = [*self.flying, *(entry for part in self.parts for entry in part), *self.gathering]
        self.flying, self.batch, self.state = [], None, FENCED
        self.parts.clear()
        self.gathering.clear()
        self.undurable_bytes = 0
        return lost

    def _landed(self) -> list[Entry]:
        entries, self.flying, self.batch, self.state = self.flying, [], None, IDLE
        self.undurable_bytes -= sum(entry.size for entry in entries)
        return entries

    def check_invariants(self) -> None:
        """Hold the machine against what must always be true; for tests and simulation."""
        assert (self.state in (IN_FLIGHT, UNKNOWN)) == bool(self.flying) == (self.batch is not None)
        held = [*self.flying, *(each for part in self.parts for each in part), *self.gathering]
        assert self.undurable_bytes == sum(entry.size for entry in held)


def batch_of(entries: list[Entry]) -> Batch:
    """Put entries together into what a store writes."""
    facts: list[FactRow] = []
    runs: list[NewRun] = []
    changes: dict[int, RunChange] = {}
    consumed: list[int] = []
    messages: list[Message] = []
    programs: dict[str, ProgramRow] = {}
    for entry in entries:
        if entry.fact is not None:
            facts.append(entry.fact)
        if entry.new_run is not None:
            runs.append(entry.new_run)
        if entry.change is not None:
            changes[entry.change.rid] = _both(changes.get(entry.change.rid), entry.change)
        if entry.consumed:
            consumed.append(entry.consumed)
        if entry.messages is not None:
            messages += entry.messages
        if entry.program is not None:
            programs[entry.program.hash] = entry.program
    return Batch(facts, runs, list(changes.values()), consumed, messages, list(programs.values()))


def _both(before: RunChange | None, after: RunChange) -> RunChange:
    """Give one change for two of a run: the later one counts, and a program that it leaves stays.

    A run whose start and first signal are in one batch would be on no program otherwise.
    """
    if before is None or before.program is None or after.program is not None:
        return after
    return msgspec.structs.replace(after, program=before.program)


def _middle(entries: list[Entry]) -> int:
    """Give where to split, between two atoms; 0 if there is but one."""
    starts = [at for at in range(1, len(entries)) if entries[at].atom != entries[at - 1].atom]
    return min(starts, key=lambda at: abs(at - len(entries) // 2)) if starts else 0


def _span(entries: list[Entry]) -> tuple[dict[int, int], dict[int, int]]:
    """Give the heads of the runs of a batch before and after it."""
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for entry in entries:
        if entry.fact is not None:
            before.setdefault(entry.fact.rid, entry.fact.seq - 1)
            after[entry.fact.rid] = entry.fact.seq
    return before, after
