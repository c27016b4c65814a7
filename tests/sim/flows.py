"""Workflows for simulated and crashed engines: what each gives is known, whatever goes wrong.

Their actions write into a journal outside of the engine: who began which attempt, and when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from perdure import Retry, action, attempt, signal, workflow
from perdure.errors import Interrupted


class Journal:
    """What actions did to the world outside. Nothing that happens to an engine takes it back."""

    here: ClassVar[Journal]

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        """By the key of a call and the number of its attempt, in the order of their beginning."""
        self.ended: list[tuple[str, int]] = []
        self.hear: Callable[[str], object] = lambda what: None


async def _act(seconds: float) -> None:
    journal, held = Journal.here, attempt()
    journal.begun.append((held.idempotency_key, held.number))
    journal.hear(f"began {held.idempotency_key}")
    await asyncio.sleep(seconds)
    if Journal.here is journal:
        journal.ended.append((held.idempotency_key, held.number))
        journal.hear(f"ended {held.idempotency_key}")


@action
async def work(name: str, seconds: float = 0.0) -> str:
    await _act(seconds)
    return name.upper()


@action(retry=Retry(attempts=4, backoff="200ms", jitter=0.5))
async def flaky(name: str, failures: int) -> str:
    await _act(0.05)
    if attempt().number <= failures:
        raise ConnectionError(f"{name} is down")
    return name.upper()


@action(at_most_once=True)
async def once(name: str, seconds: float = 0.0) -> str:
    await _act(seconds)
    return name.upper()


@workflow
async def straight(*names: str) -> list[str]:
    return [await work(name, 0.02) for name in names]


@workflow
async def fan(*names: str) -> list[str]:
    return list(await asyncio.gather(*[work(name, len(name) / 50) for name in names]))


@workflow
async def naps(count: int, seconds: float) -> list[str]:
    got = []
    for i in range(count):
        got.append(await work(f"n{i}"))
        await asyncio.sleep(seconds)
    return got


@workflow
async def asks(count: int) -> list[str]:
    return [await signal("word", str) for _ in range(count)]


@workflow
async def asks_and_works(count: int) -> list[str]:
    got = []
    for _ in range(count):
        word = await signal("word", str)
        got.append(await work(word, 0.03))
    return got


@workflow
async def parent(*names: str) -> list[list[str]]:
    first, *rest = await asyncio.gather(*[straight(name, "x") for name in names])
    return [first, *rest, [await work("last")]]


@workflow
async def sleeping_child(name: str, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return await work(name)


@workflow
async def slow_parent(*names: str) -> list[str]:
    return [await sleeping_child(name, 0.7) for name in names]


@workflow
async def grandparent(*names: str) -> list[list[str]]:
    got = await parent(*names)
    return [*got, await slow_parent("deep")]


@workflow
async def retries(name: str, failures: int) -> str:
    return await flaky(name, failures)


@workflow
async def limited(name: str) -> str:
    try:
        async with asyncio.timeout(0.5):
            return await work(name, 0.49)
    except TimeoutError:
        return await work("late")


@workflow
async def hurried() -> str:
    """Wait for a word, though not for long."""
    try:
        return await signal("word", str, timeout=1.5)
    except TimeoutError:
        return await work("none")


@workflow
async def single(name: str) -> str:
    try:
        return await once(name, 0.1)
    except Interrupted:
        return "interrupted"


@workflow
async def tidies(name: str) -> str:
    try:
        await asyncio.sleep(3)
        return await work(name)
    finally:
        await work("clean")


@workflow
async def abandons(name: str) -> str:
    """Leave a child behind that takes too long: it is cancelled."""
    child = asyncio.create_task(sleeping_child(name, 60.0))
    await asyncio.sleep(0.3)
    child.cancel()
    await asyncio.gather(child, return_exceptions=True)
    return await work(name)


def _upper(*names: str) -> list[str]:
    return [name.upper() for name in names]


GIVES: dict[str, Callable[..., list[Any]]] = {
    "straight": lambda *names: [_upper(*names)],
    "fan": lambda *names: [_upper(*names)],
    "naps": lambda count, _: [[f"N{i}" for i in range(count)]],
    "parent": lambda *names: [[*[_upper(name, "x") for name in names], ["LAST"]]],
    "slow_parent": lambda *names: [_upper(*names)],
    "grandparent": lambda *names: [[*GIVES["parent"](*names)[0], ["DEEP"]]],
    "retries": lambda name, _: [name.upper()],
    "limited": lambda name: [name.upper(), "LATE"],
    "single": lambda name: [name.upper(), "interrupted"],
    "tidies": lambda name: [name.upper()],
    "abandons": lambda name: [name.upper()],
    "sleeping_child": lambda name, _: [name.upper()],
}
"""What each may return; of those that take words, the test knows which were sent."""
