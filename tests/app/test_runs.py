"""Starting, finding, listing and reading runs: what is told is durable, and told once."""

from __future__ import annotations

import asyncio
import datetime as dt
from contextlib import nullcontext

import pytest

from perdure import Call
from perdure.errors import (
    DataRefused,
    NoSuchRun,
    PerdureError,
    RunExists,
    StoreError,
    ValueTooLarge,
    WaitedTooLong,
)
from perdure.limits import LIMITS
from tests.app import child_flows, flows
from tests.app.kit import crash, facts_of, fails, in_loop, on


def names(world):
    return [each[0] for each in world.done]


# --- start


def test_the_same_start_gives_the_same_run(place, world):
    async def test(app):
        first = await app.start(flows.straight, "a", id="one")
        second = await app.start(flows.straight, "a", id="one")
        assert (first.id, first.rid) == (second.id, second.rid)
        assert await second.result() == ["A"]
        third = await app.start(flows.straight, "a", id="one")
        assert await third.result() == ["A"]
        assert names(world) == ["a"]

    on(place, test)


def test_starts_at_the_same_moment_give_one_run(place, world):
    async def test(app):
        starts = [app.start(flows.straight, "a", id="one") for _ in range(20)]
        assert len({each.rid for each in await asyncio.gather(*starts)}) == 1
        assert await (await app.get("one")).result() == ["A"]
        assert names(world) == ["a"]

    on(place, test)


def test_the_same_id_for_something_else_is_an_error(place, world):
    async def test(app):
        await app.start(flows.straight, "a", id="one")
        for flow, given in ((flows.straight, "b"), (flows.with_cleanup, "a")):
            with pytest.raises(RunExists, match="E602 run `one`"):
                await app.start(flow, given, id="one")
        assert await (await app.get("one")).result() == ["A"]

    on(place, test)


@in_loop
async def test_an_id_is_known_in_every_process_of_time(place, world):
    async with place.engine() as app:
        await (await app.start(flows.straight, "a", id="one")).result()
    async with place.engine() as app:
        assert await (await app.start(flows.straight, "a", id="one")).result() == ["A"]
        with pytest.raises(RunExists):
            await app.start(flows.straight, "b", id="one")
    assert names(world) == ["a"]


def test_arguments_that_it_does_not_take_are_refused_at_the_start(place, world):
    async def test(app):
        with pytest.raises(TypeError, match="with_cleanup"):
            await app.start(flows.with_cleanup, id="one")
        with pytest.raises(NoSuchRun):
            await app.get("one")

    on(place, test)


def test_ten_thousand_runs_are_started_at_once(file, world):
    async def test(app):
        calls = [Call(child_flows.noop, (n,), id=f"n{n}") for n in range(10_000)]
        handles = await app.start_many(calls)
        assert [each.id for each in handles] == [each.id for each in calls]
        assert await handles[9_999].result() == 9_999
        again = await app.start_many(calls[:10])
        assert [each.rid for each in again] == [each.rid for each in handles[:10]]

    on(file, test)


def test_many_starts_under_one_id_are_one_run(place, world):
    async def test(app):
        one, two = await app.start_many([Call(flows.straight, ("a",), id="x")] * 2)
        assert one.rid == two.rid
        other = [Call(flows.straight, ("a",), id="y"), Call(flows.straight, ("b",), id="y")]
        with pytest.raises(RunExists):
            await app.start_many(other)
        assert await app.start_many([]) == []

    on(place, test)


@in_loop
async def test_a_client_starts_and_reads_and_the_owner_runs(place, world):
    async with place.engine() as owner, place.engine(serve=False) as client:
        handle = await client.start(flows.straight, "a", id="one", attrs={"of": "client"})
        assert await handle.result() == ["A"]
        assert (await handle.info()).attrs == {"of": "client"}
        same = await owner.start(flows.straight, "a", id="one")
        assert same.rid == handle.rid
        with pytest.raises(RunExists):
            await client.start(flows.straight, "b", id="one")
        many = await client.start_many([Call(flows.straight, (str(n),)) for n in range(30)])
        assert [await each.result() for each in many] == [[str(n)] for n in range(30)]


@in_loop
async def test_what_a_client_started_begins_when_somebody_serves(place, world):
    async with place.engine(serve=False) as client:
        handle = await client.start(flows.asks, "word", id="one")
        assert await handle.status() == "pending"
        assert await handle.facts() == []
        await handle.signal("word", "early")
        with pytest.raises(WaitedTooLong):
            await handle.result(timeout=0)
        async with place.engine():
            assert await handle.result() == "early"


@in_loop
async def test_a_pending_run_can_be_cancelled(place, world):
    async with place.engine(serve=False) as client:
        handle = await client.start(flows.cleans_up, "a", id="one")
        await handle.cancel("never mind")
        world.held["a"] = asyncio.Event()
        async with place.engine():
            await fails(handle, asyncio.CancelledError)
    assert names(world) == ["clean"]


# --- what is given


SIZES = [0, LIMITS.payload_bytes_max - 4, LIMITS.payload_bytes_max - 3]


@pytest.mark.parametrize("size", SIZES)
def test_a_payload_as_large_as_may_be_comes_back(file, world, size):
    async def test(app):
        handle = await app.start(flows.echoes, "x" * (size - 2 if size else 0))
        if size == SIZES[-1]:
            pytest.fail("it was taken")
        assert len(await handle.result()) == max(0, size - 2)

    if size == SIZES[-1]:
        with pytest.raises(ValueTooLarge):
            on(file, test)
    else:
        on(file, test)


@pytest.mark.parametrize("size", [LIMITS.payload_bytes_max + 1, 100 * LIMITS.payload_bytes_max])
def test_a_payload_that_is_too_large_is_refused_before_anything_is(file, world, size):
    async def test(app):
        text = "x" * size
        with pytest.raises(ValueTooLarge):
            await app.start(flows.echoes, text, id="one")
        handle = await app.start(flows.asks, "word", id="two")
        with pytest.raises(ValueTooLarge):
            await handle.signal("word", text)
        await handle.signal("word", "short")
        assert await handle.result() == "short"
        assert [each.id for each in await app.list()] == ["two"]

    on(file, test)


ODD = [
    *("\ud800", "a\0b", "'; drop table runs; --", "\N{SNOWMAN}\U0001f600", "\u202e"),
    *(1 << 200, -(1 << 63) - 1, float("inf"), b"\xff"),
]


@pytest.mark.parametrize("value", ODD, ids=[ascii(each)[:12] for each in ODD])
def test_odd_values_come_back(place, world, value):
    async def test(app):
        handle = await app.start(flows.echoes, value)
        assert await handle.result() == value
        asks = await app.start(flows.asks, "word")
        await asks.signal("word", value)
        assert await asks.result() == value

    on(place, test)


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "", "x" * 501, "a\nb"])
def test_an_odd_id_is_refused_with_a_code(place, world, text):
    async def test(app):
        with pytest.raises(PerdureError):
            await app.start(flows.straight, "a", id=text)
        with pytest.raises(NoSuchRun):
            await app.get(text)
        assert await app.list() == []

    on(place, test)


ODD_NAMES = ["\ud800", "a\0b", "", "'; drop table runs; --", "\N{SNOWMAN}", "x" * 10_000]


@pytest.mark.parametrize("text", ODD_NAMES, ids=[ascii(each)[:12] for each in ODD_NAMES])
def test_odd_names_of_signals_keys_and_people_are_taken_or_refused_with_a_code(place, world, text):
    async def test(app):
        handle = await app.start(flows.asks, text.replace("\ud800", "?"))
        for told in (
            lambda: handle.signal("other", 1, key=text),
            lambda: app.start(flows.straight, attrs={text: "v"}),
            lambda: app.start(flows.straight, attrs={"k": text}),
            lambda: handle.signal(text, 1),
        ):
            refuses = pytest.raises(PerdureError) if "\ud800" in text else nullcontext()
            with refuses:
                await told()
        assert await app.list(workflow=text) == []
        if "\ud800" not in text:
            assert await handle.result() == 1
        else:
            with pytest.raises(PerdureError):
                await handle.cancel(text)
            with pytest.raises(PerdureError):
                await handle.cancel(actor=text)
            await handle.cancel()
            await fails(handle, asyncio.CancelledError)

    on(place, test)


def test_attributes_are_texts(place, world):
    async def test(app):
        with pytest.raises(DataRefused, match="attrs"):
            await app.start(flows.straight, attrs={"a": 1})
        with pytest.raises(DataRefused, match="attrs"):
            await app.start(flows.straight, attrs={1: "a"})

    on(place, test)


# --- result, status, info


def test_a_result_is_waited_for_so_long_and_can_be_asked_for_again(place, world, hold):
    async def test(app):
        let_go = hold("a")
        handle = await app.start(flows.straight, "a")
        with pytest.raises(WaitedTooLong) as caught:
            await handle.result(timeout="20ms")
        assert isinstance(caught.value, TimeoutError)
        assert await handle.status() == "running"
        let_go.set()
        assert await handle.result(timeout="20s") == ["A"]

    on(place, test)


def test_a_time_out_of_the_workflow_is_not_one_of_the_wait(place, world):
    async def test(app):
        world.errors["a"] = TimeoutError("the action's own")
        handle = await app.start(flows.straight, "a")
        with pytest.raises(TimeoutError, match="the action's own") as caught:
            await handle.result(timeout="20s")
        assert not isinstance(caught.value, WaitedTooLong)

    on(place, test)


def test_who_waits_may_go_away_and_leaves_nothing_behind(place, world, hold):
    async def test(app):
        let_go = hold("a")
        handle = await app.start(flows.straight, "a")
        waits = asyncio.create_task(handle.result())
        await asyncio.wait([waits], timeout=0.02)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        let_go.set()
        await handle.result()
        for _ in range(3):
            await handle.result()
        assert app._waiting == {}

    on(place, test)


def test_what_is_told_of_a_run(place, world):
    async def test(app):
        before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
        world.broken.add("b")
        good = await app.start(flows.straight, "a", id="good", attrs={"k": "v"})
        bad = await app.start(flows.straight, "b", id="bad")
        await good.result()
        await fails(bad, ConnectionError)
        info = await good.info()
        assert (info.id, info.workflow, info.status) == (
            "good", "tests.app.flows:straight", "completed",
        )  # fmt: skip
        assert (info.attrs, info.facts, info.error, info.parent) == ({"k": "v"}, 2, None, None)
        assert before < info.created <= info.ended <= dt.datetime.now(dt.UTC)
        assert (await bad.info()).error == "ConnectionError: b is down"

    on(place, test)


# --- list


def test_runs_are_listed_by_what_they_are(place, world, hold):
    async def test(app):
        hold("long")
        world.broken.add("bad")
        a = await app.start(flows.straight, "a", id="a", attrs={"shop": "x", "kind": "1"})
        b = await app.start(flows.with_cleanup, "bad", id="b", attrs={"shop": "x"})
        await app.start(flows.straight, "long", id="c", attrs={"shop": "y"})
        await a.result()
        await fails(b)

        async def ids(**asked):
            return [each.id for each in await app.list(**asked)]

        assert await ids() == ["c", "b", "a"]
        assert await ids(status="running") == ["c"]
        assert await ids(status=("completed", "failed")) == ["b", "a"]
        assert await ids(status="cancelled") == []
        assert await ids(workflow="tests.app.flows:straight") == ["c", "a"]
        assert await ids(workflow=flows.straight) == ["c", "a"]
        assert await ids(attrs={"shop": "x"}) == ["b", "a"]
        assert await ids(attrs={"shop": "x", "kind": "1"}) == ["a"]
        assert await ids(attrs={"shop": "z"}) == []
        assert await ids(status="completed", attrs={"shop": "x"}, workflow=flows.straight) == ["a"]
        assert await ids(limit=2) == ["c", "b"]
        assert await ids(limit=0) == []
        middle = (await (await app.get("b")).info()).created
        assert await ids(since=middle) == ["c", "b"]
        assert await ids(until=middle) == ["a"]
        assert await ids(since=middle, until=middle) == []
        with pytest.raises(StoreError, match="`nice` is no status"):
            await ids(status="nice")

    on(place, test)


def test_all_runs_are_gone_through_page_by_page(file, world):
    async def test(app):
        await app.start_many([Call(child_flows.noop, (n,), id=f"n{n}") for n in range(2_500)])
        found = [each.id async for each in app.iterate(workflow=child_flows.noop)]
        assert found == [f"n{n}" for n in reversed(range(2_500))]
        assert len([each async for each in app.iterate(limit=1_500)]) == 1_500
        assert len(await app.list(limit=2_001)) == 2_001

    on(file, test)


# --- the log


def test_the_log_is_given_whole(place, world):
    async def test(app):
        handle = await app.start(flows.collects, 1_050)
        for number in range(1_050):
            await handle.signal("item", number)
        assert await handle.result() == list(range(1_050))
        assert [row.seq for row in await handle.facts()] == list(range(1, 1_052))

    on(place, test)


def test_a_run_is_watched_to_its_end(place, world, hold):
    async def test(app):
        let_go = hold("b")
        handle = await app.start(flows.straight, "a", "b")
        seen = []
        async for row in handle.watch():
            seen.append((row.seq, type(row.fact).__name__))
            if row.seq == 2:
                let_go.set()
        assert seen == [(1, "Started"), (2, "Completed"), (3, "Completed")]
        assert [row.seq async for row in handle.watch()] == [1, 2, 3]

    on(place, test)


@in_loop
async def test_a_run_is_watched_from_elsewhere_while_owners_come_and_go(place, world, hold):
    hold("b")
    async with place.engine(serve=False) as client:
        seen = []

        async def watch(handle):
            seen.extend([type(row.fact).__name__ async for row in handle.watch()])

        async with place.engine() as app:
            await app.start(flows.straight, "a", "b", id="one")
            watching = asyncio.create_task(watch(await client.get("one")))
            await world.begun.wait()
            await crash(app)
        world.held.clear()
        async with place.engine():
            await watching
    assert seen == ["Started", "Completed", "Lost", "Completed"]


def test_a_run_is_shown_as_it_was(place, world, hold):
    async def test(app):
        world.broken.add("b")
        handle = await app.start(flows.with_cleanup, "b")
        await fails(handle)
        first, second = await handle.at(1), await handle.at(2)
        assert (first.seq, first.status, second.status) == (1, "running", "running")
        assert "step at with_cleanup:" in first.waits[0]
        assert first.tasks[0].frames[0].function == "with_cleanup"
        assert "begun" not in first.tasks[0].frames[0].variables
        assert second.tasks[0].frames[0].variables["begun"] == "BEGIN"
        assert (await handle.at(4)).status == "failed"
        for number in (0, 5, -1):
            with pytest.raises(NoSuchRun, match=f"no fact {number}"):
                await handle.at(number)

    on(place, test)


# --- only what is durable is told


def test_nothing_is_told_before_it_is_durable(place, world, monkeypatch):
    """The store is held up; what has happened in memory shows nowhere, not even as output."""

    async def test(app):
        handle = await app.start(flows.prints_and_asks, "word", id="one")
        node = app.owner.node
        written, go_on = node.writer.flush, asyncio.Event()

        async def held_up(batch):
            await go_on.wait()
            return await written(batch)

        monkeypatch.setattr(node.writer, "flush", held_up)
        await handle.signal("word", "now")
        while not node.residents[handle.rid].is_over:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        assert await handle.status() == "running"
        assert await facts_of(handle) == ["Started"]
        assert place.said == ["before"]
        with pytest.raises(WaitedTooLong):
            await handle.result(timeout="50ms")
        go_on.set()
        assert await handle.result() == "now"
        assert place.said == ["before", "got now"]

    on(place, test)


# --- runs that cannot go on


def test_inline_code_that_never_comes_back_is_stopped_with_its_line(place, world):
    async def test(app):
        handle = await app.start(flows.loops_for_ever, id="one")
        with pytest.raises(PerdureError, match=r"E604 .* E312 .*flows\.py:\d+"):
            await handle.result()
        assert (await handle.info()).status == "stopped"
        assert await facts_of(handle) == ["Stopped"]
        other = await app.start(flows.straight, "a")
        assert await other.result() == ["A"]

    on(place, test, inline_s=0.2)


def test_a_stopped_run_takes_messages_and_goes_on_when_it_is_retried(place, world):
    async def test(app):
        world.broken.add("loop")
        handle = await app.start(flows.loops_then_asks, "a", id="one")
        await fails(handle, PerdureError, "E312")
        await handle.signal("word", "kept")
        world.broken.clear()
        await handle.retry()
        assert await handle.result() == "kept"
        assert names(world) == ["a"]

    on(place, test, inline_s=0.2)


@in_loop
async def test_a_message_for_a_stopped_run_outlives_the_process(place, world):
    world.broken.add("loop")
    async with place.engine(inline_s=0.2) as app:
        handle = await app.start(flows.loops_then_asks, "a", id="one")
        await fails(handle, PerdureError, "E312")
        await handle.signal("word", "kept")
    world.broken.clear()
    async with place.engine() as app:
        handle = await app.get("one")
        await handle.retry()
        assert await handle.result() == "kept"


def test_a_run_that_was_stopped_as_it_began_can_be_retried(place, world):
    async def test(app):
        world.broken.add("loop")
        handle = await app.start(flows.loops_at_once, id="one")
        await fails(handle, PerdureError, "E312")
        world.broken.clear()
        await handle.retry()
        assert await handle.result() == "out"

    on(place, test, inline_s=0.2)
