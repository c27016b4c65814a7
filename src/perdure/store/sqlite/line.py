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
from perdure.store.sqlite.failures import meaning
from perdure.store.sqlite.guard import Wal
from perdure.store.sqlite.library import Connection, Cursor, opened
from perdure.store.statements import statements

SQL = statements("sqlite.sql")
KNOWN = (Down, Fence, Refused, PerdureError)
T = TypeVar("T")

PAUSE_S_MAX = 0.02
"""How long to wait, at most, before asking for the lock of the file again."""
FULL = 2
"""What `PRAGMA synchronous` gives when every commit is synced."""


@dataclass(frozen=True)
class Options:
    """How the connections to one file are opened."""

    path: str
    check: Callable[[Connection, str], None]
    """Refuses a file that is none of ours, before anything is set."""
    vfs: str | None = None
    row_bytes_max: int | None = None


class Line:
    """One connection to the file of a store, made when it is needed, used by one at a time."""

    def __init__(self, options: Options) -> None:
        self.path = options.path
        self.patient = True
        """Whether to wait for another writer for ever, or to raise `apsw.BusyError` at once."""
        self._options = options
        self._connection: Connection | None = None
        self._wal: Wal | None = None
        self._lock = threading.RLock()
        self._closed = False

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do something with the connection; errors come as those of the port."""
        with self._lock:
            try:
                return work(self._open())
            except KNOWN:
                raise
            except apsw.BusyError:
                if self._closed:
                    raise Down("the store was closed") from None
                raise
            except (apsw.Error, *NOT_FROM_SQLITE) as error:
                meant = meaning(error, self.path)
                if meant is error:
                    raise
                raise meant from error

    def is_ours(self) -> bool:
        """Whether what was written last went to where the next one will look for it."""
        return self._wal is None or self._wal.is_ours()

    def drop(self) -> None:
        """Close the connection; the next use makes a new one."""
        with self._lock:
            connection, self._connection = self._connection, None
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
            connection = connect(self._options, self._wait)
            self._connection, self._wal = connection, Wal(self.path)
        return self._connection

    def _wait(self, times: int) -> bool:
        """Wait a little for whoever holds the file; called by SQLite, with the tries so far."""
        if self._closed or not self.patient:
            return False
        time.sleep(min(0.001 * (times + 1), PAUSE_S_MAX))
        return True


NOT_FROM_SQLITE = (OverflowError, TypeError, UnicodeEncodeError, OSError, MemoryError)
"""What binding a value, or a file system in Python, raises."""


def connect(options: Options, wait: Callable[[int], bool]) -> Connection:
    """Open a file with our settings, and read them back; a file of others is not touched."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    path = options.path
    try:
        connection = opened(path, flags, options.vfs)
    except apsw.CantOpenError as error:
        raise StoreUnreachable(f"{path} cannot be opened: {error}") from error
    try:
        connection.set_busy_handler(wait)
        options.check(connection, path)
        _set(connection, path)
        if options.row_bytes_max is not None:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, options.row_bytes_max)
    except BaseException:
        connection.close(force=True)
        raise
    return connection


def _set(connection: Connection, path: str) -> None:
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    _use_wal(connection)
    for _ in connection.execute(SQL["settings"]):
        pass
    settings = tuple(it for (it,) in connection.execute(SQL["settings_read_back"]))
    if settings != ("wal", FULL, 0):
        raise UnsafeSettings(
            f"{path}: journal, synchronous and mmap are {settings}, not ('wal', 2, 0)",
            remedy="see whether its file system has shared memory maps",
        )


def _use_wal(connection: Connection) -> None:
    """Turn to write-ahead logging. Others may be doing the same: SQLite does not wait for them."""
    for attempt in range(200):
        try:
            for _ in connection.execute(SQL["use_wal"]):
                pass
        except apsw.BusyError:
            if attempt == 199:
                raise
            time.sleep(0.01)
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


class CommitFailed(Exception):
    """The commit itself failed: the disk may have the rows or not."""


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
