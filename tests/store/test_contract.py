"""What every store promises: each method succeeds and fails at least once, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from perdure.errors import PerdureError
from perdure.store import port
from perdure.store.port import Batch, Fence, ProgramRow, Query, Refused
from tests.store.places import PLACES
from tests.store.rows import change, fact, message, new


@pytest.fixture(params=PLACES, ids=lambda kind: kind.__name__)
def place(request, tmp_path):
    with request.param(tmp_path) as place:
        yield place


def with_store(test: Callable) -> Callable:
    """Run a test with an open store, and its writer, inside of a loop."""

    def run(place):
        async def main():
            store = await place.open()
            try:
                writer = await store.writer()
                assert writer is not None
                await test(store, writer)
            finally:
                await store.close()

        asyncio.run(main())

    run.__name__ = test.__name__
    return run


def test_every_status_has_a_name():
    assert port.STATUSES[port.STOPPED] == "stopped"


# --- flush ----------------------------------------------------------------------------


@with_store
async def test_what_was_flushed_is_loaded_again(store, writer):
    facts = [fact(1, 1, b"one"), fact(1, 2, b"two", key="k", image=b"img")]
    assert (await writer.flush(Batch(runs=[new(1)], facts=facts))).refused == frozenset()
    [stored] = await writer.load([1])
    assert stored.facts == facts[1:]
    assert (stored.run.id, stored.run.head, stored.run.status) == ("run-1", 2, port.RUNNING)


@with_store
async def test_an_empty_batch_is_written(store, writer):
    assert await writer.flush(Batch()) == port.Flushed()


@with_store
async def test_a_new_run_whose_id_is_taken_leaves_nothing(store, writer):
    await writer.flush(Batch(runs=[new(1, "a")], facts=[fact(1, 1)]))
    batch = Batch(
        runs=[new(2, "a"), new(3, "b"), new(4, "b")],
        facts=[fact(2, 1), fact(3, 1), fact(4, 1)],
        changes=[change(2), change(3, wake_at_us=7)],
        messages=[message(2), message(3)],
    )
    assert (await writer.flush(batch)).refused == {2, 4}
    assert await writer.heads([1, 2, 3, 4]) == {1: 1, 2: 0, 3: 1, 4: 0}
    assert [run.rid for run in await store.rows(Query())] == [3, 1]
    assert [it.rid for it in await writer.inbox(10)] == [3]


@with_store
async def test_children_of_a_new_run_whose_id_is_taken_leave_nothing_either(store, writer):
    await writer.flush(Batch(runs=[new(1, "a")], facts=[fact(1, 1)]))
    runs = [new(2, "a"), new(3, "a/1", parent=2), new(4, "a/1/1", parent=3), new(5, "b", parent=1)]
    batch = Batch(runs=runs, facts=[fact(2, 1), fact(3, 1), fact(4, 1), fact(5, 1)])
    assert (await writer.flush(batch)).refused == {2, 3, 4}
    assert await writer.heads([1, 2, 3, 4, 5]) == {1: 1, 2: 0, 3: 0, 4: 0, 5: 1}


@with_store
async def test_a_number_that_is_taken_refuses_a_new_run_too(store, writer):
    await writer.flush(Batch(runs=[new(1, "a")]))
    assert (await writer.flush(Batch(runs=[new(1, "b")], facts=[fact(1, 1)]))).refused == {1}
    assert await writer.heads([1]) == {1: 0}


@with_store
async def test_a_fact_that_is_there_already_is_a_fence_and_writes_nothing(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1, b"first")]))
    with pytest.raises(Fence):
        await writer.flush(Batch(runs=[new(2)], facts=[fact(2, 1), fact(1, 1, b"second")]))
    assert await writer.heads([1, 2]) == {1: 1, 2: 0}
    assert await store.find(["run-2"]) == []
    assert [it.body for it in await store.facts(1, 0, 10, images=True)] == [b"first"]


@pytest.mark.parametrize(
    "poison",
    [
        Batch(runs=[new(1 << 70)]),
        Batch(facts=[fact(1, 2, key="\ud800")]),
        Batch(facts=[fact(1, 2, b"x" * 200_000)]),
        Batch(facts=[fact(1, 2, image=b"x" * 200_000)]),
        Batch(messages=[message(1, body=b"x" * 200_000)]),
        Batch(programs=[ProgramRow("h", "\udcff")]),
    ],
    ids=["number", "text", "body", "image", "message", "name"],
)
def test_data_that_do_not_fit_are_refused_and_nothing_is_written(place, poison):
    async def main():
        store = await place.open(row_bytes_max=100_000)
        writer = await store.writer()
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        before = await everything(store)
        good = Batch(runs=[new(9)], facts=[fact(9, 1)])
        for batch in (poison, together(good, poison)):
            with pytest.raises(Refused):
                await writer.flush(batch)
            assert await everything(store) == before
        await writer.flush(good)
        await store.close()

    asyncio.run(main())


def together(one: Batch, two: Batch) -> Batch:
    names = one.__struct_fields__
    return Batch(**{name: [*getattr(one, name), *getattr(two, name)] for name in names})


async def everything(store) -> list:
    rows = await store.rows(Query(limit=1_000))
    return [rows, [await store.facts(row.rid, 0, 1_000, images=True) for row in rows]]


@with_store
async def test_a_row_says_what_its_last_change_said_and_keeps_its_program(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
    ended = change(1, port.FAILED, port.NEVER, program="q", ended_us=9, result=b"why")
    await writer.flush(Batch(facts=[fact(1, 2)], changes=[ended]))
    await writer.flush(Batch(facts=[fact(1, 3)], changes=[change(1, port.RUNNING, 5)]))
    [row] = await store.find(["run-1"])
    assert (row.program, row.ended_us, row.result) == ("q", None, None)
    assert (row.status, row.wake_at_us, row.head) == (port.RUNNING, 5, 3)


@with_store
async def test_changes_of_one_run_are_made_in_their_order(store, writer):
    changes = [change(1, wake_at_us=1), change(1, wake_at_us=3), change(1, wake_at_us=2)]
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)], changes=changes))
    assert (await store.find(["run-1"]))[0].wake_at_us == 2


@with_store
async def test_a_bare_wake_up_needs_no_fact(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
    await writer.flush(Batch(changes=[change(1, wake_at_us=77)]))
    assert await writer.due((-1, 0), 100, 10) == [(77, 1)]


@with_store
async def test_every_column_of_a_run_comes_back(store, writer):
    run = new(
        5,
        "child",
        workflow="w",
        program="h",
        input_digest=b"\x00\xff",
        created_us=11,
        wake_at_us=port.NEVER,
        status=port.PENDING,
        parent=4,
        parent_call=2,
        attrs='{"a":"b"}',
    )
    await writer.flush(Batch(runs=[new(4), run]))
    [row] = await store.find(["child"])
    told = msgspec.structs.asdict(run) | {"ended_us": None, "result": None, "head": 0}
    assert msgspec.structs.asdict(row) == told


@with_store
async def test_texts_may_hold_a_nul_and_all_of_unicode(store, writer):
    odd = "a\0b\N{SNOWMAN}\U0001f600'; drop table runs; --"
    await writer.flush(Batch(runs=[new(1, odd)], facts=[fact(1, 1, key=odd)]))
    assert [row.id for row in await store.find([odd, "a"])] == [odd]
    assert (await store.facts(1, 0, 1, images=False))[0].key == odd


# --- renewal --------------------------------------------------------------------------


@with_store
async def test_a_renewed_writer_goes_on(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
    await writer.renew()
    await writer.flush(Batch(facts=[fact(1, 2)]))
    assert await writer.heads([1]) == {1: 2}


@with_store
async def test_a_closed_writer_can_neither_write_nor_be_renewed(store, writer):
    await writer.close()
    with pytest.raises(Fence):
        await writer.flush(Batch(runs=[new(1)]))
    with pytest.raises(Fence):
        await writer.renew()
    await writer.close()


# --- ownership ------------------------------------------------------------------------


def test_there_is_one_writer_and_its_place_is_free_when_it_lets_go(place):
    async def main():
        one, two = await place.open(), await place.open()
        first = await one.writer()
        assert await two.writer() is None
        waiting = asyncio.create_task(two.writer(wait=True))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done
        await first.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        await first.close()
        second = await asyncio.wait_for(waiting, 5)
        await second.flush(Batch(facts=[fact(1, 2)]))
        with pytest.raises(Fence):
            await first.flush(Batch(facts=[fact(1, 3)]))
        assert await second.heads([1]) == {1: 2}
        await one.close()
        await two.close()

    asyncio.run(main())


def test_waiting_for_a_turn_can_be_cancelled(place):
    async def main():
        one, two = await place.open(), await place.open()
        first = await one.writer()
        waiting = asyncio.create_task(two.writer(wait=True))
        await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await first.close()
        third = await one.writer()
        assert third is not None
        await one.close()
        await two.close()

    asyncio.run(main())


# --- reading by the owner ---------------------------------------------------------------


@with_store
async def test_heads_of_runs_that_are_not_there_are_zero(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1), fact(1, 2)]))
    assert await writer.heads([2, 1]) == {1: 2, 2: 0}
    assert await writer.heads([]) == {}


@with_store
async def test_a_run_is_loaded_from_its_newest_image(store, writer):
    facts = [
        fact(1, 1),
        fact(1, 2, image=b"old"),
        fact(1, 3),
        fact(1, 4, image=b"new"),
        fact(1, 5),
        fact(1, 6),
    ]
    await writer.flush(Batch(runs=[new(1), new(2)], facts=[*facts, fact(2, 1), fact(2, 2)]))
    loaded = {it.run.rid: it.facts for it in await writer.load([2, 3, 1])}
    assert loaded == {1: facts[3:], 2: [fact(2, 1), fact(2, 2)]}


@with_store
async def test_a_run_without_facts_is_loaded_with_none(store, writer):
    await store.send([new(1, status=port.PENDING)], [])
    [stored] = await writer.load([1])
    assert (stored.facts, stored.run.head) == ([], 0)


@with_store
async def test_due_runs_come_in_order_and_in_pages(store, writer):
    wakes = {1: 30, 2: port.ACTIVE, 3: 20, 4: 20, 5: port.NEVER, 6: port.ACTIVE}
    runs = [new(rid, wake_at_us=at) for rid, at in wakes.items()]
    ended = change(6, port.COMPLETED, port.NEVER, ended_us=1)
    await writer.flush(Batch(runs=runs, facts=[fact(6, 1)], changes=[ended]))
    assert await writer.due((-1, 0), 30, 2) == [(0, 2), (20, 3)]
    assert await writer.due((20, 3), 30, 9) == [(20, 4), (30, 1)]
    assert await writer.due((-1, 0), 29, 9) == [(0, 2), (20, 3), (20, 4)]
    assert await writer.due((30, 1), port.NEVER, 9) == [(port.NEVER, 5)]


# --- messages -------------------------------------------------------------------------


@with_store
async def test_messages_stay_in_order_until_a_flush_takes_them(store, writer):
    await writer.flush(Batch(runs=[new(1), new(2)], facts=[fact(1, 1)]))
    sent = [message(1, body=b"a"), message(2, body=b"b"), message(1, body=b"c")]
    await store.send([], sent)
    first = await writer.inbox(2)
    assert [(it.rid, it.body, it.kind) for it in first] == [
        (1, b"a", "signal"),
        (2, b"b", "signal"),
    ]
    assert await writer.inbox(2) == first
    await writer.flush(Batch(facts=[fact(1, 2)], consumed=[first[0].n]))
    assert [it.body for it in await writer.inbox(9)] == [b"b", b"c"]


@with_store
async def test_the_number_of_a_message_is_never_given_again(store, writer):
    await store.send([], [message(1), message(1)])
    numbers = [it.n for it in await writer.inbox(9)]
    await writer.flush(Batch(consumed=numbers))
    await store.send([], [message(1)])
    [last] = await writer.inbox(9)
    assert last.n > max(numbers)


@with_store
async def test_a_key_is_taken_once_before_while_and_after_it_is_folded(store, writer):
    await writer.flush(Batch(runs=[new(1), new(2)], facts=[fact(1, 1)]))
    await store.send([], [message(1, "k"), message(1, "k"), message(2, "k"), message(1)])
    await store.send([], [message(1, "k")])
    waiting = await writer.inbox(9)
    assert [(it.rid, it.key) for it in waiting] == [(1, "k"), (2, "k"), (1, None)]
    await writer.flush(
        Batch(
            facts=[fact(1, 2, key="k")],
            consumed=[waiting[0].n],
            messages=[message(1, "k"), message(1, "other")],
        )
    )
    await store.send([], [message(1, "k")])
    assert [(it.rid, it.key) for it in await writer.inbox(9)] == [(2, "k"), (1, None), (1, "other")]


@with_store
async def test_a_message_that_was_refused_may_be_sent_again(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
    await store.send([], [message(1, "k")])
    [it] = await writer.inbox(9)
    await writer.flush(Batch(consumed=[it.n]))
    await store.send([], [message(1, "k")])
    assert len(await writer.inbox(9)) == 1


@with_store
async def test_a_client_starts_runs_once(store, writer):
    start = new(1, "a", status=port.PENDING)
    assert await store.send([start], [message(1, kind="start")]) == frozenset()
    again = new(2, "a", status=port.PENDING)
    assert await store.send([again, new(3)], [message(2), message(3)]) == {2}
    assert [it.rid for it in await writer.inbox(9)] == [1, 3]
    assert await writer.due((-1, 0), 0, 9) == [(0, 1), (0, 3)]


def test_a_client_without_a_writer_can_read_and_send(place):
    async def main():
        owner, client = await place.open(), await place.open()
        writer = await owner.writer()
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        seen = owner.version()
        assert owner.version() == seen
        await client.send([new(2)], [message(1, "k")])
        assert owner.version() != seen
        assert [row.rid for row in await client.rows(Query())] == [2, 1]
        assert [it.key for it in await writer.inbox(9)] == ["k"]
        await client.close()
        await owner.close()

    asyncio.run(main())


def test_a_client_hears_that_the_owner_has_written(place):
    async def main():
        owner, client = await place.open(), await place.open()
        writer = await owner.writer()
        for rid in range(1, 6):
            seen = client.version()
            await writer.flush(Batch(runs=[new(rid)], facts=[fact(rid, 1)]))
            assert client.version() != seen
            assert len(await client.rows(Query())) == rid
        await client.close()
        await owner.close()

    asyncio.run(main())


# --- reading by anybody ---------------------------------------------------------------


@with_store
async def test_runs_are_found_by_their_ids(store, writer):
    await writer.flush(Batch(runs=[new(1, "a"), new(2, "b")], facts=[fact(2, 1)]))
    assert {row.id: row.head for row in await store.find(["b", "z", "a"])} == {"a": 0, "b": 1}
    assert await store.find([]) == []


LISTED = {
    "all": (Query(), [6, 5, 4, 3, 2, 1]),
    "limit": (Query(limit=2), [6, 5]),
    "before": (Query(before=3), [2, 1]),
    "status": (Query(statuses=(port.FAILED,)), [5, 3]),
    "statuses": (Query(statuses=(port.FAILED, port.COMPLETED), limit=3), [6, 5, 4]),
    "workflow": (Query(workflow="odd"), [5, 3, 1]),
    "since": (Query(since_us=40), [6, 5, 4]),
    "until": (Query(until_us=40), [3, 2, 1]),
    "parent": (Query(parent=1), [6, 2]),
    "attrs": (Query(attrs={"n": "2"}), [5, 2]),
    "two attrs": (Query(attrs={"n": "2", "it's": 'a"b'}), [5]),
    "no such attr": (Query(attrs={"m": "2"}), []),
    "no such workflow": (Query(workflow="none"), []),
    "of one status on the next page": (Query(statuses=(port.FAILED,), before=5), [3]),
    "together": (Query(statuses=(port.FAILED,), workflow="odd", until_us=50), [3]),
}


@pytest.mark.parametrize("name", LISTED)
def test_a_query_lists_what_it_asks_for_newest_first(place, name):
    @with_store
    async def check(store, writer):
        runs = [
            new(
                rid,
                created_us=rid * 10,
                workflow="odd" if rid % 2 else "even",
                parent=1 if rid in {2, 6} else None,
                attrs=['{"n":"0"}', "{}", '{"n":"2"}'][rid % 3]
                if rid != 5
                else '{"n":"2","it\'s":"a\\"b","m":2}',
            )
            for rid in range(1, 7)
        ]
        ends = {3: port.FAILED, 5: port.FAILED, 4: port.COMPLETED, 6: port.COMPLETED}
        changes = [change(rid, status, port.NEVER, ended_us=1) for rid, status in ends.items()]
        await writer.flush(Batch(runs=runs, facts=[fact(rid, 1) for rid in ends], changes=changes))
        query, expected = LISTED[name]
        assert [row.rid for row in await store.rows(query)] == expected

    check(place)


@with_store
async def test_facts_come_in_order_and_in_pages(store, writer):
    facts = [fact(1, seq, b"%d" % seq, image=b"i" if seq == 2 else None) for seq in range(1, 6)]
    await writer.flush(Batch(runs=[new(1)], facts=facts))
    assert await store.facts(1, 0, 2, images=True) == facts[:2]
    assert await store.facts(1, 2, 9, images=True) == facts[2:]
    assert (await store.facts(1, 1, 1, images=False))[0] == fact(1, 2, b"2")
    assert await store.facts(7, 0, 9, images=True) == []


@with_store
async def test_a_program_is_kept_once_and_its_text_is_never_lost(store, writer):
    whole = ProgramRow("h", "flow", b"text", b"mac")
    await writer.flush(Batch(programs=[ProgramRow("h", "flow")]))
    assert await store.program("h") == ProgramRow("h", "flow")
    await writer.flush(Batch(programs=[whole, whole]))
    await writer.flush(Batch(programs=[ProgramRow("h", "flow")]))
    assert await store.program("h") == whole
    await writer.flush(Batch(programs=[ProgramRow("h", "flow", b"text", b"other key")]))
    assert await store.program("h") == ProgramRow("h", "flow", b"text", b"other key")
    assert await store.program("none") is None


# --- keeping house --------------------------------------------------------------------


@with_store
async def test_programs_are_counted_by_the_runs_that_are_on_them(store, writer):
    assert await store.programs() == []
    rows = [ProgramRow("h2", "flow", b"text", b"mac"), ProgramRow("h1", "flow"),
            ProgramRow("h3", "a")]  # fmt: skip
    runs = [new(1, program="h1"), new(2, program="h2"), new(3, program="h1")]
    facts = [fact(run.rid, 1) for run in runs]
    await writer.flush(Batch(runs=runs, facts=facts, programs=rows))
    await writer.flush(Batch(facts=[fact(2, 2)], changes=[change(2, program="h1")]))
    assert await store.programs() == [
        port.ProgramUse("h3", "a", 0),
        port.ProgramUse("h1", "flow", 3),
        port.ProgramUse("h2", "flow", 0),
    ]


@with_store
async def test_pruned_runs_keep_their_rows_and_so_their_ids(store, writer):
    runs = [new(rid) for rid in range(1, 6)]
    ends = [(1, 10), (2, 20), (3, 30), (4, 40)]
    changes = [change(rid, port.COMPLETED, port.NEVER, ended_us=at) for rid, at in ends]
    facts = [fact(rid, 1, key=f"k{rid}") for rid in range(1, 6)]
    await writer.flush(Batch(runs=runs, facts=facts, changes=changes))
    assert [await store.prune(40, 2), await store.prune(40, 2), await store.prune(40, 2)] == [
        2,
        1,
        0,
    ]
    assert await writer.heads(range(1, 6)) == {1: 0, 2: 0, 3: 0, 4: 1, 5: 1}
    assert (await writer.flush(Batch(runs=[new(9, "run-1")]))).refused == {9}
    assert [row.rid for row in await store.rows(Query())] == [5, 4, 3, 2, 1]


@with_store
async def test_a_run_that_was_started_again_is_not_pruned(store, writer):
    await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
    failed = change(1, port.FAILED, port.NEVER, ended_us=5)
    await writer.flush(Batch(facts=[fact(1, 2)], changes=[failed]))
    await writer.flush(Batch(facts=[fact(1, 3)], changes=[change(1)]))
    assert await store.prune(100, 10) == 0
    assert await writer.heads([1]) == {1: 3}


def test_a_backup_is_taken_while_the_store_is_written_to(place, tmp_path):
    @with_store
    async def check(store, writer):
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        heard = []
        await store.backup(str(tmp_path / "copy"), lambda done, of: heard.append((done, of)))
        assert heard
        assert heard[-1][0] == heard[-1][1]
        await writer.flush(Batch(facts=[fact(1, 2)]))
        with pytest.raises((port.Down, PerdureError)):
            await store.backup(str(tmp_path / "no" / "where"), lambda done, of: None)

    check(place)


@pytest.mark.parametrize("thorough", [False, True])
def test_a_store_that_is_well_has_no_problems(place, thorough):
    @with_store
    async def check(store, writer):
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        report = await store.examine(thorough=thorough)
        assert report.problems == []
        assert report.kind
        assert report.facts["runs"] == "1"

    check(place)


@with_store
async def test_closing_twice_is_closing_once(store, writer):
    await store.close()
    await store.close()
    with pytest.raises(Fence):
        await writer.flush(Batch())
