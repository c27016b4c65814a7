"""A loop in a thread of its own, for code that has none: hands coroutines in and results out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import suppress
from types import AsyncGeneratorType
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
        ends = asyncio.run_coroutine_threadsafe(_outcome(work), runner.get_loop())
        value: T
        value, error = ends.result()
        if error is not None:
            raise error
        return value

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Go through an asynchronous iterator from here; who stops half-way leaves nothing."""
        try:
            while (item := self.run(_next(source))) is not _END:
                yield item
        finally:
            with suppress(Closed):
                self.run(_close(source))

    def close(self) -> None:
        """End the loop, and wait for its thread."""
        runner, stop, thread = self._runner, self._stop, self._thread
        if runner is not None and stop is not None and thread is not None:
            runner.get_loop().call_soon_threadsafe(stop.set)
            thread.join()


async def _outcome(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Give what a coroutine gave or raised: a future would forget why it was cancelled."""
    try:
        return await work, None
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 — it is raised over there
        return None, error


async def _close(source: AsyncIterator[Any]) -> None:
    if isinstance(source, AsyncGeneratorType):
        await source.aclose()


async def _next(source: AsyncIterator[T]) -> T:
    async for item in source:
        return item
    end: T = _END
    return end
