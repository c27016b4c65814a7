"""Workflows with children."""

from __future__ import annotations

import asyncio

from perdure import signal, workflow
from tests.app.flows import loops_at_once, step


@workflow
async def child(name: str) -> str:
    return await step(name)


@workflow
async def child_asks(name: str) -> str:
    try:
        return await signal(name, str)
    finally:
        await step(f"{name} cleaned")


@workflow
async def one_child(name: str) -> str:
    return await child(name)


@workflow
async def asking_child(name: str) -> str:
    return f"child said {await child_asks(name)}"


@workflow
async def asking_children(*names: str) -> list[str]:
    return await asyncio.gather(*[child_asks(name) for name in names])


@workflow
async def catches() -> str:
    try:
        return await child("bad")
    except ConnectionError as error:
        return f"caught {error}"


@workflow
async def fails_beside(name: str) -> list[str]:
    return await asyncio.gather(child_asks(name), child("bad"))


@workflow
async def noop(number: int) -> int:
    return number


@workflow
async def many_children(count: int) -> int:
    return sum(await asyncio.gather(*[noop(number) for number in range(count)]))


@workflow
async def grandparent(name: str) -> str:
    return f"grand {await asking_child(name)}"


@workflow
async def impatient(name: str) -> str:
    try:
        return await asyncio.wait_for(child_asks(name), 0.02)
    except TimeoutError:
        return "gave up"


@workflow
async def abandoning(name: str) -> str:
    return await child_asks.options(parent_close="abandon")(name)


@workflow
async def abandoning_soon(name: str) -> str:
    try:
        return await asyncio.wait_for(child_asks.options(parent_close="abandon")(name), 0.02)
    except TimeoutError:
        return "gave up"


@workflow
async def stopping_child() -> str:
    return f"child came {await loops_at_once()}"
