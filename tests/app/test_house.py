"""Keeping house: copies, old runs, environments, owners that come and go, and too much at once."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import time

import pytest

from perdure import Call, Perdure
from perdure.errors import (
    Closed,
    Overloaded,
    RunExists,
    StoreError,
    StoreUnreachable,
    WrongEnvironment,
)
from perdure.limits import LIMITS
from tests.app import child_flows, flows
from tests.app import memory_flows as waiting
from tests.app.kit import crash, facts_of, in_loop, on, until


def copy_with_key(file, to):
    shutil.copy(f"{file}.key", f"{to}.key")


# --- copies


@in_loop
async def test_a_copy_that_is_taken_while_runs_go_on_opens_and_goes_on(file, world, tmp_path):
    copy = tmp_path / "copy.db"
    told = []
    async with file.engine() as app:
        waits = await app.start(waiting.wants_any, id="waits")
        starts = asyncio.create_task(
            app.start_many([Call(child_flows.noop, (n,)) for n in range(500)])
        )
        await app.backup(copy, lambda done, of: told.append((done, of)))
        await starts
        await waits.signal("item", "in the original")
        assert await waits.result() == "in the original"
    assert told[-1][0] == told[-1][1] > 0
    copy_with_key(file.path, copy)
    async with Perdure(copy) as app:
        again = await app.get("waits")
        assert await again.status() == "running"
        await again.signal("item", "in the copy")
        assert await again.result() == "in the copy"
        assert (await app.examine(thorough=True)).problems == []


def test_a_copy_takes_the_place_of_nothing(file, world, tmp_path):
    (tmp_path / "there").write_text("dear to somebody")

    async def test(app):
        with pytest.raises(StoreUnreachable, match="there already"):
            await app.backup(tmp_path / "there")
        with pytest.raises(StoreUnreachable):
            await app.backup(tmp_path / "no" / "folder")

    on(file, test)
    assert (tmp_path / "there").read_text() == "dear to somebody"


# --- environments


def test_a_store_is_opened_in_its_own_environment_only(file, world):
    async def opened(**told):
        async with Perdure(file.path, **told) as app:
            return (await app.examine()).environment

    assert asyncio.run(opened(environment="production")) == "production"
    assert asyncio.run(opened()) == "production"
    with pytest.raises(WrongEnvironment, match="production"):
        asyncio.run(opened(environment="test"))
    assert asyncio.run(opened(environment="production")) == "production"


# --- old runs


def test_pruned_runs_keep_their_ids_and_their_ends(place, world):
    async def test(app):
        done = await app.start(flows.straight, "a", id="done")
        assert await done.result() == ["A"]
        open_ = await app.start(waiting.wants_any, id="open")
        assert await app.prune("1h") == 0
        assert await app.prune(0) == 1
        assert await facts_of(done) == []
        assert await done.result() == ["A"]
        assert (await app.start(flows.straight, "a", id="done")).rid == done.rid
        with pytest.raises(RunExists):
            await app.start(flows.straight, "b", id="done")
        assert await facts_of(open_) == ["Started"]
        assert [row async for row in done.watch()] == []
        assert await app.prune(0) == 0

    on(place, test)


def test_a_parent_that_comes_back_needs_no_facts_of_its_children(place, world):
    async def test(app):
        parent = await app.start(child_flows.asking_children, "a", "b", id="p")
        await (await app.get("p/1")).signal("a", "alpha")
        await (await app.get("p/1")).result()
        await app.prune(0)
        await until(lambda: not app.owner.node.residents)
        await (await app.get("p/2")).signal("b", "beta")
        assert await parent.result() == ["alpha", "beta"]

    on(place, test, idle_s=0.05)


# --- what a store says of itself


def test_an_engine_tells_what_its_store_is(place, world):
    async def test(app):
        await (await app.start(flows.straight, "a")).result()
        report = await app.examine(thorough=True)
        assert report.problems == []
        assert report.kind == place.kind
        assert report.facts["programs"] == "1"

    on(place, test)


def test_damage_is_found_when_it_is_asked_for(file, world):
    import apsw

    async def before(app):
        await (await app.start(flows.straight, "a")).result()

    on(file, before)
    connection = apsw.Connection(str(file.path))
    connection.execute("update facts set body = cast('{}' as blob) where seq = 2")
    connection.close()

    async def after(app):
        assert (await app.examine()).problems == []
        (problem,) = (await app.examine(thorough=True)).problems
        assert "fact 2 of run" in problem

    on(file, after)


# --- opening, closing, taking over


def test_an_engine_that_is_not_open_says_so(place, world):
    app = place.engine()

    async def ask():
        with pytest.raises(Closed, match="async with"):
            await app.list()
        async with app:
            handle = await app.start(waiting.wants_any)
            asks = asyncio.create_task(handle.result())
            await asyncio.wait([asks], timeout=0.02)
        with pytest.raises(Closed):
            await asks
        with pytest.raises(Closed):
            await app.start(waiting.wants_any)

    asyncio.run(ask())


def test_what_is_no_store_is_refused(tmp_path):
    async def opened(where):
        async with Perdure(where):
            pass

    with pytest.raises(StoreError, match="no store that this version knows"):
        asyncio.run(opened("postgresql://somewhere/else"))
    with pytest.raises(StoreUnreachable):
        asyncio.run(opened(tmp_path / "no" / "folder.db"))


@in_loop
async def test_a_stand_by_takes_over_within_a_tenth_of_a_second(place, world, hold):
    hold("a")
    async with place.engine() as first, place.engine() as second:
        handle = await second.start(flows.straight, "a", "b", id="one")
        await world.begun.wait()
        assert (first.owner is None, second.owner is None) == (False, True)
        world.held.clear()
        begun = time.monotonic()
        await crash(first)
        await second.owning.wait()
        assert time.monotonic() - begun < 5  # 0.1 on a machine with nothing else to do
        assert await handle.result() == ["A", "B"]


@in_loop
async def test_who_waits_goes_on_waiting_when_its_engine_is_replaced(file, world):
    """The lock file is taken away: another engine owns the runs, this one is a client."""
    async with file.engine() as first:
        handle = await first.start(waiting.wants_any, id="one")
        asks = asyncio.create_task(handle.result())
        (file.path.parent / "runs.db-lock").unlink()
        async with file.engine() as second:
            await second.owning.wait()
            mine = first.owner
            with pytest.raises(StoreError):
                await first.start(waiting.wants_any, id="two")
            await until(lambda: first.owner is not mine)
            await (await second.get("one")).signal("item", "from the other")
            assert await asks == "from the other"


@in_loop
async def test_a_message_is_seen_soon_and_looking_costs_no_statement(file, world):
    async with file.engine() as app, file.engine(serve=False) as client:
        await app.start(waiting.wants_any, id="one")
        handle = await client.get("one")
        begun = time.monotonic()
        await handle.signal("item", 1)
        assert await handle.result() == 1
        assert time.monotonic() - begun < 5  # a tenth of a second, when nothing else is going on


# --- too much at once


def test_too_much_that_is_not_durable_stops_what_makes_more_of_it(place, world, monkeypatch):
    """The store is held up: nothing is dispatched, then nothing is started; then all goes on."""
    small = dataclasses.replace(LIMITS, undurable_bytes_max=20_000)
    monkeypatch.setattr("perdure.app.LIMITS", small)
    monkeypatch.setattr("perdure.node.attempts.LIMITS", small)

    async def test(app):
        node = app.owner.node
        first = await app.start(flows.straight, "a")
        await first.result()
        written, go_on = node.writer.flush, asyncio.Event()

        async def held_up(batch):
            await go_on.wait()
            return await written(batch)

        monkeypatch.setattr(node.writer, "flush", held_up)
        starts = [asyncio.create_task(app.start(flows.echoes, "x" * 5_000)) for _ in range(8)]
        await until(lambda: node.pipeline.undurable_bytes > 40_000)
        with pytest.raises(Overloaded, match="E606"):
            await app.start(flows.straight, "b", id="refused")
        go_on.set()
        assert len([await (await each).result() for each in starts]) == 8
        assert await (await app.start(flows.straight, "b", id="refused")).result() == ["B"]

    on(place, test)


@pytest.mark.parametrize("how", ["drain", "crash"])
@in_loop
async def test_an_action_under_way_ends_before_its_engine_does_unless_that_is_killed(
    place, world, hold, how
):
    let_go = hold("a")
    async with place.engine(drain_s=20) as app:
        handle = await app.start(flows.straight, "a", id="one")
        await world.begun.wait()
        if how == "crash":
            await crash(app)
        else:
            asyncio.get_running_loop().call_later(0.05, let_go.set)
    world.held.clear()
    async with place.engine() as app:
        handle = await app.get("one")
        assert await handle.result() == ["A"]
        lost = (await facts_of(handle)).count("Lost")
    assert len(world.done) == 1
    assert lost == (how == "crash")
