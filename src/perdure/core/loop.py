"""The event loop as data: a FIFO of what is ready, tasks in order of creation, timers by due time.

Knows no clock and no world: time is what the last fact said, and what the world must do
is appended to `effects`.
"""

from __future__ import annotations

import contextvars
import inspect
import math
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Protocol

from perdure.core.effects import AnyEffect, Arm, Disarm, Say
from perdure.core.facade import Facade
from perdure.core.futures import Future, Task
from perdure.core.gates import Gate, Ready, Waiter, arrive
from perdure.core.timers import Timer, Timers
from perdure.errors import Endless
from perdure.limits import LIMITS

WARNING, ERROR = 30, 40
"""Levels of the standard library's logging."""


class Host(Protocol):
    """What surrounds a fold in its process: libraries that ask for a loop find this one."""

    def enter(self, loop: Loop) -> object:
        """Make the fold of `loop` what runs in this thread; give what `leave` needs."""
        ...

    def leave(self, loop: Loop, entered: object) -> None:
        """Take that back."""
        ...

    def enter_task(self, loop: Loop, task: Task) -> None:
        """Tell libraries which task runs."""
        ...

    def leave_task(self, loop: Loop, task: Task) -> None:
        """Tell them that it no longer does."""
        ...


class Unseen:
    """Failures that nobody has looked at yet, oldest first, and not without bound."""

    __slots__ = ("futures", "report")

    def __init__(self, report: Callable[[str, BaseException], None]) -> None:
        self.futures: dict[Future, None] = {}
        self.report = report

    def add(self, future: Future) -> None:
        """Remember a failure."""
        self.futures[future] = None
        if len(self.futures) > _UNSEEN_MAX:
            self._tell(next(iter(self.futures)))

    def discard(self, future: Future) -> None:
        """Forget a failure: somebody has seen it."""
        self.futures.pop(future, None)

    def tell_all(self) -> None:
        """Report what is left."""
        for future in list(self.futures):
            self._tell(future)

    def _tell(self, future: Future) -> None:
        del self.futures[future]
        kind = "Task" if isinstance(future, Task) else "Future"
        if future.error is not None:
            self.report(f"{kind} exception was never retrieved", future.error)


_UNSEEN_MAX = 1_000
_DUE_US_MAX = 1 << 62
"""What a store can hold; some 146,000 years on."""


class Loop:
    """Everything that a running coroutine can wait on, in one process-independent state."""

    __slots__ = (
        "__weakref__", "_names", "_numbers", "asyncgens", "closed", "context", "current", "effects",
        "facade", "hooks", "host", "now_us", "origin_us", "ready", "stdout", "tasks", "then",
        "timers", "unseen",
    )  # fmt: skip

    def __init__(self, host: Host | None = None) -> None:
        self.ready: Ready = deque()
        self.tasks: dict[int, Task] = {}
        self.timers = Timers()
        self.effects: list[AnyEffect] = []
        self.now_us = 0
        self.origin_us = 0
        self.current: Task | None = None
        self.host = host
        self.facade = Facade(self)
        self.hooks: Any = None
        """What the host made for this loop, to have it at hand."""
        self.stdout: Any = None
        self.context = contextvars.Context()
        self.unseen = Unseen(self.report)
        self.asyncgens: dict[int, weakref.ref[AsyncGenerator[Any, Any]]] = {}
        self.then: Callable[[], None] | None = None
        """What is to be done when this turn is over."""
        self.closed = False
        self._numbers = 0
        self._names = 0

    # --- numbers: what identifies things, instead of addresses

    def number(self) -> int:
        """Give the next number."""
        self._numbers += 1
        return self._numbers

    def task_name(self) -> str:
        """Give a task that has no name one."""
        self._names += 1
        return f"Task-{self._names}"

    # --- tasks

    def create_task(
        self,
        coro: Any,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> Task:
        """Start a coroutine: its first step is on the next turn."""
        if not is_coroutine(coro):
            raise TypeError(f"a coroutine was expected, got {coro!r}")
        return Task(self, coro, name, context)

    def ensure_future(self, awaitable: Any) -> Any:
        """Give a future of whatever can be awaited."""
        if issubclass(awaitable.__class__, Future):
            if awaitable.loop is not self:
                raise ValueError(
                    "The future belongs to a different loop than "
                    "the one specified as the loop argument"
                )
            return awaitable
        if is_coroutine(awaitable):
            return Task(self, awaitable)
        if getattr(awaitable.__class__, "_asyncio_future_blocking", None) is not None:
            return awaitable
        if _can_be_awaited(awaitable):
            return Task(self, _wrap(awaitable))
        raise TypeError("An asyncio.Future, a coroutine or an awaitable is required")

    def interrupted(self, error: BaseException) -> None:
        """Stop, because a task raised `SystemExit` or `KeyboardInterrupt`."""
        raise NotImplementedError(error)

    # --- time

    def time(self) -> float:
        """Give the seconds since the run began: as with asyncio's loops, only differences count."""
        return (self.now_us - self.origin_us) / 1_000_000

    def arm_in(self, delay_s: float, waiter: Waiter, what: Any = None) -> Timer:
        """Make `waiter` ready after so many seconds; infinitely many are as many as there are."""
        delay_us = _DUE_US_MAX if math.isinf(delay_s) else round(delay_s * 1_000_000)
        return self.arm(self.now_us + delay_us, waiter, what)

    def arm(self, due_us: int, waiter: Waiter, what: Any = None) -> Timer:
        """Make `waiter` ready at a time."""
        timer = self.timers.arm(min(due_us, _DUE_US_MAX), waiter, what)
        self.effects.append(Arm(timer.number, timer.due_us))
        return timer

    def disarm(self, timer: Timer) -> None:
        """Forget a timer; one that has fired is forgotten already."""
        if self.timers.take(timer.number) is not None:
            self.effects.append(Disarm(timer.number))

    # --- running

    def drain(self) -> None:
        """Run until nothing is ready, in asyncio's order: batch by batch, first in, first out."""
        ready = self.ready
        turns = 0
        while ready or self.then is not None:
            batch = len(ready)
            for _ in range(batch):
                waiter, what = ready.popleft()
                waiter(what)
            turns += batch
            if turns > LIMITS.turns_per_fact_max:
                raise Endless(
                    f"{turns:,} turns passed and nothing waits for the world",
                    remedy="look for a loop that only awaits `asyncio.sleep(0)`",
                )
            then, self.then = self.then, None
            if then is not None:
                then()

    def cancel_leftovers(self) -> None:
        """End what still runs when the main task is done, as `asyncio.run` does, turn by turn."""
        leftovers = list(self.tasks.values())
        if not leftovers:
            self._end_generators()
            return
        for task in leftovers:
            task.cancel()
        self._after_all(leftovers, self._leftovers_done)

    def _after_all(self, tasks: list[Task], then: Callable[[list[Task]], None]) -> None:
        last = Last(self.ready, tasks, then)
        for task in tasks:
            task.notify(last.arrived)

    def _leftovers_done(self, tasks: list[Task]) -> None:
        for task in tasks:
            if not task.cancelled() and task.exception() is not None:
                self.report("unhandled exception during shutdown of the run", task.error)
        self.then = self._end_generators

    def _end_generators(self) -> None:
        self.ready.append((self._close_generators, None))

    def _close_generators(self, _: object) -> None:
        living = [agen for ref in self.asyncgens.values() if (agen := ref()) is not None]
        self.asyncgens.clear()
        if not living:
            self._asyncgens_done([])
            return
        closing = [self.create_task(agen.aclose(), context=self.context.copy()) for agen in living]
        self._after_all(closing, self._asyncgens_done)

    def _asyncgens_done(self, tasks: list[Task]) -> None:
        for task in tasks:
            if not task.cancelled() and task.exception() is not None:
                self.report(
                    "an error occurred while an asynchronous generator was closed", task.error
                )
        self._in_turns(1, self._end_executor)

    def _end_executor(self) -> None:
        """There is none, and asyncio takes two turns to find that out."""
        self._in_turns(2, self.close)

    def _in_turns(self, left: int, then: Callable[[], None]) -> None:
        """Do something at the end of a turn; callbacks that are on their way still get theirs."""
        if left:
            self.ready.append((lambda _: self._in_turns(left - 1, then), None))
        else:
            self.then = then

    def close(self) -> None:
        """End for good: report what nobody looked at, and close what can no longer run."""
        for task in list(self.tasks.values()):
            self.report(f"Task was destroyed but it is pending: {task.name}", None)
            self.tasks.pop(task.number, None)
            self._close_coroutine(task)
        for timer in list(self.timers.armed.values()):
            self.disarm(timer)
        self.ready.clear()
        self.unseen.tell_all()
        self.closed = True

    def _close_coroutine(self, task: Task) -> None:
        try:
            task.context.run(task.coro.close)
        except BaseException as error:  # noqa: BLE001 — its cleanup failed: that ends nothing else
            self.report(f"{task.name} could not be closed", error)

    # --- telling

    def report(self, message: str, error: BaseException | None) -> None:
        """Log what asyncio would have logged."""
        text = message if error is None else f"{message}: {_error_text(error)}"
        self.effects.append(Say(writable(text), ERROR, "asyncio"))


class Last:
    """A gate n of n over the last tasks of a run."""

    __slots__ = ("gate", "ready", "tasks", "then")

    def __init__(self, ready: Ready, tasks: list[Task], then: Callable[[list[Task]], None]) -> None:
        self.ready = ready
        self.tasks = tasks
        self.then = then
        self.gate = Gate(len(tasks))
        self.gate.waiters.append(self.opened)

    def arrived(self, _: object) -> None:
        """One of the tasks has ended."""
        arrive(self.gate, self.ready)

    def opened(self, _: object) -> None:
        """All have."""
        self.then(self.tasks)


def writable(text: str) -> str:
    """Give text that can be written down: lone surrogates are spelled out."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


def _error_text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 — its `__str__` is the user's
        return f"{name} (its text cannot be shown)"


def is_coroutine(value: Any) -> bool:
    """Whether `value` is a coroutine, as asyncio judges it."""
    return inspect.iscoroutine(value) or isinstance(value, Coroutine)


def _can_be_awaited(value: object) -> bool:
    return inspect.isawaitable(value)


async def _wrap(awaitable: Any) -> Any:
    return await awaitable
