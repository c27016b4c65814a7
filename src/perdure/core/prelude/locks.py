"""Locks made inside of a flow: `Lock`, `Event`, `Condition`, semaphores, `Barrier`.

Waiters are futures in a queue; all are fair, first come, first served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any

from perdure.core.ambient import here
from perdure.core.futures import Future
from perdure.core.vocabulary import SINCE_3_13, BrokenBarrierError, CancelledError


class _Held:
    """What `async with` needs of a lock."""

    async def acquire(self) -> bool:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class Lock(_Held):
    """One holder at a time."""

    def __init__(self) -> None:
        self.held = False
        self.waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether somebody holds it."""
        return self.held

    async def acquire(self) -> bool:
        """Take it, when it is this task's turn."""
        if not self.held and all(waiter.cancelled() for waiter in self.waiters):
            self.held = True
            return True
        waiter = Future(here())
        self.waiters.append(waiter)
        try:
            try:
                await waiter
            finally:
                self.waiters.remove(waiter)
        except CancelledError:
            if not self.held:
                self._wake_first()
            raise
        self.held = True
        return True

    def release(self) -> None:
        """Give it back; the first in line is next."""
        if not self.held:
            raise RuntimeError("Lock is not acquired.")
        self.held = False
        self._wake_first()

    def _wake_first(self) -> None:
        if self.waiters and not self.waiters[0].done():
            self.waiters[0].set_result(True)


class Event:
    """A flag that tasks wait for."""

    def __init__(self) -> None:
        self.flag = False
        self.waiters: deque[Future] = deque()

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self.flag

    def set(self) -> None:
        """Raise the flag: all that wait go on."""
        if not self.flag:
            self.flag = True
            for waiter in self.waiters:
                if not waiter.done():
                    waiter.set_result(True)

    def clear(self) -> None:
        """Lower the flag."""
        self.flag = False

    async def wait(self) -> bool:
        """Wait until the flag is up."""
        if self.flag:
            return True
        waiter = Future(here())
        self.waiters.append(waiter)
        try:
            await waiter
            return True
        finally:
            self.waiters.remove(waiter)


class Condition(_Held):
    """A lock with a queue of tasks that wait to be notified."""

    def __init__(self, lock: Lock | None = None) -> None:
        self.lock = lock if lock is not None else Lock()
        self.waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether somebody holds the lock."""
        return self.lock.locked()

    async def acquire(self) -> bool:
        """Take the lock."""
        return await self.lock.acquire()

    def release(self) -> None:
        """Give the lock back."""
        self.lock.release()

    async def wait(self) -> bool:
        """Give the lock back, wait to be notified, take the lock again."""
        if not self.locked():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = Future(here())
        self.release()
        try:
            try:
                self.waiters.append(waiter)
                try:
                    await waiter
                    return True
                finally:
                    self.waiters.remove(waiter)
            finally:
                await self._again()
        except BaseException:
            if SINCE_3_13:
                self._notify(1)  # whoever notified this task meant some task to go on
            raise

    async def _again(self) -> None:
        cancelled: CancelledError | None = None
        while True:
            try:
                await self.acquire()
                break
            except CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def wait_for(self, predicate: Callable[[], Any]) -> Any:
        """Wait until `predicate` holds."""
        result = predicate()
        while not result:
            await self.wait()
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        """Let up to `n` tasks go on."""
        if not self.locked():
            raise RuntimeError("cannot notify on un-acquired lock")
        self._notify(n)

    def _notify(self, n: int) -> None:
        woken = 0
        for waiter in self.waiters:
            if woken >= n:
                break
            if not waiter.done():
                woken += 1
                waiter.set_result(False)

    def notify_all(self) -> None:
        """Let all go on."""
        self.notify(len(self.waiters))


class Semaphore(_Held):
    """So many holders at a time."""

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("Semaphore initial value must be >= 0")
        self.value = value
        self.waiters: deque[Future] = deque()

    def locked(self) -> bool:
        """Whether taking it would have to wait."""
        return self.value == 0 or any(not waiter.cancelled() for waiter in self.waiters)

    async def acquire(self) -> bool:
        """Take one place, when it is this task's turn."""
        if not self.locked():
            self.value -= 1
            return True
        waiter = Future(here())
        self.waiters.append(waiter)
        try:
            try:
                await waiter
            finally:
                self.waiters.remove(waiter)
        except CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.value += 1  # the place was given to this task, which does not take it
            raise
        finally:
            while self.value > 0 and self._wake_next():
                pass
        return True

    def release(self) -> None:
        """Give a place back."""
        self.value += 1
        self._wake_next()

    def _wake_next(self) -> bool:
        for waiter in self.waiters:
            if not waiter.done():
                self.value -= 1
                waiter.set_result(True)
                return True
        return False


class BoundedSemaphore(Semaphore):
    """A semaphore that refuses to be given back more often than it was taken."""

    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self.bound = value

    def release(self) -> None:
        """Give a place back."""
        if self.value >= self.bound:
            raise ValueError("BoundedSemaphore released too many times")
        super().release()


FILLING, DRAINING, RESETTING, BROKEN = "filling", "draining", "resetting", "broken"


class Barrier:
    """Holds tasks until so many have come."""

    def __init__(self, parties: int) -> None:
        if parties < 1:
            raise ValueError("parties must be >= 1")
        self.cond = Condition()
        self.state = FILLING
        self._parties = parties
        self.count = 0

    @property
    def parties(self) -> int:
        """How many it takes."""
        return self._parties

    @property
    def n_waiting(self) -> int:
        """How many have come."""
        return self.count if self.state == FILLING else 0

    @property
    def broken(self) -> bool:
        """Whether it was aborted."""
        return self.state == BROKEN

    async def __aenter__(self) -> int:
        return await self.wait()

    async def __aexit__(self, *_: object) -> None:
        return None

    async def wait(self) -> int:
        """Wait for the others; give which in line this task was."""
        async with self.cond:
            await self._may_enter()
            try:
                index = self.count
                self.count += 1
                if index + 1 == self._parties:
                    self.state = DRAINING
                    self.cond.notify_all()
                else:
                    await self._until_full()
                return index
            finally:
                self.count -= 1
                self._left()

    async def _may_enter(self) -> None:
        await self.cond.wait_for(lambda: self.state not in (DRAINING, RESETTING))
        if self.state == BROKEN:
            raise BrokenBarrierError("Barrier aborted")

    async def _until_full(self) -> None:
        await self.cond.wait_for(lambda: self.state != FILLING)
        if self.state in (BROKEN, RESETTING):
            raise BrokenBarrierError("Abort or reset of barrier")

    def _left(self) -> None:
        if self.count == 0:
            if self.state in (RESETTING, DRAINING):
                self.state = FILLING
            self.cond.notify_all()

    async def reset(self) -> None:
        """Begin anew; whoever waits gets `BrokenBarrierError`."""
        async with self.cond:
            if self.count > 0:
                if self.state != RESETTING:
                    self.state = RESETTING
            else:
                self.state = FILLING
            self.cond.notify_all()

    async def abort(self) -> None:
        """Break it for everybody, now and later."""
        async with self.cond:
            self.state = BROKEN
            self.cond.notify_all()
