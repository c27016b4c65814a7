"""The workflow of the golden images. Their programs keep its text: its class must stay as it is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from perdure import action, workflow


@dataclass
class Basket:
    """What the runs of the golden images hold."""

    lines: list[Any] = field(default_factory=list)


@action
async def step(value: Any) -> Any:
    """Give a value back."""
    return value


async def doubled(number: int) -> int:
    """Wait below the workflow."""
    return 2 * await step(number)


@workflow
async def standing(count: int) -> list[Any]:
    """Stands in most constructs when it is imaged."""
    basket = Basket([("shared", count)])
    squares = (number * number for number in range(count))
    told = {"basket": basket, 1: {2, 3}, "set": frozenset("a")}

    def note(value: Any) -> None:
        nonlocal count
        count += 1
        basket.lines.append(value)

    try:
        async with asyncio.timeout(60):
            for square in squares:
                try:
                    if square == 1:
                        raise LookupError(square)  # noqa: TRY301 — as users do
                    note(await doubled(square))
                except LookupError as error:
                    note(await asyncio.gather(step("one"), doubled(5)))
                    note(repr(error))
                finally:
                    note(await step("finally"))
    finally:
        note(await step(len(told)))
    return [*basket.lines, count, list(squares), basket is told["basket"]]
