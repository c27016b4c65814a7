"""Workflows that combine awaitables; each also runs under plain asyncio."""

# ruff: noqa: BLE001  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import perdure
from perdure import Task, action, all_of, any_of, first, race, workflow

SECOND = 0.001
"""Under plain asyncio the same programs run in real time: a second is a thousandth."""


@action
async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds * SECOND)


class Bad(Exception):
    """What fails here."""


async def after(seconds: float, value: Any, notes: list[str] | None = None) -> Any:
    try:
        await pause(seconds)
    except asyncio.CancelledError:
        await pause(1)
        if notes is not None:
            notes.append(f"{value} cleaned up")
        raise
    if isinstance(value, Exception):
        raise value
    return value


async def outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except BaseExceptionGroup as group:
        return [type(group).__name__, *(repr(each) for each in group.exceptions)]
    except Exception as error:
        return repr(error)


@workflow
async def race_of_all_kinds() -> list[Any]:
    return [
        await race(after(20, "slow"), after(10, "quick")),
        await race([after(20, "slow"), after(10, "quick")]),
        await race({"a": after(20, "slow"), "b": after(10, "quick")}),
        await race(after(5, "one")),
        await race(task for task in [after(20, "slow"), after(10, "quick")]),
        await outcome(race(after(10, Bad("quick")), after(20, "slow"))),
        await outcome(race({"a": after(10, Bad("quick")), "b": after(20, "slow")})),
        await outcome(race()),
        await outcome(race([])),
        await outcome(race({})),
    ]


@workflow
async def any_of_all_kinds() -> list[Any]:
    return [
        await any_of(after(10, Bad("quick")), after(20, "slow")),
        await any_of([after(10, Bad("quick")), after(20, "slow")]),
        await any_of({"a": after(10, Bad("quick")), "b": after(20, "slow")}),
        await outcome(any_of(after(10, Bad("a")), after(20, Bad("b")))),
        await outcome(any_of(after(20, Bad("a")), after(10, Bad("b")))),
        await outcome(any_of()),
        await outcome(any_of({})),
    ]


@workflow
async def all_of_all_kinds() -> list[Any]:
    return [
        await all_of(after(20, "a"), after(10, "b")),
        await all_of([after(20, "a"), after(10, "b")]),
        await all_of({"x": after(20, "a"), "y": after(10, "b")}),
        await all_of(),
        await all_of([]),
        await all_of({}),
        await outcome(all_of(after(20, "a"), after(10, Bad("b")))),
    ]


@workflow
async def first_of_all_kinds() -> list[Any]:
    return [
        await first(2, after(30, "a"), after(10, "b"), after(20, "c")),
        await first(1, [after(30, "a"), after(10, Bad("b")), after(20, "c")]),
        await first(2, {"x": after(30, "a"), "y": after(10, "b"), "z": after(20, "c")}),
        await first(2, after(10, "a"), after(20, "b")),
        await outcome(first(2, after(10, Bad("a")), after(20, Bad("b")), after(30, "c"))),
        await outcome(first(0, after(10, "a"))),
        await outcome(first(2, after(10, "a"))),
    ]


@workflow
async def losers_are_cleaned_up() -> list[str]:
    notes: list[str] = []
    await race(after(10, "a", notes), after(100, "b", notes))
    await any_of(after(10, "c", notes), after(100, "d", notes))
    await first(1, after(10, "e", notes), after(100, "f", notes))
    await outcome(all_of(after(10, Bad("g"), notes), after(100, "h", notes)))
    return notes


@workflow
async def losers_may_be_kept() -> list[str]:
    notes: list[str] = []
    for combine in (race, any_of):
        loser = asyncio.create_task(after(30, "loser", notes))
        notes.append(await combine(after(10, "winner", notes), loser, keep_losers=True))
        notes.append(await loser)
    loser = asyncio.create_task(after(30, "loser", notes))
    notes += await first(1, after(10, "winner", notes), loser, keep_losers=True)
    notes.append(await loser)
    return notes


@workflow
async def a_cancelled_race_cancels_all() -> list[str]:
    notes: list[str] = []
    try:
        async with asyncio.timeout(10 * SECOND):
            await race(after(10_000, "a", notes), after(10_000, "b", notes))
    except TimeoutError:
        notes.append("out of time")
    return notes


@workflow
async def the_names_of_rhythm() -> list[Any]:
    handle = Task.run(after(10, "handled"))
    await Task.delay(SECOND)
    return [
        await Task.all(after(20, "a"), after(10, "b")),
        await Task.any([after(10, Bad("a")), after(20, "b")]),
        await Task.race({"x": after(20, "a"), "y": after(10, "b")}),
        await handle,
    ]


@workflow
async def losers_of_a_tie() -> list[Any]:
    return [
        await race({"a": pause(10), "b": pause(10)}),
        await race(asyncio.sleep(0, "a"), asyncio.sleep(0, "b")),
    ]


@workflow
async def nested() -> Any:
    return await all_of(
        race(after(10, "a"), after(20, "b")),
        {"x": 1} and any_of([after(10, Bad("c")), after(20, "d")]),
        first(1, {"k": after(30, "e")}),
    )


@workflow
async def through_the_module() -> list[Any]:
    return [
        await perdure.race(after(2, "a"), after(1, "b")),
        await perdure.any_of([after(1, "a"), after(2, "b")]),
        await perdure.Task.all({"x": after(1, "a")}),
        await perdure.first(1, after(1, "a")),
    ]
