"""Runs that wait leave the memory, by time, number and bytes, and come back for what comes."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

import pytest

from perdure import Call, Options
from tests.app import action_flows, flows
from tests.app import memory_flows as waiting
from tests.app.kit import crash, facts_of, in_loop, on, reaches, until


def in_memory(app):
    return len(app.owner.node.residents)


async def many(app, flow, count, *given):
    return await app.start_many([Call(flow, given) for _ in range(count)])


# --- leaving


def test_a_run_that_waits_leaves_the_memory_after_a_while(place, world):
    async def test(app):
        handles = await many(app, waiting.wants_any, 50)
        await until(lambda: in_memory(app) == 0)
        await handles[7].signal("item", 7)
        assert await handles[7].result() == 7
        assert in_memory(app) <= 1

    on(place, test, idle_s=0.05)


def test_of_too_many_runs_those_that_waited_longest_leave(place, world):
    async def test(app):
        first = await many(app, waiting.wants_any, 20)
        second = await many(app, waiting.wants_any, 10)
        await until(lambda: in_memory(app) <= 10)
        assert set(app.owner.node.residents) == {each.rid for each in second}
        for each in first:
            await each.signal("item", each.id)
        assert [await each.result() for each in first] == [each.id for each in first]

    on(place, test, idle_s=1_000, residents_max=10)


def test_of_runs_that_weigh_too_much_those_that_waited_longest_leave(place, world):
    async def test(app):
        node = app.owner.node
        handles = await many(app, waiting.keeps_text, 20, "x" * 100_000)
        await until(lambda: node.room.bytes <= node.options.resident_bytes_max)
        assert 1 <= in_memory(app) <= 10
        assert node.room.bytes == sum(each.weight for each in node.residents.values())
        for each in handles:
            await each.signal("item", 1)
        assert [await each.result() for each in handles] == [[1, 100_000]] * 20
        await until(lambda: (in_memory(app), node.room.bytes) == (0, 0))

    on(place, test, idle_s=1_000, resident_bytes_max=4 << 20)


def test_a_run_that_something_is_under_way_for_stays(place, world, hold):
    async def test(app):
        let_go = hold("a")
        handle = await app.start(flows.straight, "a")
        other = await app.start(waiting.wants_any)
        await until(lambda: other.rid not in app.owner.node.residents)
        assert handle.rid in app.owner.node.residents
        let_go.set()
        await handle.result()

    on(place, test, idle_s=0.02)


def test_a_run_that_waits_to_try_again_leaves_and_comes_back_in_time(place, world):
    """An hour's wait; the clock of the engine is given to it."""
    clock = {"ahead_us": 0}

    def now_us():
        return time.time_ns() // 1_000 + clock["ahead_us"]

    async def test(app):
        world.broken.add("it")
        handle = await app.start(action_flows.tries_slowly, "it")
        await until(lambda: in_memory(app) == 0)
        assert await facts_of(handle) == ["Started", "Failed"]
        world.broken.clear()
        clock["ahead_us"] = 3_600_000_000
        assert await handle.result() == "IT"
        assert [number for _, number, _ in world.done] == [2]

    on(place, test, idle_s=0.05, now_us=now_us)


@in_loop
async def test_runs_that_come_back_with_an_owner_and_only_wait_leave_again(place, world):
    async with place.engine() as app:
        handles = [await app.start(flows.step_then_collects, "a", 1) for _ in range(20)]
        for each in handles:
            await reaches(each, "Completed")
        await crash(app)
    async with place.engine(idle_s=0.05) as app:
        await until(lambda: in_memory(app) == 0)
        again = await app.get(handles[3].id)
        await again.signal("item", 3)
        assert await again.result() == [3]


FLOWS = [waiting.wants_any, waiting.wants_or, waiting.wants_optional, waiting.wants_list]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.function.__name__)
def test_whatever_type_it_waits_for_a_run_is_put_into_an_image(place, world, flow):
    async def test(app):
        handle = await app.start(flow)
        assert app.owner.node.residents[handle.rid].why_tail == ""
        await until(lambda: in_memory(app) == 0)
        await handle.signal("item", [1] if flow is waiting.wants_list else 1)
        assert await handle.result() in (1, [1])

    on(place, test, idle_s=0.05)


# --- sleeping


def test_sleepers_wake_in_time_whether_they_are_in_memory_or_not(place, world):
    async def test(app):
        begun = time.monotonic()
        handles = [await app.start(waiting.sleeps, n * 0.01, str(n)) for n in range(1, 61)]
        for each in handles:
            await each.result()
        assert time.monotonic() - begun < 10
        for number, each in enumerate(handles, 1):
            started, fired, _ = [row.fact.at_us for row in await each.facts()]
            assert fired - started >= number * 10_000

    on(place, test, idle_s=0.05, residents_max=5)


def test_a_loop_of_sleeps_leaves_the_memory_and_comes_back_each_time(place, world):
    async def test(app):
        assert await (await app.start(waiting.ticks, 10)).result() == 10

    on(place, test, residents_max=0)


@in_loop
async def test_who_slept_through_the_absence_of_all_owners_wakes_late(place, world):
    async with place.engine() as app:
        late = await app.start(waiting.sleeps, 0.2, "late")
        never = await app.start(waiting.ten_years)
        await crash(app)
    await asyncio.sleep(0.25)  # nobody is there to say that the time is over
    async with place.engine() as app:
        assert await (await app.get(late.id)).result() == "LATE"
        assert await (await app.get(never.id)).status() == "running"


def test_a_run_sleeps_for_ten_years_and_goes_on(place, world):
    """The clock of the engine is given to it."""
    clock = {"ahead_us": 0}

    def now_us():
        return time.time_ns() // 1_000 + clock["ahead_us"]

    async def test(app):
        handle = await app.start(waiting.ten_years)
        await until(lambda: in_memory(app) == 0)
        return handle.id

    id_ = on(place, test, idle_s=0.05, now_us=now_us)
    clock["ahead_us"] = 10 * 366 * 86_400 * 1_000_000

    async def after(app):
        assert await (await app.get(id_)).result() == "later"

    on(place, after, now_us=now_us)


@in_loop
async def test_a_back_off_is_not_begun_anew_by_a_restart(place, world):
    """An hour's wait, of which nearly all has passed when the next owner comes."""
    world.broken.add("it")
    async with place.engine() as app:
        handle = await app.start(action_flows.tries_slowly, "it", id="one")
        await reaches(handle, "Failed")
        failed = (await handle.facts())[-1].fact
        await crash(app)
    world.broken.clear()
    almost_us = failed.at_us + 3_600_000_000 - 50_000
    async with place.engine(now_us=lambda: almost_us) as app:
        assert await (await app.get("one")).result() == "IT"
    assert [number for _, number, _ in world.done] == [2]


# --- what remains in memory


def test_what_is_kept_of_runs_that_left_the_memory_is_next_to_nothing(file, world):
    async def test(app):
        node = app.owner.node
        for _ in range(4):
            await many(app, waiting.waits_with_limits, 1_000, 3)
            await many(app, waiting.sleeps, 500, 1e6, "x")
            await until(lambda: in_memory(app) == 0)
        assert len(node.alarms.heap) < 4_000
        assert len(node.room.idle) == 0
        assert node.room.bytes == 0
        assert len(node.attempts.held) == len(node.attempts.left) == 0

    on(file, test, idle_s=0.05)


def test_a_run_that_arms_timer_after_timer_does_not_gather_alarms(place, world):
    async def test(app):
        handle = await app.start(waiting.waits_with_limits, 2_500)
        for number in range(2_500):
            app.owner.node.alarms.push(app.owner.node.now_us() + 10**11 + number, handle.rid)
        await handle.signal("item", 1)
        await reaches(handle, "Signalled")
        assert len(app.owner.node.alarms.heap) < 2_100

    on(place, test)


def resident_bytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the kernel does not tell")
def test_runs_that_wait_cost_rows_and_not_memory(file, world):
    """After what SQLite keeps in memory has grown to its size, others add little."""

    async def test(app):
        for _ in range(5):
            await many(app, waiting.wants_any, 2_000)
            await until(lambda: in_memory(app) == 0)
        before = resident_bytes()
        await many(app, waiting.wants_any, 2_000)
        await until(lambda: in_memory(app) == 0)
        assert (resident_bytes() - before) / 2_000 < 4_000

    on(file, test, idle_s=0.05, residents_max=200)


def test_options_say_what_they_bound():
    assert Options().resident_bytes_max > Options().residents_max * (16 << 10)
