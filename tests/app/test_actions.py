"""Actions where they run: on the loop, in threads, in processes; bounded, told to stop, watched."""

from __future__ import annotations

import asyncio
import os
import threading
from types import SimpleNamespace

import pytest

from perdure import ActionTimeout, Options
from perdure.node import watchdog
from tests.app import action_flows as flows
from tests.app import flows as base
from tests.app.kit import crash, facts_of, fails, in_loop, on, reaches, until


def test_async_actions_run_on_the_loop_and_others_in_threads(place, world):
    async def test(app):
        by_thread, on_loop, there = await (await app.start(flows.threads)).result()
        assert on_loop == threading.current_thread().name
        assert by_thread.startswith("perdure-action")
        assert there.startswith("perdure-action")

    on(place, test)


def test_actions_apart_run_in_a_process_that_is_kept_for_the_next(file, world):
    async def test(app):
        handle = await app.start(flows.apart, 2, id="one")
        (first, one, key1), (second, _, key2) = await handle.result()
        assert first == second != os.getpid()
        assert (one, key1, key2) == (1, "one:1", "one:2")

    on(file, test)


def test_processes_end_with_the_engine(file, world):
    async def test(app):
        await (await app.start(flows.apart, 1)).result()
        return [worker.process for worker in app.owner.node.attempts.processes.all]

    (process,) = on(file, test)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_the_next_attempt_goes_on_where_the_last_one_was(file, world):
    """Every attempt fails at the part of its number; none does a part that was done."""

    async def test(app):
        handle = await app.start(flows.parts, 3)
        assert await handle.result() == [[0, 1, 2]] * 3
        assert world.log == [(1, []), (2, [0]), (3, [0, 1])]

    on(file, test)


@in_loop
async def test_what_was_told_outlives_the_process(place, world):
    async with place.engine(heartbeat_s=0) as app:
        handle = await app.start(flows.tells_then_waits, id="one")
        await reaches(handle, "Progressed")
        await crash(app)
    world.gate.set()
    async with place.engine() as app:
        assert await (await app.get("one")).result() == "went on from half"


def test_progress_is_written_down_once_in_a_while_only(place, world):
    async def test(app):
        handle = await app.start(flows.tells)
        await until(lambda: world.now > 50)
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        return (await facts_of(handle)).count("Progressed")

    assert on(place, test, heartbeat_s=10) == 1


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_actions_run_at_once_and_no_more(place, world, most):
    async def test(app):
        await (await app.start(flows.counts, 30)).result()
        assert world.most == most

    on(place, test, actions_max=most)


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_threads_run_at_once_and_no_more(place, world, most):
    async def test(app):
        await (await app.start(flows.counts_in_threads, 30)).result()
        assert world.most <= most

    on(place, test, threads_max=most)


def test_a_blocked_loop_is_reported_with_the_line_that_blocks_it(place, world):
    async def test(app):
        await (await app.start(flows.blocks, 0.9)).result()

    on(place, test, blocked_s=0.2)
    told = [each for each in place.warned if "the loop has been blocked" in each]
    assert any("in blocks_the_loop" in each and "time.sleep(seconds)" in each for each in told)


def test_the_time_that_linking_takes_is_not_told(monkeypatch):
    now, links = [0.0], [False]
    told: list[str] = []
    loop = SimpleNamespace(call_soon_threadsafe=lambda _: None)
    dog = watchdog.Watchdog(
        SimpleNamespace(loop=loop, options=Options(blocked_s=1, warn=told.append))
    )
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(watchdog, "_links", lambda _: links[0])
    for second, it_links in ((0, False), (2, True), (2.5, False), (4, False)):
        assert told == []
        now[0], links[0] = second, it_links
        dog._ask()
    assert len(told) == 1


# --- time-outs


def test_an_attempt_that_takes_too_long_is_told_and_made_again(place, world):
    async def test(app):
        handle = await app.start(flows.slow)
        await fails(handle, ActionTimeout, "too_slow took longer than 0.02 s")
        assert world.log == [1, 2]

    on(place, test)


def test_a_thread_that_takes_too_long_is_left_behind(place, world):
    async def test(app):
        await fails(await app.start(flows.slow_thread), ActionTimeout)
        world.gate.set()

    on(place, test)


def test_a_process_that_takes_too_long_is_ended(file, world):
    async def test(app):
        handle = await app.start(flows.slow_process)
        await fails(handle, ActionTimeout)
        assert app.owner.node.attempts.processes.all == set()

    on(file, test)


def test_all_attempts_together_may_take_so_long(place, world):
    async def test(app):
        handle = await app.start(flows.gives_up)
        await fails(handle, ActionTimeout, "never_well took longer than 0.05 s in all")
        assert (await facts_of(handle)).count("Failed") < 10

    on(place, test)


# --- queues, and actions that are not here


async def waits(handle):
    """Wait until the run says why it cannot go on."""
    while (info := await handle.info()).error is None:  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    return info


def test_a_call_on_a_queue_that_nobody_serves_waits_and_says_so(place, world):
    async def test(app):
        handle = await app.start(flows.queued, id="one")
        info = await waits(handle)
        assert info.status == "running"
        assert "E407 nobody serves queue `gpu`" in info.error
        assert "Options(queues=" in info.error
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)

    on(place, test)


@in_loop
async def test_a_call_on_a_queue_is_made_by_the_next_engine_that_serves_it(place, world):
    async with place.engine() as app:
        handle = await app.start(flows.queued_beside, "a", id="one")
        await reaches(handle, "Completed")
        assert "E407" in (await waits(handle)).error
    async with place.engine(queues=("gpu",)) as app:
        handle = await app.get("one")
        assert await handle.result() == ["computed", "A"]
        assert (await handle.info()).error is None
    assert [each for each in place.warned if "E407" in each] == [place.warned[0]]


@in_loop
async def test_the_reason_goes_when_the_call_can_be_made(place, world, hold):
    async with place.engine() as app:
        await waits(await app.start(flows.queued_then, "a", id="one"))
    hold("a")
    async with place.engine(queues=("gpu", "other")) as app:
        await world.begun.wait()
        assert (await (await app.get("one")).info()).error is None


@in_loop
async def test_an_action_that_is_not_known_here_waits_and_says_so(place, world, monkeypatch):
    from perdure import registry

    async with place.engine(actions_max=1) as app:
        handle = await app.start(flows.sleeps_then_steps, id="one")
        (name,) = [key for key in registry.names() if key[1].endswith("flows:which_thread")]
        monkeypatch.delitem(registry._known, name)
        await handle.signal("go")
        assert "no action `tests.app.action_flows:which_thread`" in (await waits(handle)).error
        monkeypatch.undo()
        monkeypatch.setattr(base.World, "here", world, raising=False)
        if place.kind == "memory":
            monkeypatch.setattr("perdure.app.open_store", place._open_memory)
    async with place.engine() as app:
        assert (await (await app.get("one")).result()).startswith("perdure-action")
