"""Copies of a store that is in use, and what there is to say of one. Changes nothing in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice

import apsw

from perdure.errors import StoreUnreachable
from perdure.store.port import STATUSES, Report, checksum
from perdure.store.sqlite import lock, opening
from perdure.store.sqlite.library import Connection, copying, opened
from perdure.store.sqlite.line import MAKE, SQL, Line, Options

PAGES = 1000
"""How many pages are copied before others have their turn."""
LIBRARY_MIN = (3, 51, 3)
"""SQLite before this has a fault in starting the write-ahead log anew."""
FREE_BYTES_MIN = 256 << 20


class Backup:
    """One copy: of the state at its beginning, page by page, under its own name when it is whole.

    While it is taken, the write-ahead log of the store cannot begin anew, and so grows.
    """

    def __init__(self, options: Options, path: str) -> None:
        self.done_and_all = (0, 0)
        self._path = os.path.realpath(path)
        self._part = self._path + ".part"
        self._source = Line(options)
        self._target: Connection | None = None
        self._copy: apsw.Backup | None = None

    def begin(self) -> None:
        """Open both files and hold on to the state of this moment."""
        for there in (self._path, self._path + "-wal"):
            if os.path.exists(there):
                raise StoreUnreachable(f"{there} is there already", remedy="name a new file")
        with suppress(OSError):  # what stands in the way is told by the next line
            os.unlink(self._part)
        try:
            self._target = opened(self._part, MAKE, None)
        except apsw.Error as error:
            raise self._no_room(error) from error
        self._source.run(self._hold)

    def _hold(self, source: Connection) -> None:
        assert self._target is not None
        source.execute(SQL["begin_reading"])
        list(source.execute(SQL["meta"]))
        self._copy = copying(self._target, source)

    def step(self) -> bool:
        """Copy some pages; gives whether all are."""
        assert self._copy is not None
        try:
            done = self._copy.step(PAGES)
        except (apsw.Error, OSError) as error:
            raise self._no_room(error) from error
        pages = self._copy.page_count
        self.done_and_all = (pages - self._copy.remaining, pages)
        return done

    def finish(self) -> None:
        """Make the copy durable, and give it its name."""
        self._let_go()
        try:
            _sync(self._part)
            os.rename(self._part, self._path)
            _sync(os.path.dirname(self._path))
        except OSError as error:
            raise self._no_room(error) from error

    def close(self) -> None:
        """Let go of both files; what is not whole is removed."""
        self._let_go()
        with suppress(OSError):
            os.unlink(self._part)

    def _let_go(self) -> None:
        if self._copy is not None:
            self._copy.close(force=True)
        if self._target is not None:
            self._target.close(force=True)
        self._copy = self._target = None
        self._source.close()

    def _no_room(self, error: Exception) -> StoreUnreachable:
        what = f"{self._path} cannot be written: {type(error).__name__}: {error}"
        return StoreUnreachable(what, remedy="name a file in a folder with room for all of it")


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def examine(
    connection: Connection, path: str, identity: opening.Identity, *, thorough: bool
) -> Report:
    """Say what a store is and how full; thorough: read all of it, and say what is wrong."""
    problems = [*_outside(path), *(_inside(connection) if thorough else ())]
    told = {
        "write-ahead log": f"{_size(path + '-wal')} bytes",
        "store id": identity.store_id,
        "created": _date(identity.created_us),
        "generation": str(opening.GENERATION),
        "sqlite": apsw.sqlite_lib_version(),
        "owner": lock.holder(path),
    }
    try:
        told = _counts(connection) | told
    except apsw.Error as error:
        problems.append(f"its rows cannot be counted: {error}")
    return Report("sqlite", path, identity.environment, told, problems)


def _counts(connection: Connection) -> dict[str, str]:
    runs: dict[int, int] = dict(map(tuple, connection.execute(SQL["count_runs"])))
    [(facts, messages, programs)] = connection.execute(SQL["counts"])
    [(pages, free, page_bytes)] = connection.execute(SQL["space"])
    names = dict(enumerate(STATUSES))
    return {
        "runs": str(sum(runs.values())),
        **{f"runs {names.get(status, status)}": str(count) for status, count in runs.items()},
        "facts": f"at most {facts}",
        "messages waiting": str(messages),
        "programs": str(programs),
        "file": f"{pages * page_bytes} bytes, of which {free * page_bytes} free",
    }


def _outside(path: str) -> Iterator[str]:
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < LIBRARY_MIN:
        yield f"SQLite {version} can lose writes when its log begins anew: install a newer apsw"
    space = os.statvfs(os.path.dirname(path))
    if space.f_bavail * space.f_frsize < FREE_BYTES_MIN:
        yield f"only {space.f_bavail * space.f_frsize} bytes are free on its disk"


def _inside(connection: Connection) -> Iterator[str]:
    """Read everything. A question that the file cannot answer is itself what is wrong."""
    for question in (_pages, _numbers, _strays, _damaged_rows):
        try:
            yield from islice(question(connection), 20)
        except (apsw.Error, UnicodeDecodeError) as error:
            yield f"the file cannot be read: {error}"


def _pages(connection: Connection) -> Iterator[str]:
    return (line for (line,) in connection.execute(SQL["integrity"]) if line != "ok")


def _numbers(connection: Connection) -> Iterator[str]:
    for rid, count, first, last in connection.execute(SQL["gaps"]):
        yield f"run {rid} has {count} facts, numbered {first} to {last}"


def _strays(connection: Connection) -> Iterator[str]:
    for (rid,) in connection.execute(SQL["strays"]):
        yield f"run {rid} has facts and no row"


def _damaged_rows(connection: Connection) -> Iterator[str]:
    """Hold every fact against its checksum."""
    for rid, seq, crc, body in connection.execute(SQL["all_facts"]):
        if not isinstance(body, bytes) or checksum(rid, seq, body) != crc:
            yield f"fact {seq} of run {rid} is not what was written"


def _date(us: str) -> str:
    when = datetime.fromtimestamp(int(us) // 1_000_000, UTC) if us.isdigit() else None
    return us if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
