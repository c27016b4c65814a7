"""Tasks and what waits on several of them: `gather`, `wait`, `as_completed`, `shield`, `wait_for`.

Where asyncio goes through a set, and so in arbitrary order, this goes in order of the arguments.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterable
from contextvars import Context
from typing import Any

from perdure.core.ambient import here
from perdure.core.futures import Future, Task
from perdure.core.gates import Gate, arrive
from perdure.core.loop import is_coroutine
from perdure.core.prelude.groups import timeout as timeout_block
from perdure.core.run import Run
from perdure.core.vocabulary import (
    EAGER_GATHER,
    LAZY_AS_COMPLETED,
    SINCE_3_13,
    TASK_WAIT_FOR,
    CancelledError,
)
from perdure.ordered import OrderedSet

FIRST_COMPLETED = "FIRST_COMPLETED"
FIRST_EXCEPTION = "FIRST_EXCEPTION"
ALL_COMPLETED = "ALL_COMPLETED"


class _Turn:
    """Waits for one turn of the loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield


async def sleep(delay: float, result: Any = None) -> Any:
    """Wait for so many seconds of the run's time."""
    if delay <= 0:
        await _Turn()
        return result
    if SINCE_3_13 and math.isnan(delay):
        raise ValueError("Invalid delay: NaN (not a number)")
    run: Run = here()
    future = Future(run)
    timer = run.arm_in(delay, settle, future)
    try:
        await future
    finally:
        run.disarm(timer)
    return result


def settle(future: Future) -> None:
    """End a future, unless something else has."""
    if not future.done():
        future.set_result(None)


def create_task(coro: Any, *, name: str | None = None, context: Context | None = None) -> Task:
    """Start a coroutine as a task of its own."""
    run: Run = here()
    return run.create_task(coro, name, context)


def ensure_future(coro_or_future: Any, *, loop: object = None) -> Any:
    """Make a task of a coroutine; give a future back as it is."""
    run: Run = here()
    return run.ensure_future(coro_or_future)


def current_task(loop: object = None) -> Task | None:
    """Give the task that is running."""
    run: Run = here()
    return run.current


def all_tasks(loop: object = None) -> OrderedSet[Task]:
    """Give the tasks that have not ended, in order of creation."""
    run: Run = here()
    return OrderedSet(run.tasks.values())


def get_running_loop() -> Any:
    """Give the loop of the run, in asyncio's shape."""
    run: Run = here()
    return run.facade


class _Class(type):
    """Makes a class of asyncio's mean ours: what is one, and how one is made."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __call__(cls, *args: Any, loop: object = None, **kwargs: Any) -> Any:
        return cls.__mro__[1](here(), *args, **kwargs)


class FutureClass(Future, metaclass=_Class):
    """What `asyncio.Future` means inside of a run."""


class TaskClass(Task, metaclass=_Class):
    """What `asyncio.Task` means inside of a run."""


def iscoroutine(value: object) -> bool:
    """Whether `value` is a coroutine."""
    return is_coroutine(value)


# --- gather


class Gathering(Future):
    """The outcome of `gather`: a gate n of n over its children, or the first failure."""

    __slots__ = ("asked", "children", "gate", "keep_errors")

    def __init__(self, run: Run, children: list[Any], *, keep_errors: bool) -> None:
        super().__init__(run)
        self.children = children
        self.keep_errors = keep_errors
        self.asked = False
        self.gate = Gate(len(children))

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the children; the gathering is cancelled when they are done."""
        if self.done():
            return False
        asked = False
        for child in self.children:
            if child.cancel(msg=msg):
                asked = True
        if asked:
            self.asked = True
        return asked

    def child_done(self, child: Any) -> None:
        """One child is settled."""
        last = self.gate.completed + 1 == self.gate.required
        arrive(self.gate, self.loop.ready)
        if self.done():
            if not child.cancelled():
                child.exception()  # it counts as seen: the first failure was raised
            return
        if not self.keep_errors:
            error = child._make_cancelled_error() if child.cancelled() else child.exception()
            if error is not None:
                self.set_exception(error)
                return
        if last:
            self._finish()

    def _finish(self) -> None:
        if (
            self.asked
        ):  # as asyncio has it: the cancellation of the last in line, whatever it came to
            self.set_exception(self.children[-1]._make_cancelled_error())
        else:
            self.set_result([_outcome(child) for child in self.children])


def _outcome(child: Any) -> Any:
    if child.cancelled():
        return CancelledError("" if child.message is None else child.message)
    error = child.exception()
    return error if error is not None else child.result()


def gather(*coros_or_futures: Any, return_exceptions: bool = False) -> Future:
    """Wait for all. Coroutines start at this call, in order, whether it is awaited or not."""
    run: Run = here()
    if not coros_or_futures:
        empty = Future(run)
        empty.set_result([])
        return empty
    made: dict[Any, Any] = {}
    for each in coros_or_futures:
        if each not in made:
            made[each] = run.ensure_future(each)
    children = [made[each] for each in coros_or_futures]
    outer = Gathering(run, children, keep_errors=return_exceptions)
    outer.gate.required = len(made)
    done: list[Any] = []
    for child in made.values():
        if EAGER_GATHER and child.done():
            done.append(child)
        else:
            _listen(child, outer.child_done)
    for child in done:
        outer.child_done(child)
    return outer


def _listen(future: Any, waiter: Any) -> None:
    if isinstance(future, Future):
        future.notify(waiter)
    else:
        future.add_done_callback(waiter)


def _ignore(future: Any, waiter: Any) -> None:
    if isinstance(future, Future):
        future.forget(waiter)
    else:
        future.remove_done_callback(waiter)


# --- wait, as_completed


class Waiting:
    """Counts down to the moment that `wait` returns."""

    def __init__(self, futures: list[Any], waiter: Future, return_when: str) -> None:
        self.futures = futures
        self.waiter = waiter
        self.return_when = return_when
        self.left = len(futures)

    def done(self, future: Any) -> None:
        """Count one future that has ended."""
        self.left -= 1
        if self.left <= 0 or self.return_when == FIRST_COMPLETED or self._is_failure(future):
            settle(self.waiter)

    def _is_failure(self, future: Any) -> bool:
        return (
            self.return_when == FIRST_EXCEPTION
            and not future.cancelled()
            and future.exception() is not None
        )


async def wait(
    fs: Iterable[Any], *, timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> tuple[OrderedSet[Any], OrderedSet[Any]]:
    """Wait for the first, the first failure, or all; give what is done and what is not."""
    if isinstance(fs, Future) or is_coroutine(fs):
        raise TypeError(f"expect a list of futures, not {type(fs).__name__}")
    futures = list(dict.fromkeys(fs))
    if not futures:
        raise ValueError("Set of Tasks/Futures is empty.")
    if return_when not in (FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED):
        raise ValueError(f"Invalid return_when value: {return_when}")
    if any(is_coroutine(each) for each in futures):
        raise TypeError("Passing coroutines is forbidden, use tasks explicitly.")
    run: Run = here()
    waiter = Future(run)
    waiting = Waiting(futures, waiter, return_when)
    timer = None
    if timeout is not None:
        timer = run.arm_in(timeout, settle, waiter)
    for future in futures:
        _listen(future, waiting.done)
    try:
        await waiter
    finally:
        if timer is not None:
            run.disarm(timer)
        for future in futures:
            _ignore(future, waiting.done)
    return (
        OrderedSet(each for each in futures if each.done()),
        OrderedSet(each for each in futures if not each.done()),
    )


class AsCompleted:
    """Gives awaitables that end in the order in which the futures do."""

    def __init__(self, fs: Iterable[Any], timeout: float | None) -> None:
        self.given = list(dict.fromkeys(fs))
        self.timeout = timeout
        self.todo: dict[Any, None] | None = None
        self.left = 0
        self.finished: deque[Any] = deque()
        self.waiters: deque[Future] = deque()
        self.timer: Any = None
        self.run: Run = here()
        if not LAZY_AS_COMPLETED:
            self._start()

    def _start(self) -> None:
        run = self.run
        self.todo = dict.fromkeys(run.ensure_future(each) for each in self.given)
        self.left = len(self.todo)
        for future in self.todo:
            _listen(future, self._done)
        if self.todo and self.timeout is not None:
            self.timer = run.arm_in(self.timeout, self._timed_out)

    def __iter__(self) -> AsCompleted:
        return self

    def __aiter__(self) -> AsCompleted:
        return self

    def __next__(self) -> Any:
        self._count()
        return self._next_result()

    async def __anext__(self) -> Any:
        try:
            self._count()
        except StopIteration:
            raise StopAsyncIteration from None
        return await self._next_future()

    def _count(self) -> None:
        if self.todo is None:
            self._start()
        if self.left == 0:
            raise StopIteration
        self.left -= 1

    async def _next_future(self) -> Any:
        if not self.finished:
            waiter = Future(self.run)
            self.waiters.append(waiter)
            try:
                await waiter
            except BaseException:
                if waiter in self.waiters:
                    self.waiters.remove(waiter)
                raise
        future = self.finished.popleft()
        if future is None:
            raise TimeoutError
        return future

    async def _next_result(self) -> Any:
        return (await self._next_future()).result()

    def _done(self, future: Any) -> None:
        if self.todo and future in self.todo:
            del self.todo[future]
            self._put(future)
            if not self.todo and self.timer is not None:
                self.run.disarm(self.timer)

    def _timed_out(self, _: object) -> None:
        for future in self.todo or ():
            _ignore(future, self._done)
            self._put(None)
        self.todo = {}

    def _put(self, future: Any) -> None:
        self.finished.append(future)
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break


if not SINCE_3_13:
    del AsCompleted.__aiter__, AsCompleted.__anext__


def as_completed(fs: Iterable[Any], *, timeout: float | None = None) -> AsCompleted:
    """Give awaitables of the results, in the order in which they come."""
    if isinstance(fs, Future) or is_coroutine(fs):
        raise TypeError(f"expect an iterable of futures, not {type(fs).__name__}")
    return AsCompleted(fs, timeout)


_MISSING = object()


def anext_(iterator: Any, default: Any = _MISSING, /) -> Any:
    """Give the next of an asynchronous iterator, or a default at its end."""
    step = anext(iterator)
    return step if default is _MISSING else _next_or(step, default)


async def _next_or(step: Any, default: Any) -> Any:
    try:
        return await step
    except StopAsyncIteration:
        return default


# --- shield, wait_for


class Shield(Future):
    """Stands before a future, so that a cancellation ends here."""

    __slots__ = ("inner",)

    def __init__(self, run: Run, inner: Any) -> None:
        super().__init__(run)
        self.inner = inner
        _listen(inner, self.inner_done)
        self.notify(self.outer_done)

    def inner_done(self, inner: Any) -> None:
        """End as the inner future has ended."""
        if self.cancelled():
            if not inner.cancelled():
                inner.exception()
        elif inner.cancelled():
            self.cancel()
        elif (error := inner.exception()) is not None:
            self.set_exception(error)
        else:
            self.set_result(inner.result())

    def outer_done(self, _: object) -> None:
        """Leave the inner future to itself."""
        if not self.inner.done():
            _ignore(self.inner, self.inner_done)


def shield(arg: Any) -> Any:
    """Keep a cancellation of the waiting task away from `arg`."""
    run: Run = here()
    inner = run.ensure_future(arg)
    return inner if inner.done() else Shield(run, inner)


async def _cancel_and_wait(future: Any) -> None:
    run: Run = here()
    waiter = Future(run)

    def done(_: object) -> None:
        settle(waiter)

    _listen(future, done)
    try:
        future.cancel()
        await waiter
    finally:
        _ignore(future, done)


async def wait_for(fut: Any, timeout: float | None) -> Any:
    """Wait for one awaitable; cancel it and raise `TimeoutError` when it takes too long."""
    if TASK_WAIT_FOR:
        return await _wait_for_as_task(fut, timeout)
    run: Run = here()
    if timeout is not None and timeout <= 0:
        return await _wait_for_no_time(run.ensure_future(fut))
    async with timeout_block(timeout):
        return await fut


async def _wait_for_no_time(future: Any) -> Any:
    if future.done():
        return future.result()
    await _cancel_and_wait(future)
    try:
        return future.result()
    except CancelledError as cancelled:
        raise TimeoutError from cancelled


async def _wait_for_as_task(fut: Any, timeout: float | None) -> Any:
    """Wait as Python 3.11 does: in a task, awaited even when it is late to be cancelled."""
    if timeout is None:
        return await fut
    run: Run = here()
    future = run.ensure_future(fut) if timeout <= 0 else None
    if future is not None:
        return await _wait_for_no_time(future)
    waiter = Future(run)
    timer = run.arm_in(timeout, settle, waiter)

    def done(_: object) -> None:
        settle(waiter)

    future = run.ensure_future(fut)
    _listen(future, done)
    try:
        try:
            await waiter
        except CancelledError:
            if future.done():
                return future.result()
            _ignore(future, done)
            await _cancel_and_wait(future)
            raise
        if future.done():
            return future.result()
        _ignore(future, done)
        return await _wait_for_no_time(future)
    finally:
        run.disarm(timer)
