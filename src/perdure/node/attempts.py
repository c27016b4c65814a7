"""Attempts of actions: begun after their dispatch is durable, bounded in number, told to stop.

On the loop if the body is `async def`, else in a thread, or in a process of its own. What comes
of an attempt is a fact under its token; nothing else leaves this module.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.calls import Call
from perdure.core.effects import Dispatch, Revoke, arguments_of
from perdure.core.facts import Completed, Failed, Lost, Progressed, decode_row
from perdure.errors import (
    ActionTimeout,
    HolderLost,
    NotApart,
    NotAWorkflow,
    PerdureError,
    Stale,
    Unserved,
)
from perdure.limits import LIMITS
from perdure.node.context import ATTEMPT, Attempt
from perdure.node.forks import FORKED
from perdure.node.house import House
from perdure.node.lanes import Lane
from perdure.node.processes import Died, Processes
from perdure.node.resident import ACTION, Resident
from perdure.node.threads import Threads
from perdure.registry import lookup
from perdure.store.port import RUNNING, FactRow, Fence, RunChange

Key = tuple[int, int]
"""A run and a call of it."""
Outcome = Completed | Failed | Lost

GRACE_S = 1.0
"""How long an attempt that is told to stop because it is late may take to do so."""
CROWDED_S = 0.02
"""How soon is looked again whether the store has caught up."""


class Held(msgspec.Struct):
    """One attempt that is under way, or waits for its time or its turn."""

    token: int
    name: str
    task: asyncio.Task[Any] | asyncio.TimerHandle | None = None
    lane: Lane | None = None
    """The lane in which it has a turn."""
    begun: bool = False
    limit: asyncio.TimerHandle | None = None
    is_late: bool = False
    progress: Raw | None = None
    """The newest that it told and that is not written down."""
    is_noting: bool = False
    noted_s: float = 0.0


class Attempts:
    """All attempts of one node."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.loop = node.loop
        options = node.options
        self.held: dict[Key, Held] = {}
        self.left: dict[Key, int] = {}
        """Tokens of attempts that had begun when their run left this node without an end."""
        self.lanes = {
            "loop": Lane("loop", options.actions_max),
            "thread": Lane("thread", options.threads_max),
            "process": Lane("process", options.processes_max),
            "quarantine": Lane("quarantine", options.processes_max),
        }
        self.suspects: set[str] = set()
        """Actions that may have killed their process, and have not been seen to end since."""
        self.unserved: dict[int, set[int]] = {}
        """By run, calls that this process cannot make."""
        self.warned: set[str] = set()
        """What it said why it cannot."""
        self.threads = Threads(self.loop)
        self.processes = Processes()
        self.is_crowded = False

    # --- asking

    def ask(self, resident: Resident, effect: Dispatch) -> None:
        """Make an attempt, when it is time and its turn; none if nobody waits for it any more."""
        call = resident.run.calls.get(effect.call)
        if call is None or call.token != effect.token or self.node.draining:
            return
        held = self.held[resident.rid, effect.call] = Held(effect.token, effect.target)
        wait_us = effect.not_before_us - self.node.now_us() if effect.not_before_us else 0
        if wait_us > 0:
            begin = self._begin
            held.task = self.loop.call_later(wait_us / 1_000_000, begin, resident, effect, held)
        else:
            self._begin(resident, effect, held)

    def ask_again(self, resident: Resident, call: Call) -> None:
        """Make the attempt that a run which was just loaded waits for."""
        self.ask(resident, again(call))

    def holds(self, resident: Resident, call: Call) -> bool:
        """Whether the attempt that a call waits for is under way here."""
        held = self.held.get((resident.rid, call.call))
        return held is not None and held.token == call.token

    def left_behind(self, resident: Resident, call: Call) -> bool:
        """Whether the attempt was under way when the run left this node, and was told to stop."""
        return self.left.pop((resident.rid, call.call), 0) == call.token

    def _begin(self, resident: Resident, effect: Dispatch, held: Held) -> None:
        call = resident.run.calls.get(effect.call)
        if call is None or self.held.get((resident.rid, effect.call)) is not held:
            return
        try:
            action = self._served(effect)
        except PerdureError as why:
            self._cannot(resident, effect, why)
            return
        lane = self._lane_of(call, effect, action)
        if not lane.free or self._store_lags():
            lane.wait(resident.rid, (resident, effect, held))
            return
        lane.free -= 1
        held.lane = lane
        details = values.decode(call.details) if call.details else None
        body = self._attempt(resident, effect, action, held, details)
        held.task = self.loop.create_task(body, context=self.node.context.copy())

    def _lane_of(self, call: Call, effect: Dispatch, action: Any) -> Lane:
        """Say where an attempt is made: apart from all others, if it may be what kills us."""
        if call.lost >= LIMITS.deaths_suspected or effect.target in self.suspects:
            self.suspects.add(effect.target)
            return self.lanes["quarantine"]
        where = effect.policy.run_in
        if not action.is_async and where != "process":
            where = "thread"
        return self.lanes[where or "loop"]

    def _store_lags(self) -> bool:
        """Whether too much waits to be written; if so, look again soon."""
        if self.node.pipeline.undurable_bytes <= LIMITS.undurable_bytes_max:
            return False
        if not self.is_crowded:
            self.is_crowded = True
            self.loop.call_later(CROWDED_S, self._look_again)
        return True

    def _look_again(self) -> None:
        self.is_crowded = False
        for lane in self.lanes.values():
            self._next_turn(lane)

    def _served(self, effect: Dispatch) -> Any:
        """Give the action of a call, if this process may make it."""
        queue = effect.policy.queue
        if queue and queue not in self.node.options.queues:
            raise Unserved(
                f"nobody serves queue `{queue}`, on which `{effect.target}` is called",
                remedy=f'start an engine with Options(queues=("{queue}",))',
            )
        try:
            return lookup(ACTION, effect.target)
        except NotAWorkflow:
            raise Unserved(
                f"no action `{effect.target}` is known in the process that owns the runs",
                remedy="start an engine in a process that imports the module which defines it",
            ) from None

    def _cannot(self, resident: Resident, effect: Dispatch, why: PerdureError) -> None:
        """Let a call wait until a process comes that can make it, and say so in the run's row."""
        self.unserved.setdefault(resident.rid, set()).add(effect.call)
        if str(why) not in self.warned:
            self.warned.add(str(why))
            self.node.options.warn(f"run `{resident.id}` waits: {why}")
        if not resident.is_told_of:
            self._tell(resident, values.encode_error(why, trace=False))

    def _tell(self, resident: Resident, why: bytes | None) -> None:
        resident.is_told_of, resident.note = why is not None, why
        self.node.write_change(
            RunChange(resident.rid, RUNNING, resident.stored_wake_us, result=why)
        )

    def serves(self, resident: Resident) -> None:
        """A run goes on, or lets go of a call: its row need not say any longer why it waits."""
        if resident.is_told_of and not self.unserved.get(resident.rid) and not resident.is_over:
            self._tell(resident, None)

    def _leave(self, lane: Lane) -> None:
        """Give a turn back."""
        lane.free += 1
        if lane.order:
            self._next_turn(lane)

    def _next_turn(self, lane: Lane) -> None:
        while lane.order and lane.free and not self._store_lags():
            self._begin(*lane.next())

    # --- attempting

    async def _attempt(
        self, resident: Resident, effect: Dispatch, action: Any, held: Held, details: Any
    ) -> None:
        fact: Outcome | None = None
        held.begun = True
        lane = held.lane
        assert lane is not None
        try:
            ATTEMPT.set(self._context(resident, effect, held, details))
            if effect.policy.timeout_us is not None:
                limit_s = effect.policy.timeout_us / 1_000_000
                held.limit = self.loop.call_later(limit_s, self._late, resident, effect, held)
            if lane.kind == "loop":
                args, kwargs = arguments_of(effect.args)
                value = await action.function(*args, **kwargs)
                if FORKED:
                    os._exit(0)
                fact = self._completed(effect, value)
            elif lane.kind == "thread":
                fact = await self._in_thread(effect, action, lane)
            else:
                fact = await self._in_process(effect, lane)
        except asyncio.CancelledError as error:
            if held.is_late:
                fact = self._too_late(effect)
            elif self.held.get((resident.rid, effect.call)) is held:
                fact = self._failed(effect, error)  # it has cancelled itself
        except BaseException as error:  # noqa: BLE001 — even `SystemExit` is but its outcome
            if FORKED:
                os._exit(1)
            fact = self._failed(effect, error)
        finally:
            if lane.kind != "thread":  # a thread has its turn until its work ends
                self._leave(lane)
        if fact is not None:
            self.settle(resident, effect, held, fact)

    def _completed(self, effect: Dispatch, value: Any) -> Completed:
        raw = Raw(values.encode(value, f"result of {effect.target}"))
        return Completed(self.node.now_us(), effect.call, effect.token, raw)

    def _failed(self, effect: Dispatch, error: BaseException) -> Failed:
        raw = Raw(values.encode_error(error))
        return Failed(self.node.now_us(), effect.call, effect.token, raw)

    def _too_late(self, effect: Dispatch) -> Failed:
        limit_s = (effect.policy.timeout_us or 0) / 1_000_000
        return self._failed(
            effect, ActionTimeout(f"{effect.target} took longer than {limit_s:g} s")
        )

    def _context(self, resident: Resident, effect: Dispatch, held: Held, details: Any) -> Attempt:
        def tell(given: Any) -> None:
            self.progressed(resident, effect, held, given)

        return Attempt(
            resident.id, effect.target, effect.attempt, f"{resident.id}:{effect.call}",
            details, tell,
        )  # fmt: skip

    async def _in_thread(self, effect: Dispatch, action: Any, lane: Lane) -> Outcome:
        context = contextvars.copy_context()
        future: asyncio.Future[Outcome] = self.loop.create_future()

        def work() -> Outcome:
            try:
                args, kwargs = arguments_of(effect.args)
                given = context.run(action.function, *args, **kwargs)
                if inspect.iscoroutine(given):
                    given = context.run(asyncio.run, given)
                fact: Outcome = self._completed(effect, given)
            except BaseException as error:  # noqa: BLE001 — as on the loop
                fact = self._failed(effect, error)
            if FORKED:
                os._exit(0)
            return fact

        def done(fact: Outcome) -> None:
            self._leave(lane)
            if not future.done():
                future.set_result(fact)

        self.threads.run(work, done)
        return await future

    async def _in_process(self, effect: Dispatch, lane: Lane) -> Outcome:
        now_us, call, token = self.node.now_us, effect.call, effect.token
        attempt = ATTEMPT.get()
        assert attempt is not None
        try:
            kind, raw = await self.processes.run(effect, attempt)
        except Died as died:
            self.node.options.warn(f"the process of `{effect.target}` died: {died}")
            self.suspects.add(effect.target)
            return Lost(now_us(), call, token)
        except NotApart:
            if lane.kind == "process":
                raise
            raise HolderLost(
                f"call {call}, {effect.target}, was under way whenever its process died",
                remedy="define it at the top of a module: then it can be run apart from all others",
            ) from None
        self.suspects.discard(effect.target)
        kinds = Completed if kind == "completed" else Failed
        return kinds(now_us(), call, token, raw)

    def undo(self, row: FactRow) -> None:
        """An outcome will not be written after all: its attempt was made, and is lost."""
        fact = decode_row(row.body).fact
        if isinstance(fact, (Completed, Failed)):
            self.left[row.rid, fact.call] = fact.token

    # --- what comes of it

    def settle(self, resident: Resident, effect: Dispatch, held: Held, fact: Outcome) -> None:
        """Fold an outcome, unless somebody else has the call by now."""
        key = (resident.rid, effect.call)
        if self.held.get(key) is not held:
            return
        del self.held[key]
        if held.limit is not None:
            held.limit.cancel()
        node = self.node
        owner = node.residents.get(resident.rid)
        if owner is None:
            return  # the run was dropped; whoever has it now holds this attempt for lost
        try:
            if held.progress is not None and not isinstance(fact, Completed):
                self._note(resident, effect, held, is_last=True)
            node.fold(owner, fact)
        except (Stale, Fence):
            return
        except PerdureError as error:  # the outcome cannot be read here: it failed
            node.fold(owner, self._failed(effect, error))

    def progressed(self, resident: Resident, effect: Dispatch, held: Held, given: Any) -> None:
        """Hear how far an attempt is, from whatever thread tells it; write it down in a while."""
        held.progress = Raw(values.encode(given, f"progress of {effect.target}"))
        if not held.is_noting:
            held.is_noting = True
            with suppress(RuntimeError):  # the loop is closed: nobody wants to know
                self.loop.call_soon_threadsafe(self._note_soon, resident, effect, held)

    def _note_soon(self, resident: Resident, effect: Dispatch, held: Held) -> None:
        wait_s = held.noted_s + self.node.options.heartbeat_s - self.loop.time()
        if held.noted_s and wait_s > 0:
            self.loop.call_later(wait_s, self._note, resident, effect, held)
        else:
            self._note(resident, effect, held)

    def _note(
        self, resident: Resident, effect: Dispatch, held: Held, *, is_last: bool = False
    ) -> None:
        held.is_noting = False
        raw, held.progress = held.progress, None
        owner = self.node.residents.get(resident.rid)
        is_heard = is_last or self.held.get((resident.rid, effect.call)) is held
        if owner is None or raw is None or not is_heard:
            return
        held.noted_s = self.loop.time()
        with suppress(Stale):
            self.node.fold(owner, Progressed(self.node.now_us(), effect.call, effect.token, raw))

    # --- stopping

    def _late(self, resident: Resident, effect: Dispatch, held: Held) -> None:
        """Its time is over: tell it to stop, and do not wait for ever until it does."""
        held.is_late = True
        assert held.task is not None
        held.task.cancel()
        over = self._over
        held.limit = self.loop.call_later(GRACE_S, over, resident, effect, held)

    def _over(self, resident: Resident, effect: Dispatch, held: Held) -> None:
        self.settle(resident, effect, held, self._too_late(effect))

    def revoke(self, resident: Resident, effect: Revoke) -> None:
        """Tell an attempt that nobody waits for it any more."""
        held = self.held.get((resident.rid, effect.call))
        if held is not None and held.token == effect.token:
            del self.held[resident.rid, effect.call]
            self._stop(held)
        if resident.rid in self.unserved:
            self.unserved[resident.rid].discard(effect.call)
            self.serves(resident)

    def abandon(self, resident: Resident) -> None:
        """The run leaves this node: its attempts are told to stop, and their outcomes are lost."""
        self.unserved.pop(resident.rid, None)
        for call in list(resident.run.calls):
            held = self.held.pop((resident.rid, call), None)
            if held is not None:
                if held.begun:
                    self.left[resident.rid, call] = held.token
                self._stop(held)

    def _stop(self, held: Held) -> None:
        if held.limit is not None:
            held.limit.cancel()
        if held.task is not None:
            held.task.cancel()
            if held.lane is not None and not held.begun:  # its first step never comes, nor its end
                self._leave(held.lane)

    async def drain(self, wait_s: float) -> None:
        """Let what is under way come to an end, for a while; then stop it, and say it was lost."""
        for lane in self.lanes.values():
            lane.clear()
        tasks = {each.task for each in self.held.values() if isinstance(each.task, asyncio.Task)}
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=wait_s)
        finally:
            self._lose_all()
            await self.processes.close()
            self.threads.close()
        left = {each for each in tasks if not each.done()}
        if left:
            await asyncio.wait(left, timeout=min(wait_s, GRACE_S))
        for task in left:
            if not task.done():  # it will not end: who closes the loop shall not wait for it
                asyncio._unregister_task(task)

    def _lose_all(self) -> None:
        node = self.node
        for (rid, call), held in list(self.held.items()):
            owner = node.residents.get(rid)
            del self.held[rid, call]
            self._stop(held)
            if held.begun and owner is not None:
                with suppress(Stale):
                    node.fold(owner, Lost(node.now_us(), call, held.token, counted=False))


def again(call: Call) -> Dispatch:
    """Give the dispatch that a call had last."""
    return Dispatch(
        call=call.call,
        token=call.token,
        attempt=call.failures + 1,
        kind=call.target.kind,
        target=call.target.name,
        args=call.args,
        site=call.site,
        policy=call.policy,
        not_before_us=call.not_before_us,
    )
