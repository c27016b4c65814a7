"""Engines for tests: on a store in memory or in a file, opened again, and ended as by SIGKILL."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from functools import wraps
from typing import Any

import pytest

from perdure import Options, Perdure
from perdure.store.memory import MemoryDatabase, MemoryStore

LATEST_S = 30


class Place:
    """A store that engines are opened on, one after the other or side by side."""

    def __init__(self, kind: str, folder: Any, monkeypatch: Any) -> None:
        self.kind = kind
        self.path = folder / "runs.db"
        self.database = MemoryDatabase()
        self.warned: list[str] = []
        self.said: list[str] = []
        if kind == "memory":
            monkeypatch.setattr("perdure.app.open_store", self._open_memory)

    def _open_memory(self, where: str, environment: str | None) -> tuple[MemoryStore, bytes]:
        return MemoryStore(self.database), b"k" * 32

    def engine(self, *, serve: bool = True, **told: Any) -> Perdure:
        given = {
            "drain_s": 0.2,
            "warn": self.warned.append,
            "say": lambda _, said: self.said.append(said.text),
        } | told
        return Perdure(self.path, serve=serve, options=Options(**given))


def on(place: Place, test: Any, **told: Any) -> Any:
    """Run a coroutine function with an engine that is open."""

    async def main() -> Any:
        async with asyncio.timeout(LATEST_S), place.engine(**told) as app:
            return await test(app)

    return asyncio.run(main())


def in_loop(test: Any) -> Any:
    """Have pytest run a coroutine function."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def main() -> None:
            async with asyncio.timeout(LATEST_S):
                await test(*args, **kwargs)

        asyncio.run(main())

    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run


async def crash(app: Perdure) -> None:
    """End an engine as SIGKILL does: nothing more is folded, written or handed over."""
    for task in (app._turn, app._poller):
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    owner, app.owner = app.owner, None
    assert owner is not None
    owner.closed = True
    if owner.handle is not None:
        owner.handle.cancel()
    owner.node.pipeline.fence()
    for held in owner.node.attempts.held.values():
        if held.task is not None:
            held.task.cancel()
    owner.node.attempts.held.clear()
    owner.watchdog.stop()
    await owner.node.attempts.processes.close()
    owner.node.close()
    writer: Any = owner.writer
    if isinstance(app.store, MemoryStore):
        app.store.database.declare_dead(writer)
    else:
        writer._lock.abandon()
    await app.close()


async def until(condition: Any) -> None:
    """Wait until something that nobody announces has come to be."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.002)


async def facts_of(handle: Any) -> list[str]:
    return [type(row.fact).__name__ for row in await handle.facts()]


async def reaches(handle: Any, kind: str, times: int = 1) -> None:
    """Wait until so many facts of a kind are durable."""
    async for row in handle.watch():
        times -= type(row.fact).__name__ == kind
        if times == 0:
            return
    raise AssertionError(f"{handle} ended before there was such a fact: {kind}")


async def fails(handle: Any, error: Any = Exception, match: str | None = None) -> BaseException:
    with pytest.raises(error, match=match) as caught:
        await handle.result()
    return caught.value
