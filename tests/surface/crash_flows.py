"""Workflows that are crashed everywhere; some of them hide what a crash brings to light."""

from __future__ import annotations

import asyncio
from typing import Any

from perdure import action, signal, workflow


@action
async def step(value: Any) -> Any:
    """Give a value back."""
    return value


@workflow
async def sound(count: int) -> list[Any]:
    """Is what it was, however often it crashes."""
    numbers = (number * number for number in range(count))
    found = [await step(number) for number in numbers]
    found += await asyncio.gather(step("a"), step("b"))
    await asyncio.sleep(60)
    print("nearly there")
    return [*found, await signal("go", int)]


@workflow
async def with_a_tail() -> int:
    """Cannot be imaged while it waits."""
    try:
        return await step(1)
    except* ValueError:
        await step(2)
    return 0


class Library:
    """Stands for code that is not captured, and is not repeatable."""

    asked = 0

    def order(self) -> list[str]:
        """Go by the hashes of texts, which differ from process to process."""
        return list({f"name {number}" for number in range(30)})

    def next(self) -> int:
        """Count in the process, which an image does not hold."""
        Library.asked += 1
        return Library.asked


@workflow
async def ordered_by_hashes() -> str:
    """Calls with an argument that another hash seed changes."""
    await step("before")
    return await step(Library().order()[0])


@workflow
async def counted_in_the_process() -> int:
    """Gives a result that depends on what else ran in the process."""
    library = Library()
    await step(1)
    return library.next()
