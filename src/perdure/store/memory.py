"""The store in memory: what every other store must do, written as plainly as it can be said.

Knows no file and no clock. A `MemoryDatabase` is the disk; stores and writers over it come and go.
Several writers may share one database, as nodes share a server: runs then belong to whoever wrote
them first. `faults` is asked around every write, and may delay it, refuse it, or hide its fate.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from perdure.store.port import (
    ACTIVE,
    OPEN,
    Batch,
    Down,
    FactRow,
    Fence,
    Flushed,
    Message,
    NewRun,
    ProgramRow,
    ProgramUse,
    Query,
    Refused,
    Report,
    RunChange,
    RunRow,
    Stored,
    Unclear,
)

Faults = Callable[[str, Batch], Awaitable[None] | None]
"""Asked at "flush" and "send", before anything is written, and at "flushed" and "sent", after; at
"read" and "have read", before and after an owner reads.

It may raise what a store raises, or give something to await; what is raised after a write hides
that it took place.
"""

INT_MAX = (1 << 63) - 1


NOTHING = Batch()
T = TypeVar("T")


class Late(Unclear):
    """Raised by `faults` before a write: it takes place later, at `land`, if it still may."""


@dataclass
class MemoryDatabase:
    """What survives when every store and writer is gone."""

    shared: bool = False
    """Whether there may be several writers at once."""
    environment: str = ""
    faults: Faults | None = None
    row_bytes_max: int = 1_000_000_000
    left_in_order: bool = True
    """Whether the last writer was closed, or there was none."""

    runs: dict[int, RunRow] = field(default_factory=dict[int, RunRow])
    facts: dict[int, dict[int, FactRow]] = field(default_factory=dict[int, dict[int, FactRow]])
    messages: dict[int, Message] = field(default_factory=dict[int, Message])
    programs: dict[str, ProgramRow] = field(default_factory=dict[str, ProgramRow])
    version: int = 0
    ids: dict[str, int] = field(default_factory=dict[str, int])
    _heads: dict[int, int] = field(default_factory=dict[int, int])
    _folded: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    _waiting: set[tuple[int, str | None]] = field(default_factory=set[tuple[int, str | None]])
    _last_message: int = 0
    owners: dict[int, MemoryWriter] = field(default_factory=dict[int, "MemoryWriter"])
    _writers: list[MemoryWriter] = field(default_factory=list["MemoryWriter"])
    _late: list[tuple[MemoryWriter, int, Batch]] = field(
        default_factory=list[tuple["MemoryWriter", int, Batch]]
    )
    turns: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])

    def declare_dead(self, dead: MemoryWriter, heir: MemoryWriter | None = None) -> None:
        """Fence a writer off; its runs go to the heir, or to whoever asks for all work first."""
        dead.alive = False
        if dead in self._writers:
            self._writers.remove(dead)
        for rid in [rid for rid, owner in self.owners.items() if owner is dead]:
            if heir is None:
                del self.owners[rid]
            else:
                self.owners[rid] = heir
        self.version += 1
        for turn in self.turns:
            if not turn.done():
                turn.set_result(None)
        self.turns.clear()

    def land(self) -> int:
        """Carry out the writes that are late, but for those of incarnations that are no more."""
        late, self._late = self._late, []
        landed = 0
        for writer, incarnation, batch in late:
            if writer.alive and writer.incarnation == incarnation:
                self._check(batch, writer)
                self._apply(batch, writer)
                landed += 1
        return landed

    def row(self, rid: int) -> RunRow:
        """Give the row of a run, with the number of its last fact."""
        return msgspec.structs.replace(self.runs[rid], head=self.head(rid))

    def head(self, rid: int) -> int:
        """Give the number of the last fact of a run, or 0."""
        return self._heads.get(rid, 0)

    # --- who may write ---------------------------------------------------------------

    def enter(self) -> MemoryWriter | None:
        """Give a new writer, or `None` if there is one and only one may be."""
        if self._writers and not self.shared:
            return None
        writer = MemoryWriter(self)
        self._writers.append(writer)
        return writer

    def adopt(self, writer: MemoryWriter, *, begun: bool) -> None:
        """Give a writer the runs that nobody has: those that have not begun, or all."""
        if writer.alive and len(self.owners) < len(self.runs):
            for rid in self.runs:
                if begun or not self.head(rid):
                    self.owners.setdefault(rid, writer)

    # --- one write -------------------------------------------------------------------

    async def write(self, batch: Batch, writer: MemoryWriter | None) -> Flushed:
        """Carry out a batch of a writer, or of a client, with all that may come between."""
        before, after = ("flush", "flushed") if writer else ("send", "sent")
        incarnation = writer.incarnation if writer else 0
        try:
            await self.ask(before, batch)
        except Late:
            if writer is not None:
                self._late.append((writer, incarnation, batch))
            raise
        if writer is not None and incarnation != writer.incarnation:
            raise Fence("this incarnation was renewed")
        self._check(batch, writer)
        flushed = self._apply(batch, writer)
        await self.ask(after, batch)
        return flushed

    async def ask(self, moment: str, batch: Batch) -> None:
        """Let what is to go wrong at this moment go wrong."""
        pause = self.faults(moment, batch) if self.faults is not None else None
        if pause is not None:
            await pause

    def _check(self, batch: Batch, writer: MemoryWriter | None) -> None:
        """Raise what stands in the way of a batch, before any of it is written."""
        for row in (*batch.facts, *batch.runs, *batch.changes, *batch.messages, *batch.programs):
            self._check_values(row)
        if writer is not None and not writer.alive:
            raise Fence("this writer was declared dead")
        refused = self._taken(batch.runs)
        known = {run.rid for run in batch.runs}
        assert all(fact.rid in self.runs or fact.rid in known for fact in batch.facts)
        seen: set[tuple[int, int]] = set()
        for fact in batch.facts:
            if fact.rid not in refused:
                self._check_fact(fact, writer, seen)
        self._check_changes(batch, refused)

    def _check_fact(
        self, fact: FactRow, writer: MemoryWriter | None, seen: set[tuple[int, int]]
    ) -> None:
        if self.owners.get(fact.rid, writer) is not writer:
            raise Fence(f"run {fact.rid} belongs to another writer")
        place = (fact.rid, fact.seq)
        if place in seen or fact.seq in self.facts.get(fact.rid, ()):
            raise Fence(f"run {fact.rid} has a fact {fact.seq} already")
        seen.add(place)

    def _check_changes(self, batch: Batch, refused: frozenset[int]) -> None:
        """The promise of the owner: without a fact, only when a run is due and why it waits."""
        with_facts = {fact.rid for fact in batch.facts} | {run.rid for run in batch.runs}
        for change in batch.changes:
            if change.rid not in with_facts and change.rid not in refused:
                row = self.runs[change.rid]
                told = (change.status, change.program, change.ended_us)
                assert told == (row.status, None, None), change

    def _check_values(self, row: msgspec.Struct) -> None:
        for name in row.__struct_fields__:
            value: Any = getattr(row, name)
            if isinstance(value, int) and not -INT_MAX - 1 <= value <= INT_MAX:
                raise Refused(f"{name} does not fit into 64 bits")
            if isinstance(value, str):
                try:
                    value = value.encode()
                except UnicodeEncodeError as error:
                    raise Refused(f"{name} is no text: {error}") from error
            if isinstance(value, bytes) and len(value) > self.row_bytes_max:
                raise Refused(f"{name} has {len(value)} bytes")

    def _taken(self, runs: Sequence[NewRun]) -> frozenset[int]:
        ids, rids, refused = set[str](), set[int](), set[int]()
        for run in runs:
            is_orphan = run.parent is not None and not (
                run.parent in self.runs or run.parent in rids - refused
            )
            is_there = run.id in self.ids or run.rid in self.runs
            if is_orphan or is_there or run.id in ids or run.rid in rids:
                refused.add(run.rid)
            ids.add(run.id)
            rids.add(run.rid)
        return frozenset(refused)

    def _apply(self, batch: Batch, writer: MemoryWriter | None) -> Flushed:
        refused = self._taken(batch.runs)
        for run in batch.runs:
            if run.rid not in refused:
                self._add_run(run)
                if writer is not None:
                    self.owners[run.rid] = writer
        for fact in batch.facts:
            if fact.rid not in refused:
                self._add_fact(fact)
                if writer is not None:
                    self.owners[fact.rid] = writer
        for change in batch.changes:
            if change.rid not in refused:
                self._change(change)
        for n in batch.consumed:
            gone = self.messages.pop(n, None)
            if gone is not None:
                self._waiting.discard((gone.rid, gone.key))
        for message in batch.messages:
            if message.rid not in refused:
                self._add_message(message)
        for program in batch.programs:
            self._add_program(program)
        self.version += 1
        return Flushed(refused)

    def _add_run(self, run: NewRun) -> None:
        told = {name: getattr(run, name) for name in run.__struct_fields__}
        self.runs[run.rid] = RunRow(**told, ended_us=None, result=None, head=0)
        self.ids[run.id] = run.rid

    def _add_fact(self, fact: FactRow) -> None:
        self.facts.setdefault(fact.rid, {})[fact.seq] = fact
        self._heads[fact.rid] = max(fact.seq, self.head(fact.rid))
        if fact.key is not None:
            self._folded.add((fact.rid, fact.key))

    def _change(self, change: RunChange) -> None:
        told = msgspec.structs.asdict(change)
        if change.program is None:
            del told["program"]
        self.runs[change.rid] = msgspec.structs.replace(self.runs[change.rid], **told)

    def _add_message(self, message: Message) -> None:
        if message.key is not None:
            place = (message.rid, message.key)
            if place in self._folded or place in self._waiting:
                return
            self._waiting.add(place)
        self._last_message += 1
        n = self._last_message
        self.messages[n] = msgspec.structs.replace(message, n=n)

    def _add_program(self, program: ProgramRow) -> None:
        known = self.programs.get(program.hash)
        if known is not None and program.text is None:
            program = msgspec.structs.replace(program, text=known.text, mac=known.mac)
        self.programs[program.hash] = program

    def prune(self, ended_before_us: int, limit: int) -> int:
        """Delete the facts of runs that ended before then."""
        ended = [
            row.rid
            for row in sorted(self.runs.values(), key=lambda row: (row.ended_us or 0, row.rid))
            if row.status > OPEN
            and row.ended_us is not None
            and row.ended_us < ended_before_us
            and self.facts.get(row.rid)
        ][:limit]
        for rid in ended:
            del self.facts[rid]
            del self._heads[rid]
        self._folded = {place for place in self._folded if place[0] not in ended}
        self.version += 1
        return len(ended)


class MemoryWriter:
    """The owner's side of a store in memory."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.alive = True
        self.incarnation = 1
        self.was_left_in_order = database.left_in_order and not database.shared
        self._database = database
        database.left_in_order = False

    async def flush(self, batch: Batch) -> Flushed:
        """Write a batch, all or nothing."""
        return await self._database.write(batch, self)

    async def _read(self, work: Callable[[], T]) -> T:
        await self._database.ask("read", NOTHING)
        found = work()
        await self._database.ask("have read", NOTHING)
        return found

    async def renew(self) -> None:
        """Become a new incarnation."""
        await self._database.ask("read", NOTHING)
        if not self.alive:
            raise Fence("this writer was declared dead")
        self.incarnation += 1

    async def heads(self, rids: Sequence[int]) -> dict[int, int]:
        """Give the number of the last fact of each run; 0 where there is none."""
        return await self._read(lambda: self._heads(rids))

    def _heads(self, rids: Sequence[int]) -> dict[int, int]:
        if not self.alive:
            raise Fence("this writer was declared dead")
        return {rid: self._database.head(rid) for rid in rids}

    async def load(self, rids: Sequence[int]) -> list[Stored]:
        """Give runs as they stand; those that are not there are left out."""
        there = self._database.runs
        return await self._read(lambda: [self._stored(rid) for rid in rids if rid in there])

    def _stored(self, rid: int) -> Stored:
        facts = self._database.facts.get(rid, {})
        first = max((seq for seq, fact in facts.items() if fact.image is not None), default=0)
        kept = [fact for seq, fact in sorted(facts.items()) if seq >= first]
        return Stored(self._database.row(rid), kept)

    async def due(self, after: tuple[int, int], until_us: int, limit: int) -> list[tuple[int, int]]:
        """Give `(wake_at_us, rid)` of open runs in that order."""
        if after[0] < ACTIVE:  # it asks for all there is to do
            self._database.adopt(self, begun=True)
        found = await self._read(self._waiting)
        return [it for it in found if it > after and it[0] <= until_us][:limit]

    def _waiting(self) -> list[tuple[int, int]]:
        return sorted(
            (row.wake_at_us, row.rid)
            for row in self._database.runs.values()
            if row.status <= OPEN and self._database.owners.get(row.rid) is self
        )

    async def inbox(self, limit: int) -> list[Message]:
        """Give the oldest messages for runs of this writer, and for runs that there are not."""
        return await self._read(lambda: self._inbox()[:limit])

    def _inbox(self) -> list[Message]:
        self._database.adopt(self, begun=False)
        owners = self._database.owners
        messages = self._database.messages.values()
        there = self._database.runs
        return [it for it in messages if it.rid not in there or owners.get(it.rid) is self]

    async def close(self, *, in_order: bool = True) -> None:
        """Let go of the runs, so that another writer may have them at once."""
        if self.alive:
            self._database.declare_dead(self)
            self._database.left_in_order = in_order


class MemoryStore:
    """Everybody's side of a store in memory."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self.database = database if database is not None else MemoryDatabase()
        self._mine: list[MemoryWriter] = []

    async def writer(self, *, wait: bool = False) -> MemoryWriter | None:
        """Become a writer, or the only one."""
        while True:
            writer = self.database.enter()
            if writer is not None:
                self._mine.append(writer)
            if writer is not None or not wait:
                return writer
            turn = asyncio.get_running_loop().create_future()
            self.database.turns.append(turn)
            await turn

    async def send(self, runs: Sequence[NewRun], messages: Sequence[Message]) -> frozenset[int]:
        """Add runs that wait to begin, and messages; give the runs whose id was taken."""
        batch = Batch(runs=runs, messages=messages)
        return (await self.database.write(batch, None)).refused

    async def find(self, ids: Sequence[str]) -> list[RunRow]:
        """Give the rows of runs by the ids of users; those that are not there are left out."""
        known = self.database.ids
        return [self.database.row(known[id_]) for id_ in ids if id_ in known]

    async def rows(self, query: Query) -> list[RunRow]:
        """Give the rows of runs that a query asks for, newest first."""
        newest = sorted(self.database.runs.values(), key=lambda row: -row.rid)
        asked = [row.rid for row in newest if _is_asked_for(row, query)]
        return [self.database.row(rid) for rid in asked[: query.limit]]

    async def facts(self, rid: int, after: int, limit: int, *, images: bool) -> list[FactRow]:
        """Give the facts of a run in order, those after number `after`."""
        facts = sorted(self.database.facts.get(rid, {}).items())
        asked = [fact for seq, fact in facts if seq > after][:limit]
        return asked if images else [msgspec.structs.replace(it, image=None) for it in asked]

    async def program(self, hash_: str) -> ProgramRow | None:
        """Give a program by its hash."""
        return self.database.programs.get(hash_)

    async def programs(self) -> list[ProgramUse]:
        """Give all programs by name and hash; goes through all runs once to count them."""
        used = Counter(row.program for row in self.database.runs.values())
        known = sorted(self.database.programs.values(), key=lambda it: (it.name, it.hash))
        return [ProgramUse(each.hash, each.name, used[each.hash]) for each in known]

    async def prune(self, ended_before_us: int, limit: int) -> int:
        """Delete the facts of runs that ended before then; their rows, and so their ids, stay."""
        return self.database.prune(ended_before_us, limit)

    def version(self) -> int:
        """Give a number that changes whenever somebody has written."""
        return self.database.version

    async def backup(self, path: str, progress: Callable[[int, int], None]) -> None:
        """Write what is there into a file, as text to look at."""
        tables = self.snapshot()
        _write_text(path, msgspec.json.encode(tables))
        progress(len(tables), len(tables))

    def snapshot(self) -> dict[str, list[Any]]:
        """Give all that the database holds, in a fixed order."""
        database = self.database
        return {
            "runs": [database.row(rid) for rid in sorted(database.runs)],
            "facts": [
                fact
                for rid in sorted(database.facts)
                for _, fact in sorted(database.facts[rid].items())
            ],
            "messages": [database.messages[n] for n in sorted(database.messages)],
            "programs": [database.programs[hash_] for hash_ in sorted(database.programs)],
        }

    async def examine(self, *, thorough: bool) -> Report:
        """Say how much there is."""
        counts = {name: str(len(rows)) for name, rows in self.snapshot().items()}
        looked_at = {"looked at": "all of it" if thorough else "counts"}
        return Report("memory", "memory", self.database.environment, counts | looked_at, [])

    async def close(self) -> None:
        """Let go of everything."""
        for writer in self._mine:
            await writer.close()
        self._mine.clear()


def _is_asked_for(row: RunRow, query: Query) -> bool:
    attrs = msgspec.json.decode(row.attrs, type=dict[str, Any]) if query.attrs else {}
    return (
        (not query.statuses or row.status in query.statuses)
        and (query.workflow is None or row.workflow == query.workflow)
        and (query.since_us is None or row.created_us >= query.since_us)
        and (query.until_us is None or row.created_us < query.until_us)
        and all(attrs.get(name) == value for name, value in query.attrs.items())
        and (query.parent is None or row.parent == query.parent)
        and (query.before is None or row.rid < query.before)
    )


def _write_text(path: str, text: bytes) -> None:
    try:
        Path(path).write_bytes(text)
    except OSError as error:
        raise Down(f"{path}: {error.strerror}") from error
