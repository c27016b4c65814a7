"""The policy of an owner: what ended long ago is pruned beside all else, a little at a time."""

from __future__ import annotations

import asyncio

import apsw

from perdure import Call, Options, Perdure
from perdure.node import retention
from perdure.store.sqlite.line import SQL
from tests.app import flows

NUMBER = retention.BATCH + 20


def test_runs_that_ended_long_ago_lose_their_facts_and_nothing_else(tmp_path, world):
    async def main():
        file = tmp_path / "runs.db"
        async with asyncio.timeout(60):
            async with Perdure(file) as app:
                calls = [Call(flows.straight, (), {}, f"done-{n}") for n in range(NUMBER)]
                for handle in await app.start_many(calls):
                    assert await handle.result() == []
                await app.start(flows.asks, "x", id="waits")
            async with Perdure(file, options=Options(keep_s=0.0)) as app:
                while any(it.facts for it in await app.list(status="completed", limit=200)):  # noqa: ASYNC110 — nobody is told
                    await asyncio.sleep(0.005)
                assert await (await app.get("done-7")).result() == []
                waiting = await app.get("waits")
                assert len(await waiting.facts()) == 1
                await waiting.signal("x", 5)
                assert await waiting.result() == 5

    asyncio.run(main())


def test_only_what_ended_longer_ago_is_pruned(tmp_path, world):
    now_us = [1_000_000_000_000_000]
    file = tmp_path / "runs.db"

    async def main():
        async with asyncio.timeout(60):
            async with Perdure(file, options=Options(now_us=lambda: now_us[0])) as app:
                for id_ in ("old", "new"):
                    now_us[0] += 1_000_000
                    await (await app.start(flows.straight, id=id_)).result()
            # The first look finds both, or the older one alone.
            keeping = Options(keep_s=0.5, now_us=lambda: now_us[0])
            async with Perdure(file, options=keeping) as app:
                old, new = await app.get("old"), await app.get("new")
                while await old.facts():  # noqa: ASYNC110 — nobody is told
                    await asyncio.sleep(0.005)
                assert await new.facts()
                assert await old.status() == "completed"

    asyncio.run(main())


def test_what_is_to_be_pruned_is_found_by_an_index(tmp_path):
    async def main():
        async with Perdure(tmp_path / "runs.db"):
            pass

    asyncio.run(main())
    connection = apsw.Connection(str(tmp_path / "runs.db"))
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + SQL["to_prune"], (1, 2))]
    connection.close()
    assert any("runs_to_prune" in line for line in plan)
    assert not any(line.startswith("SCAN") for line in plan), plan
