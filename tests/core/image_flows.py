"""Flows that the tests of images take down and bring back."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from perdure import action, signal, workflow

TOUCHED: list[str] = []
"""What cleanup code of users leaves behind in this process; a run has a list of its own."""

SETTINGS = {"rate": 3, "names": ["a"]}
SENTINEL = object()
LANGUAGE: ContextVar[str] = ContextVar("language", default="en")


class Colour(Enum):
    """A member comes back as itself."""

    RED = 1


@dataclass
class Basket:
    """Holds things, one of them twice."""

    items: list[Any] = field(default_factory=list)


class Touching:
    """Writes into the module of this process when its cleanup runs."""

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *_: object) -> None:
        TOUCHED.append("with")


def touch(what: str) -> None:
    """Write into the list of the process, past the copy that a run has."""
    Touching.__exit__.__globals__["TOUCHED"].append(what)


@action
async def step(value: Any = None) -> Any:
    """Give a value back."""
    return value


@workflow
async def many_things() -> Any:
    """Holds one of everything that is worth holding over an await."""
    shared = [1]
    basket = Basket([shared, shared, Colour.RED, SENTINEL])
    numbers = iter([1, 2, 3, 4])
    next(numbers)
    seen: dict[str, Any] = {"basket": basket, "self": None}
    seen["self"] = seen
    SETTINGS["names"].append("b")
    drawn = random.random()
    LANGUAGE.set("de")

    def count() -> int:
        nonlocal shared
        shared = [*shared, 2]
        return len(shared)

    try:
        raise LookupError("kept")  # noqa: TRY301 — it is what the flow is about
    except LookupError as error:
        kept = error
        await step(1)
        again = kept is error
    left = functools.partial(step, 2)
    value = await left()
    return (
        basket.items[0] is basket.items[1],
        basket.items[2] is Colour.RED,
        basket.items[3] is SENTINEL,
        list(numbers),
        seen["self"] is seen,
        SETTINGS,
        drawn == random.Random(7).random(),
        LANGUAGE.get(),
        count(),
        again,
        value,
    )


@workflow
async def in_cleanup(where: str) -> None:
    """Stands in a `finally`, a `with`, a handler or a `gather` when it is dropped."""
    try:
        if where == "with":
            with Touching(), contextlib.suppress(ValueError):
                await step()
        elif where == "except":
            try:
                await step()
            except BaseException:
                touch("except")
                raise
        elif where == "gather":
            await asyncio.gather(inner(), inner())
        elif where == "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(inner())
        elif where == "finally":
            try:
                await step("body")
            finally:
                await step("cleanup")
                touch("after")
        else:
            await asyncio.wait_for(inner(), 5)
    finally:
        touch("finally")


async def inner() -> None:
    """Waits with a cleanup of its own."""
    try:
        await step()
    finally:
        touch("inner")


@workflow
async def listening() -> list[Any]:
    """Waits for signals, with timers and locks beside."""
    lock = asyncio.Lock()
    queue: asyncio.Queue[int] = asyncio.Queue()
    got: list[Any] = []

    async def take() -> None:
        async with lock:
            got.append(await queue.get())

    taker = asyncio.create_task(take())
    got.append(await signal("go", int, timeout="1h"))
    queue.put_nowait(5)
    await taker
    async with asyncio.timeout(60):
        got.append(await signal("stop", str))
    return got


@workflow
async def in_star() -> None:
    """Stands beside an `except*`, which is not restorable yet."""
    try:
        await step(1)
    except* ValueError:
        await step(2)


@workflow
async def counting(steps: int) -> int:
    """Awaits so many times."""
    total = 0
    for number in range(steps):
        total += await step(number)
    return total


def raises_first() -> None:
    """Raise what everything else hangs on."""
    raise LookupError("first", 1)


@workflow
async def in_handlers() -> None:
    """Waits in handlers, and raises again what was being handled."""
    caught: list[Exception] = []
    try:
        try:
            raises_first()
        except LookupError as first:
            first.add_note("a note")
            await step(1)
            try:
                await step(2)
                raise KeyError("second") from first  # noqa: TRY301 — as above
            except KeyError:
                await step(3)
                raise
    except KeyError as second:
        await step(4)
        caught.append(second)
    try:
        raise ValueError("third")  # noqa: TRY301 — it is what the flow is about
    except ValueError as third:
        await step(5)
        caught.append(third)
    raise ExceptionGroup("both", caught)


def told_of(error: BaseException | None) -> object:
    """Say what an exception is and what hangs on it."""
    if error is None:
        return None
    notes = list(getattr(error, "__notes__", []))
    parts = [told_of(each) for each in getattr(error, "exceptions", ())]
    links = told_of(error.__cause__), told_of(error.__context__)
    return type(error).__name__, error.args[0], notes, parts, links


_FIRST = ("LookupError", "first", ["a note"], [], (None, None))
EXPECTED = (
    "ExceptionGroup",
    "both",
    [],
    [
        ("KeyError", "second", [], [], (_FIRST, _FIRST)),
        ("ValueError", "third", [], [], (None, None)),
    ],
    (None, None),
)
