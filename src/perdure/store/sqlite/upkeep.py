"""Copies of a store that is in use, and what there is to say of one. Changes nothing in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import apsw

from perdure.errors import StoreUnreachable
from perdure.store.port import STATUSES, Report
from perdure.store.sqlite import lock, opening
from perdure.store.sqlite.library import Connection, copying, opened
from perdure.store.sqlite.line import SQL, Options, connect

PAGES = 1000
"""How many pages are copied before others have their turn."""
LIBRARY_MIN = (3, 51, 3)
"""SQLite before this has a fault in starting the write-ahead log anew."""
FREE_BYTES_MIN = 256 << 20
CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Backup:
    """One copy: of the state at its beginning, page by page, under its own name when it is whole.

    While it is taken, the write-ahead log of the store cannot begin anew, and so grows.
    """

    def __init__(self, options: Options, path: str) -> None:
        self.done_and_all = (0, 0)
        self._options = options
        self._path = os.path.realpath(path)
        self._part = self._path + ".part"
        self._source: Connection | None = None
        self._target: Connection | None = None
        self._copy: apsw.Backup | None = None

    def begin(self) -> None:
        """Open both files and hold on to the state of this moment."""
        if os.path.exists(self._path):
            raise StoreUnreachable(f"{self._path} is there already", remedy="name a new file")
        with suppress(FileNotFoundError):
            os.unlink(self._part)
        try:
            self._target = opened(self._part, CREATE, None)
            self._source = connect(self._options, lambda times: times < 1_000)
            self._source.execute(SQL["begin_reading"])
            list(self._source.execute(SQL["meta"]))
            self._copy = copying(self._target, self._source)
        except apsw.Error as error:
            raise StoreUnreachable(f"{self._part}: {error}") from error

    def step(self) -> bool:
        """Copy some pages; gives whether all are."""
        assert self._copy is not None
        try:
            done = self._copy.step(PAGES)
        except apsw.Error as error:
            raise StoreUnreachable(f"{self._part}: {error}") from error
        pages = self._copy.page_count
        self.done_and_all = (pages - self._copy.remaining, pages)
        return done

    def finish(self) -> None:
        """Make the copy durable, and give it its name."""
        self.close()
        _sync(self._part)
        os.rename(self._part, self._path)
        _sync(os.path.dirname(self._path))

    def close(self) -> None:
        """Let go of both files; what is not whole is removed."""
        if self._copy is not None:
            self._copy.close(force=True)
        for connection in (self._source, self._target):
            if connection is not None:
                connection.close(force=True)
        self._copy = self._source = self._target = None


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
    runs: dict[int, int] = dict(map(tuple, connection.execute(SQL["count_runs"])))
    [(facts, messages, programs)] = connection.execute(SQL["counts"])
    [(pages, free, page_bytes)] = connection.execute(SQL["space"])
    told = {
        "runs": str(sum(runs.values())),
        **{f"runs {STATUSES[status]}": str(count) for status, count in runs.items()},
        "facts": f"at most {facts}",
        "messages waiting": str(messages),
        "programs": str(programs),
        "file": f"{pages * page_bytes} bytes, of which {free * page_bytes} free",
        "write-ahead log": f"{_size(path + '-wal')} bytes",
        "store id": identity.store_id,
        "created": identity.created_us,
        "generation": str(opening.GENERATION),
        "sqlite": apsw.sqlite_lib_version(),
        "owner": lock.holder(path),
    }
    problems = [*_outside(path), *(_inside(connection) if thorough else ())]
    return Report("sqlite", path, identity.environment, told, problems)


def _outside(path: str) -> Iterator[str]:
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < LIBRARY_MIN:
        yield f"SQLite {version} can lose writes when its log begins anew: install a newer apsw"
    space = os.statvfs(os.path.dirname(path))
    if space.f_bavail * space.f_frsize < FREE_BYTES_MIN:
        yield f"only {space.f_bavail * space.f_frsize} bytes are free on its disk"


def _inside(connection: Connection) -> Iterator[str]:
    yield from (line for (line,) in connection.execute(SQL["integrity"]) if line != "ok")
    for rid, count, first, last in connection.execute(SQL["gaps"]):
        yield f"run {rid} has {count} facts, numbered {first} to {last}"
    for (rid,) in connection.execute(SQL["strays"]):
        yield f"run {rid} has facts and no row"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
