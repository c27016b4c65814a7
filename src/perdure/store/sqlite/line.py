"""Connections: opened with settings that are read back, made anew after trouble.

A `Line` is one connection and the right to use it. Knows pragmas; knows no table.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import apsw

from perdure.errors import PerdureError, StoreUnreachable, UnsafeSettings
from perdure.store.port import Down, Fence, Refused
from perdure.store.sqlite.failures import EXPECTED, CommitFailed, meaning
from perdure.store.sqlite.guard import Files
from perdure.store.sqlite.library import Connection, Cursor, opened
from perdure.store.statements import statements

SQL = statements("sqlite.sql")
T = TypeVar("T")

PAUSE_S_MAX = 0.02
"""How long to wait, at most, before asking for the lock of the file again."""
FULL = 2
"""What `PRAGMA synchronous` gives when every commit is synced."""
MAKE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
"""How a file is opened that may not be there yet."""
REOPEN = apsw.SQLITE_OPEN_READWRITE
"""How a file is opened that is a store already; one that is gone is not made anew."""


class Busy(Exception):
    """Somebody else has the file, or this connection, and whoever asked cannot wait."""


@dataclass(frozen=True)
class Options:
    """How the connections to one file are opened."""

    path: str
    check: Callable[[Connection, str], None]
    """Refuses a file that is not the one that is meant, before anything is set."""
    vfs: str | None = None
    row_bytes_max: int | None = None
    flags: int = REOPEN


class Line:
    """One connection to the file of a store, made when it is needed, used by one at a time."""

    def __init__(self, options: Options) -> None:
        self.path = options.path
        self.opened = 0
        """How often a connection was made."""
        self._options = options
        self._connection: Connection | None = None
        self._files: Files | None = None
        self._lock = threading.RLock()
        self._waits = True
        self._closed = False

    def run(self, work: Callable[[Connection], T], *, wait: bool = True) -> T:
        """Do something with the connection; errors come as those of the port.

        Waits for others for ever, or raises `Busy` at once. After trouble, the connection is new.
        """
        if not self._lock.acquire(blocking=wait):
            raise Busy(self.path)
        try:
            self._waits = wait
            return work(self._open())
        except apsw.BusyError as error:
            if not wait:
                raise Busy(self.path) from error
            raise self._failed(error) from error
        except (CommitFailed, *EXPECTED) as error:
            meant = self._failed(error)
            if meant is error:
                raise
            raise meant from error
        finally:
            self._lock.release()

    def _failed(self, error: Exception) -> Exception:
        if self._closed:
            return Down("the store was closed")
        meant = meaning(error, self.path)
        if not isinstance(meant, Refused | Fence):
            self.drop()
        return meant

    def is_ours(self) -> bool:
        """Whether what was written last went to where the next one will look for it."""
        return self._files is None or self._files.are_ours()

    def drop(self) -> None:
        """Close the connection; the next use makes a new one."""
        with self._lock:
            connection, self._connection, self._files = self._connection, None, None
            if connection is not None:
                # A file in trouble may say so once more; there is nothing left to be done for it.
                with suppress(apsw.Error, OSError):
                    connection.close(force=True)

    def close(self) -> None:
        """Close for good; whoever waits for the lock of the file gives up."""
        self._closed = True
        self.drop()

    def _open(self) -> Connection:
        if self._closed:
            raise Down("the store was closed")
        if self._connection is None:
            self._connection = connect(self._options, self._wait)
            self._files = Files(self.path)
            self.opened += 1
        return self._connection

    def _wait(self, times: int) -> bool:
        """Wait a little for whoever holds the file; called by SQLite, with the tries so far."""
        if self._closed or not self._waits:
            return False
        time.sleep(min(0.001 * (times + 1), PAUSE_S_MAX))
        return True


def connect(options: Options, wait: Callable[[int], bool]) -> Connection:
    """Open a file with our settings, and read them back; a file of others is not touched."""
    path = options.path
    try:
        connection = opened(path, options.flags, options.vfs)
    except apsw.CantOpenError as error:
        raise StoreUnreachable(f"{path} cannot be opened: {error}") from error
    try:
        connection.set_busy_handler(wait)
        options.check(connection, path)
        _set(connection, path, wait)
        if options.row_bytes_max is not None:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, options.row_bytes_max)
    except BaseException:
        connection.close(force=True)
        raise
    return connection


def _set(connection: Connection, path: str, wait: Callable[[int], bool]) -> None:
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    _use_wal(connection, wait)
    for _ in connection.execute(SQL["settings"]):
        pass
    settings = tuple(it for (it,) in connection.execute(SQL["settings_read_back"]))
    if settings != ("wal", FULL, 0):
        raise UnsafeSettings(
            f"{path}: journal, synchronous and mmap are {settings}, not ('wal', 2, 0)",
            remedy="see whether its file system has shared memory maps",
        )


def _use_wal(connection: Connection, wait: Callable[[int], bool]) -> None:
    """Turn to write-ahead logging. Others may be doing the same: SQLite does not wait for them."""
    times = 0
    while True:
        try:
            for _ in connection.execute(SQL["use_wal"]):
                pass
        except apsw.BusyError:
            if not wait(times):
                raise
            times += 1
        else:
            return


def transact(connection: Connection, work: Callable[[Cursor], T]) -> T:
    """Do something between `begin` and `commit`, as a whole; what fails is rolled back."""
    cursor = connection.cursor()
    cursor.execute(SQL["begin"])
    try:
        result = work(cursor)
    except BaseException:
        roll_back(connection)
        raise
    commit(connection, cursor)
    return result


def commit(connection: Connection, cursor: Cursor) -> None:
    """Make a transaction durable, or raise `CommitFailed`."""
    try:
        cursor.execute(SQL["commit"])
    except (apsw.Error, OSError) as error:
        roll_back(connection)
        raise CommitFailed(str(error)) from error


def roll_back(connection: Connection) -> None:
    """End a transaction as if it had not been; SQLite may have done so by itself."""
    if connection.in_transaction:
        # The error that led here is the one to be told.
        with suppress(apsw.Error, OSError):
            connection.execute(SQL["rollback"])


KNOWN = (PerdureError, Busy)
"""What `Line.run` raises."""
