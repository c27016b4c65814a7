"""The workflows that the benchmarks fold."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

from perdure import action, workflow


@action
async def step(number: int) -> int:
    """Give a number back."""
    return number


@workflow
async def loop_of(steps: int) -> int:
    """Await so many actions, one after the other."""
    total = 0
    for number in range(steps):
        total += await step(number)
    return total


@workflow
async def gather_of(width: int) -> int:
    """Await so many actions at once."""
    return len(await asyncio.gather(*[step(number) for number in range(width)]))


async def _below(depth: int, number: int) -> int:
    if depth == 0:
        return await step(number)
    return await _below(depth - 1, number)


@workflow
async def chain_of(depth: int, steps: int) -> int:
    """Await actions below so many helpers."""
    total = 0
    for number in range(steps):
        total += await _below(depth, number)
    return total


class _Pause:
    def __await__(self) -> Generator[None, None, int]:
        yield
        return 1


async def _bare(steps: int) -> int:
    total = 0
    pause = _Pause()
    for _ in range(steps):
        total += await pause
    return total


def bare(steps: int) -> Coroutine[Any, Any, int]:
    """Give a coroutine that only waits."""
    return _bare(steps)


@workflow
async def holder_of(lines: int) -> int:
    """Hold a few hundred kilobytes over awaits."""
    held: list[dict[str, Any]] = [
        {"number": number, "name": f"line {number} of an order", "price": number * 1.5, "tags": []}
        for number in range(lines)
    ]
    for _ in range(5):
        await step(1)
    return len(held)


async def native(steps: int) -> int:
    """Wait, as a loop of awaits does."""
    total = 0
    pause = _Pause()
    for number in range(steps):
        if number >= 0:
            total += await pause
    return total


async def lowered(steps: int) -> int:
    """Do the same; this one is made restorable."""
    total = 0
    pause = _Pause()
    for number in range(steps):
        if number >= 0:
            total += await pause
    return total
