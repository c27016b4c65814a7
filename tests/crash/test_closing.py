"""An engine that is closed while its store takes nothing: the next one writes off what it had."""

from __future__ import annotations

import asyncio

import apsw

import perdure.app
from perdure import Options, Perdure
from perdure.core.facts import Lost
from perdure.store.sqlite import SqliteStore
from tests.crash.disk import Disk
from tests.sim import flows
from tests.sim.flows import Journal

OPTIONS = Options(drain_s=0.0, retry_s=0.01, warn=lambda text: None)


def test_what_was_under_way_is_lost_although_the_engine_was_closed(tmp_path, monkeypatch):
    disk = Disk()
    Journal.here = journal = Journal()
    monkeypatch.setattr(
        perdure.app,
        "open_store",
        lambda where, _: (SqliteStore.open(where, vfs=disk.name), b"k" * 32),
    )

    def full(call: str, path: str) -> None:
        if call in ("write", "sync"):
            raise apsw.FullError("no room")

    async def until(condition):
        while not condition():
            await asyncio.sleep(0)

    async def main():
        async with Perdure(tmp_path / "runs.db", options=OPTIONS) as app:
            await app.start(flows.single, "o", id="a")
            await until(lambda: journal.begun)
            disk.hear = full
        disk.hear = lambda call, path: None
        async with Perdure(tmp_path / "runs.db", options=OPTIONS) as app:
            handle = await app.get("a")
            assert await handle.result() == "interrupted"
            return [row.fact for row in await handle.facts()]

    facts = asyncio.run(asyncio.wait_for(main(), 30))
    assert any(isinstance(fact, Lost) for fact in facts)
    assert journal.begun == [("a:1", 1)]
