"""A run that did not end well goes on from the await that failed, and nothing is done twice."""

from __future__ import annotations

import asyncio

import pytest

from perdure import Options, Perdure
from perdure.core.facts import Lost, Retried
from perdure.errors import RunOver, RunStopped
from tests.app import flows


def in_engine(path, test):
    async def main():
        options = Options(drain_s=0.05)
        async with asyncio.timeout(20), Perdure(path / "runs.db", options=options) as app:
            return await test(app)

    return asyncio.run(main())


async def fails(handle, error=Exception):
    with pytest.raises(error):
        await handle.result()


async def so_many_facts(app, handle, number):
    async for row in handle.watch():
        if row.seq >= number:
            return


def names(world):
    return [each[0] for each in world.done]


def test_a_failed_call_is_made_again_and_what_was_done_is_not(tmp_path, world):
    async def test(app):
        world.broken.add("ship")
        handle = await app.start(flows.with_cleanup, "ship", id="a")
        await fails(handle, RuntimeError)
        assert names(world) == ["begin", "clean"]
        world.broken.clear()
        await handle.retry(actor="ann")
        assert await handle.result() == "BEGIN SHIP"
        assert names(world) == ["begin", "clean", "ship", "clean"]
        return await handle.facts()

    facts = in_engine(tmp_path, test)
    retried = next(row.fact for row in facts if isinstance(row.fact, Retried))
    assert (retried.back_to, retried.call, retried.actor) == (2, 2, "ann")


def test_no_two_calls_ever_have_the_same_key(tmp_path, world):
    async def test(app):
        world.broken.add("ship")
        handle = await app.start(flows.with_cleanup, "ship", id="a")
        await fails(handle)
        world.broken.clear()
        await handle.retry()
        await handle.result()

    in_engine(tmp_path, test)
    keys = {}
    for name, _, key in world.done:
        assert keys.setdefault(key, name) == name
    assert len(keys) == 4


def test_outcomes_that_came_meanwhile_are_kept(tmp_path, world, hold):
    async def test(app):
        let_go = hold("slow")
        hold("clean")
        world.broken.add("bad")
        handle = await app.start(flows.at_once, "slow", "bad", "quick")
        await so_many_facts(app, handle, 3)
        let_go.set()
        await so_many_facts(app, handle, 4)
        world.held["clean"].set()
        await fails(handle, ConnectionError)
        world.broken.clear()
        await handle.retry()
        assert await handle.result() == ["SLOW", "BAD", "QUICK"]

    in_engine(tmp_path, test)
    assert names(world).count("slow") == names(world).count("quick") == 1


def test_a_call_that_was_cut_off_may_run_once_only_is_not_made_again(tmp_path, world, hold):
    async def test(app):
        hold("single")
        world.broken.add("bad")
        handle = await app.start(flows.once_and, "bad")
        await fails(handle, ConnectionError)
        world.broken.clear()
        await handle.retry()
        with pytest.raises(Exception, match="E403"):
            await handle.result()
        facts = await handle.facts()
        assert any(isinstance(row.fact, Lost) and not row.fact.counted for row in facts)

    in_engine(tmp_path, test)
    assert "single" not in names(world)


def test_signals_that_were_taken_after_the_failure_are_there_again(tmp_path, world, hold):
    async def test(app):
        hold("clean")
        world.broken.add("bad")
        handle = await app.start(flows.asks_twice)
        await handle.signal("number", 1)
        await so_many_facts(app, handle, 3)
        await handle.signal("number", 2, key="two")
        world.held["clean"].set()
        await fails(handle, ConnectionError)
        world.broken.clear()
        await handle.retry()
        assert await handle.result() == [1, 2]

    in_engine(tmp_path, test)


@pytest.mark.parametrize("flow", [flows.inline_failure, flows.later_inline_failure])
def test_inline_code_that_failed_runs_again(flow, tmp_path, world):
    async def test(app):
        world.broken.add("it")
        handle = await app.start(flow, "it")
        await fails(handle, ValueError)
        world.broken.clear()
        await handle.retry()
        assert await handle.result() in ("mended", "FIRST")
        assert names(world) in ([], ["first"])

    in_engine(tmp_path, test)


def test_all_attempts_are_there_again(tmp_path, world):
    async def test(app):
        world.broken.add("it")
        handle = await app.start(flows.three_times, "it")
        await fails(handle, ConnectionError)
        await handle.retry()
        await fails(handle, ConnectionError)
        failed = [row for row in await handle.facts() if type(row.fact).__name__ == "Failed"]
        assert len(failed) == 6
        world.broken.clear()
        await handle.retry()
        assert await handle.result() == "IT"

    in_engine(tmp_path, test)


def test_a_cancelled_run_goes_on_where_it_was_cancelled(tmp_path, world, hold):
    async def test(app):
        hold("long")
        handle = await app.start(flows.cleans_up, "long")
        await world.begun.wait()
        await handle.cancel("a mistake")
        await fails(handle, asyncio.CancelledError)
        assert await handle.status() == "cancelled"
        world.held["long"].set()
        await handle.retry()
        assert await handle.result() == "LONG"

    in_engine(tmp_path, test)


def test_a_retried_run_comes_back_in_another_process_of_time(tmp_path, world, hold):
    async def before(app):
        world.broken.add("ship")
        handle = await app.start(flows.with_cleanup, "ship", id="a")
        await fails(handle)
        world.broken.clear()
        hold("ship")
        world.begun.clear()
        await handle.retry()
        await world.begun.wait()

    async def after(app):
        world.held.clear()
        handle = await app.get("a")
        assert await handle.result() == "BEGIN SHIP"
        at = [row.seq for row in await handle.facts() if isinstance(row.fact, Retried)]
        moment = await handle.at(at[0])
        (waits,) = moment.waits
        assert waits.startswith("call 2 of tests.app.flows:step at with_cleanup:")
        before_it = await handle.at(at[0] - 1)
        assert before_it.status == "failed"

    in_engine(tmp_path, before)
    in_engine(tmp_path, after)


def test_a_run_that_is_under_way_or_well_is_not_retried(tmp_path, world, hold):
    async def test(app):
        hold("long")
        handle = await app.start(flows.straight, "long")
        with pytest.raises(RunOver, match="running"):
            await handle.retry()
        world.held["long"].set()
        await handle.result()
        with pytest.raises(RunOver, match="completed"):
            await handle.retry()

    in_engine(tmp_path, test)


def test_a_run_without_facts_says_why_it_cannot_be_retried(tmp_path, world):
    async def test(app):
        world.broken.add("ship")
        handle = await app.start(flows.straight, "ship")
        await fails(handle, ConnectionError)
        await app.store.prune(1 << 62, 10)
        await handle.retry()
        with pytest.raises(RunStopped, match="no facts any more"):
            await handle.result()

    in_engine(tmp_path, test)
