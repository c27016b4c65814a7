"""Futures and tasks as data: an exact model of asyncio's, on gates and a ready queue.

Knows the loop that it belongs to, never a clock or a real event loop. Where a comment
names a rule of asyncio, the differential tests hold us to it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Protocol

from perdure.core.gates import Gate, Ready, Waiter, arrive
from perdure.core.vocabulary import (
    LATE_UNCANCEL,
    SINCE_3_12,
    SINCE_3_13,
    CancelledError,
    InvalidStateError,
)
from perdure.errors import ForeignAwaitable

PENDING, CANCELLED, FINISHED = 0, 1, 2


class Unseen(Protocol):
    """Where failures wait until somebody looks at them."""

    def add(self, future: Future) -> None:
        """Remember a failure."""
        ...

    def discard(self, future: Future) -> None:
        """Forget a failure: somebody has seen it."""
        ...


class Home(Protocol):
    """What a future needs of the loop that it belongs to."""

    ready: Ready
    tasks: dict[int, Task]
    current: Task | None
    host: Any
    """Who tells libraries which task runs; nobody, if it is None."""

    @property
    def facade(self) -> Any:
        """The loop in asyncio's shape."""
        ...

    @property
    def unseen(self) -> Unseen:
        """Failures that nobody has looked at."""
        ...

    def number(self) -> int:
        """Give the next number."""
        ...

    def task_name(self) -> str:
        """Give a task that has no name one."""
        ...

    def interrupted(self, error: BaseException) -> None:
        """Stop, because a task raised `SystemExit` or `KeyboardInterrupt`."""
        ...

    def report(self, message: str, error: BaseException | None) -> None:
        """Log what asyncio would have logged."""
        ...


class Callback:
    """A function of the user's that wants to hear of a future, with the context it was given in."""

    __slots__ = ("context", "function", "loop")

    def __init__(
        self,
        loop: Home,
        function: Callable[[Any], object],
        context: contextvars.Context | None,
    ) -> None:
        self.loop = loop
        self.function = function
        self.context = context if context is not None else contextvars.copy_context()

    def __call__(self, future: Future) -> None:
        """Run it; an error in it is reported and stops nothing, as in asyncio."""
        try:
            self.context.run(self.function, future)
        except (KeyboardInterrupt, SystemExit) as last:
            self.loop.interrupted(last)
        except BaseException as error:  # noqa: BLE001 — also a cancellation
            self.loop.report(f"Exception in callback {_named(self.function)}", error)


class Future(Gate):
    """What is not there yet: a gate one of one, with the outcome that opens it."""

    # `__dict__` and `__weakref__`: libraries hang notes on tasks, and hold them weakly.
    __slots__ = (
        "__dict__", "__weakref__", "error", "loop", "message", "number", "state", "traceback",
        "value",
    )  # fmt: skip

    _asyncio_future_blocking = False  # how asyncio itself, and libraries, tell a future

    throws = True
    """A failure is thrown into the waiting coroutine from its loop, as asyncio's futures do."""

    def __init__(self, loop: Home) -> None:
        self.required = 1
        self.completed = 0
        self.waiters = []
        self.loop = loop
        self.number = loop.number()
        self.state = PENDING
        self.value: Any = None
        self.error: BaseException | None = None
        self.traceback: TracebackType | None = None
        self.message: Any = None

    def __class_getitem__(cls, _: object) -> type[Future]:
        return cls

    @property
    def _cancel_message(self) -> Any:
        """What asyncio's own `gather` reads."""
        return self.message

    @property
    def _log_destroy_pending(self) -> bool:
        """What asyncio's own `gather` writes: a run reports at its end."""
        return False

    @_log_destroy_pending.setter
    def _log_destroy_pending(self, value: bool) -> None:
        """Nothing."""

    def __hash__(self) -> int:
        # Not the address: a set of futures has to iterate alike in every process.
        return self.number

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.number} {_STATES[self.state]}>"

    def __await__(self) -> Generator[Any, Any, Any]:
        if self.state == PENDING:
            yield self
        if self.state == PENDING:
            raise RuntimeError("await wasn't used with future")
        return self.result()

    __iter__ = __await__

    def get_loop(self) -> Any:
        """Give the loop, in the shape that libraries made for asyncio expect."""
        return self.loop.facade

    def done(self) -> bool:
        """Whether there is an outcome."""
        return self.state != PENDING

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.state == CANCELLED

    def result(self) -> Any:
        """Give the value, or raise the error."""
        if self.state == FINISHED:
            if self.error is None:
                return self.value
            raise self._take_error(self.error)
        if self.state == CANCELLED:
            raise self._make_cancelled_error()
        raise InvalidStateError("Result is not set.")

    def exception(self) -> BaseException | None:
        """Give the error, or `None` if there is a value."""
        if self.state == CANCELLED:
            raise self._make_cancelled_error()
        if self.state == PENDING:
            raise InvalidStateError("Exception is not set.")
        self._seen()
        return self.error

    def failure(self) -> BaseException | None:
        """Give what awaiting this would raise, without raising it: a raise would leave a mark."""
        if self.state == CANCELLED:
            return self._make_cancelled_error()
        if self.error is None:
            return None
        return self._take_error(self.error)

    def set_result(self, result: Any) -> None:
        """Settle with a value."""
        if self.state != PENDING:
            raise InvalidStateError("invalid state")
        self.value = result
        self.state = FINISHED
        arrive(self, self.loop.ready)

    def set_exception(self, exception: BaseException | type[BaseException]) -> None:
        """Settle with an error."""
        if self.state != PENDING:
            raise InvalidStateError("invalid state")
        error = exception() if isinstance(exception, type) else exception
        if isinstance(error, StopIteration):
            text = (
                "StopIteration interacts badly with generators and cannot be raised into a Future"
            )
            if not SINCE_3_13:
                raise TypeError(text)
            stopped = RuntimeError(text)
            stopped.__cause__ = stopped.__context__ = error
            error = stopped
        self._failed(error)
        self.state = FINISHED
        arrive(self, self.loop.ready)

    def cancel(self, msg: Any = None) -> bool:
        """Settle as cancelled; say whether that was still possible."""
        if self.state != PENDING:
            return False
        self.state = CANCELLED
        self.message = msg
        arrive(self, self.loop.ready)
        return True

    def _failed(self, error: BaseException) -> None:
        self.error = error
        self.traceback = error.__traceback__
        self.loop.unseen.add(self)

    def _take_error(self, error: BaseException) -> BaseException:
        """Give the error with the traceback that it came with: once, as asyncio does."""
        self._seen()
        traceback, self.traceback = self.traceback, None
        return error.with_traceback(traceback)

    def _seen(self) -> None:
        self.loop.unseen.discard(self)

    def _make_cancelled_error(self) -> BaseException:
        """Give the cancellation that is to be raised: the one that ended the task, once."""
        if self.state == CANCELLED and self.error is not None:
            error, self.error = self.error, None
            return error
        return CancelledError() if self.message is None else CancelledError(self.message)

    def notify(self, waiter: Waiter) -> None:
        """Make `waiter` ready when this is settled; on the next turn, if it is settled already."""
        if self.state != PENDING:
            self.loop.ready.append((waiter, self))
        else:
            self.waiters.append(waiter)

    def forget(self, waiter: Waiter) -> None:
        """Take `waiter` back."""
        self.waiters = [each for each in self.waiters if each != waiter]

    def add_done_callback(
        self,
        fn: Callable[[Any], object],
        /,
        *,
        context: contextvars.Context | None = None,
    ) -> None:
        """Call `fn` with this future when it is settled, on a turn of its own."""
        self.notify(Callback(self.loop, fn, context))

    def remove_done_callback(self, fn: Callable[[Any], object], /) -> int:
        """Take back every callback that is `fn`; say how many there were."""
        kept = [w for w in self.waiters if not (isinstance(w, Callback) and w.function == fn)]
        removed = len(self.waiters) - len(kept)
        self.waiters = kept
        return removed


_STATES = ("pending", "cancelled", "finished")


class Task(Future):
    """A coroutine on the loop, one step at a time."""

    __slots__ = ("cancels", "context", "coro", "lent", "must_cancel", "name", "waits_on")

    def __init__(
        self,
        loop: Home,
        coro: Coroutine[Any, Any, Any],
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> None:
        super().__init__(loop)
        self.coro: Any = coro
        self.context = contextvars.copy_context() if context is None else context
        self.lent = context is not None
        """Whether somebody else may hold the context too."""
        self.waits_on: Any = None
        self.must_cancel = False
        self.cancels = 0
        self.name = str(name) if name is not None else loop.task_name()
        loop.tasks[self.number] = self
        loop.ready.append((self.begin, None))

    def __repr__(self) -> str:
        return f"<Task {_STATES[self.state]} name={self.name!r}>"

    def get_name(self) -> str:
        """Give the name."""
        return self.name

    def set_name(self, value: object) -> None:
        """Set the name."""
        self.name = str(value)

    def get_stack(self, *, limit: int | None = None) -> list[Any]:
        """Give the frame where the coroutine stands, as asyncio does for a suspended one."""
        frame = getattr(self.coro, "cr_frame", None)
        return [] if frame is None else [frame]

    def get_coro(self) -> Any:
        """Give the coroutine."""
        return self.coro

    def get_context(self) -> contextvars.Context:
        """Give the context that the coroutine runs in."""
        self.lent = True
        return self.context

    def set_result(self, result: Any) -> None:
        """Refuse: only the coroutine of a task settles it."""
        raise RuntimeError("Task does not support set_result operation")

    def set_exception(self, exception: Any) -> None:
        """Refuse: only the coroutine of a task settles it."""
        raise RuntimeError("Task does not support set_exception operation")

    def cancelling(self) -> int:
        """Say how many cancellations were asked for and not taken back."""
        return self.cancels

    def uncancel(self) -> int:
        """Take one cancellation back; say how many are left."""
        if self.cancels > 0:
            self.cancels -= 1
            if LATE_UNCANCEL and self.cancels == 0:
                self.must_cancel = False
        return self.cancels

    def cancel(self, msg: Any = None) -> bool:
        """Have `CancelledError` thrown where the task waits; say whether it was still running."""
        if self.state != PENDING:
            return False
        self.cancels += 1
        if self.waits_on is not None and self.waits_on.cancel(msg=msg):
            return True
        # It is about to run, or what it waits on cannot be cancelled: on its next step.
        self.must_cancel = True
        self.message = msg
        return True

    def begin(self, _: object) -> None:
        """Take a step."""
        self.step(None)

    def fail(self, error: BaseException) -> None:
        """Take a step by throwing `error` at the await where the task stands."""
        self.step(error)

    def wake(self, future: Any) -> None:
        """Take a step, since `future`, on which the task waited, is settled."""
        if future.throws or future.state == CANCELLED:
            self.step(future.failure())
        else:
            self.step(None)

    def wake_foreign(self, future: Any) -> None:
        """Take a step after a future that a library made with asyncio's own class."""
        error: BaseException | None = None
        try:
            future.result()
        except BaseException as raised:  # noqa: BLE001 — it belongs to the coroutine
            error = raised
        self.step(error)

    def step(self, error: BaseException | None) -> None:
        """Run the coroutine to its next await. Never called while an exception is handled."""
        if self.state != PENDING:
            raise InvalidStateError(f"step(): already done: {self!r}, {error!r}")
        if self.must_cancel:
            if not isinstance(error, CancelledError):
                error = self._make_cancelled_error()
            self.must_cancel = False
        self.waits_on = None
        loop = self.loop
        loop.current = self
        host = loop.host
        if host is not None:
            host.enter_task(loop, self)
        coro = self.coro
        try:
            if error is None:
                awaited = self.context.run(coro.send, None)
            else:
                awaited = self.context.run(coro.throw, error)
        except StopIteration as stop:
            self._returned(stop.value)
        except CancelledError as cancelled:
            self.error = cancelled
            self._end(CANCELLED)
        except (KeyboardInterrupt, SystemExit) as last:
            self._raised(last)
            loop.interrupted(last)
        except BaseException as raised:  # noqa: BLE001 — every other error is the task's outcome
            self._raised(raised)
        else:
            self._await(awaited)
        finally:
            loop.current = None
            if host is not None:
                host.leave_task(loop, self)

    def _returned(self, value: Any) -> None:
        if self.must_cancel:  # it was cancelled by its own last step
            self.must_cancel = False
            self._end(CANCELLED)
        else:
            self.value = value
            self._end(FINISHED)

    def _raised(self, error: BaseException) -> None:
        self._failed(error)
        self._end(FINISHED)

    def _end(self, state: int) -> None:
        self.state = state
        loop = self.loop
        loop.tasks.pop(self.number, None)
        arrive(self, loop.ready)

    def _await(self, awaited: Any) -> None:
        """Wait on what the coroutine yielded."""
        if isinstance(awaited, Future):
            if awaited.loop is not self.loop:
                self._refuse(_other_run(awaited))
            elif awaited is self:
                self._refuse(RuntimeError(f"Task cannot await on itself: {self!r}"))
            else:
                self._wait_on(awaited)
                awaited.notify(self.wake)
        elif awaited is None:
            self.loop.ready.append((self.begin, None))  # a bare `yield`: one turn
        elif getattr(awaited, "_asyncio_future_blocking", None) is not None:
            self._await_foreign(awaited)
        else:
            self._refuse(_not_ours(awaited))

    def _wait_on(self, awaited: Any) -> None:
        self.waits_on = awaited
        if self.must_cancel and awaited.cancel(msg=self.message):
            self.must_cancel = False

    def _await_foreign(self, awaited: Any) -> None:
        awaited._asyncio_future_blocking = False  # its `__await__` set it; it is heard
        if awaited.get_loop() is not self.loop.facade:
            self._refuse(_not_ours(awaited))
            return
        self._wait_on(awaited)
        # Not in the task's own context: the step enters that, and a context is entered once.
        awaited.add_done_callback(self.wake_foreign, context=contextvars.Context())

    def _refuse(self, error: BaseException) -> None:
        self.loop.ready.append((self.fail, error))


if not SINCE_3_12:
    del Task.get_context


def _other_run(awaited: Future) -> ForeignAwaitable:
    return ForeignAwaitable(
        f"{awaited!r} belongs to another run",
        remedy="hand values from run to run, by signals or results, not futures",
    )


def _not_ours(awaited: Any) -> ForeignAwaitable:
    kind: type = awaited.__class__
    return ForeignAwaitable(
        f"a `{kind.__module__}.{kind.__qualname__}` cannot be awaited in a workflow",
        remedy="it belongs to another event loop: move what makes it into an @action",
    )


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)
