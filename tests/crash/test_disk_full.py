"""A real disk that is really full: nothing acknowledged is lost, and the engine goes on by itself.

The disk is a small one in memory. Where none may be mounted, the test is skipped and says so.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import pytest

from perdure import Options, Perdure
from perdure.errors import StoreError
from tests.crash.lives import demand_sound
from tests.sim import flows
from tests.sim.flows import Journal

SIZE_MB = 8
WAIT_S = 60


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(ballast):
    """Write until there is no room for another byte."""
    with ballast.open("ab", buffering=0) as file:
        for size in (65_536, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


@pytest.mark.parametrize("full_after", [0, 1, 5, 12])
def test_what_was_acknowledged_is_kept_and_the_rest_goes_on_when_there_is_room(
    small_disk, full_after
):
    Journal.here = journal = Journal()
    told = asyncio.Event()
    options = Options(retry_s=0.02, drain_s=1.0, warn=lambda text: told.set())
    ballast = small_disk / "ballast"

    async def start(app, i):
        """Start a run, and again until it is acknowledged."""
        while True:
            try:
                return await app.start(flows.straight, *("x" * 500 for _ in range(10)), id=f"r{i}")
            except StoreError:
                await asyncio.sleep(0.02)

    async def main():
        async with Perdure(small_disk / "runs.db", options=options) as app:
            acknowledged = [await start(app, i) for i in range(full_after)]
            fill(ballast)
            later = asyncio.gather(*[start(app, i) for i in range(full_after, full_after + 5)])
            await told.wait()
            for handle in acknowledged:
                assert (await handle.info()).workflow.endswith("straight"), "reads go on"
            ballast.unlink()
            handles = [*acknowledged, *await later]
            assert [await it.result() for it in handles] == [["X" * 500] * 10] * len(handles)
            assert await app.examine(thorough=True)

    asyncio.run(asyncio.wait_for(main(), WAIT_S))
    assert len(journal.begun) == len(set(journal.begun)) == 10 * (full_after + 5)
    demand_sound(str(small_disk / "runs.db"))


def test_a_full_disk_is_refused_with_a_code_and_with_room_everything_goes_on(small_disk):
    Journal.here = Journal()
    options = Options(retry_s=0.02, drain_s=0.0, warn=lambda text: None)
    ballast = small_disk / "ballast"

    async def begin():
        async with Perdure(small_disk / "runs.db", options=options) as app:
            await app.start(flows.asks_and_works, 2, id="a")

    async def go_on():
        async with Perdure(small_disk / "runs.db", options=options) as app:
            handle = await app.get("a")
            for word in ("one", "two"):
                await handle.signal("word", word, key=word)
            assert await handle.result() == ["ONE", "TWO"]

    asyncio.run(asyncio.wait_for(begin(), WAIT_S))
    fill(ballast)
    with pytest.raises(StoreError, match=r"^E5\d\d "):
        asyncio.run(asyncio.wait_for(go_on(), WAIT_S))
    ballast.unlink()
    asyncio.run(asyncio.wait_for(go_on(), WAIT_S))
    demand_sound(str(small_disk / "runs.db"))
