"""Workflows and actions of the kind that users write."""

# ruff: noqa: BLE001, PLC3002, PLW0108  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from perdure import Retry, action, signal, sleep_until, workflow
from perdure.errors import ForeignAwaitable, WrongType

DONE: list[Any] = []
"""What bodies did. They run outside of runs, so this is the real list."""


def failures_left(count: int) -> None:
    """Have the flaky bodies fail so many times more."""
    Trouble.left = count
    DONE.clear()


class Trouble(OSError):
    left = 0

    @classmethod
    def strike(cls, what: Any) -> None:
        DONE.append(what)
        if cls.left > 0:
            cls.left -= 1
            raise cls(what)


# --- actions


@action
async def act(value: Any = None) -> Any:
    DONE.append(value)
    return value


@action
def plain(value: int, *, more: int = 0) -> int:
    """Adds."""
    DONE.append(value)
    return value + more


@action(name="by-another-name", retry=3)
async def renamed(value: int) -> int:
    return value


@action(retry=Retry(attempts=4, backoff=10, factor=2))
async def flaky(what: str) -> str:
    Trouble.strike(what)
    return f"{what} done"


@action(retry=Retry(attempts=4, backoff=10))
def flaky_def(what: str) -> str:
    Trouble.strike(what)
    return f"{what} done"


@action(timeout=5)
async def hurried(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "in time"


@action(timeout=5, retry=Retry(attempts=2, backoff=1))
async def hurried_twice(seconds: float) -> str:
    DONE.append(seconds)
    await asyncio.sleep(seconds)
    return "in time"


@action(timeout=60)
async def times_out_by_itself() -> None:
    raise TimeoutError("the bank did not answer")


@action
async def naps(seconds: float, value: Any = None) -> Any:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        DONE.append(f"{value} stopped")
        raise
    return value


@action
async def gives_nonsense() -> Any:
    return {"lock": object()}


@action
async def gives_up() -> None:
    raise asyncio.CancelledError


@dataclass
class Account:
    name: str
    balance: int = 0

    @action
    async def pay(self, amount: int, *, tip: int = 0) -> str:
        return f"{self.name} paid {amount + tip}"


ACCOUNT = Account("ada", 10)


@workflow
async def calls_in_all_forms() -> Any:
    seven = functools.partial(plain, 7)
    return [
        await act(1),
        await plain(2),
        await plain(2, more=3),
        await seven(more=1),
        await renamed(4),
        await act.options(timeout=3)(5),
        await asyncio.create_task(act(6)),
        await asyncio.gather(act(7), plain(8)),
        await asyncio.wait_for(act(9), 60),
        await _through(act, 10),
        await (lambda value: act(value))(11),
        await _applied(lambda: plain(12)),
    ]


async def _through(given: Callable[[Any], Awaitable[Any]], value: Any) -> Any:
    return await given(value)


async def _applied(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()


@workflow
async def calls_a_method() -> Any:
    return [await Account("bob").pay(5, tip=1), await ACCOUNT.pay(7)]


CALLS_THAT_FAIL: list[Callable[[], Any]] = [
    lambda: plain(),
    lambda: plain(1, 2),
    lambda: plain(1, less=2),
    lambda: plain(1, value=2),
    lambda: act(1, 2, 3),
    lambda: act(no=1),
]


@workflow
async def calls_wrongly(number: int) -> str:
    try:
        CALLS_THAT_FAIL[number]()
    except TypeError as error:
        return str(error)
    return "accepted"


@workflow
async def never_awaits() -> str:
    kept = act(1)
    kept.close()
    return "done"


@workflow
async def calls_flaky(what: str) -> str:
    return await flaky(what)


@workflow
async def calls_flaky_def(what: str) -> str:
    return await flaky_def(what)


@workflow
async def is_hurried(seconds: float) -> str:
    try:
        return await hurried(seconds)
    except TimeoutError as error:
        return str(error)


@workflow
async def is_hurried_twice(seconds: float) -> str:
    return await hurried_twice(seconds)


@workflow
async def hears_of_a_time_out() -> str:
    try:
        await times_out_by_itself()
    except TimeoutError as error:
        return str(error)
    return "answered"


@workflow
async def takes_nonsense() -> str:
    try:
        await gives_nonsense()
    except Exception as error:
        return str(error)
    return "fine"


@workflow
async def is_given_up() -> str:
    try:
        await gives_up()
    except asyncio.CancelledError:
        return "given up"
    return "fine"


@workflow
async def loses_patience() -> str:
    try:
        async with asyncio.timeout(5):
            return await flaky("late")
    except TimeoutError:
        await asyncio.sleep(100)
        return "patience lost"


@workflow
async def stops_a_body() -> str:
    try:
        async with asyncio.timeout(5):
            return await naps(100, "body")
    except TimeoutError:
        await asyncio.sleep(1)
        return "stopped"


# --- awaiting


class Shelf:
    """Where tests put what a run should not find. A class: it is not copied."""

    item: Any = None


class Yields:
    def __init__(self, what: Any) -> None:
        self.what = what

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self.what)


@workflow
async def awaits_what_is_foreign() -> list[Any]:
    try:
        found = await Shelf.item
    except ForeignAwaitable as error:
        return [str(error), await act("still here")]
    return [found]


@workflow
async def awaits_an_object() -> list[Any]:
    try:
        await Yields(object())
    except ForeignAwaitable as error:
        return [str(error), await act("still here")]
    return []


@workflow
async def awaits_a_bare_yield() -> Any:
    return [await Yields(None), await act("on")]


@workflow
async def awaits_what_cannot_be_awaited() -> str:
    try:
        await Shelf.item
    except TypeError as error:
        return str(error)
    return "awaited"


# --- signals


@dataclass
class Order:
    item: str
    count: int = 1


@workflow
async def takes_an_order() -> Any:
    return await signal("order", Order)


@workflow
async def takes_what_is_right() -> Any:
    try:
        await signal("order", Order)
    except WrongType as error:
        refused = str(error)
    return [refused, await signal("order", Order)]


@workflow
async def waits_in_vain() -> Any:
    try:
        await signal("order", timeout="1h")
    except TimeoutError:
        return ["none", await signal("order")]
    return "one"


@workflow
async def takes_in_time() -> Any:
    return await signal("order", timeout="1h")


@workflow
async def waits_for_signal_or_call() -> Any:
    tasks = [asyncio.create_task(signal("order")), asyncio.create_task(naps(10, "nap"))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    return [[task.result() for task in done], await signal("order")]


@workflow
async def wakes_at(when: Any) -> None:
    await sleep_until(when)


# --- child workflows


@workflow
async def child(value: Any) -> Any:
    return [await act(value), "child"]


@workflow
async def failing_child() -> None:
    raise Trouble(5, "child in trouble")


@workflow
async def patient_child() -> str:
    try:
        await asyncio.sleep(1_000)
    finally:
        print("child cleans up")
    return "slept"


@workflow
async def thorough_child() -> None:
    try:
        await asyncio.sleep(1_000)
    finally:
        await naps(5, "cleanup")
        print("child cleaned up")


@workflow
async def parent(value: Any) -> Any:
    return await child(value)


@workflow
async def parent_of_two() -> Any:
    return await asyncio.gather(child(1), child(value=2))


@workflow
async def parent_of_trouble() -> str:
    try:
        await failing_child()
    except Trouble as error:
        return f"{type(error).__name__} {error.args}"
    return "fine"


@workflow
async def impatient_parent() -> str:
    try:
        async with asyncio.timeout(5):
            await patient_child()
    except TimeoutError:
        await asyncio.sleep(60)
        return "gave up"
    return "patient"


@workflow
async def abandoning_parent() -> str:
    try:
        async with asyncio.timeout(5):
            await child_of_an_hour.options(parent_close="abandon")()
    except TimeoutError:
        return "gave up"
    return "patient"


@workflow
async def child_of_an_hour() -> str:
    await asyncio.sleep(3600)
    return "an hour"


@workflow
async def parent_of_the_patient() -> str:
    return await patient_child()


@workflow
async def parent_of_the_thorough() -> None:
    await thorough_child()


# --- the rest


@workflow
async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


@workflow
async def waits_for_nothing() -> None:
    await asyncio.Event().wait()


@workflow
async def fulfil(order: int) -> Any:
    receipt = await act(order)
    both = await asyncio.gather(plain(1), plain(2))
    print(f"{receipt} is fulfilled")
    await asyncio.sleep(60)
    return [receipt, *both]


@workflow
async def grandparent(value: Any) -> Any:
    return await parent(value)


@workflow
async def calls_once(value: Any) -> Any:
    return await act(value)


@workflow
async def calls_thrice() -> Any:
    return [await act(number) for number in range(3)]


@workflow
async def takes_two() -> Any:
    return [await signal("order"), await signal("order")]


@workflow
async def tries_and_waits(what: str) -> str:
    try:
        return await flaky(what)
    except Trouble:
        await asyncio.sleep(60)
        return "in vain"


@workflow
async def gives_up_on_time() -> str:
    try:
        async with asyncio.timeout(30):
            return await act("slow")
    except TimeoutError:
        return "too slow"
