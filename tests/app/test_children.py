"""Children are runs of their own; parents and children leave the memory, and nothing is lost."""

from __future__ import annotations

import asyncio

import pytest

from perdure.errors import BadPolicy, RunOver, RunStopped
from tests.app import child_flows as flows
from tests.app.kit import crash, facts_of, fails, in_loop, on, reaches, until


def names(world):
    return [each[0] for each in world.done]


def test_a_child_is_a_run_with_an_id_a_log_and_a_parent(place, world):
    async def test(app):
        handle = await app.start(flows.one_child, "a", id="p")
        assert await handle.result() == "A"
        child = await app.get("p/1")
        assert await child.result() == "A"
        assert await facts_of(child) == ["Started", "Completed"]
        info = await child.info()
        assert (info.parent, info.workflow, info.status) == (
            "p", "tests.app.child_flows:child", "completed",
        )  # fmt: skip
        assert [each.id for each in await app.list()] == ["p/1", "p"]

    on(place, test)


def test_the_failure_of_a_child_is_caught_by_its_class(place, world):
    world.broken.add("bad")

    async def test(app):
        handle = await app.start(flows.catches, id="p")
        assert await handle.result() == "caught bad is down"
        await fails(await app.get("p/1"), ConnectionError)

    on(place, test)


async def wake_the_child(app, id_="p/1", name="word", value="hello"):
    await (await app.get(id_)).signal(name, value)


def test_a_parent_that_has_left_the_memory_hears_of_the_end_of_its_child_once(place, world):
    async def test(app):
        handle = await app.start(flows.asking_child, "word", id="p")
        await until(lambda: not app.owner.node.residents)
        await wake_the_child(app)
        assert await handle.result() == "child said hello"
        assert names(world) == ["word cleaned"]
        assert [each.id for each in await app.list()] == ["p/1", "p"]

    on(place, test, idle_s=0.01)


def test_a_child_that_ends_while_nobody_serves_is_not_begun_again(place, world):
    """The parent comes back from disk, and its child's end is there already."""

    async def test(app):
        handle = await app.start(flows.asking_child, "word", id="p")
        await until(lambda: not app.owner.node.residents)
        node = app.owner.node
        await node.recovery.load([(await app.get("p/1")).rid])
        await wake_the_child(app)
        assert await handle.result() == "child said hello"
        assert "Lost" not in await facts_of(handle)
        assert names(world) == ["word cleaned"]

    on(place, test, idle_s=0.01)


@in_loop
async def test_a_parent_and_its_children_come_back_after_a_crash(place, world):
    async with place.engine() as app:
        await app.start(flows.asking_children, "a", "b", id="p")
        await reaches(await app.get("p/1"), "Started")
        await wake_the_child(app, "p/2", "b", "beta")
        await (await app.get("p/2")).result()
        await crash(app)
    async with place.engine() as app:
        await wake_the_child(app, "p/1", "a", "alpha")
        assert await (await app.get("p")).result() == ["alpha", "beta"]
        assert len(await app.list()) == 3
    assert sorted(names(world)) == ["a cleaned", "b cleaned"]


def test_cancelling_the_parent_cancels_the_child_wherever_it_is(place, world):
    async def test(app):
        handle = await app.start(flows.grandparent, "word", id="p")
        await until(lambda: not app.owner.node.residents)
        await handle.cancel("enough")
        await fails(handle, asyncio.CancelledError)
        for id_ in ("p/1", "p/1/1"):
            await fails(await app.get(id_), asyncio.CancelledError)
        assert names(world) == ["word cleaned"]

    on(place, test, idle_s=0.01)


def test_a_failure_beside_it_cancels_a_child(place, world):
    world.broken.add("bad")

    async def test(app):
        handle = await app.start(flows.fails_beside, "word", id="p")
        await fails(handle, ConnectionError)
        await fails(await app.get("p/1"), asyncio.CancelledError)
        assert names(world) == ["word cleaned"]
        with pytest.raises(RunOver):
            await wake_the_child(app)

    on(place, test)


def test_siblings_that_a_failure_cancelled_are_begun_anew_by_a_retry(place, world):
    world.broken.add("bad")

    async def test(app):
        handle = await app.start(flows.fails_beside, "word", id="p")
        await fails(handle, ConnectionError)
        await fails(await app.get("p/1"), asyncio.CancelledError)
        world.broken.clear()
        await handle.retry()
        await reaches(handle, "Retried")
        await reaches(handle, "Lost")
        again = [each.id for each in await app.list() if each.id.startswith("p/1.")]
        await wake_the_child(app, *again)
        assert await handle.result() == ["hello", "BAD"]

    on(place, test)


@in_loop
async def test_many_children_of_one_parent_survive_crash_after_crash(place, world):
    """Three owners die, each with most runs out of memory; every child ends once."""
    names = [f"c{number}" for number in range(60)]
    for lap in range(3):
        async with place.engine(residents_max=5) as app:
            handle = await app.start(flows.asking_children, *names, id="p")
            for number in range(lap * 20, lap * 20 + 20):
                child = await app.get(f"p/{number + 1}")
                await child.signal(names[number], str(number), key=str(number))
                assert await child.result() == str(number)
            await crash(app)
    async with place.engine() as app:
        handle = await app.get("p")
        assert await handle.result() == [str(number) for number in range(60)]
        assert len(await app.list(limit=200)) == 61
        assert "Lost" not in await facts_of(handle)


def test_a_child_that_is_stopped_keeps_its_parent_waiting_and_can_be_retried(place, world):
    world.broken.add("loop")

    async def test(app):
        handle = await app.start(flows.stopping_child, id="p")
        child = await app.get("p/1")
        await fails(child, RunStopped, "E312")
        assert await handle.status() == "running"
        world.broken.clear()
        await child.retry()
        assert await handle.result() == "child came out"

    on(place, test, inline_s=0.2)


def test_a_child_that_somebody_cancels_is_cancelled_to_its_parent(place, world):
    async def test(app):
        handle = await app.start(flows.asking_child, "word", id="p")
        await (await app.get("p/1")).cancel("not this one")
        assert str(await fails(handle, asyncio.CancelledError)) == "not this one"

    on(place, test)


def test_a_child_that_takes_too_long_is_cancelled(place, world):
    async def test(app):
        handle = await app.start(flows.impatient, "word", id="p")
        assert await handle.result() == "gave up"
        await fails(await app.get("p/1"), asyncio.CancelledError)

    on(place, test)


def test_a_thousand_children_of_one_parent(file, world):
    async def test(app):
        handle = await app.start(flows.many_children, 1_000, id="p")
        assert await handle.result() == sum(range(1_000))
        assert len(await app.list(workflow=flows.noop.name, limit=2_000)) == 1_000

    on(file, test)


def test_an_abandoned_child_goes_on_when_its_parent_is_cancelled(place, world):
    async def test(app):
        handle = await app.start(flows.abandoning, "word", id="p")
        await until(lambda: not app.owner.node.residents)
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        await wake_the_child(app)
        assert await (await app.get("p/1")).result() == "hello"

    on(place, test, idle_s=0.01)


def test_an_abandoned_child_goes_on_when_its_parent_waits_no_longer(place, world):
    async def test(app):
        handle = await app.start(flows.abandoning_soon, "word", id="p")
        assert await handle.result() == "gave up"
        assert await (await app.get("p/1")).status() == "running"
        await wake_the_child(app)
        assert await (await app.get("p/1")).result() == "hello"

    on(place, test)


def test_an_option_that_means_nothing_is_refused():
    with pytest.raises(BadPolicy):
        flows.child.options(parent_close="explode")
    assert flows.child.options() is flows.child


def test_an_id_that_somebody_has_taken_keeps_no_child_from_beginning(place, world):
    async def test(app):
        await app.start(flows.noop, 7, id="p/1")
        handle = await app.start(flows.one_child, "a", id="p")
        assert await handle.result() == "A"

    on(place, test)
