"""The run: a pure fold. `apply(fact)` settles a gate, runs to quiescence and says what follows.

Owns: tasks, calls, timers, mailbox, the run's clock and seed, the digest of every fact.
Its owner (a node, a test) owns: the log, the order of facts, and carrying effects out
after their fact is durable. Knows no clock, store or worker: same facts, same state.
"""

from __future__ import annotations

import contextvars
import random as random_
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.ambient import CURRENT
from perdure.core.calls import Call, Target
from perdure.core.effects import AnyEffect, Finished, Say, arguments_of, digest, outline
from perdure.core.facts import (
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Progressed,
    Retried,
    Row,
    Signalled,
    Started,
    Stopped,
    Upgraded,
)
from perdure.core.futures import CANCELLED, Future, Task
from perdure.core.loop import Host, Loop, writable
from perdure.core.mailbox import Mailbox
from perdure.core.policy import Policy
from perdure.core.timers import Timers
from perdure.errors import Broken, Diverged, NotEncodable, Stale, WrongFact

RUNNING, COMPLETED, FAILED, CANCELLED_STATUS = "running", "completed", "failed", "cancelled"


class Program(Protocol):
    """What a run needs of a linked workflow."""

    @property
    def name(self) -> str:
        """The name of the workflow."""
        ...

    @property
    def hash(self) -> str:
        """What identifies the program: two that differ anywhere differ here."""
        ...

    def prepare(self) -> None:
        """Set up the context that every task of the run begins with."""
        ...

    def instantiate(self, run: Any) -> Any:
        """Build the workflow's function in a namespace of this run's own."""
        ...

    @property
    def codes(self) -> list[CodeType]:
        """All code that the program captured, in an order that every process has."""
        ...

    @property
    def class_codes(self) -> dict[str, CodeType]:
        """Code of the user's classes, which stays where it is, by name."""
        ...

    @property
    def changed(self) -> tuple[str, ...]:
        """Classes that are not what they were when the program was linked."""
        ...

    @property
    def mutable(self) -> list[int]:
        """Which of the things that the program builds for a run the run may change."""
        ...


class Applied(msgspec.Struct, frozen=True):
    """What one fact led to: the row for the log, and what to do when the row is durable."""

    row: Row
    effects: tuple[AnyEffect, ...]


class Run(Loop):
    """One run of a program, in memory."""

    __slots__ = (
        "anchors", "broken", "calls", "calls_made", "drawn", "error", "last_words", "mailbox",
        "main", "outcome", "outlines", "outside", "program", "recorded", "replayed", "run_id",
        "seed", "seq", "space", "stand_ins", "status", "zone",
    )  # fmt: skip

    def __init__(
        self, program: Program, host: Host | None = None, *, outlines: bool = False
    ) -> None:
        super().__init__(host)
        self.program = program
        self.outlines = outlines
        self.calls: dict[int, Call] = {}
        self.calls_made = 0
        self.mailbox = Mailbox()
        self.seq = 0
        self.seed = 0
        self.zone = "UTC"
        self.run_id = ""
        self.drawn: random_.Random | None = None
        self.space: Any = None
        self.anchors: Any = None
        self.main: Task | None = None
        self.status = ""
        self.outcome: Finished | None = None
        self.error: BaseException | None = None
        self.stand_ins: dict[str, Any] = {}
        self.recorded: list[Raw] = []
        self.replayed: list[Raw] | None = None
        self.outside = False
        self.broken: BaseException | None = None
        self.last_words: BaseException | None = None

    # --- the fold

    def apply(self, fact: AnyFact, recorded: tuple[Raw, ...] | None = None) -> Applied:
        """Fold one fact and run until everything waits. `recorded` is given when refolding.

        A fact that does not fit raises before anything has changed.
        """
        if self.broken is not None:
            raise Broken(f"this run stopped before: {self.broken}") from self.broken
        settle = FOLD[type(fact)](self, fact)
        assert not self.ready, "a run is folded at quiescence only"
        self.seq += 1
        self.now_us = max(self.now_us, fact.at_us)
        self.effects = []
        self.recorded = []
        self.replayed = None if recorded is None else list(recorded)
        try:
            self._fold(settle)
        except BaseException as error:
            self.broken = error
            raise
        if self.broken is not None:  # the flow may have caught what was not for it to catch
            raise self.broken
        return self._applied(fact)

    def _fold(self, settle: Callable[[], object]) -> None:
        host = self.host
        if host is None:
            settle()
            self.drain()
            return
        entered = host.enter(self)
        try:
            settle()
            self.drain()
        finally:
            host.leave(self, entered)

    def _applied(self, fact: AnyFact) -> Applied:
        effects = self.effects
        row = Row(
            self.seq,
            fact,
            digest(effects),
            tuple(self.recorded) if self.recorded else (),
            outline(effects) if self.outlines else (),
        )
        return Applied(row, tuple(effects))

    @property
    def random(self) -> random_.Random:
        """The run's own generator: repeatable, and made when it is first asked for."""
        if self.drawn is None:
            self.drawn = random_.Random(self.seed)  # noqa: S311 — repeatable is what it has to be
        return self.drawn

    def go_on(self, fact: Retried) -> None:
        """Go on from here as the row `seq` of the log, and make the call that failed again."""
        self.seq = fact.seq
        self.calls_made = fact.calls_made
        if fact.call:
            # No attempt of what is history now had so high a token: each one took a row.
            self.calls[fact.call].start_over(tokens=fact.seq - fact.back_to)

    # --- the end

    def begin_main(self, fact: Started, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Start the main task."""
        self.seed = fact.seed
        self.origin_us = self.now_us
        self.zone = fact.zone
        self.run_id = fact.run_id
        self.status = RUNNING
        self.context.run(CURRENT.set, self)
        self.context.run(self.program.prepare)
        self.context.run(self._begin_main, args, kwargs)

    def _begin_main(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.space = self.program.instantiate(self)
        try:
            coro = self.space.main(*args, **kwargs)
        except TypeError as error:  # arguments that it does not take are its own failure
            coro = _fail(error.with_traceback(None))
        self.main = self.create_task(coro, context=self.context.copy())
        self.main.notify(self._main_done)

    def _main_done(self, _: object) -> None:
        self.then = self.cancel_leftovers

    def interrupted(self, error: BaseException) -> None:
        """Stop: a task raised `SystemExit` or `KeyboardInterrupt`, which no flow survives."""
        if self.last_words is None:
            self.last_words = error
        self.then = self.cancel_leftovers

    def close(self) -> None:
        """Say the result: everything that belonged to the run is over."""
        main = self.main
        assert main is not None
        # Whoever runs a coroutine has seen how it ended, also when that ends everything.
        failure = main.failure()
        self.error = self.last_words or failure
        super().close()
        self.outcome = self._finished(main)
        self.status = self.outcome.status
        self.effects.append(self.outcome)

    def _finished(self, main: Task) -> Finished:
        if self.error is None:
            try:
                return Finished(COMPLETED, Raw(values.encode(main.value, "result")))
            except NotEncodable as refused:
                refused.__context__ = refused.__cause__ = None  # how it was found: names addresses
                self.error = refused
        cancelled = main.state == CANCELLED and self.last_words is None
        # No traceback: it names files of this machine, and the digest has to hold on others.
        raw = Raw(values.encode_error(self.error, trace=False))
        return Finished(CANCELLED_STATUS if cancelled else FAILED, raw)

    def result(self) -> Any:
        """Give what the workflow returned, or raise what it raised."""
        if self.outcome is None:
            raise WrongFact("the run has not ended", remedy="look at `status` first")
        if self.outcome.status == COMPLETED:
            return values.decode(bytes(self.outcome.value))
        raise values.decode_error(bytes(self.outcome.value))

    # --- what flows ask for

    def begin(
        self,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        site: str,
        policy: Policy,
    ) -> Future:
        """Dispatch a call; its outcome settles the future."""
        raw = _encode_arguments(target, args, kwargs)
        self.calls_made += 1
        return Call(self, self.calls_made, target, raw, site, policy)

    def say(self, text: str, level: int = 0, logger: str = "") -> None:
        """Show a line, once the fact under which it was said is durable."""
        self.effects.append(Say(writable(text), level, logger))

    def record(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Give what `function` gave when this fact was first folded."""
        if self.replayed is None:
            raw = self._record_now(function, args, kwargs)
        elif self.replayed:
            raw = self.replayed.pop(0)
        else:
            self.broken = Diverged(
                f"fact {self.seq} records more than it did before",
                remedy="the code that runs now is not the code that ran then",
            )
            raise self.broken
        self.recorded.append(raw)
        failed, value = values.decode(bytes(raw))
        if failed:
            raise value
        return value

    def _record_now(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Raw:
        self.outside = True
        try:
            value = function(*args, **kwargs)
            return Raw(values.encode((False, value), f"record({_name(function)})"))
        except Exception as error:  # noqa: BLE001 — it is recorded, and raised from the record
            return Raw(values.encode((True, error)))
        finally:
            self.outside = False

    # --- being dropped

    def drop(self) -> None:
        """Let go of everything and run nothing of the user's, neither `finally` nor `with`.

        The run takes no further fact; its image, or its log, brings it back.
        """
        tasks, self.tasks = list(self.tasks.values()), {}
        nowhere = contextvars.Context()
        nowhere.run(CURRENT.set, DROPPED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # calls that had not begun never will
            for task in tasks:
                _drop_coroutine(nowhere, task)
            self.calls, self.mailbox, self.timers = {}, Mailbox(), Timers()
            self.ready.clear()
            self.unseen.futures.clear()
            self.asyncgens.clear()
            self.main = self.space = self.anchors = None
            self.stand_ins.clear()
        self.broken = Broken("it was dropped from memory")

    # --- statistics

    def statistics(self) -> dict[str, int]:
        """Say how much there is of everything that a run holds."""
        return {
            "facts": self.seq,
            "tasks": len(self.tasks),
            "calls_open": len(self.calls),
            "calls_made": self.calls_made,
            "timers": len(self.timers.armed),
            "messages": sum(len(each) for each in self.mailbox.messages.values()),
        }


class _Dropped:
    """The run, as code sees it that runs while its run is dropped: it can do nothing."""

    outside = False

    def __getattr__(self, name: str) -> Any:
        raise Broken("the run is being dropped from memory")


DROPPED: Any = _Dropped()


def _drop_coroutine(nowhere: contextvars.Context, task: Task) -> None:
    try:
        nowhere.run(task.coro.close)
    except Exception:  # noqa: BLE001 — a frame that is not restorable ran its own cleanup
        task.state = CANCELLED
    task.coro = task.waits_on = None


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "function")


async def _fail(error: BaseException) -> Any:
    raise error


async def perform(
    run: Run,
    target: Target,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    site: str,
    policy: Policy,
) -> Any:
    """Make a call when it is awaited, not before, and give its outcome."""
    return await run.begin(target, args, kwargs, site, policy)


def _encode_arguments(target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Raw:
    try:
        return Raw(values.encode([list(args), kwargs] if kwargs else [list(args)], target.name))
    except NotEncodable:
        named: dict[str, Any] = {str(index): arg for index, arg in enumerate(args)} | kwargs
        for name, arg in named.items():  # find the one, to name it as the user would
            values.encode(arg, f"argument {name} of {target.name}")
        raise


# --- how each fact is folded: check first, and give what changes the run


def _started(run: Run, fact: Started) -> Callable[[], object]:
    if run.main is not None or run.outcome is not None:
        raise WrongFact(f"a run starts once, and this one has {run.seq} facts")
    args, kwargs = arguments_of(fact.args)
    return lambda: run.begin_main(fact, args, kwargs)


def _open_call(run: Run, fact: Completed | Failed | Lost | Progressed) -> Call:
    call = run.calls.get(fact.call)
    if call is None or call.token != fact.token:
        raise Stale(
            f"call {fact.call} does not wait for an outcome under token {fact.token}"
            + (f", but under {call.token}" if call else "")
        )
    return call


def _completed(run: Run, fact: Completed) -> Callable[[], object]:
    call = _open_call(run, fact)
    value = values.decode(bytes(fact.value))
    return lambda: call.complete(value)


def _failed(run: Run, fact: Failed) -> Callable[[], object]:
    call = _open_call(run, fact)
    error = values.decode_error(bytes(fact.error))
    return lambda: call.fail(error)


def _lost(run: Run, fact: Lost) -> Callable[[], object]:
    call = _open_call(run, fact)
    return lambda: call.lose(counted=fact.counted)


def _progressed(run: Run, fact: Progressed) -> Callable[[], object]:
    call = _open_call(run, fact)

    def keep() -> None:
        call.details = bytes(fact.details)

    return keep


def _fired(run: Run, fact: Fired) -> Callable[[], object]:
    timer = run.timers.armed.get(fact.timer)
    if timer is None:
        raise Stale(f"timer {fact.timer} is not armed")
    if fact.at_us < timer.due_us:
        raise WrongFact(f"timer {fact.timer} fired {timer.due_us - fact.at_us} µs early")
    run.timers.take(fact.timer)
    return lambda: run.ready.append((timer.waiter, timer.what))


def _signalled(run: Run, fact: Signalled) -> Callable[[], object]:
    if run.outcome is not None:
        raise Stale(f"signal `{fact.name}` came after the run had ended")
    if run.main is None:
        raise WrongFact(f"signal `{fact.name}` came before the run was started")
    run.mailbox.check(fact.name, fact.key)
    value = values.decode(bytes(fact.value))
    return lambda: run.mailbox.deliver(fact.name, fact.key, value)


def _cancelled(run: Run, fact: Cancelled) -> Callable[[], object]:
    main = run.main
    if main is None or run.outcome is not None:
        raise Stale("a run that is not under way cannot be cancelled")
    return lambda: main.cancel(fact.reason or None)


def _stopped(_: Run, fact: Stopped) -> Callable[[], object]:
    raise WrongFact(f"the run was stopped: {fact.reason}", remedy="retry it when that is mended")


def _retried(run: Run, fact: Retried) -> Callable[[], object]:
    if fact.back_to != run.seq:
        raise WrongFact(f"the run goes on from row {fact.back_to}, and this is row {run.seq}")
    if run.outcome is not None or (fact.call and fact.call not in run.calls):
        raise WrongFact(f"call {fact.call} is not what the run waits for at row {run.seq}")
    return lambda: run.go_on(fact)


def _upgraded(run: Run, fact: Upgraded) -> Callable[[], object]:
    if run.main is None or run.outcome is not None:
        raise Stale("a run that is not under way cannot go on with other code")
    if fact.program != run.program.hash or fact.seq <= run.seq:
        raise WrongFact(
            f"row {fact.seq} moves the run to program {fact.program[:12]}, "
            f"and this is {run.program.hash[:12]}",
            remedy="only the image in that row leads on from it",
        )

    def count() -> None:
        run.seq = fact.seq

    return count


FOLD: dict[type[AnyFact], Callable[[Run, Any], Callable[[], object]]] = {
    Started: _started,
    Completed: _completed,
    Failed: _failed,
    Lost: _lost,
    Progressed: _progressed,
    Fired: _fired,
    Signalled: _signalled,
    Cancelled: _cancelled,
    Stopped: _stopped,
    Retried: _retried,
    Upgraded: _upgraded,
}
