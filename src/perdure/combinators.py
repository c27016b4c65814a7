"""`race`, `any_of`, `all_of`, `first`, and Rhythm's `Task`: plain asyncio, in a run and outside.

This module is captured into programs like a module of the user's: what it says is asyncio
means the loop of the run inside of one, and the real one everywhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

__perdure_captured__ = True


async def all_of(*things: Any) -> Any:
    """Wait for all; the first failure is raised, and what still runs is cancelled.

    Takes awaitables, or one list or dict of them, and gives a list or a dict of results.
    """
    keys, tasks = _started(things)
    try:
        results = await asyncio.gather(*tasks)
    except BaseException:
        await _cancel(tasks)
        raise
    return list(results) if keys is None else dict(zip(keys, results, strict=True))


async def race(*things: Any, keep_losers: bool = False) -> Any:
    """Give the result, or raise the error, of whichever ends first. The others are cancelled.

    Given a dict, it gives `(key, result)`.
    """
    keys, tasks = _started(things)
    if not tasks:
        raise ValueError("race() needs at least one awaitable")
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        winner = _earliest(tasks, done)
        return winner.result() if keys is None else (keys[tasks.index(winner)], winner.result())
    finally:
        if not keep_losers:
            await _cancel(tasks)


async def any_of(*things: Any, keep_losers: bool = False) -> Any:
    """Give the first result that is no error; when all fail, raise all of them in a group.

    Given a dict, it gives `(key, result)`.
    """
    keys, tasks = _started(things)
    winners = await _first_good(tasks, 1, keep_losers=keep_losers)
    return (
        winners[0].result()
        if keys is None
        else (keys[tasks.index(winners[0])], winners[0].result())
    )


async def first(k: int, *things: Any, keep_losers: bool = False) -> Any:
    """Give the first `k` results that are no errors, in the order in which they came.

    Given a dict, it gives a dict of the `k` winners. When too many fail, all errors are raised.
    """
    keys, tasks = _started(things)
    if not 1 <= k <= len(tasks):
        raise ValueError(f"first() was asked for {k} of {len(tasks)}")
    winners = await _first_good(tasks, k, keep_losers=keep_losers)
    if keys is None:
        return [winner.result() for winner in winners]
    return {keys[tasks.index(winner)]: winner.result() for winner in winners}


async def _first_good(tasks: list[Any], k: int, *, keep_losers: bool) -> list[Any]:
    if not tasks:
        raise ValueError("any_of() needs at least one awaitable")
    ended: asyncio.Queue[Any] = asyncio.Queue()
    for task in tasks:
        task.add_done_callback(ended.put_nowait)
    good: list[Any] = []
    errors: list[BaseException] = []
    try:
        while len(good) < k:
            if len(errors) > len(tasks) - k:
                raise BaseExceptionGroup("too many of the awaitables failed", errors)
            task = await ended.get()
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is None:
                good.append(task)
            else:
                errors.append(error)
        return good
    finally:
        if not keep_losers:
            await _cancel(tasks)


def _started(things: tuple[Any, ...]) -> tuple[list[Any] | None, list[Any]]:
    """Start what was given, in order; give the keys, if it was a dict, and the tasks."""
    keys: list[Any] | None = None
    given: Iterable[Any] = things
    only: Any = things[0] if len(things) == 1 else None
    if issubclass(type(only), Mapping):
        keys = list(only)
        given = list(only.values())
    elif len(things) == 1 and not issubclass(type(only), Awaitable):
        given = list(only)
    return keys, [asyncio.ensure_future(each) for each in given]


def _earliest(tasks: list[Any], done: Any) -> Any:
    return next(task for task in tasks if task in done)


async def _cancel(tasks: list[Any]) -> None:
    """Cancel what still runs, and wait until its cleanup is done."""
    losers = [task for task in tasks if not task.done()]
    for task in losers:
        task.cancel()
    if losers:
        await asyncio.gather(*losers, return_exceptions=True)


class _Names:
    """Some functions under one name. An object, so that a program captures what it holds."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no `Task.{name}`")


def _run(awaitable: Any) -> Any:
    return asyncio.ensure_future(awaitable)


async def _delay(seconds: float) -> None:
    await asyncio.sleep(seconds)


Task = _Names(run=_run, all=all_of, any=any_of, race=race, delay=_delay)
"""Rhythm's names: `Task.run` starts and gives a handle; `Task.all`, `any`, `race`, `delay`."""

for _function, _kind in ((all_of, "gather"), (race, "race"), (any_of, "race"), (first, "race")):
    setattr(_function, "__perdure__", _kind)  # noqa: B010 — how a graph knows them
