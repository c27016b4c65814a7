"""Workflows whose pictures are looked at."""

from __future__ import annotations

import asyncio

from perdure import Retry, action, race, signal, workflow


@action(retry=Retry(attempts=3, backoff="1s", jitter=0))
async def act(value: object = None) -> object:
    return value


@action
async def other(value: object = None) -> object:
    return value


@workflow
async def fan(count: int) -> int:
    done = await asyncio.gather(*[act(number) for number in range(count)])
    return len(done)


@workflow
async def two_of_one_kind() -> list[object]:
    return await asyncio.gather(act("a"), act("b"))


@workflow
async def rounds(count: int) -> int:
    total = 0
    for number in range(count):
        await act(number)
        total += number
    return total


@workflow
async def arms(kind: str) -> str:
    if kind == "one":
        await act(1)
    elif kind == "two":
        await other(2)
    else:
        return "none"
    if kind == "two":
        return "second"
    return "first"


@workflow
async def caught() -> str:
    try:
        await act("fails")
    except ValueError:
        await other("mends")
        return "mended"
    return "well"


@workflow
async def shrugged() -> str:
    try:
        await act("fails")
    except ValueError as error:
        print(error)
    await other("goes on")
    return "well"


@workflow
async def raises_inline() -> str:
    await act(1)
    numbers: dict[str, int] = {}
    try:
        numbers["absent"]
    except KeyError as error:
        raise LookupError("nothing under that name") from error
    return "never"


@workflow
async def through_helpers() -> str:
    return await outer("x")


async def outer(value: str) -> str:
    await act(value)
    return await inner(value)


async def inner(value: str) -> str:
    await other(value)
    return await signal("go", str)


@workflow
async def first_wins() -> object:
    return await race(act("quick"), act("slow one"))


@workflow
async def started() -> list[object]:
    early = asyncio.create_task(act("early"))
    await other("between")
    async with asyncio.TaskGroup() as group:
        one = group.create_task(act("one"))
        two = group.create_task(other("two"))
    return [await early, one.result(), two.result()]


@workflow
async def groups(count: int) -> None:
    for number in range(count):
        async with asyncio.TaskGroup() as group:
            group.create_task(act(number))
            group.create_task(other(number))


@workflow
async def patient() -> str:
    try:
        return await signal("word", str, timeout="1m")
    except TimeoutError:
        return "nobody spoke"


@workflow
async def family() -> int:
    return await fan(2)
