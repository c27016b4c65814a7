"""The node: owns runs, folds what happens to them, and carries effects out once they are durable.

fact in → `Run.apply` → gathered → flushed → released. Everything hangs off this; there is no second
path for runs that start, that come back, or that end. Lives on one event loop and is not
thread-safe. Knows the store only as a `Writer`.
"""

from __future__ import annotations

import asyncio
import contextvars
import secrets
import threading
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.effects import AnyEffect, Arm, Disarm, Dispatch, Finished, Revoke, Say
from perdure.core.facts import (
    NOTHING,
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Row,
    Started,
    Stopped,
    encode_row,
)
from perdure.core.run import Program, Run
from perdure.errors import Broken, PerdureError, Stale, StoreError, Stuck, brief
from perdure.node.alarms import Alarms
from perdure.node.attempts import Attempts
from perdure.node.flush import FENCED, Entry
from perdure.node.forks import keep_from_forks
from perdure.node.host import HOST
from perdure.node.mail import Mail
from perdure.node.options import Options
from perdure.node.programs import Programs
from perdure.node.recovery import HORIZON_US, SCAN, Recovery
from perdure.node.resident import (
    ACTION,
    WORKFLOW,
    Child,
    Parent,
    Resident,
    child_id,
    fact_row,
)
from perdure.node.room import Room
from perdure.node.wire import CANCEL_BY_PARENT, Outcome, digest_of
from perdure.node.writing import Writing, fail_waiters
from perdure.registry import lookup
from perdure.store.port import (
    ACTIVE,
    CANCELLED,
    COMPLETED,
    FAILED,
    RUNNING,
    STOPPED,
    Fence,
    Message,
    NewRun,
    RunChange,
    Store,
    Unclear,
    Writer,
)

ENDED = {"completed": COMPLETED, "failed": FAILED, "cancelled": CANCELLED}
_SLOW_S = 0.02
MARK_BITS = 10
"""So many bits of the number of a run say which node gave it."""


class Node:
    """One owner of runs, on the loop that it was made on."""

    def __init__(self, store: Store, writer: Writer, key: bytes, options: Options) -> None:
        self.store = store
        self.writer = writer
        self.key = key
        self.options = options
        self.now_us = options.now_us
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()
        self.writing = Writing(self, writer)
        self.pipeline = self.writing.pipeline
        self.residents: dict[int, Resident] = {}
        self.programs = Programs(store, key)
        self.alarms = Alarms(self.loop, self.now_us, self._ring, self._due_of)
        self.attempts = Attempts(self)
        self.observers: list[Callable[[Entry], object]] = []
        self.inner: deque[tuple[Any, ...]] = deque()
        self.folding: tuple[Resident, float] | None = None
        """What is being folded, and since when: the watchdog looks at it."""
        self.interrupt = ""
        """Set by the watchdog when it has interrupted a fold: why."""
        self.fold_guard = threading.Lock()
        self.unable: dict[int, PerdureError] = {}
        """Runs that cannot go on in this process, and why."""
        self.room = Room(self)
        self.recovery = Recovery(self)
        self.mail = Mail(self)
        self.on_fenced: Callable[[], object] = lambda: None
        self.draining = False
        self.spawned: set[asyncio.Task[None]] = set()
        self.last_rid = 0
        self.mark = secrets.randbits(MARK_BITS)
        """Sets the numbers that this node gives apart from those of another."""
        keep_from_forks(self)

    @property
    def attending(self) -> Attempts:
        """The attempts."""
        return self.attempts

    @property
    def loading(self) -> Recovery:
        """What brings runs into memory."""
        return self.recovery

    @property
    def memory(self) -> Room:
        """How much the runs in memory take."""
        return self.room

    @property
    def gathering(self) -> Writing:
        """The way to the store."""
        return self.writing

    def clock(self) -> float:
        """Read the clock by which waiting is measured."""
        return time.perf_counter()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside everything else; it is held until it is done."""
        task = self.loop.create_task(work, context=self.context.copy())
        self.spawned.add(task)
        task.add_done_callback(self._spawned_done)

    async def insist(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something that reads the store, again and again while it is out of reach."""
        while True:
            try:
                await work()
            except Fence:
                self.fence()
            except StoreError as error:
                self.options.warn(f"the store cannot be read for now: {error}")
                await asyncio.sleep(self.options.retry_s)
                continue
            return

    def _spawned_done(self, task: asyncio.Task[None]) -> None:
        self.spawned.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            [*_, at] = traceback.extract_tb(error.__traceback__)
            self.options.warn(f"the node failed: {brief(error)} at {at.filename}:{at.lineno}")

    # --- folding

    def fold(
        self, resident: Resident, fact: AnyFact, *, key: str | None = None, atom: int = 0
    ) -> Entry:
        """Fold a fact and gather its row, or that of the run's stop; `Stale` if it changes nothing.

        What it causes in other runs of this node is folded too, and written with it.
        """
        run = resident.run
        if self.pipeline.state == FENCED:
            raise Fence("another process owns the runs now", remedy="ask again: it will be heard")
        begun = time.perf_counter()
        self.folding = (resident, begun)
        try:
            try:
                applied = run.apply(fact)
            finally:
                with self.fold_guard:  # from here on the watchdog lets go
                    self.folding = None
        except Stale:
            raise
        except PerdureError as error:
            if run.broken is None:
                raise  # the fact does not fit, and nothing has changed
            return self.stop(resident, error, fact, atom)
        except BaseException as error:  # noqa: BLE001 — whatever it was, only this run stops
            return self.stop(resident, self._why_stopped(error), fact, atom)
        if self.interrupt:
            return self.stop(resident, self._why_stopped(Broken("")), fact, atom)
        resident.touched_s = begun
        if time.perf_counter() - begun > _SLOW_S:
            resident.slow = True
        entry = resident.entry(applied.row, applied.effects, key)
        self.writing.add(entry, atom)
        for effect in applied.effects:
            if isinstance(effect, Dispatch):
                if effect.kind == WORKFLOW:
                    self.inner.append((Node._begin_child, resident, effect, entry.atom))
            elif isinstance(effect, Finished):
                self._ending(resident, entry, effect)
            elif isinstance(effect, Revoke) and effect.call in resident.children:
                self.inner.append((Node._cancel_child, resident, effect, entry.atom))
        if self.inner and not atom:
            self._settle_inner()
        return entry

    def _settle_inner(self) -> None:
        while self.inner:
            do, *rest = self.inner.popleft()
            do(self, *rest)

    def _why_stopped(self, error: BaseException) -> BaseException:
        if self.interrupt:
            error = Stuck(self.interrupt, remedy="mend the code, then `perdure upgrade` the run")
            self.interrupt = ""
        return error

    def stop(
        self, resident: Resident, error: BaseException, fact: AnyFact | None, atom: int = 0
    ) -> Entry:
        """Take a run out that cannot go on; what it did stays, and why is written down."""
        entry = self.stop_row(resident.rid, resident.id, resident.last_seq, error, fact, atom)
        self.drop(resident)
        return entry

    def stop_row(
        self,
        rid: int,
        id_: str,
        head: int,
        error: BaseException,
        fact: AnyFact | None = None,
        atom: int = 0,
    ) -> Entry:
        """Write down that a run cannot go on, and which fact could not be folded."""
        why = values.line_of(error)
        cause = NOTHING if fact is None else Raw(msgspec.json.encode(fact))
        stopped = Stopped(self.now_us(), getattr(error, "code", "E304"), why, cause)
        row = encode_row(Row(head + 1, stopped, 0))  # no digest: nothing was folded
        entry = Entry(None, fact_row(rid, head + 1, row))
        entry.change = RunChange(
            rid, STOPPED, ACTIVE, result=values.encode_error(error, trace=False)
        )
        self.writing.add(entry, atom)
        self.options.warn(f"run `{id_}` is stopped: {brief(error)}; `perdure show` says why")
        return entry

    def drop(self, resident: Resident) -> None:
        """Forget a run; the store has it."""
        self.residents.pop(resident.rid, None)
        self.room.weigh(resident)
        self.attempts.abandon(resident)
        resident.run.drop()

    # --- runs that begin and end

    def new_rid(self) -> int:
        """Give a number for a new run: larger than all that this process gave, ordered by time."""
        now = (self.now_us() << MARK_BITS) | self.mark
        self.last_rid = max(self.last_rid + (1 << MARK_BITS), now)
        return self.last_rid

    def begin_run(
        self,
        row: NewRun,
        program: Program,
        args: Raw,
        *,
        seed: int,
        zone: str,
        parent: Parent | None = None,
        stored: bool = False,
        key: str | None = None,
        atom: int = 0,
    ) -> Entry:
        """Fold the first fact of a run; `stored` if its row is there already."""
        resident = Resident(row.rid, row.id, row.workflow, Run(program, HOST))
        resident.parent = parent
        resident.is_stored = stored
        self.residents[row.rid] = resident
        own_atom = atom or self.pipeline.new_atom()
        fact = Started(self.now_us(), program.hash, args, seed, zone, row.id)
        entry = self.fold(resident, fact, key=key, atom=own_atom)
        is_quiet = not resident.is_over and entry.owner is resident
        wake = resident.wake_us(fact.at_us) if is_quiet else ACTIVE
        resident.stored_wake_us = wake
        entry.program = self.programs.new_row(program)
        ended = entry.change
        if stored:
            if ended is None:
                entry.change = RunChange(row.rid, RUNNING, wake, program=program.hash)
            else:
                entry.change = msgspec.structs.replace(ended, program=program.hash)
        else:
            entry.new_run = msgspec.structs.replace(row, wake_at_us=wake)
        if not atom:
            self._settle_inner()
        return entry

    def _ending(self, resident: Resident, entry: Entry, effect: Finished) -> None:
        entry.change = RunChange(
            resident.rid,
            ENDED[effect.status],
            ACTIVE,
            ended_us=resident.run.now_us,
            result=bytes(effect.value),
        )
        if resident.parent is not None:
            self.inner.append((Node._end_child, resident, effect, entry))

    def _begin_child(self, parent: Resident, effect: Dispatch, atom: int) -> None:
        call = parent.run.calls.get(effect.call)
        if call is None or call.token != effect.token:
            return  # it was cancelled while this fact was folded
        run_id = child_id(parent.id, effect.call, effect.token)
        try:
            program = lookup(WORKFLOW, effect.target).program()
        except PerdureError as error:
            raw = Raw(values.encode_error(error, trace=False))
            self.fold(parent, Failed(self.now_us(), effect.call, effect.token, raw), atom=atom)
            return
        rid = self.new_rid()
        row = NewRun(
            rid, run_id, effect.target, program.hash, digest_of(effect.args), self.now_us(),
            parent=parent.rid, parent_call=effect.call,
        )  # fmt: skip
        parent.children[effect.call] = Child(rid, effect.policy.abandons)
        seed = zlib.crc32(f"{parent.run.seed}/{effect.call}".encode())
        self.begin_run(
            row,
            program,
            effect.args,
            seed=seed,
            zone=parent.run.zone,
            parent=Parent(parent.rid, effect.call, effect.token),
            atom=atom,
        )

    def _cancel_child(self, parent: Resident, effect: Revoke, atom: int) -> None:
        found = parent.children.pop(effect.call)
        if found.goes_on:
            return
        rid = found.rid
        child = self.residents.get(rid)
        if child is None:
            self._send_inside(Message(rid, "cancel", CANCEL_BY_PARENT, f"parent:{rid}"), atom)
        elif not child.is_over:
            self.fold(
                child, Cancelled(self.now_us(), "its parent no longer waits for it"), atom=atom
            )

    def _end_child(self, child: Resident, effect: Finished, entry: Entry) -> None:
        """Tell the parent, in the same write: it is folded here, or finds a message."""
        assert child.parent is not None
        rid, call, token = child.parent.rid, child.parent.call, child.parent.token
        parent = self.residents.get(rid)
        if parent is None:
            body = Outcome(call, token, effect.status == "completed", effect.value)
            message = Message(rid, "outcome", msgspec.json.encode(body), f"child:{child.rid}")
            entry.messages = [*(entry.messages or ()), message]
            return
        parent.children.pop(call, None)
        outcome = Completed if effect.status == "completed" else Failed
        with suppress(Stale):
            self.fold(parent, outcome(self.now_us(), call, token, effect.value), atom=entry.atom)

    def _send_inside(self, message: Message, atom: int) -> None:
        entry = Entry(None, None)
        entry.messages = [message]
        self.writing.add(entry, atom)

    def write_change(self, change: RunChange) -> None:
        """Change the row of a run, as it leaves the memory."""
        entry = Entry(None, None)
        entry.change = change
        self.writing.add(entry)

    # --- releasing

    def release(self, entries: list[Entry], refused: frozenset[int]) -> None:
        """Carry out what durable facts caused, in their order."""
        for entry in entries:
            resident, fact = entry.owner, entry.fact
            if fact is not None:
                if fact.rid in refused:
                    self._refused_run(entry)
                    continue
                if resident is not None:
                    resident.durable_seq = fact.seq
                    resident.is_stored = True
            for effect in entry.effects:
                _RELEASE[type(effect)](self, resident, effect)
            if resident is not None:
                if _may_rest(resident, entry):
                    self.room.rests(resident)
                else:
                    self.room.weigh(resident)
            if entry.waiters is not None:
                for waiter in entry.waiters:
                    if not waiter.done():
                        waiter.set_result(None)
            for observer in self.observers:
                observer(entry)
        self.room.make()

    def _refused_run(self, entry: Entry) -> None:
        assert entry.fact is not None
        rid = entry.fact.rid
        resident = self.residents.get(rid)
        taken = Taken(f"run {rid}")
        fail_waiters(entry, taken)
        others = self.forget(frozenset((rid,)), taken) - {rid}
        if others:
            self.load_again(others)
        if resident is not None and resident.parent is not None:
            self._refused_child(resident.parent)

    def _refused_child(self, by: Parent) -> None:
        """The id of a child is that of somebody else's run: another one is begun."""
        parent = self.residents.get(by.rid)
        if parent is None:
            self.load_again(frozenset((by.rid,)))
            return
        parent.children.pop(by.call, None)
        call = parent.run.calls.get(by.call)
        if call is not None and call.token == by.token:
            self.fold(parent, Lost(self.now_us(), by.call, by.token, counted=False))

    def dispatch(self, resident: Resident, effect: Dispatch) -> None:
        """Have an attempt made, by this process."""
        if effect.kind == ACTION:
            self.attempts.ask(resident, effect)

    def revoke(self, resident: Resident, effect: Revoke) -> None:
        """Tell an attempt that nobody waits for it."""
        self.attempts.revoke(resident, effect)

    def armed(self, resident: Resident, effect: Arm) -> None:
        """Have the run rung for when a timer of it is due."""
        self.alarms.push(effect.due_us, resident.rid)

    def disarmed(self, resident: Resident, effect: Disarm) -> None:
        """Nothing: a timer that rings is asked whether it still is armed."""

    def said(self, resident: Resident, effect: Say) -> None:
        """Show a line."""
        self.options.say(resident.id, effect)

    def finished(self, resident: Resident, _: Finished) -> None:
        """Let go of a run that has ended."""
        if self.residents.get(resident.rid) is resident:
            self.drop(resident)

    # --- leaving

    def fence(self) -> None:
        """Another process owns the runs now: drop them all."""
        if self.pipeline.state == FENCED:
            return
        for entry in self.pipeline.fence():
            fail_waiters(entry, Fence("another process owns the runs now"))
        for resident in list(self.residents.values()):
            self.drop(resident)
        for task in self.spawned:
            task.cancel()
        self.on_fenced()

    def forget(self, rids: frozenset[int], why: Exception) -> frozenset[int]:
        """Drop runs, and all that are bound to them, with everything that is not written."""
        rids = self.pipeline.bound(rids)
        self.give_up(self.pipeline.forget(rids), why)
        for rid in rids:
            resident = self.residents.get(rid)
            if resident is not None:
                self.drop(resident)
        return rids

    def give_up(self, entries: Iterable[Entry], why: Exception) -> None:
        """Undo what was done in the belief that these entries would be written."""
        for entry in entries:
            fail_waiters(entry, why)
            self.mail.undo(entry)
            if entry.fact is not None:
                self.attempts.undo(entry.fact)
            if entry.program is not None and entry.fact is not None:
                alone = Entry(None, None)
                alone.program = entry.program
                self.writing.add(alone)

    def load_again(self, rids: frozenset[int], *, fresh: bool = False) -> None:
        """Bring runs back that were dropped; `fresh`: none of their calls is under way here."""
        if not fresh:
            self.recovery.put_aside |= rids
        self.spawn(self.insist(lambda: self.recovery.load(rids, fresh=fresh)))

    async def settled(self) -> None:
        """Wait until everything is durable, as long as the store takes anything at all."""
        while not self.pipeline.quiet and self.pipeline.state != FENCED:
            if self.writing.down_since_s:
                self.options.warn("closing although the store takes nothing: it is brought back")
                return
            self.writing.kick()
            await asyncio.sleep(0.001)

    def close(self) -> None:
        """Drop everything; the store has it."""
        self.alarms.close()
        for entry in self.pipeline.fence():
            fail_waiters(entry, Unclear("the engine was closed before this was durable"))
        for resident in list(self.residents.values()):
            self.drop(resident)
        for task in self.spawned:
            task.cancel()

    # --- timers

    def _ring(self, rids: list[int]) -> None:
        away: list[int] = []
        for rid in rids:
            resident = self.residents.get(rid)
            if resident is None:
                away.append(rid)
            else:
                self.fire(resident)
        if away:
            self.spawn(self.insist(lambda: self._wake_up(away)))

    def _due_of(self, rid: int, due_us: int) -> int | None:
        """Say when to ring for a run; one that is far away a scan will find."""
        if rid == SCAN:
            return self.recovery.scan_us or None
        resident = self.residents.get(rid)
        if resident is not None:
            return resident.run.timers.next_due_us()
        return due_us if due_us <= self.now_us() + HORIZON_US else None

    async def _wake_up(self, rids: list[int]) -> None:
        """Load runs that are due, and fire their timers."""
        if SCAN in rids:
            await self.recovery.scan()
            rids.remove(SCAN)
        for at in range(0, len(rids), 100):
            chunk = rids[at : at + 100]
            await self.recovery.load(chunk)
            for rid in chunk:
                resident = self.residents.get(rid)
                if resident is not None:
                    self.fire(resident)

    def fire(self, resident: Resident) -> None:
        """Fold every timer of a run that is due."""
        run = resident.run
        while resident.rid in self.residents and not resident.is_over:
            due_us = run.timers.next_due_us()
            if due_us is None:
                return
            if due_us > self.now_us():
                self.alarms.push(due_us, resident.rid)
                return
            self.fold(resident, Fired(max(self.now_us(), due_us), run.timers.heap[0][1]))


def _may_rest(resident: Resident, entry: Entry) -> bool:
    """Whether a run waits for nothing that is under way here, or has come to wait to try again."""
    return len(resident.run.calls) == len(resident.children) or any(
        isinstance(each, Dispatch) and each.not_before_us for each in entry.effects
    )


class Taken(Exception):
    """The id of a new run is that of another."""


_RELEASE: dict[type[AnyEffect], Callable[[Node, Any, Any], None]] = {
    Dispatch: Node.dispatch,
    Revoke: Node.revoke,
    Arm: Node.armed,
    Disarm: Node.disarmed,
    Say: Node.said,
    Finished: Node.finished,
}
