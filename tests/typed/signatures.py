"""What the decorators do to signatures, for both type checkers. Checked by them, never run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

from perdure import action, record, signal, workflow
from perdure.core.policy import Retry


@dataclass
class Receipt:
    """What a payment gives."""

    total: int


@action
async def plain(total: int, *, note: str = "") -> Receipt:
    """An `async def`, decorated bare."""
    return Receipt(total)


@action(retry=Retry(attempts=3), timeout="30s")
async def tuned(total: int) -> Receipt:
    """An `async def`, decorated with options."""
    return Receipt(total)


@action
def blocking(total: int) -> Receipt:
    """A `def`: a call of it is awaited like any other."""
    return Receipt(total)


@action(run_in="thread")
def threaded(total: int) -> Receipt:
    """A `def` with options."""
    return Receipt(total)


@workflow
async def flow(total: int, rush: bool = False) -> str:
    """Everything that a caller may do with an action."""
    call = plain(1, note="x")
    checked = assert_type(call, Coroutine[Any, Any, Receipt])
    assert_type(await checked, Receipt)
    assert_type(await tuned(1), Receipt)
    assert_type(await blocking(1), Receipt)
    assert_type(await threaded(1), Receipt)
    assert_type(await plain.options(retry=5, queue="gpu")(1, note="y"), Receipt)
    task = asyncio.create_task(plain(total))
    assert_type(await task, Receipt)
    first, second = await asyncio.gather(tuned(1), blocking(2))
    assert_type((first, second), tuple[Receipt, Receipt])
    async with asyncio.TaskGroup() as group:
        assert_type(group.create_task(threaded(3)), asyncio.Task[Receipt])
    assert_type(await asyncio.wait_for(plain(1), 5), Receipt)
    assert_type(await signal("approval", bool, timeout="2d"), bool)
    assert_type(await signal("anything"), Any)
    assert_type(record(len, "abc"), int)
    return "done"


async def caller() -> None:
    """A workflow keeps its signature as well."""
    call = flow(1, rush=True)
    checked = assert_type(call, Coroutine[Any, Any, str])
    assert_type(await checked, str)
    await plain("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await flow()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await plain(1, nope=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
