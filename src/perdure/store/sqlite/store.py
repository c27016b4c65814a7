"""Everybody's side of a store in SQLite: opening it, reading it, leaving messages in it.

Short reads are made on the calling thread; whatever may wait or take long, on a thread of the
store's own. Only the holder of the lock beside the file gets a writer.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from perdure.errors import StoreError, StoreUnreachable
from perdure.store.port import (
    Batch,
    Down,
    FactRow,
    Message,
    NewRun,
    ProgramRow,
    ProgramUse,
    Query,
    Report,
    RunRow,
    Unclear,
)
from perdure.store.sqlite import lock, opening, places, rows, upkeep
from perdure.store.sqlite.guard import GUARD, identity
from perdure.store.sqlite.library import Connection
from perdure.store.sqlite.line import MAKE, REOPEN, SQL, Busy, Line, Options, transact
from perdure.store.sqlite.writer import SqliteWriter

T = TypeVar("T")

TURN_S = 0.02
"""How often a stand-by asks for the lock."""
RACY_NS = 100_000_000
"""A file that changed so lately may change again and show the same time."""


class SqliteStore:
    """A store in one file. Made by `open`."""

    def __init__(self, options: Options, identity: opening.Identity) -> None:
        self.identity = identity
        self.path = options.path
        self._options = options
        self._reader = Line(options)
        self._sender = Line(options)
        self._writers: list[SqliteWriter] = []
        self._writer_lines: list[Line] = []
        self._thread = ThreadPoolExecutor(1, "perdure-store")
        self._guarded = GUARD.watch(options.path)
        self._closed = False
        self._seen: tuple[int, int, int] | None = None
        self._version = 0

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        environment: str | None = "",
        vfs: str | None = None,
        row_bytes_max: int | None = None,
    ) -> SqliteStore:
        """Open the store in a file, and make it if it is not there; takes milliseconds.

        A store that is made belongs to `environment`, and is opened under no other; `None` opens
        any. `vfs` names a file system of SQLite's, and `row_bytes_max` bounds a value, for tests.
        """
        real: str = os.path.realpath(os.fspath(path))
        places.demand_usable(real)
        options = Options(real, opening.demand_no_stranger, vfs, row_bytes_max, MAKE)
        line = Line(options)
        try:
            made = line.run(lambda it: opening.prepare(it, real, environment))
        except (Down, Unclear) as error:
            raise StoreUnreachable(error.what, remedy="look at its disk") from error
        finally:
            line.close()
        return cls(replace(options, check=opening.same_as(made), flags=REOPEN), made)

    # --- becoming the owner ----------------------------------------------------------

    async def writer(self, *, wait: bool = False) -> SqliteWriter | None:
        """Become the owner; if another is, give `None`, or wait until it no longer is."""
        while True:
            self._demand_open()
            held = lock.take(self.path)
            if held is not None:
                return self._become_writer(held)
            if not wait:
                return None
            await asyncio.sleep(TURN_S)

    def _become_writer(self, held: lock.OwnerLock) -> SqliteWriter:
        line = Line(self._options)
        writer = SqliteWriter(line, self._read, held, self._heal)
        self._writers.append(writer)
        self._writer_lines.append(line)
        return writer

    def owner(self) -> str:
        """Say which process is the owner, as far as is known."""
        return lock.holder(self.path)

    def _heal(self) -> Unclear:
        """Give what to say when the files were taken away under a commit, and open them anew.

        When the last connection is closed, what they hold reaches the file. A file that is gone
        stays open: nothing but these connections has what is in it.
        """
        if identity(self.path) is None:
            return Unclear(
                f"{self.path} was moved or deleted while it was in use",
                remedy="put it back; until this process ends, the file is not lost",
            )
        for line in (self._reader, self._sender, *self._writer_lines):
            line.drop()
        return Unclear(
            f"{self.path} or its log was replaced or removed while it was in use",
            remedy="let nothing but Perdure touch them; use no second SQLite in this process",
        )

    # --- leaving messages ------------------------------------------------------------

    async def send(self, runs: Sequence[NewRun], messages: Sequence[Message]) -> frozenset[int]:
        """Add runs that wait to begin, and messages, durably; give the runs whose id was taken."""
        return await self._in_thread(self._send, Batch(runs=runs, messages=messages))

    def _send(self, batch: Batch) -> frozenset[int]:
        flushed = self._sender.run(
            lambda it: transact(it, lambda cursor: rows.write_batch(cursor, batch))
        )
        if not self._sender.is_ours():
            raise self._heal()
        return flushed.refused

    # --- reading ---------------------------------------------------------------------

    async def find(self, ids: Sequence[str]) -> list[RunRow]:
        """Give the rows of runs by the ids of users; those that are not there are left out."""
        return await self._read(lambda it: rows.find(it, ids))

    async def rows(self, query: Query) -> list[RunRow]:
        """Give the rows of runs that a query asks for, newest first."""
        return await self._on_line(lambda it: rows.list_runs(it, query))

    async def facts(self, rid: int, after: int, limit: int, *, images: bool) -> list[FactRow]:
        """Give the facts of a run in order, those after number `after`."""
        return await self._read(lambda it: rows.facts(it, rid, after, limit, images=images))

    async def program(self, hash_: str) -> ProgramRow | None:
        """Give a program by its hash."""
        return await self._read(lambda it: rows.program(it, hash_))

    async def programs(self) -> list[ProgramUse]:
        """Give all programs by name and hash; goes through all runs once to count them."""
        return await self._on_line(rows.programs)

    def version(self) -> int:
        """Give a number that changes when somebody has written.

        Looks at the write-ahead log from outside, and asks SQLite only when it has changed. While
        somebody keeps readers out, nothing has changed.
        """
        self._demand_open()
        seen = self._log_state()
        if seen is None or seen != self._seen:
            if not self._reader.is_ours() and identity(self.path) is not None:
                self._reader.drop()
            try:
                self._version = self._reader.run(self._data_version, wait=False)
                self._seen = seen
            except Busy:
                self._seen = None
            except StoreError as error:
                raise Down(error.what) from error
        return self._version

    def _data_version(self, connection: Connection) -> int:
        """Give SQLite's number, which begins anew with each connection, and which one it is."""
        [(version,)] = connection.execute(SQL["data_version"])
        return (self._reader.opened << 32) + int(version)

    def _log_state(self) -> tuple[int, int, int] | None:
        """Which log, its size and time; `None` if it changed too lately for these to be trusted."""
        try:
            status = os.stat(self.path + "-wal")
        except OSError:
            return None
        lately = time.time_ns() - status.st_mtime_ns < RACY_NS
        return None if lately else (status.st_ino, status.st_size, status.st_mtime_ns)

    # --- keeping house ---------------------------------------------------------------

    async def prune(self, ended_before_us: int, limit: int) -> int:
        """Delete the facts of runs that ended before then; their rows, and so their ids, stay."""
        return await self._on_line(
            lambda it: transact(it, lambda cursor: rows.prune(cursor, ended_before_us, limit))
        )

    async def backup(self, path: str, progress: Callable[[int, int], None]) -> None:
        """Copy the store into a new file while it is in use; the copy opens as a store.

        What is copied is the state at the beginning. The key beside the store is not copied.
        """
        self._demand_open()
        copy = upkeep.Backup(self._options, path)
        try:
            await self._in_thread(copy.begin)
            while not await self._in_thread(copy.step):
                progress(*copy.done_and_all)
            progress(*copy.done_and_all)
            await self._in_thread(copy.finish)
        finally:
            await asyncio.to_thread(copy.close)

    async def examine(self, *, thorough: bool) -> Report:
        """Say what the store is, how full, and what is wrong; thorough reads every page."""
        return await self._on_line(
            lambda it: upkeep.examine(it, self.path, self.identity, thorough=thorough)
        )

    async def close(self) -> None:
        """Let go of everything."""
        if self._closed:
            return
        self._closed = True
        for writer in self._writers:
            await writer.close()
        self._sender.close()
        await asyncio.to_thread(self._thread.shutdown)
        self._reader.close()
        GUARD.leave(self._guarded)

    def _demand_open(self) -> None:
        if self._closed:
            raise Down("the store was closed")

    async def _read(self, work: Callable[[Connection], T]) -> T:
        """Read something short: here and now, unless somebody keeps readers out."""
        try:
            return self._reader.run(work, wait=False)
        except Busy:
            return await self._in_thread(lambda: self._reader.run(work))

    async def _on_line(self, work: Callable[[Connection], T]) -> T:
        return await self._in_thread(lambda: self._sender.run(work))

    async def _in_thread(self, work: Callable[..., T], *given: Any) -> T:
        self._demand_open()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, work, *given)
