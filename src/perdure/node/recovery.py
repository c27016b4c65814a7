"""Bringing runs back: one way for a start, a take-over, a reconnect, a failed batch and a reload.

    image and tail → fold → what does the run wait for? → what is under way here? → the difference

Knows how the store's rows become a run again, and nothing of batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from msgspec import Raw

from perdure import values
from perdure.core.calls import Call
from perdure.core.facts import Completed, Failed, Lost
from perdure.core.run import Program, Run
from perdure.errors import (
    BadImage,
    BadProgram,
    ClassChanged,
    DamagedLog,
    NotAWorkflow,
    PerdureError,
    StoreError,
    Unserved,
    brief,
)
from perdure.limits import LIMITS
from perdure.node.flush import FENCED
from perdure.node.history import log_of, run_of
from perdure.node.house import House
from perdure.node.resident import WORKFLOW, Child, Parent, Resident, child_id
from perdure.store.port import (
    ACTIVE,
    COMPLETED,
    NEVER,
    RUNNING,
    STOPPED,
    RunChange,
    RunRow,
    Stored,
)

CHUNK = 100
"""Runs that are loaded with one read, before others have their turn."""
_WAITS = (BadProgram, ClassChanged, NotAWorkflow)
"""Errors that other code in this process mends; nothing was folded, so the run only waits."""
HORIZON_US = 2_000_000
"""How far ahead the due times of runs that are not in memory are known."""
PAGE = 2_000


class Recovery:
    """Loads runs for a node, and knows which are due that are not in memory."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.scanned_us = 0
        """Up to here, everything that is due is in the alarms."""
        self.scan_us = 0
        """When to look again what will be due; 0 if nothing will."""
        self.turn = asyncio.Lock()
        self.clean = False
        """Whether the last owner left in order: what it had under way did not die of it."""
        self.inherits = True
        """Whether what a run waits for may have been under way in a process that died.

        So it is until all such runs are back, whoever needs one of them meanwhile: a message that
        is read early must not begin for a second time what nobody has written off.
        """

        self.is_heir = False
        """Whether an owner before us died: an attempt that was not due when its run was last
        written may have been begun by it nevertheless, when it was."""
        self.put_aside: set[int] = set()
        """Runs that left this memory while a call of theirs was not yet due: nobody began it."""

    async def begin(self) -> None:
        """Bring back every run that something was under way for."""
        self.inherits = not self.clean
        self.is_heir = self.is_heir or self.inherits
        self.scanned_us = 0
        cursor = (-1, 0)
        while page := await self.node.writer.due(cursor, ACTIVE, PAGE):
            rids = [rid for _, rid in page]
            for at in range(0, len(rids), CHUNK):
                await self.load(rids[at : at + CHUNK])
            cursor = page[-1]
        self.inherits = False
        self.clean = True  # from here on, whatever is lost has not died
        await self.scan()

    async def scan(self) -> None:
        """Learn which runs will be due soon; an alarm of its own says when to look again."""
        node = self.node
        self.scan_us = 0
        if self.scanned_us:
            await self.written(None)  # who has gone to sleep by now is found
        until = self._now_us() + HORIZON_US
        cursor = (max(self.scanned_us, 1), 0) if self.scanned_us else (1, 0)
        while True:
            page = await node.writer.due(cursor, NEVER - 1, PAGE)
            for wake_us, rid in page:
                if wake_us > until:
                    self.scanned_us = until
                    self._scan_at(wake_us - HORIZON_US)
                    return
                if rid not in node.residents:
                    node.alarms.push(wake_us, rid)
            if len(page) < PAGE:
                self.scanned_us = until
                return
            cursor = page[-1]

    def sleeps(self, rid: int, wake_us: int) -> None:
        """A run has left the memory: have it rung for, or see to it that a scan finds it."""
        if wake_us == NEVER:
            return
        if wake_us <= self.scanned_us or wake_us <= self._now_us() + HORIZON_US:
            self.node.alarms.push(wake_us, rid)
        else:
            self._scan_at(wake_us - HORIZON_US)

    def _scan_at(self, when_us: int) -> None:
        if not self.scan_us or when_us < self.scan_us:
            self.scan_us = when_us
            self.node.alarms.push(when_us, SCAN)

    async def load(self, rids: Collection[int], *, fresh: bool = False) -> None:
        """Bring runs into memory, unless they are there; what cannot come back is stopped.

        `fresh`: whatever they wait for may have been done already, by whoever put the store back.
        One load at a time, and none before the store has all that happened to its runs: what was
        read of a run must still be so when it is adopted.
        """
        if any(rid not in self.node.residents for rid in rids):
            async with self.turn:
                wanted = frozenset(rid for rid in rids if rid not in self.node.residents)
                await self.written(wanted)
                await self._load(wanted, fresh=fresh)

    async def _load(self, wanted: frozenset[int], *, fresh: bool) -> None:
        node = self.node
        for stored in await node.writer.load(list(wanted)) if wanted else ():
            if node.pipeline.state == FENCED:
                return
            # One that has not begun is begun by its message.
            if stored.run.rid not in node.residents and stored.run.status == RUNNING:
                await self._bring_back(stored, fresh=fresh)

    async def written(self, rids: frozenset[int] | None) -> None:
        """Wait until nothing of these runs, or of all, is on its way to the store by now."""
        node = self.node
        while rids != frozenset() and (entry := node.pipeline.last_of(rids)) is not None:
            landed: asyncio.Future[None] = node.loop.create_future()
            entry.waiters = [*(entry.waiters or ()), landed]
            landed.add_done_callback(_heard)
            await asyncio.wait([landed])
            if rids is None:
                return

    async def _bring_back(self, stored: Stored, *, fresh: bool) -> None:
        node, row = self.node, stored.run
        try:
            program = await node.programs.get(row.program, row.workflow)
            run = await self._run_of(stored, program)
        except StoreError:
            raise
        except PerdureError as error:
            self._cannot(stored, error)
            return
        if row.rid in node.residents or node.pipeline.state == FENCED:
            run.drop()
            return
        resident = self.adopt(row, run)
        resident.image_bytes = len(stored.facts[0].image or b"")
        resident.tail_bytes = sum(len(each.body) for each in stored.facts[1:])
        was_ours = row.rid in self.put_aside
        self.put_aside.discard(row.rid)
        is_unknown = self.inherits or (self.is_heir and not was_ours)
        await self.reconcile(resident, fresh=fresh or is_unknown)

    def adopt(self, row: RunRow, run: Run) -> Resident:
        """Take a run that was brought back among those in memory."""
        resident = Resident(row.rid, row.id, row.workflow, run)
        resident.durable_seq = resident.last_seq = row.head
        resident.stored_wake_us = row.wake_at_us
        resident.parent = _parent_of(row)
        resident.note = row.result if row.status == RUNNING else None
        if resident.note is not None:
            why = values.decode_error(resident.note)
            resident.is_told_of = isinstance(why, (Unserved, *_WAITS))
        resident.touched_s = self.node.clock()
        self.node.residents[row.rid] = resident
        self.node.unable.pop(row.rid, None)
        return resident

    async def _run_of(self, stored: Stored, program: Program) -> Run:
        def warn(bad: BadImage) -> None:
            self.node.options.warn(f"run `{row.id}` is folded from an earlier row: {brief(bad)}")

        row, key = stored.run, self.node.key
        run = run_of(program, row.id, stored.facts, key, warn)
        if run is None:
            whole = await log_of(self.node.store, row.rid)
            run = run_of(program, row.id, whole, key, lambda _: None)
        if run is None:
            raise DamagedLog(
                "its log has no beginning, and none of its images can be used",
                remedy="restore the store from a backup, or the key that the images have",
            )
        return run

    def _cannot(self, stored: Stored, error: PerdureError) -> None:
        """Leave a run where it is, visibly: it waits for other code, or is stopped for a person."""
        node, row = self.node, stored.run
        node.unable[row.rid] = error
        if not isinstance(error, _WAITS):
            node.stop_row(row.rid, row.id, row.head, error)
            return
        node.options.warn(f"run `{row.id}` cannot go on here: {error}")
        why = values.encode_error(error, trace=False)
        node.write_change(RunChange(row.rid, RUNNING, row.wake_at_us, result=why))

    # --- what a run waits for, and what is under way

    async def reconcile(
        self, resident: Resident, *, fresh: bool, asked: frozenset[int] = frozenset()
    ) -> None:
        """See to it that exactly what the run waits for is under way.

        `fresh`: another process may have had its calls, and they are lost with it. Calls that were
        `asked` for just now are on their way.
        """
        node, run = self.node, resident.run
        calls = list(run.calls.values())
        await self._find_children(resident)
        for call in calls:
            if run.calls.get(call.call) is not call or call.call in asked:
                continue
            if call.target.kind == WORKFLOW:
                if call.call not in resident.children:
                    node.fold(resident, Lost(self._now_us(), call.call, call.token, counted=False))
            elif not node.attending.holds(resident, call):
                if fresh or node.attending.left_behind(resident, call):
                    # Whoever dies again and again in company is suspected, and convicted alone. One
                    # that was not yet due by our clock may have been by that of the owner before.
                    was_due = call.not_before_us <= self._now_us()
                    counted = was_due and not self.clean and call.lost < LIMITS.deaths_suspected
                    lost = Lost(self._now_us(), call.call, call.token, counted=counted)
                    node.fold(resident, lost)
                else:
                    node.attending.ask_again(resident, call)
            if resident.rid not in node.residents:
                return
        node.attending.serves(resident)
        due_us = run.timers.next_due_us()
        if due_us is not None:
            node.alarms.push(due_us, resident.rid)
        if resident.settled:
            node.memory.rests(resident)

    async def _find_children(self, resident: Resident) -> None:
        """Find the child runs that a run waits for; the row of one that has ended answers for it.

        Its message may be in the inbox as well: whichever is folded first, the other is stale.
        """
        asked = {
            child_id(resident.id, call.call, call.token): call
            for call in resident.run.calls.values()
            if call.target.kind == WORKFLOW and call.call not in resident.children
        }
        ids = list(asked)
        for at in range(0, len(ids), CHUNK):
            for row in await self.node.store.find(ids[at : at + CHUNK]):
                if row.parent == resident.rid:
                    self._found_child(resident, asked[row.id], row)

    def _found_child(self, resident: Resident, call: Call, row: RunRow) -> None:
        if resident.run.calls.get(call.call) is not call:
            return  # it was answered meanwhile
        if row.status <= RUNNING or row.status == STOPPED:
            resident.children[call.call] = Child(row.rid, call.policy.abandons)
            return
        fact = Completed if row.status == COMPLETED else Failed
        self.node.fold(
            resident, fact(self._now_us(), call.call, call.token, Raw(row.result or b""))
        )

    # --- leaving memory

    def evict(self, resident: Resident) -> bool:
        """Let a run that only waits leave the memory; its row says when it is due."""
        node, run = self.node, resident.run
        if not resident.settled or run.outcome is not None:
            return False
        wake_us = resident.wake_us(self._now_us())
        if wake_us == ACTIVE:
            return False
        if wake_us != resident.stored_wake_us:
            node.write_change(RunChange(resident.rid, 1, wake_us, result=resident.note))
        if len(run.calls) > len(resident.children):
            self.put_aside.add(resident.rid)
        node.drop(resident)
        self.sleeps(resident.rid, wake_us)
        return True

    def _now_us(self) -> int:
        return self.node.now_us()


def _heard(landed: asyncio.Future[None]) -> None:
    """Take note of what became of an entry, whatever it was: the store tells."""
    if not landed.cancelled():
        landed.exception()


def _parent_of(row: RunRow) -> Parent | None:
    if row.parent is None or row.parent_call is None:
        return None
    # The id of a child says under which token it was asked for: `parent/call` or `.token`.
    token = row.id.rpartition("/")[2].partition(".")[2]
    return Parent(row.parent, row.parent_call, int(token) if token else 1)


SCAN = -1
"""The number of no run: the alarm that says when to scan again."""
