"""Actions of every kind, and workflows that call them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

from perdure import Retry, action, attempt, heartbeat, signal, workflow
from tests.app.flows import World, step


@action
async def long_wait() -> str:
    log = World.here.log
    log.append("begun")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        log.append("told")
        raise
    return "never"


@action
def long_thread() -> str:
    World.here.log.append("thread begun")
    World.here.gate.wait(20)
    return threading.current_thread().name


@action(run_in="process")
def long_process() -> str:
    heartbeat("begun")
    time.sleep(3600)
    return "never"


@action(run_in="process")
def where_am_i() -> tuple[int, int, str]:
    return os.getpid(), attempt().number, attempt().idempotency_key


@action
def which_thread() -> str:
    return threading.current_thread().name


@action
async def which_loop_thread() -> str:
    return threading.current_thread().name


@action(run_in="thread")
async def async_in_thread() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


@action(retry=Retry(attempts=3, backoff="1h"))
async def slowly(name: str) -> str:
    return await step.run_here(name)


@action(retry=Retry(attempts=4, backoff="1ms"))
async def in_parts(count: int) -> list[Any]:
    done = attempt().details or []
    World.here.log.append((attempt().number, list(done)))
    for part in range(len(done), count):
        if part == attempt().number:
            raise ConnectionError(f"part {part}")
        done = [*done, part]
        heartbeat(done)
        await asyncio.sleep(0)
    return done


@action(retry=Retry(attempts=3, backoff="1ms"), run_in="process")
def in_parts_apart(count: int) -> list[Any]:
    done = attempt().details or []
    for part in range(len(done), count):
        if part == attempt().number:
            raise ConnectionError(f"part {part}")
        done = [*done, part]
        heartbeat(done)
    return done


@action(retry=Retry(attempts=3, backoff="1ms"))
def in_parts_in_thread(count: int) -> list[Any]:
    return in_parts_apart.function(count)


@action
async def tells_for_ever() -> None:
    while True:
        World.here.now += 1
        heartbeat(World.here.now)
        await asyncio.sleep(0.001)


@action
async def counted() -> int:
    world = World.here
    world.now += 1
    world.most = max(world.most, world.now)
    await asyncio.sleep(0.002)
    world.now -= 1
    return world.now


@action
def counted_in_thread() -> None:
    world = World.here
    with world.lock:
        world.now += 1
        world.most = max(world.most, world.now)
    time.sleep(0.002)
    with world.lock:
        world.now -= 1


@action
async def blocks_the_loop(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 — the fault that is to be told


@action(timeout="20ms", retry=Retry(attempts=2, backoff="1ms"))
async def too_slow() -> None:
    World.here.log.append(attempt().number)
    await asyncio.sleep(3600)


@action(timeout="20ms")
def too_slow_thread() -> None:
    World.here.gate.wait(20)


@action(timeout="300ms", run_in="process")
def too_slow_process() -> None:
    time.sleep(3600)


@action(total_timeout="50ms", retry=Retry(attempts=1_000, backoff="10ms", factor=1))
async def never_well() -> None:
    raise ConnectionError("down")


@action(queue="gpu")
async def on_a_queue() -> str:
    return "computed"


@workflow
async def waits_long() -> str:
    return await long_wait()


@workflow
async def waits_in_thread() -> str:
    return await long_thread()


@workflow
async def waits_in_process() -> str:
    return await long_process()


@workflow
async def tries_slowly(name: str) -> str:
    return await slowly(name)


@workflow
async def will_not() -> str:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await step("said no")
    return "still here"


@workflow
async def threads() -> list[str]:
    return [await which_thread(), await which_loop_thread(), await async_in_thread()]


@workflow
async def apart(times: int) -> list[Any]:
    return [await where_am_i() for _ in range(times)]


@workflow
async def parts(count: int) -> list[Any]:
    return [await in_parts(count), await in_parts_in_thread(count), await in_parts_apart(count)]


@workflow
async def tells() -> None:
    await tells_for_ever()


@workflow
async def counts(times: int) -> None:
    await asyncio.gather(*[counted() for _ in range(times)])


@workflow
async def counts_in_threads(times: int) -> None:
    await asyncio.gather(*[counted_in_thread() for _ in range(times)])


@workflow
async def blocks(seconds: float) -> None:
    await blocks_the_loop(seconds)


@workflow
async def slow() -> None:
    await too_slow()


@workflow
async def slow_thread() -> None:
    await too_slow_thread()


@workflow
async def slow_process() -> None:
    await too_slow_process()


@workflow
async def gives_up() -> None:
    await never_well()


@workflow
async def queued() -> str:
    return await on_a_queue()


@workflow
async def queued_beside(name: str) -> list[str]:
    return await asyncio.gather(on_a_queue(), step(name))


@action(retry=2)
def half_and_half() -> str:
    if attempt().details is None:
        heartbeat("half")
        World.here.gate.wait(20)
    return f"went on from {attempt().details}"


@workflow
async def tells_then_waits() -> str:
    return await half_and_half()


@workflow
async def queued_then(name: str) -> str:
    await on_a_queue()
    return await step(name)


@workflow
async def sleeps_then_steps() -> str:
    await signal("go")
    return await which_thread()
