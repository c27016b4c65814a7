"""Workflows whose logs are folded again elsewhere: each leans on something that may differ."""

# ruff: noqa: DTZ005, DTZ011, TRY301  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import logging
import random
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from perdure import Retry, action, now, race, record, signal, sleep_until, workflow

WORDS = ("pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape")
WORD_SET = set(WORDS)
SEEN: list[Any] = []
log = logging.getLogger("shop")


@dataclass
class Basket:
    name: str
    items: set[str] = field(default_factory=set)


@action
async def act(value: Any = None) -> Any:
    return value


@action(retry=Retry(attempts=4, backoff=2, jitter=0.9))
async def flaky(value: Any = None) -> Any:
    return value


@workflow
async def signals() -> Any:
    return [await signal("a"), await signal("b", timeout="1h"), await signal("a", Basket)]


@workflow
async def timers() -> Any:
    await asyncio.sleep(3)
    try:
        async with asyncio.timeout(5):
            await asyncio.sleep(100)
    except TimeoutError:
        await sleep_until(dt.datetime(2026, 1, 2, 12, 0))  # noqa: DTZ001 — the run's own zone
    return [time.monotonic(), str(now())]


@workflow
async def draws() -> Any:
    dice = random.Random()
    await act(random.random())
    own = random.Random(5).random()
    return [random.randint(1, 6), dice.random(), random.sample(range(99), 5), own]


@workflow
async def ids() -> Any:
    first = uuid.uuid4()
    await act(first)
    return [first, uuid.uuid4(), str(uuid.uuid1())]


@workflow
async def clocks() -> Any:
    await act(dt.datetime.now())
    shown = time.strftime("%H:%M", time.localtime())
    return [dt.datetime.now(), dt.date.today(), time.time(), dt.datetime.now(dt.UTC), shown]


@workflow
async def sets() -> Any:
    words = set(WORDS) | {"fig", "melon"}
    words.discard("plum")
    await act(list(words))
    odd = {word for word in words if len(word) % 2}
    return [list(odd), [*frozenset(words) - odd], words & odd]


@workflow
async def module_sets() -> Any:
    await act(list(WORD_SET))
    return WORD_SET


@workflow
async def dicts() -> Any:
    counts = {word: len(word) for word in WORDS}
    counts.update(dict.fromkeys({"a", "b", "c"}, 0))
    await act(counts)
    return list(counts.items())


@workflow
async def records() -> Any:
    pieces = [record(object.__hash__, 5), record(time.perf_counter_ns)]
    await act(pieces)
    pieces.append(record(list, {"q", "w", "e", "r", "t", "y"}))
    return pieces


@workflow
async def gathers() -> Any:
    both = await asyncio.gather(act(1), flaky(2), act(3), return_exceptions=True)
    futures = {asyncio.create_task(act(word)) for word in WORDS}
    done, _ = await asyncio.wait(futures)
    return [both, [task.result() for task in done]]


@workflow
async def retries() -> Any:
    try:
        return await flaky(1)
    except OSError as error:
        return [await flaky(2), repr(error)]


@workflow
async def child(value: Any) -> Any:
    await asyncio.sleep(1)
    return {"got": value}


@workflow
async def bad_child() -> Any:
    raise LookupError("no such child")


@workflow
async def parents() -> Any:
    try:
        await bad_child()
    except LookupError as error:
        return [await child(7), repr(error)]


@workflow
async def speaks() -> None:
    print("hello", WORDS)
    log.warning("%s of %s", await act(1), sorted(WORDS))
    try:
        raise ValueError("inside")
    except ValueError:
        log.exception("caught")


@workflow
async def races() -> Any:
    won = await race({"slow": asyncio.sleep(50, "s"), "quick": asyncio.sleep(1, "q")})
    SEEN.append(won)
    await act(SEEN)
    return SEEN


@workflow
async def fails() -> None:
    await act(1)
    raise KeyError("lost", Basket("b", {"x", "y", "z"}))


@workflow
async def groups() -> Any:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_after(2, ValueError("a")))
            group.create_task(_after(3, KeyError("b")))
    except* ValueError as errors:
        await act([str(error) for error in errors.exceptions])


async def _after(seconds: float, error: Exception) -> None:
    await asyncio.sleep(seconds)
    raise error


@functools.cache
def _memo(value: int) -> list[int]:
    return [value]


@workflow
async def caches() -> Any:
    _memo(1).append(2)
    await act(_memo(1))
    return [_memo(1) is _memo(1), _memo(1)]


@workflow
async def cancelled() -> Any:
    try:
        await asyncio.sleep(1_000)
    finally:
        await act(["cleanup", Basket("b", set(WORDS))])
