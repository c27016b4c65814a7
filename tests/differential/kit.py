"""The actions that every program of the corpus calls, for both sides of the comparison.

Called outside of a run, each body below simply runs, under a virtual clock: it suspends
exactly once. Inside of a run, the driver answers the same call after the same time.
"""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from perdure import action

JOURNAL: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
"""The calls that were started on the native side, in order."""


FAIL_CALL: int | None = None
"""Which call of the native side the harness makes fail, if any."""


async def _suspend(name: str, seconds: float, args: tuple[Any, ...]) -> None:
    JOURNAL.append((name, copy.deepcopy(args), {}))
    if len(JOURNAL) - 1 == FAIL_CALL:
        from tests.differential.harness import Injected

        await _pause(1.0)
        raise Injected("injected")
    await _pause(seconds)


async def _pause(seconds: float) -> None:
    """Suspend exactly once, also for no time at all."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    handle = loop.call_later(max(seconds, 0), _settle, future)
    try:
        await future
    finally:
        handle.cancel()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@action
async def act(value: Any = None) -> Any:
    """Give back a copy of `value` after one second."""
    kept = copy.deepcopy(value)
    await _suspend("act", 1.0, (value,))
    return kept


@action
async def slow(value: Any, seconds: float) -> Any:
    """Give back a copy of `value` after `seconds`."""
    kept = copy.deepcopy(value)
    await _suspend("slow", seconds, (value, seconds))
    return kept


@action
async def boom(error: BaseException, seconds: float = 1.0) -> Any:
    """Raise `error` after `seconds`."""
    await _suspend("boom", seconds, (error, seconds))
    raise error
