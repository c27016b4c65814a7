"""Another SQLite library in the process of an engine is kept away from its file, or found out."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from perdure import Options, Perdure
from perdure.errors import SecondLibrary
from tests.real import closing_flows as flows

LATEST_S = 30


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs of today.db"


def with_engine(
    test: Callable[[Perdure], Coroutine[Any, Any, None]], file: Path, **told: Any
) -> None:
    async def main() -> None:
        async with asyncio.timeout(LATEST_S), Perdure(file, options=Options(**told)) as app:
            await app.start(flows.asks, id="a")
            await test(app)

    asyncio.run(main())


def symlink(file: Path) -> Path:
    link = file.with_name("link")
    link.symlink_to(file)
    return link


WAYS: dict[str, Callable[[Path], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "path": lambda file: ((file,), {}),
    "text": lambda file: ((str(file),), {}),
    "bytes": lambda file: ((os.fsencode(file),), {}),
    "keyword": lambda file: ((), {"database": str(file)}),
    "relative": lambda file: ((os.path.relpath(file),), {}),
    "dots": lambda file: ((f"{file.parent}/../{file.parent.name}/./{file.name}",), {}),
    "symlink": lambda file: ((symlink(file),), {}),
    "folder link": lambda file: ((_folder_link(file) / file.name,), {}),
    "uri": lambda file: ((f"file:{quote(str(file))}",), {"uri": True}),
    "uri of localhost": lambda file: ((f"file://localhost{quote(str(file))}",), {"uri": True}),
    "read only": lambda file: ((f"file:{quote(str(file))}?mode=ro",), {"uri": True}),
    "immutable": lambda file: ((f"{file.as_uri()}?immutable=1",), {"uri": True}),
}


def _folder_link(file: Path) -> Path:
    link = file.parent.parent / f"{file.parent.name}-link"
    link.symlink_to(file.parent)
    return link


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("from_thread", [False, True], ids=["loop", "thread"])
def test_no_second_library_opens_the_file_of_an_engine(file: Path, way, from_thread) -> None:
    def connect() -> None:
        given, named = WAYS[way](file)
        with pytest.raises(SecondLibrary, match="use it from another process"):
            sqlite3.connect(*given, **named)

    async def test(app: Perdure) -> None:
        await asyncio.to_thread(connect) if from_thread else connect()
        await (await app.get("a")).signal("word", "hello")
        assert await (await app.get("a")).result() == "hello"

    with_engine(test, file)


def test_other_files_and_memory_are_open_to_anybody(file: Path, tmp_path: Path) -> None:
    async def test(_: Perdure) -> None:
        for place in (":memory:", "", tmp_path / "other.db"):
            with closing(sqlite3.connect(place)) as connection:
                assert connection.execute("select 1").fetchone() == (1,)

    with_engine(test, file)


def test_a_file_is_open_to_anybody_once_its_last_engine_has_closed(file: Path) -> None:
    async def main() -> None:
        async with Perdure(file):
            async with Perdure(file):
                pass
            with pytest.raises(SecondLibrary):
                sqlite3.connect(file)

    asyncio.run(main())
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (0,)


def test_an_action_is_refused_too_and_its_run_can_tell_why(file: Path) -> None:
    async def test(app: Perdure) -> None:
        handle = await app.start(flows.opens, str(file), id="b")
        with pytest.raises(SecondLibrary, match="E507"):
            await handle.result()

    with_engine(test, file)


@pytest.mark.skipif(sys.platform != "linux", reason="files of others are looked at in /proc")
def test_a_process_that_was_forked_off_may_open_the_file(file: Path) -> None:
    async def test(_: Perdure) -> None:
        child = os.fork()
        if not child:
            with suppress(BaseException), closing(sqlite3.connect(file, timeout=5)) as connection:
                connection.execute("select count(*) from runs").fetchone()
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    with_engine(test, file)


# --- files that go away


def moved(file: Path) -> Callable[[], None]:
    aside = file.with_name("aside")
    file.rename(aside)
    return lambda: aside.rename(file) and None


@pytest.mark.parametrize("what", ["", "-wal"])
def test_nothing_is_acknowledged_while_a_file_is_not_in_its_place(file: Path, what: str) -> None:
    """What is written to a file that is away is acknowledged once it is back, or written again."""
    warned: list[str] = []

    async def test(app: Perdure) -> None:
        back = moved(Path(str(file) + what))
        started = asyncio.ensure_future(app.start(flows.asks, id="b"))
        done, _ = await asyncio.wait((started,), timeout=0.5)
        assert not done or what
        if not what:
            back()
        await started

    with_engine(test, file, warn=warned.append, retry_s=0.05)
    assert asyncio.run(ids_in(file)) == {"a", "b"}


def test_what_is_acknowledged_after_a_file_was_replaced_by_a_copy_is_in_the_copy(
    file: Path,
) -> None:
    acknowledged = {"a"}

    async def test(app: Perdure) -> None:
        copy = file.with_name("copy")
        shutil.copy(file, copy)
        copy.replace(file)
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                await app.start(flows.asks, id="b")
                acknowledged.add("b")

    with_engine(test, file, warn=lambda _: None, retry_s=0.05, drain_s=0.1)
    assert acknowledged <= asyncio.run(ids_in(file))


async def ids_in(file: Path) -> set[str]:
    async with Perdure(file) as app:
        return {run.id for run in await app.list()}


@pytest.mark.parametrize("how", ["removed", "closed"])
def test_a_lock_that_keeps_nobody_out_ends_the_ownership_before_the_next_write(
    file: Path, how: str
) -> None:
    async def test(app: Perdure) -> None:
        before = app.owner
        if how == "removed":
            Path(f"{file}-lock").unlink()
        else:
            close_what_leads_to(Path(f"{file}-lock"))
        handle = await app.get("a")
        await handle.signal("word", "hello")
        assert await handle.result() == "hello"
        assert app.owner is not before

    with_engine(test, file, warn=lambda _: None)


def close_what_leads_to(place: Path) -> None:
    """Close a file behind the back of whoever opened it."""
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if link.readlink() == place:
                os.close(int(link.name))
