"""Workflows for the tests of the engine, and the world that their actions live in."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, ClassVar

from perdure import Retry, action, attempt, record, signal, workflow
from perdure.combinators import race


class World:
    """What actions did, and how they are to behave; nothing in it is durable."""

    here: ClassVar[World]

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.broken: set[str] = set()
        self.errors: dict[str, BaseException] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.begun = asyncio.Event()
        self.log: list[Any] = []
        self.gate = threading.Event()
        self.lock = threading.Lock()
        self.now = self.most = 0

    @staticmethod
    def is_broken(name: str) -> bool:
        return name in World.here.broken


@action
async def step(name: str) -> str:
    world = World.here
    await asyncio.sleep(0)
    world.begun.set()
    if name in world.held:
        await world.held[name].wait()
    if name in world.errors:
        raise world.errors[name]
    if name in world.broken:
        raise ConnectionError(f"{name} is down")
    world.done.append((name, attempt().number, attempt().idempotency_key))
    return name.upper()


@action(at_most_once=True)
async def once(name: str) -> str:
    return await step.run_here(name)


@action(retry=Retry(attempts=3, backoff="1ms"))
async def patient(name: str) -> str:
    return await step.run_here(name)


@workflow
async def straight(*names: str) -> list[str]:
    return [await step(name) for name in names]


@workflow
async def with_cleanup(name: str) -> str:
    begun = await step("begin")
    try:
        got = await step(name)
    except ConnectionError as error:
        raise RuntimeError("could not") from error
    finally:
        await step("clean")
    return f"{begun} {got}"


@workflow
async def at_once(*names: str) -> list[str]:
    try:
        return await asyncio.gather(*[step(name) for name in names])
    finally:
        await step("clean")


@workflow
async def once_and(name: str) -> list[str]:
    try:
        return list(await asyncio.gather(once("single"), step(name)))
    finally:
        await step("clean")


@workflow
async def three_times(name: str) -> str:
    return await patient(name)


@workflow
async def inline_failure(name: str) -> str:
    if record(World.is_broken, name):
        raise ValueError("inline")
    return "mended"


@workflow
async def later_inline_failure(name: str) -> str:
    got = await step("first")
    if record(World.is_broken, name):
        raise ValueError(got)
    return got


@workflow
async def asks(name: str) -> Any:
    return await signal(name)


@workflow
async def asks_twice() -> list[int]:
    first = await signal("number", int)
    try:
        await step("bad")
    finally:
        await step("clean")
    return [first, await signal("number", int)]


@workflow
async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


@workflow
async def parent(*names: str) -> list[list[str]]:
    return await asyncio.gather(*[straight(name) for name in names])


@workflow
async def whichever(name: str) -> str:
    return await race(step(name), sleeps(0.01))


@workflow
async def cleans_up(name: str) -> str:
    try:
        return await step(name)
    finally:
        await step("clean")


@workflow
async def typed_signal(name: str) -> bool:
    return await signal(name, bool)


@workflow
async def collects(count: int) -> list[Any]:
    return [await signal("item") for _ in range(count)]


@workflow
async def echoes(value: Any) -> Any:
    return value


@workflow
async def napping(name: str, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return await step(name)


@workflow
async def loops_for_ever() -> None:
    number = 0
    while True:
        number += 1


@workflow
async def loops_at_once() -> str:
    while record(World.is_broken, "loop"):
        continue
    return "out"


@workflow
async def loops_then_asks(name: str) -> Any:
    await step(name)
    while record(World.is_broken, "loop"):
        continue
    return await signal("word")


@workflow
async def prints_and_asks(name: str) -> Any:
    print("before")
    got = await signal(name)
    print(f"got {got}")
    return got


@workflow
async def step_then_collects(name: str, count: int) -> list[Any]:
    await step(name)
    return [await signal("item") for _ in range(count)]
