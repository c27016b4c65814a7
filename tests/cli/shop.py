"""Workflows that the tests of the command line run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import perdure
from perdure import action, signal, workflow


@dataclass(frozen=True)
class Line:
    item: str
    count: int = 1


@action
async def charge(total: int) -> str:
    return f"receipt {total}"


@action(run_in="process")
def apart(number: int) -> int:
    return number * 2


@action
async def slow(seconds: float) -> int:
    print("slow begun", flush=True)
    await asyncio.sleep(seconds)
    return perdure.attempt().number


@action
def read(path: str) -> str:
    return Path(path).read_text()


@workflow
async def reads(path: str) -> str:
    return await read(path)


@workflow
async def fulfil(total: int, lines: list[Line] = []) -> str:  # noqa: B006 — a run has its own
    receipt = await charge(total)
    print("charged", total)
    return f"{receipt}, {sum(line.count for line in lines)} lines"


@workflow
async def approve(total: int) -> str:
    first = await signal("approval", str)
    return f"{first} {total}"


@workflow
async def patient(seconds: float) -> int:
    return await slow(seconds)


@workflow
async def steps() -> str:
    receipt = await charge(1)
    await slow(60)
    return receipt


@workflow
async def twice(number: int) -> int:
    return await apart(number)


@workflow
async def fails(why: str) -> None:
    raise ValueError(why)


@workflow
async def plain(value: object = None) -> object:
    return value


@workflow
async def named(id: str, *, attrs: str = "none") -> str:  # noqa: A002 — such arguments there are
    return f"{id} {attrs}"
