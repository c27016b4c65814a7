"""One flow for each construct that cannot be put on disk while it waits."""

# ruff: noqa: B030, PLW0711 — the constructs are rare for a reason

from __future__ import annotations

from typing import Any

from perdure import action, workflow


@action
async def step(value: Any = None) -> Any:
    """Give a value back."""
    return value


@workflow
async def in_star() -> None:
    """Awaits beside an `except*`."""
    try:
        await step()
    except* ValueError:
        await step()


@workflow
async def in_guard() -> int:
    """Awaits in a guard."""
    match 1:
        case number if await step(number):
            return number
    return 0


@workflow
async def in_class_of_except() -> int:
    """Awaits in the class of an `except`."""
    try:
        raise ValueError
    except await step(None) or ValueError:
        return 1


@workflow
async def in_del() -> dict[int, int]:
    """Awaits in a `del` of several things at once."""
    held = {1: 1, 2: 2}
    del (held[await step(1)], held[await step(2)])
    return held


@workflow
async def restorable() -> Any:
    """Awaits in many other places."""
    squares = (await step(number) for number in (1, 2))
    names = (str(number) for number in (3, 4))
    async for square in squares:
        if not square or await step(square) not in (1, 2):
            break
    return [await step(name) for name in names]


FLOWS: dict[str, Any] = {
    "await inside of an `except*`": in_star,
    "await inside of a guard or pattern of `match`": in_guard,
    "await inside of the class of an `except`": in_class_of_except,
    "await inside of a `del` of several things at once": in_del,
}
