"""The workflows and the actions that are measured. An action really awaits once."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable

from perdure.actions import action
from perdure.api import signal, sleep_until
from perdure.workflows import workflow

__perdure_captured__ = True

BEGUN: list[Callable[[int], object]] = []
"""Who hears, in this process, that an attempt of `mark` has begun."""
HELD: list[Callable[[int], object]] = []
"""The same of `hold`."""


@action
async def step(number: int) -> int:
    """Await once, and give the next number."""
    await asyncio.sleep(0)
    return number + 1


@action
async def mark(number: int) -> int:
    """Say that it has begun."""
    for hear in BEGUN:
        hear(number)
    return number


@action
async def hold(number: int) -> int:
    """Say that it has begun, and do not end."""
    for hear in HELD:
        hear(number)
    await asyncio.Event().wait()
    return number


@workflow
async def steps_of(count: int) -> int:
    """Take so many steps, one after the other."""
    number = 0
    for _ in range(count):
        number = await step(number)
    return number


@workflow
async def fan_of(width: int) -> int:
    """Take so many steps at once."""
    return len(await asyncio.gather(*[step(number) for number in range(width)]))


@workflow
async def waits_of(name: str) -> int:
    """Wait for a signal."""
    return await signal(name, int)


@workflow
async def sleeps_of(due_s: float) -> int:
    """Sleep until a time, then take one step."""
    await sleep_until(dt.datetime.fromtimestamp(due_s, dt.UTC))
    return await mark(round(due_s * 1_000_000))


@workflow
async def parent_of(children: int) -> int:
    """Have so many child runs, all at once, of one step each."""
    return len(await asyncio.gather(*[steps_of(1) for _ in range(children)]))


@workflow
async def holds_of(number: int) -> int:
    """Wait for an action that does not end."""
    return await hold(number)


@workflow
async def long_of(count: int, width: int) -> int:
    """Take so many steps, some of them at once, and then one that does not end."""
    number = 0
    while number < count:
        number += len(await asyncio.gather(*[step(number) for _ in range(width)]))
    return await hold(number)
