"""The floor: the same loop without an engine. A task, its row encoded, a batch, a durable commit.

The action, the row's bytes, the table with its index, the file's settings and the commits are
those of the engine; runs, images, tokens and everything else that makes it durable are not there.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from msgspec import Raw

from perdure.bench.flows import step
from perdure.core.facts import Completed, Row, encode_row
from perdure.store.sqlite.line import MAKE, SQL, Line, Options
from perdure.store.sqlite.opening import MIGRATIONS

BATCH_ROWS = 500
_encode = msgspec.json.Encoder().encode


class Floor:
    """A table like that of the facts in a file of its own, and what is to be written to it."""

    def __init__(self, path: str) -> None:
        self.line = Line(Options(path, _check_nothing, flags=MAKE))
        self.line.run(_create)
        self.rows: list[tuple[Any, ...]] = []
        self.rid = 0

    async def attempt(self, number: int, batch_rows: int) -> int:
        """Do what one action does: await, encode, gather, and commit when the batch is full."""
        value = await step.function(number)
        body = encode_row(Row(number, Completed(time.time_ns() // 1000, number, 1, _raw(value)), 0))
        self.rows.append((self.rid, number, 0, body, None, None))
        if len(self.rows) >= batch_rows:
            self.commit()
        return int(value)

    def commit(self) -> None:
        """Write what was gathered, durably."""
        rows, self.rows = self.rows, []
        if rows:
            self.line.run(lambda it: _insert(it, rows))

    def close(self) -> None:
        """Close the file."""
        self.line.close()


def _raw(value: int) -> Raw:
    return Raw(_encode(value))


def _check_nothing(_: Any, __: str) -> None:
    """Any file will do."""


def _create(connection: Any) -> None:
    connection.execute(SQL["begin"])
    for script in MIGRATIONS.values():
        connection.execute(script)
    connection.execute(SQL["commit"])


def _insert(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    cursor = connection.cursor()
    cursor.execute(SQL["begin"])
    cursor.executemany(SQL["insert_fact"], rows)
    cursor.execute(SQL["commit"])


async def at_once(floor: Floor, width: int, rounds: int) -> None:
    """Make `width` attempts at once, `rounds` times, in batches of 500 rows."""
    for _ in range(rounds):
        floor.rid += 1
        tasks = [asyncio.create_task(floor.attempt(number, BATCH_ROWS)) for number in range(width)]
        for task in tasks:
            await task
    floor.commit()


async def one_by_one(floor: Floor, count: int) -> list[float]:
    """Make so many attempts one after the other, a commit for each; give the seconds of each."""
    floor.rid += 1
    took: list[float] = []
    for number in range(count):
        begun = time.perf_counter()
        await asyncio.create_task(floor.attempt(number, 1))
        took.append(time.perf_counter() - begun)
    return took
