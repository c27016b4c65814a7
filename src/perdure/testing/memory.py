"""Runs in memory under a virtual clock: a whole engine for one run, for tests and for learning.

Carries effects out as a node would, after the fact that caused them is in the log (a list).
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.effects import (
    AnyEffect,
    Arm,
    Disarm,
    Dispatch,
    Finished,
    Revoke,
    Say,
    arguments_of,
)
from perdure.core.facts import (
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Row,
    Signalled,
    Started,
)
from perdure.core.policy import Seconds, microseconds
from perdure.core.refold import refold
from perdure.core.run import Run
from perdure.core.view import tasks_of, waits_of
from perdure.errors import ActionTimeout, Deadlocked, NotEncodable, Stale
from perdure.node.host import HOST
from perdure.registry import lookup
from perdure.testing.script import Answer, Script, Scripted
from perdure.testing.virtual import VirtualLoop
from perdure.workflows import Workflow

START_US = 1_767_225_600_000_000
"""When runs in memory begin, unless told otherwise: 2026-01-01, midnight, UTC."""


class MemoryRun:
    """A run that was carried out in memory: its result, its log, and all that it asked for."""

    def __init__(
        self,
        workflow: Workflow[Any, Any],
        watch: Callable[[MemoryRun], object] | None = None,
    ) -> None:
        self.workflow = workflow
        self.watch = watch
        self.run = Run(workflow.program(), HOST, outlines=True)
        self.rows: list[Row] = []
        self.effects: list[AnyEffect] = []
        self.calls: list[tuple[str, list[Any], dict[str, Any]]] = []
        self.printed: list[str] = []
        self.logged: list[Say] = []
        self.children: list[MemoryRun] = []

    @property
    def status(self) -> str:
        """`running`, `completed`, `failed` or `cancelled`."""
        return self.run.status

    def result(self) -> Any:
        """Give what the workflow returned, or raise what it raised."""
        return self.run.result()

    def refold(self) -> Run:
        """Fold the whole log again, from the first fact, checking every digest."""
        return refold(self.workflow.program(), self.rows, HOST)

    def keep(self, row: Row, effects: Iterable[AnyEffect]) -> None:
        """Write a row down, and note for the test what it caused."""
        self.rows.append(row)
        if self.watch is not None:
            self.watch(self)
        for effect in effects:
            self.effects.append(effect)
            if isinstance(effect, Dispatch) and effect.token == 1:
                args, kwargs = arguments_of(effect.args)
                self.calls.append((effect.target.rpartition(":")[2], args, kwargs))
            elif isinstance(effect, Say):
                self._hear(effect)

    def _hear(self, effect: Say) -> None:
        if effect.level:
            self.logged.append(effect)
        else:  # printed, be it to standard output or to standard error
            self.printed.append(effect.text)


class Engine:
    """Carries out the effects of one run on a virtual loop, and feeds back what comes of them."""

    def __init__(self, run: MemoryRun, loop: VirtualLoop, script: Script) -> None:
        self.memory = run
        self.loop = loop
        self.script = script
        self.start_us = START_US
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.attempts: dict[int, asyncio.Task[Any] | asyncio.TimerHandle] = {}
        self.children: dict[int, Engine] = {}
        self.goes_on = False
        """Whether it does when its parent no longer waits for it."""
        self.finished: asyncio.Future[Finished] = loop.create_future()

    def now_us(self) -> int:
        """Give the time of the world."""
        return self.start_us + round(self.loop.time() * 1_000_000)

    def feed(self, fact: AnyFact) -> None:
        """Fold a fact, keep its row, then carry its effects out. What is stale is dropped."""
        try:
            applied = self.memory.run.apply(fact)
        except Stale:
            return
        except BaseException as error:  # noqa: BLE001 — the run is broken: the test has to see it
            self._fail(error)
            return
        self.memory.keep(applied.row, applied.effects)
        for effect in applied.effects:
            _CARRY_OUT[type(effect)](self, effect)

    def arm(self, effect: Arm) -> None:
        """Have a timer fire."""
        due_s = (effect.due_us - self.start_us) / 1_000_000
        self.timers[effect.timer] = self.loop.call_at(due_s, self._fire, effect)

    def _fire(self, effect: Arm) -> None:
        self.timers.pop(effect.timer, None)
        self.feed(Fired(max(self.now_us(), effect.due_us), effect.timer))

    def disarm(self, effect: Disarm) -> None:
        """Forget a timer."""
        handle = self.timers.pop(effect.timer, None)
        if handle is not None:
            handle.cancel()

    def dispatch(self, effect: Dispatch) -> None:
        """Make an attempt of a call: as the script says, or by running the body."""
        wait_us = max(0, effect.not_before_us - self.now_us())
        try:
            answer = self.script.answer(effect)
        except Exception as error:  # noqa: BLE001 — a function of the script failed
            self._fail(error)
            return
        if answer is not None:
            limit_us = effect.policy.timeout_us
            late = limit_us is not None and answer.after_us > limit_us
            after_us = limit_us if late and limit_us is not None else answer.after_us
            delay_s = (wait_us + after_us) / 1_000_000
            self.attempts[effect.call] = self.loop.call_later(
                delay_s, self._answered, effect, _timed_out(effect) if late else answer
            )
        elif wait_us:
            self.attempts[effect.call] = self.loop.call_later(
                wait_us / 1_000_000, self._run_body, effect
            )
        elif effect.kind == "workflow":
            self._start_child(effect)
        else:
            self._run_body(effect)

    def _start_child(self, effect: Dispatch) -> None:
        memory = MemoryRun(lookup("workflow", effect.target))
        child = self.children[effect.call] = Engine(memory, self.loop, self.script)
        child.start_us = self.start_us
        child.goes_on = effect.policy.abandons
        self.memory.children.append(memory)
        child.finished.add_done_callback(lambda finished: self._child_ended(effect, finished))
        parent = self.memory.run
        run_id = f"{parent.run_id}/{effect.call}"
        seed = zlib.crc32(f"{parent.seed}/{effect.call}".encode())
        child.feed(
            Started(self.now_us(), memory.run.program.hash, effect.args, seed, parent.zone, run_id)
        )

    def _child_ended(self, effect: Dispatch, finished: asyncio.Future[Finished]) -> None:
        self.children.pop(effect.call, None)
        error = finished.exception()
        if error is not None:
            self._fail(error)
        elif finished.result().status == "completed":
            value = finished.result().value
            self.feed(Completed(self.now_us(), effect.call, effect.token, value))
        else:
            raw = finished.result().value
            self.feed(Failed(self.now_us(), effect.call, effect.token, raw))

    def _fail(self, error: BaseException) -> None:
        """End the test: the fault is its own, not the workflow's."""
        if not self.finished.done():
            self.finished.set_exception(error)

    def _answered(self, effect: Dispatch, answer: Answer) -> None:
        at_us = self.now_us()
        if answer.lost:
            self.feed(Lost(at_us, effect.call, effect.token))
        elif answer.error is not None:
            self.feed(
                Failed(at_us, effect.call, effect.token, Raw(values.encode_error(answer.error)))
            )
        else:
            try:
                value = Raw(values.encode(answer.value, f"result of {effect.target}"))
            except NotEncodable as error:  # of a script: what a body gives was tried before
                self._fail(error)
            else:
                self.feed(Completed(at_us, effect.call, effect.token, value))

    def _run_body(self, effect: Dispatch) -> None:
        self.attempts[effect.call] = self.loop.create_task(self._body(effect))

    async def _body(self, effect: Dispatch) -> None:
        args, kwargs = arguments_of(effect.args)
        limit_us = effect.policy.timeout_us
        limit = asyncio.timeout(None if limit_us is None else limit_us / 1_000_000)
        body = lookup(effect.kind, effect.target).run_here(*args, **kwargs)
        try:
            async with limit:
                value = await body
            answer = Answer(0, value=value)
            values.encode(value, f"result of {effect.target}")
        except asyncio.CancelledError as error:
            if self.finished.done() or self.attempts.get(effect.call) is not asyncio.current_task():
                return  # nobody waits for it any more; else it has cancelled itself
            answer = Answer(0, error=error)
        except TimeoutError as error:
            answer = _timed_out(effect) if limit.expired() else Answer(0, error=error)
        except Exception as error:  # noqa: BLE001 — it is the outcome of the action
            answer = Answer(0, error=error)
        self._answered(effect, answer)

    async def ended(self) -> None:
        """Wait for the end of the run, and of children that clean up after it."""
        await self.finished
        for child in list(self.children.values()):
            await child.ended()

    def waits_for(self) -> str:
        """Say what the run waits for, when nothing can happen any more."""
        return ", ".join(self._waits()) or "nothing that it named"

    def _waits(self) -> list[str]:
        run = self.memory.run
        parts = waits_of(run)
        for task in tasks_of(run):
            parts += [f"{task.name} at {each.function}:{each.line}" for each in task.frames[-1:]]
        return parts + [each for child in self.children.values() for each in child._waits()]

    def revoke(self, effect: Revoke) -> None:
        """Tell the body of a call that nobody waits for it."""
        attempt = self.attempts.pop(effect.call, None)
        if attempt is not None:
            attempt.cancel()
        child = self.children.get(effect.call)
        if child is not None and not child.goes_on:
            child.feed(Cancelled(self.now_us(), "its parent no longer waits for it"))

    def finish(self, effect: Finished) -> None:
        """The run has ended."""
        if not self.finished.done():
            self.finished.set_result(effect)

    def say(self, effect: Say) -> None:
        """Nothing: `keep` has noted it."""


_CARRY_OUT: dict[type[AnyEffect], Any] = {
    Arm: Engine.arm,
    Disarm: Engine.disarm,
    Dispatch: Engine.dispatch,
    Revoke: Engine.revoke,
    Say: Engine.say,
    Finished: Engine.finish,
}


def _timed_out(effect: Dispatch) -> Answer:
    limit_s = (effect.policy.timeout_us or 0) / 1_000_000
    return Answer(0, error=ActionTimeout(f"{effect.target} took longer than {limit_s:g} s"))


class At(msgspec.Struct, frozen=True):
    """Something that comes from outside at a time of the test."""

    after_us: int
    fact: Signalled | Cancelled


def signal_at(after: Seconds, name: str, value: Any = None, *, key: str | None = None) -> At:
    """Send a signal, so long after the start."""
    after_us = microseconds(after, "after")
    return At(after_us, Signalled(0, name, Raw(values.encode(value, f"signal {name}")), key))


def cancel_at(after: Seconds, reason: str = "") -> At:
    """Cancel the run, so long after the start."""
    return At(microseconds(after, "after"), Cancelled(0, reason))


def run_in_memory(
    workflow: Workflow[Any, Any],
    *args: Any,
    script: Mapping[Any, Scripted] | None = None,
    events: Iterable[At] = (),
    seed: int = 0,
    zone: str = "UTC",
    start_us: int = START_US,
    watch: Callable[[MemoryRun], object] | None = None,
    **kwargs: Any,
) -> MemoryRun:
    """Carry a run out in memory, under a virtual clock, to its end.

    `script` answers calls by action; what it does not name is run. `events` are signals and
    cancellations at times of the test. `watch` is called after every fact.
    """
    memory = MemoryRun(workflow, watch)
    fact = started(memory, args, kwargs, seed=seed, zone=zone, start_us=start_us)

    def carry_out() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(_carry_out(memory, fact, Script(script), list(events)))

    if asyncio._get_running_loop() is None:
        carry_out()
    else:
        _in_thread(carry_out)
    return memory


def started(
    memory: MemoryRun,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    seed: int = 0,
    zone: str = "UTC",
    start_us: int = START_US,
) -> Started:
    """Give the first fact of a run."""
    call = [list(args), kwargs] if kwargs else [list(args)]
    raw = Raw(values.encode(call, "arguments"))
    return Started(start_us, memory.run.program.hash, raw, seed, zone, "memory")


async def _carry_out(memory: MemoryRun, first: Started, script: Script, events: list[At]) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    engine = Engine(memory, loop, script)
    engine.start_us = first.at_us
    for event in events:
        loop.call_at(event.after_us / 1_000_000, _come, engine, event.fact)
    loop.explain = engine.waits_for
    engine.feed(first)
    await engine.ended()
    script.check()


def _come(engine: Engine, fact: Signalled | Cancelled) -> None:
    engine.feed(msgspec.structs.replace(fact, at_us=engine.now_us()))


def _in_thread(work: Any) -> None:
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 — raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=guarded, name="perdure-memory-run")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


__all__ = ["At", "Deadlocked", "Engine", "MemoryRun", "cancel_at", "run_in_memory", "signal_at"]
