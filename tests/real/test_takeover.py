"""Runs that come back while others already ask for them: each stands once, as the store has it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from perdure import Perdure
from perdure.core.facts import Completed, Lost
from perdure.errors import Stuck
from perdure.node.recovery import Recovery
from perdure.store.port import NEVER
from tests.real import takeover_flows as flows
from tests.real.kit import child


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_a_message_that_is_read_first_begins_nothing_that_was_not_written_off(
    file: Path, monkeypatch
) -> None:
    with child("tests.real.takeover_flows", file) as owner:
        owner.until("begun")
        owner.tell(signal.SIGKILL)
        owner.ends()
    begin = Recovery.begin

    async def with_a_message(self: Recovery) -> None:
        await self.node.mail.read()  # type: ignore[attr-defined]
        await begin(self)

    async def main() -> list[Lost]:
        async with Perdure(file, serve=False) as client:
            await (await client.get("a")).signal("word", "hello")
        monkeypatch.setattr(Recovery, "begin", with_a_message)
        async with Perdure(file) as app:
            handle = await app.get("a")
            assert await handle.result(30) == ["second", "hello"]
            return [row.fact for row in await handle.facts() if isinstance(row.fact, Lost)]

    assert [lost.counted for lost in asyncio.run(main())] == [True]


def test_a_run_is_not_loaded_before_what_happened_to_it_is_written(file: Path) -> None:
    async def main() -> None:
        async with Perdure(file) as app:
            handle = await app.start(flows.waits, id="a")
            assert app.owner is not None
            node = app.owner.node
            node.stop(node.residents[handle.rid], Stuck("it hangs"), None)
            await node.recovery.load([handle.rid])
            assert handle.rid not in node.residents
            assert await handle.status() == "stopped"

    asyncio.run(main())


def test_a_run_that_left_and_is_asked_for_at_once_knows_what_its_row_will_say(file: Path) -> None:
    async def main() -> None:
        async with Perdure(file) as app:
            handle = await app.start(flows.holds_and_waits, id="a")
            assert app.owner is not None
            node = app.owner.node
            async for row in handle.watch():
                if isinstance(row.fact, Completed):
                    break
            await node.settled()
            assert node.recovery.evict(node.residents[handle.rid])
            await node.recovery.load([handle.rid])
            assert node.residents[handle.rid].stored_wake_us == NEVER

    asyncio.run(main())
