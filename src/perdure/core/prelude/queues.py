"""Queues made inside of a flow: `Queue`, `PriorityQueue`, `LifoQueue`."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

from perdure.core.ambient import here
from perdure.core.futures import Future
from perdure.core.prelude.locks import Event
from perdure.core.vocabulary import SINCE_3_13, QueueEmpty, QueueFull, QueueShutDown


class Queue:
    """First in, first out, with room for `maxsize` items, or for any number."""

    def __init__(self, maxsize: int = 0) -> None:
        self._maxsize = maxsize
        self.getters: deque[Future] = deque()
        self.putters: deque[Future] = deque()
        self.unfinished = 0
        self.finished = Event()
        self.finished.set()
        self.is_shut = False
        self.items: Any = self._make()

    def __class_getitem__(cls, _: object) -> type[Queue]:
        return cls

    def _make(self) -> Any:
        return deque[Any]()

    def _get(self) -> Any:
        return self.items.popleft()

    def _put(self, item: Any) -> None:
        self.items.append(item)

    @property
    def maxsize(self) -> int:
        """How many items there is room for; 0: any number."""
        return self._maxsize

    def qsize(self) -> int:
        """How many items there are."""
        return len(self.items)

    def empty(self) -> bool:
        """Whether there is none."""
        return not self.items

    def full(self) -> bool:
        """Whether there is no more room."""
        return 0 < self._maxsize <= len(self.items)

    async def put(self, item: Any) -> None:
        """Add an item, when there is room."""
        while self.full():
            if self.is_shut:
                raise QueueShutDown
            await self._wait(self.putters, blocked=self.full)
        self.put_nowait(item)

    def put_nowait(self, item: Any) -> None:
        """Add an item, or raise `QueueFull`."""
        if self.is_shut:
            raise QueueShutDown
        if self.full():
            raise QueueFull
        self._put(item)
        self.unfinished += 1
        self.finished.clear()
        _wake_next(self.getters)

    async def get(self) -> Any:
        """Take an item, when there is one."""
        while self.empty():
            if self.is_shut:
                raise QueueShutDown
            await self._wait(self.getters, blocked=self.empty)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        """Take an item, or raise `QueueEmpty`."""
        if self.empty():
            if self.is_shut:
                raise QueueShutDown
            raise QueueEmpty
        item = self._get()
        _wake_next(self.putters)
        return item

    async def _wait(self, line: deque[Future], *, blocked: Any) -> None:
        waiter = Future(here())
        line.append(waiter)
        try:
            await waiter
        except BaseException:
            waiter.cancel()  # in case the failure was not a cancellation
            if waiter in line:
                line.remove(waiter)
            if not blocked() and not waiter.cancelled():
                _wake_next(line)  # this task was chosen, and does not come
            raise

    def task_done(self) -> None:
        """Say that one item that was taken is dealt with."""
        if self.unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished -= 1
        if self.unfinished == 0:
            self.finished.set()

    async def join(self) -> None:
        """Wait until every item that was put is dealt with."""
        if self.unfinished > 0:
            await self.finished.wait()

    def shutdown(self, immediate: bool = False) -> None:  # noqa: FBT001, FBT002 — as asyncio
        """Let nobody put any more, and nobody get when it is empty, or at once."""
        self.is_shut = True
        if immediate:
            while not self.empty():
                self._get()
                self.unfinished = max(0, self.unfinished - 1)
            if self.unfinished == 0:
                self.finished.set()
        for line in (self.getters, self.putters):
            while line:
                waiter = line.popleft()
                if not waiter.done():
                    waiter.set_result(None)


if not SINCE_3_13:
    del Queue.shutdown


def _wake_next(line: deque[Future]) -> None:
    while line:
        waiter = line.popleft()
        if not waiter.done():
            waiter.set_result(None)
            return


class PriorityQueue(Queue):
    """The smallest item comes out first."""

    def _make(self) -> Any:
        return []

    def _get(self) -> Any:
        return heapq.heappop(self.items)

    def _put(self, item: Any) -> None:
        heapq.heappush(self.items, item)


class LifoQueue(Queue):
    """The newest item comes out first."""

    def _make(self) -> Any:
        return []

    def _get(self) -> Any:
        return self.items.pop()
