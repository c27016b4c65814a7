"""Workflows that wait for every kind of thing."""

from __future__ import annotations

import asyncio
from typing import Any, Optional

from perdure import signal, workflow
from tests.app.flows import step


@workflow
async def keeps_text(text: str) -> list[Any]:
    return [await signal("item"), len(text)]


@workflow
async def sleeps(seconds: float, name: str) -> str:
    await asyncio.sleep(seconds)
    return await step(name)


@workflow
async def ten_years() -> str:
    await asyncio.sleep(10 * 366 * 86_400)
    return "later"


@workflow
async def ticks(times: int) -> int:
    for _ in range(times):
        await asyncio.sleep(0.02)
    return times


@workflow
async def waits_with_limits(times: int) -> list[Any]:
    return [await signal("item", timeout="10d") for _ in range(times)]


@workflow
async def wants_any() -> Any:
    return await signal("item")


@workflow
async def wants_or() -> int | None:
    return await signal("item", int | None)


@workflow
async def wants_optional() -> int | None:
    return await signal("item", Optional[int])  # noqa: UP045 — the older way to say it


@workflow
async def wants_list() -> list[int]:
    return await signal("item", list[int], timeout="1d")
