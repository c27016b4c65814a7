"""Two engines on one file: one owns the runs, the other leaves messages, and takes over."""

from __future__ import annotations

import asyncio
import itertools
import signal
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from perdure import Perdure
from perdure.core.facts import Lost, Signalled, Started
from perdure.errors import RunExists
from tests.real import closing_flows as flows
from tests.real.kit import child

LATEST_S = 30
ENDING = "tests.real.closing_flows"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """Run a test on a loop, and see to it that the file is whole in the end."""

    def run(file: Path) -> None:
        async def main() -> None:
            async with asyncio.timeout(LATEST_S):
                await test(file)

        asyncio.run(main())
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)

    run.__name__ = test.__name__
    return run


async def talk(app: Perdure, name: str) -> None:
    """Do with an engine whatever can be done from outside of a run."""
    handle = await app.start(flows.asks, id=name, attrs={"by": name})
    assert (await app.start(flows.asks, id=name)).rid == handle.rid
    with pytest.raises(RunExists):
        await app.start(flows.one_step, "x", id=name)
    await handle.signal("word", "hello", key="k")
    await handle.signal("word", "again", key="k")
    seen = [type(row.fact) async for row in handle.watch()]
    assert seen == [Started, Signalled]
    assert await handle.result() == "hello"
    [told] = await app.list(attrs={"by": name})
    assert (told.id, told.status) == (name, "completed")
    doomed = await app.start(flows.asks, id=f"{name}-doomed")
    await doomed.cancel("not wanted", actor="test")
    with pytest.raises(asyncio.CancelledError):
        await doomed.result()


# --- in one process


@in_loop
async def test_owner_and_client_in_one_process_can_do_the_same(file: Path) -> None:
    async with Perdure(file) as owner, Perdure(file) as client, Perdure(file, serve=False) as guest:
        assert owner.owner is not None
        assert client.owner is None
        await asyncio.gather(talk(owner, "owner"), talk(client, "client"), talk(guest, "guest"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_engines_in_one_process_are_closed_in_any_order(file: Path, order) -> None:
    async def main(file: Path) -> None:
        apps = [await Perdure(file).__aenter__() for _ in range(3)]
        waiting = await apps[0].start(flows.asks, id="waits")
        for count, number in enumerate(order):
            await talk(apps[number], f"before-{count}")
            await apps[number].close()
        async with Perdure(file) as last:
            await (await last.get(waiting.id)).signal("word", "late")
            assert await (await last.get(waiting.id)).result() == "late"

    in_loop(main)(file)


@in_loop
async def test_whoever_stands_by_in_the_same_process_takes_over_in_order(file: Path) -> None:
    first, second = Perdure(file), Perdure(file)
    await first.__aenter__()
    handle = await first.start(flows.asks)
    async with second:
        asked = asyncio.ensure_future((await second.get(handle.id)).result())
        await first.close()
        await (await second.get(handle.id)).signal("word", "hello")
        assert await asked == "hello"
        facts = [row.fact for row in await (await second.get(handle.id)).facts()]
        assert not any(isinstance(fact, Lost) for fact in facts)


@in_loop
async def test_an_engine_that_does_not_serve_leaves_runs_to_others(file: Path) -> None:
    async with Perdure(file, serve=False) as guest:
        handle = await guest.start(flows.asks, id="a")
        await handle.signal("word", "hello")
        assert guest.owner is None
        assert await handle.status() == "pending"
        assert [row async for row in guest.iterate(status="pending")]
        result = asyncio.ensure_future(handle.result())
        async with Perdure(file):
            assert await result == "hello"


# --- in two


@in_loop
async def test_owner_and_client_in_two_processes_can_do_the_same(file: Path) -> None:
    with child(ENDING, file, "until_told", "none") as owner:
        await asyncio.to_thread(owner.until, "ready")
        async with Perdure(file) as client, Perdure(file, serve=False) as guest:
            assert client.owner is None
            await asyncio.gather(talk(client, "client"), talk(guest, "guest"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_client_takes_over_when_the_owner_is_gone(file: Path, tmp_path: Path, number) -> None:
    hold = tmp_path / "hold"
    hold.touch()

    async def main(file: Path) -> None:
        with child(ENDING, file, "until_told", "one_step", hold) as owner:
            await asyncio.to_thread(owner.until, "begun")
            async with Perdure(file) as client:
                assert client.owner is None
                handle = await client.get("a")
                asked = asyncio.ensure_future(handle.result())
                hold.unlink()
                owner.tell(number)
                assert await asked == "attempt 1"
                await talk(client, "client")
                lost = [r.fact for r in await handle.facts() if isinstance(r.fact, Lost)]
                assert [each.counted for each in lost] == [number == signal.SIGKILL]

    in_loop(main)(file)


@in_loop
async def test_a_client_that_leaves_takes_nothing_with_it(file: Path) -> None:
    with child(ENDING, file, "until_told", "none") as owner:
        await asyncio.to_thread(owner.until, "ready")
        async with Perdure(file) as client:
            await client.start(flows.asks, id="a")
        async with Perdure(file) as client:
            handle = await client.get("a")
            await handle.signal("word", "hello")
            assert await handle.result() == "hello"
            assert client.owner is None
