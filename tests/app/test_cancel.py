"""Cancelling: `finally` blocks run with their actions, and whatever is under way is told."""

from __future__ import annotations

import asyncio
import threading

import pytest

from perdure.errors import RunOver
from tests.app import action_flows, flows
from tests.app.kit import crash, facts_of, fails, in_loop, on, reaches, until


def names(world):
    return [each[0] for each in world.done]


def test_the_cleanup_of_a_cancelled_run_makes_its_calls(place, world, hold):
    async def test(app):
        hold("long")
        handle = await app.start(flows.cleans_up, "long")
        await world.begun.wait()
        await handle.cancel("a mistake", actor="ann")
        error = await fails(handle, asyncio.CancelledError)
        assert str(error) == "a mistake"
        assert await handle.status() == "cancelled"
        assert (await handle.info()).error == "CancelledError: a mistake"
        cancelled = (await handle.facts())[1].fact
        assert (cancelled.reason, cancelled.actor) == ("a mistake", "ann")
        assert names(world) == ["clean"]
        with pytest.raises(RunOver):
            await handle.cancel()

    on(place, test)


def test_an_async_action_is_told(place, world):
    async def test(app):
        handle = await app.start(action_flows.waits_long)
        await until(lambda: world.log == ["begun"])
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        await until(lambda: world.log == ["begun", "told"])

    on(place, test)


def test_a_thread_that_cannot_be_told_keeps_nobody_waiting(place, world):
    async def test(app):
        world.gate = threading.Event()
        handle = await app.start(action_flows.waits_in_thread)
        await until(lambda: world.log == ["thread begun"])
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        world.gate.set()

    on(place, test)


def test_a_process_is_ended(file, world):
    async def test(app):
        handle = await app.start(action_flows.waits_in_process)
        await reaches(handle, "Progressed")
        (worker,) = app.owner.node.attempts.processes.all
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        assert await worker.process.wait() == -9

    on(file, test)


@in_loop
async def test_a_cancel_that_was_accepted_outlives_the_owner(place, world, hold):
    hold("long")
    async with place.engine() as app:
        handle = await app.start(flows.cleans_up, "long", id="one")
        await world.begun.wait()
        await crash(app)
    async with place.engine(serve=False) as client:
        handle = await client.get("one")
        await handle.cancel()
        async with place.engine():
            await fails(handle, asyncio.CancelledError)
    assert names(world) == ["clean"]
    assert "Cancelled" in (facts := await read(place, "one")), facts


async def read(place, id_):
    async with place.engine(serve=False) as app:
        return await facts_of(await app.get(id_))


def test_a_cleanup_that_is_cancelled_again_is_cancelled(place, world, hold):
    async def test(app):
        hold("long")
        hold("clean")
        handle = await app.start(flows.cleans_up, "long")
        await world.begun.wait()
        world.begun.clear()
        await handle.cancel("first")
        await world.begun.wait()
        await handle.cancel("second")
        assert str(await fails(handle, asyncio.CancelledError)) == "second"

    on(place, test)


def test_a_run_in_back_off_is_cancelled_at_once(place, world):
    async def test(app):
        world.broken.add("it")
        handle = await app.start(action_flows.tries_slowly, "it")
        await reaches(handle, "Failed")
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)

    on(place, test)


def test_a_workflow_may_refuse_to_be_cancelled(place, world):
    async def test(app):
        handle = await app.start(action_flows.will_not)
        await handle.cancel()
        assert await handle.result() == "still here"

    on(place, test)
