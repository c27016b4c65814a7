"""What only the store in memory has: several writers over one disk, and faults on demand."""

from __future__ import annotations

import asyncio

import pytest

from perdure.store.memory import Late, MemoryDatabase, MemoryStore
from perdure.store.port import Batch, Down, Fence, Unclear
from tests.store.rows import fact, message, new


async def two_writers():
    database = MemoryDatabase(shared=True)
    return database, await MemoryStore(database).writer(), await MemoryStore(database).writer()


def test_a_run_belongs_to_the_writer_that_wrote_it_first():
    async def main():
        database, one, two = await two_writers()
        await one.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        await two.flush(Batch(runs=[new(2)], facts=[fact(2, 1)]))
        await MemoryStore(database).send([], [message(1), message(2)])
        assert [await one.due((-1, 0), 0, 9), await two.due((-1, 0), 0, 9)] == [[(0, 1)], [(0, 2)]]
        assert [it.rid for it in await two.inbox(9)] == [2]
        with pytest.raises(Fence):
            await two.flush(Batch(facts=[fact(1, 2)]))

    asyncio.run(main())


@pytest.mark.parametrize("named", [True, False])
def test_runs_of_a_dead_writer_go_to_another_and_it_writes_no_more(named):
    async def main():
        database, one, two = await two_writers()
        await one.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))
        database.declare_dead(one, two if named else None)
        assert await two.due((-1, 0), 0, 9) == [(0, 1)]
        for step in (one.flush(Batch(facts=[fact(1, 2)])), one.renew(), one.heads([1])):
            with pytest.raises(Fence):
                await step
        await two.flush(Batch(facts=[fact(1, 2)]))
        assert await two.heads([1]) == {1: 2}

    asyncio.run(main())


@pytest.mark.parametrize(("moment", "head"), [("flush", 1), ("flushed", 2)])
def test_an_unclear_flush_took_place_or_did_not(moment, head):
    async def main():
        database = MemoryDatabase()
        writer = await MemoryStore(database).writer()
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))

        def faults(now, batch):
            if now == moment:
                raise Unclear

        database.faults = faults
        with pytest.raises(Unclear):
            await writer.flush(Batch(facts=[fact(1, 2)]))
        assert await writer.heads([1]) == {1: head}

    asyncio.run(main())


@pytest.mark.parametrize("renewed", [False, True])
def test_a_late_write_lands_unless_its_incarnation_is_over(renewed):
    async def main():
        database = MemoryDatabase()
        writer = await MemoryStore(database).writer()
        await writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)]))

        def faults(now, batch):
            if now == "flush":
                raise Late

        database.faults = faults
        with pytest.raises(Unclear):
            await writer.flush(Batch(facts=[fact(1, 2)]))
        assert await writer.heads([1]) == {1: 1}
        if renewed:
            await writer.renew()
        assert database.land() == (0 if renewed else 1)
        assert await writer.heads([1]) == {1: 1 if renewed else 2}

    asyncio.run(main())


def test_a_flush_that_is_under_way_when_its_writer_is_renewed_writes_nothing():
    async def main():
        database = MemoryDatabase()
        writer = await MemoryStore(database).writer()
        go_on = asyncio.Event()
        database.faults = lambda now, batch: go_on.wait() if now == "flush" else None
        under_way = asyncio.create_task(writer.flush(Batch(runs=[new(1)], facts=[fact(1, 1)])))
        await asyncio.wait([under_way], timeout=0)
        await writer.renew()
        go_on.set()
        with pytest.raises(Fence):
            await under_way
        assert database.runs == {}

    asyncio.run(main())


def test_a_client_hears_that_the_store_is_down():
    async def main():
        database = MemoryDatabase()

        def faults(now, batch):
            raise Down

        database.faults = faults
        with pytest.raises(Down):
            await MemoryStore(database).send([new(1)], [])
        assert database.runs == {}

    asyncio.run(main())
