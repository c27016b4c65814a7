"""What the engine keeps of the types of workflows, for both type checkers. Never run."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

from perdure import (
    Attempt,
    Call,
    Handle,
    Moment,
    Options,
    Perdure,
    RunInfo,
    attempt,
    heartbeat,
    signal,
    sync,
    workflow,
)
from perdure.core.facts import Row
from perdure.store.port import Report


@dataclass
class Order:
    """What a workflow is given."""

    total: int


@dataclass
class Receipt:
    """What it gives."""

    number: str


@workflow
async def fulfil(order: Order, rush: bool = False) -> Receipt:
    """A workflow that waits for a person and calls another."""
    assert_type(await signal("approval", bool), bool)
    assert_type(await signal("note", str, timeout="2d"), str)
    assert_type(await count.options(parent_close="abandon")(order.total), int)
    return Receipt("1")


@workflow
async def count(number: int) -> int:
    """A workflow of plain types."""
    return number


async def starts(app: Perdure) -> None:
    """The result of a run is that of its workflow, however it is started."""
    first = await app.start(fulfil, Order(1))
    assert_type(first, Handle[Receipt])
    assert_type(await first.result(), Receipt)
    assert_type(await first.result(timeout="5s"), Receipt)
    named = await app.start(fulfil, Order(1), rush=True, id="order-1")
    assert_type(named, Handle[Receipt])
    marked = await app.start(count, 5, attrs={"shop": "x"})
    assert_type(await marked.result(), int)
    assert_type(await app.start_many([Call(count, (1,), id="a")]), list[Handle[Any]])
    await app.start(fulfil, 5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    await app.start(fulfil)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


async def asks(app: Perdure) -> None:
    """What can be asked of a run, and of all."""
    handle = await app.get("order-1")
    assert_type(handle, Handle[Any])
    assert_type(await handle.status(), str)
    assert_type(await handle.info(), RunInfo)
    assert_type(await handle.facts(), list[Row])
    assert_type(await handle.at(3), Moment)
    assert_type(handle.watch(), AsyncIterator[Row])
    await handle.signal("approval", True, key="k")
    await handle.cancel("enough", actor="ann")
    await handle.retry()
    since = dt.datetime.now(dt.UTC)
    assert_type(await app.list(status="failed", workflow=fulfil, since=since), list[RunInfo])
    assert_type(app.iterate(workflow="orders:fulfil"), AsyncIterator[RunInfo])
    assert_type(await app.examine(thorough=True), Report)


def asks_without_a_loop() -> None:
    """The twin keeps the same types."""
    with sync.Perdure("orders.db", options=Options(queues=("gpu",))) as app:
        handle = app.start(fulfil, Order(1), id="order-1")
        assert_type(handle, sync.Handle[Receipt])
        assert_type(handle.result(timeout=5), Receipt)
        assert_type(handle.watch(), Iterator[Row])
        assert_type(app.list(), list[RunInfo])


def in_an_action() -> None:
    """What an action can know of its attempt."""
    assert_type(attempt(), Attempt)
    assert_type(attempt().number, int)
    heartbeat({"done": 3})
