"""A loop in a thread of its own, for code that has none: hands coroutines in and results out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from perdure.errors import Closed

T = TypeVar("T")

_END: Any = object()


class Portal:
    """One loop, in one thread, until it is closed."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None

    def open(self) -> None:
        """Start the thread."""
        self._ready.clear()
        self._thread = threading.Thread(target=self._serve, name="perdure-loop")
        self._thread.start()
        self._ready.wait()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            self._runner = runner
            runner.run(self._wait())
            self._runner = None

    async def _wait(self) -> None:
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have a coroutine run there, and give what it gave."""
        runner = self._runner
        if runner is None:
            work.close()
            raise Closed("the engine is not open", remedy="use it within `with`")
        return asyncio.run_coroutine_threadsafe(work, runner.get_loop()).result()

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Go through an asynchronous iterator from here."""
        while (item := self.run(_next(source))) is not _END:
            yield item

    def close(self) -> None:
        """End the loop, and wait for its thread."""
        runner, stop, thread = self._runner, self._stop, self._thread
        if runner is not None and stop is not None and thread is not None:
            runner.get_loop().call_soon_threadsafe(stop.set)
            thread.join()


async def _next(source: AsyncIterator[T]) -> T:
    async for item in source:
        return item
    end: T = _END
    return end
