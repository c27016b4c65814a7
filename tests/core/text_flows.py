"""Workflows whose programs are hard to write down."""

from __future__ import annotations

import codecs
from typing import Any

from perdure import action, workflow

BOTH = (lambda value: value + 1, lambda value: value + 2)  # two of one line
HELD: list[Any] = [codecs.getincrementaldecoder("utf-8")()]


@action
async def act(value: int) -> int:
    return value


@workflow
async def lambdas() -> list[int]:
    return [each(await act(1)) for each in BOTH]


async def helper() -> None:
    await act(1)
    raise ValueError("here")


@workflow
async def fails() -> None:
    await helper()


@workflow
async def unstorable() -> int:
    return len(HELD)
