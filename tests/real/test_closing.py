"""However an engine ends, it lets go of the store, and what it had under way is not lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from perdure import Options, Perdure
from perdure.core.facts import Completed, Lost
from perdure.store.sqlite import lock
from tests.real import closing_flows as flows
from tests.real.kit import child, gone_within

ENDING = "tests.real.closing_flows"
LATEST_S = 30


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """A file that holds actions of its name as long as it is there."""
    made = tmp_path / "hold"
    made.touch()
    return made


async def ended(file: Path) -> tuple[Any, list[Any]]:
    """Have an engine bring run `a` to its end; give its result and its facts."""
    async with asyncio.timeout(LATEST_S), Perdure(file) as app:
        handle = await app.get("a")
        return await handle.result(), [row.fact for row in await handle.facts()]


def went_on_in_order(file: Path) -> Any:
    """Have run `a` end in a new engine; nothing of it may have died."""
    assert lock.holder(str(file)) == "nobody"
    result, facts = asyncio.run(ended(file))
    assert [fact for fact in facts if isinstance(fact, Lost) and fact.counted] == []
    assert_whole(file)
    return result


def assert_whole(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


# --- out of `async with`, in some way or other


@pytest.mark.parametrize(
    ("way", "code", "told"),
    [("raises", 1, "LookupError: of the user"), ("leaves", 3, "")],
)
def test_whatever_is_raised_inside_comes_out_after_the_engine_has_closed(
    file: Path, hold: Path, way: str, code: int, told: str
) -> None:
    with child(ENDING, file, way, "one_step", hold) as process:
        process.until("ready")
        assert process.ends() == code
        assert process.errors().strip().endswith(told)
    hold.unlink()
    assert went_on_in_order(file) == "attempt 1"


def test_an_interrupt_without_serve_closes_in_order(file: Path, hold: Path) -> None:
    with child(ENDING, file, "until_told", "one_step", hold) as process:
        process.until("begun")
        process.tell(signal.SIGINT)
        assert process.ends() == 128 + signal.SIGINT or process.process.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in process.errors()
    hold.unlink()
    assert went_on_in_order(file) == "attempt 1"


def test_a_close_that_is_cancelled_lets_go_of_everything_all_the_same(
    file: Path, hold: Path
) -> None:
    async def main() -> None:
        app = await Perdure(file, options=Options(drain_s=LATEST_S)).__aenter__()
        handle = await app.start(flows.one_step, str(hold), id="a")
        while app.owner is not None and not app.owner.node.attempts.held:
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await app.close()
        assert lock.holder(str(file)) == "nobody"
        hold.unlink()
        async with asyncio.timeout(LATEST_S), Perdure(file) as other:
            assert await (await other.get(handle.id)).result() == "attempt 1"

    asyncio.run(main())


def test_closing_twice_and_beside_each_other_is_closing_once(file: Path) -> None:
    async def main() -> None:
        app = await Perdure(file).__aenter__()
        await app.start(flows.one_late, 0.3, id="a")
        await asyncio.gather(app.close(), app.close())
        await app.close()

    asyncio.run(main())
    assert went_on_in_order(file) == "late"


# --- with something under way


def test_what_a_thread_gives_while_the_engine_drains_is_recorded(file: Path) -> None:
    async def main() -> None:
        async with Perdure(file) as app:
            await app.start(flows.one_late, 0.3, id="a")

    asyncio.run(main())
    result, facts = asyncio.run(ended(file))
    assert result == "late"
    assert not any(isinstance(fact, Lost) for fact in facts)


def test_a_process_of_an_action_ends_with_its_engine_and_the_action_is_done_again(
    file: Path, hold: Path
) -> None:
    async def main() -> int:
        async with Perdure(file, options=Options(drain_s=0.1)) as app:
            await app.start(flows.one_apart, str(hold), id="a")
            return await pid_of(hold)

    pid = asyncio.run(main())
    assert gone_within(pid, 5)
    hold.unlink()
    assert went_on_in_order(file) == "attempt 1"


async def pid_of(hold: Path) -> int:
    """Wait until the process of an action has written down its number."""
    written = Path(f"{hold}.pid")
    while not written.exists() or not written.read_text():
        await asyncio.sleep(0.01)
    return int(written.read_text())


def test_a_process_of_an_action_dies_with_a_parent_that_is_killed(file: Path, hold: Path) -> None:
    with child(ENDING, file, "until_told", "one_apart", hold) as process:
        process.until("ready")
        pid = asyncio.run(pid_of(hold))
        process.kill()
        assert gone_within(pid, 5)


def test_a_loop_that_is_blocked_closes_when_it_comes_back(file: Path) -> None:
    with child("tests.real.serving_flows", file, "one_blocking", 1.5) as process:
        process.until("begun")
        process.tell(signal.SIGTERM)
        assert process.ends() == 128 + signal.SIGTERM
    assert went_on_in_order(file) == "back"


# --- when the disk takes nothing


class FullDisk(apsw.VFS):
    """The disk of this machine, on which there is no room while `full` says so."""

    def __init__(self) -> None:
        self.full = False
        self.base = apsw.vfs_names()[0]
        super().__init__("full", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> FullFile:  # noqa: N802 — as apsw says it
        return FullFile(self, name, flags)


class FullFile(apsw.VFSFile):
    """One file on it."""

    def __init__(self, disk: FullDisk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.base, name, flags)
        self.disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 — as above
        if self.disk.full:
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


def test_an_engine_whose_store_takes_nothing_closes_and_what_it_did_is_done_again(
    file: Path, hold: Path
) -> None:
    disk = FullDisk()
    warned: list[str] = []

    async def main() -> None:
        options = Options(drain_s=0.1, retry_s=0.05, warn=warned.append)
        async with asyncio.timeout(LATEST_S), Perdure(file, options=options) as app:
            await app.start(flows.one_step, str(hold), id="a")
            disk.full = True

    try:
        asyncio.run(main())
    finally:
        disk.unregister()
    assert any("takes nothing" in each for each in warned)
    hold.unlink()
    result, _ = asyncio.run(ended(file))
    assert result == "attempt 1"
    assert_whole(file)


# --- forks


def test_whoever_is_forked_off_writes_nothing_and_ends(file: Path) -> None:
    async def main() -> list[int]:
        async with asyncio.timeout(LATEST_S), Perdure(file) as app:
            handle = await app.start(flows.two_forks, id="a")
            return await handle.result()

    assert asyncio.run(main()) == [1, 1]
    _, facts = asyncio.run(ended(file))
    assert sum(isinstance(fact, Completed) for fact in facts) == 2
    assert_whole(file)


def test_a_fork_that_outlives_its_engine_keeps_nobody_from_taking_over(file: Path) -> None:
    with child(ENDING, file, "until_told", "one_left_behind", 20) as process:
        left = int(process.until("begun")[-1].split()[1])
        process.process.kill()
        process.ends()
        try:
            begun = time.monotonic()
            held = lock.take(str(file))
            assert held is not None, "the fork holds the lock"
            held.abandon()
            assert time.monotonic() - begun < 5
        finally:
            os.kill(left, signal.SIGKILL)
