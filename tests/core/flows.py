"""Workflows that the tests of the fold drive by hand."""

# ruff: noqa: BLE001, ASYNC110  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from perdure import Retry, action, signal, workflow


@action
async def act(value: Any = None) -> Any:
    return value


@action(retry=Retry(attempts=3, backoff=10, factor=3))
async def flaky(value: Any = None) -> Any:
    return value


@action(retry=Retry(attempts=50, backoff=10, factor=1), total_timeout=60)
async def bounded() -> Any:
    return None


@action(at_most_once=True)
async def charge_card() -> Any:
    return None


@workflow
async def one(value: Any = 1) -> Any:
    return await act(value)


@workflow
async def two_in_a_row() -> Any:
    return [await act(1), await act(2)]


@workflow
async def nothing() -> None:
    return None


@workflow
async def calls_flaky() -> Any:
    return await flaky("x")


@workflow
async def calls_bounded() -> Any:
    try:
        return await bounded()
    except TimeoutError as error:
        return str(error)


@workflow
async def calls_once() -> Any:
    try:
        return await charge_card()
    except Exception as error:
        return type(error).__name__


@workflow
async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


@workflow
async def hears() -> Any:
    return await signal("a")


@workflow
async def hears_twice() -> Any:
    return [await signal("a"), await signal("a")]


@workflow
async def cleans_up() -> Any:
    try:
        return await act("work")
    finally:
        await act("cleanup")


@workflow
async def survives_cancellation() -> Any:
    with contextlib.suppress(asyncio.CancelledError):
        await act("work")
    return "survived"


@workflow
async def returns_what_no_one_can_write() -> Any:
    return {"orders": [1, {"lock": object()}]}


@workflow
async def passes_what_no_one_can_write() -> Any:
    try:
        await act([1, object()])
    except Exception as error:
        return str(error)


@workflow
async def never_rests() -> None:
    while await act("go"):
        while True:
            await asyncio.sleep(0)


async def _fails(text: str) -> None:
    raise ValueError(text)


@workflow
async def forgets_a_failure() -> str:
    task = asyncio.create_task(_fails("nobody looked"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    return "done"


async def _lingers(name: str) -> None:
    try:
        await asyncio.sleep(1_000)
    finally:
        print(f"{name} leaves")


@workflow
async def leaves_tasks_behind() -> str:
    tasks = [asyncio.create_task(_lingers(name)) for name in ("first", "second")]
    await asyncio.sleep(0)
    return f"{len(tasks)} left"


async def _lingers_over_an_action() -> None:
    try:
        await asyncio.sleep(1_000)
    finally:
        await act("cleanup")


@workflow
async def leaves_work_behind() -> str:
    task = asyncio.create_task(_lingers_over_an_action())
    await asyncio.sleep(0)
    return f"result {task.done()}"


@workflow
async def leaves_a_callback_behind() -> str:
    asyncio.get_running_loop().call_later(10, print, "after the end")
    return "done"


@workflow
async def many_of_everything() -> Any:
    tasks = [asyncio.create_task(act(number)) for number in range(3)]
    await asyncio.sleep(100)
    return [await task for task in tasks]


async def _asks() -> Any:
    return await signal("a")


@workflow
async def three_takers() -> Any:
    tasks = [asyncio.create_task(_asks()) for _ in range(3)]
    return await asyncio.gather(*tasks)


@workflow
async def takers(count: int) -> Any:
    tasks = [asyncio.create_task(_asks(), name=f"taker {number}") for number in range(count)]
    await asyncio.wait(tasks)
    left = ["cancelled" if task.cancelled() else task.result() for task in tasks]
    return [*left, await signal("a", timeout=60)]


@workflow
async def cleans_up_on_time() -> Any:
    await asyncio.sleep(10)
    return await act()
