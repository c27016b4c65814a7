"""The owner's side of a store in SQLite: batches made durable, and the log of writes kept short.

One batch at a time. A commit that takes less than half a millisecond is made on the calling
thread; a slower one on a thread of the writer's own, which also waits for others that hold the
file, and moves what is in the write-ahead log into the file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import apsw

from perdure.errors import StoreError
from perdure.store.port import Batch, Down, Fence, Flushed, Message, Refused, Stored, Unclear
from perdure.store.sqlite import rows
from perdure.store.sqlite.library import Connection
from perdure.store.sqlite.line import KNOWN, SQL, Busy, Line, commit, roll_back, transact
from perdure.store.sqlite.lock import OwnerLock

T = TypeVar("T")


class Reading(Protocol):
    """How a store reads for its writer."""

    async def __call__(self, work: Callable[[Connection], T]) -> T:
        """Give what `work` reads."""
        ...


INLINE_S_MAX = 0.0005
"""Commits that take less, on average, are made on the calling thread."""
WEIGHT = 0.1
"""What the newest commit counts in that average."""
PROBE_EVERY = 50
"""Of so many batches on the thread, one is made inline, to see whether commits are quick again."""
WAL_PAGES_MAX = (16 << 20) // 4096
"""Under load, the log is moved into the file when it is as long as this."""
IDLE_S = 1.0
"""After so long without a batch, it is moved, however short it is."""


class SqliteWriter:
    """The one writer of a file, as long as it holds the lock."""

    def __init__(
        self, line: Line, read: Reading, lock: OwnerLock, heal: Callable[[], Unclear]
    ) -> None:
        self.was_left_in_order = lock.left_in_order
        """Whether the owner before us left in order, rather than died."""
        self._line = line
        self._read = read
        self._lock = lock
        self._heal = heal
        self._incarnation = 0
        self._closed = False
        self._thread = ThreadPoolExecutor(1, "perdure-store-writer")
        self._last: asyncio.Future[Any] | None = None
        self._commit_s = 0.0
        self._since_probe = 0
        self._wal_pages = 0
        self._batches = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    # --- writing ---------------------------------------------------------------------

    async def flush(self, batch: Batch) -> Flushed:
        """Write a batch durably, all or nothing. Does not suspend while commits are quick."""
        self._demand_open()
        incarnation = self._incarnation
        flushed = None
        if self._is_quick():
            # If somebody else holds the file: wait for it on the thread.
            with suppress(Busy):
                flushed = self._flush(batch, incarnation, wait=False)
        if flushed is None:
            flushed = await self._in_thread(self._flush, batch, incarnation)
        self._keep_house()
        return flushed

    async def renew(self) -> None:
        """Become a new incarnation, after whatever is under way, and see whether writing works."""
        self._demand_open()
        self._incarnation += 1
        await self._in_thread(self._renew)

    def _renew(self) -> None:
        self._demand_lock()
        self._line.drop()
        # If a sync has failed, this takes the place of what may not have reached the disk.
        self._promised(_touch)
        if not self._line.is_ours():
            raise Down(self._heal().what)

    def _is_quick(self) -> bool:
        if self._last is not None and not self._last.done():
            return False
        self._since_probe += 1
        return self._commit_s < INLINE_S_MAX or self._since_probe >= PROBE_EVERY

    def _flush(self, batch: Batch, incarnation: int, *, wait: bool = True) -> Flushed:
        self._demand_open()
        if incarnation != self._incarnation:
            raise Fence("this incarnation was renewed")
        flushed = self._promised(lambda it: self._write(it, batch, wait=wait), wait=wait)
        if not self._line.is_ours():
            raise self._heal()
        return flushed

    def _promised(self, work: Callable[[Connection], T], *, wait: bool = True) -> T:
        """Do something with the connection, and raise nothing but what a writer may raise."""
        try:
            return self._line.run(work, wait=wait)
        except (Down, Unclear, Fence, Refused):
            raise
        except StoreError as error:
            raise Down(error.what, remedy=error.remedy) from error

    def _write(self, connection: Connection, batch: Batch, *, wait: bool) -> Flushed:
        cursor = connection.cursor()
        cursor.execute(SQL["begin"])
        try:
            self._demand_lock()
            flushed = rows.write_batch(cursor, batch)
        except BaseException:
            roll_back(connection)
            raise
        connection.set_wal_hook(self._note_pages)
        began = time.perf_counter()
        commit(connection, cursor)
        took = time.perf_counter() - began
        if not wait:
            self._since_probe = 0
            self._commit_s += WEIGHT * (took - self._commit_s)
        return flushed

    def _demand_lock(self) -> None:
        """Whoever removed the lock file has let another owner in, whom its rows tell apart."""
        if not self._lock.keeps_others_out():
            raise Fence("the lock file beside the store was removed or replaced")

    def _note_pages(self, _connection: Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    # --- reading ---------------------------------------------------------------------

    async def heads(self, rids: Sequence[int]) -> dict[int, int]:
        """Give the number of the last fact of each run; 0 where there is none."""
        heads = await self._read(lambda it: rows.heads(it, rids))
        self._demand_lock()
        return heads

    async def load(self, rids: Sequence[int]) -> list[Stored]:
        """Give runs as they stand; those that are not there are left out."""
        return await self._read(lambda it: rows.load(it, rids))

    async def due(self, after: tuple[int, int], until_us: int, limit: int) -> list[tuple[int, int]]:
        """Give `(wake_at_us, rid)` of open runs in that order, from `after` on."""
        return await self._read(lambda it: rows.due(it, after, until_us, limit))

    async def inbox(self, limit: int) -> list[Message]:
        """Give the oldest messages; they stay until a flush takes them."""
        return await self._read(lambda it: rows.inbox(it, limit))

    # --- keeping house ---------------------------------------------------------------

    def _keep_house(self) -> None:
        """After a batch: move the log into the file if it is long, or when nothing more comes."""
        self._batches += 1
        if self._wal_pages >= WAL_PAGES_MAX:
            self._last = self._on_thread(self._checkpoint)
        if self._idle_timer is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(IDLE_S, self._look_whether_idle, self._batches)

    def _look_whether_idle(self, batches: int) -> None:
        self._idle_timer = None
        if self._closed or not self._wal_pages:
            return
        if batches == self._batches:
            self._last = self._on_thread(self._checkpoint)
        else:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(IDLE_S, self._look_whether_idle, self._batches)

    def _checkpoint(self) -> None:
        """Move what is in the log into the file, as far as no reader needs it."""
        with suppress(*KNOWN):  # the next batch meets the same trouble, and tells
            self._line.run(_checkpoint)
            self._wal_pages = 0

    async def _in_thread(self, work: Callable[..., T], *given: Any) -> T:
        self._last = future = self._on_thread(work, *given)
        return await future

    def _on_thread(self, work: Callable[..., T], *given: Any) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    # --- leaving ---------------------------------------------------------------------

    def _demand_open(self) -> None:
        if self._closed:
            raise Fence("this writer was closed")

    async def close(self, *, in_order: bool = True) -> None:
        """Finish what is under way, and let go of the lock."""
        if self._closed:
            return
        self._closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._line.close()
        await asyncio.to_thread(self._thread.shutdown)
        if in_order:
            self._lock.release()
        else:
            self._lock.abandon()


def _touch(connection: Connection) -> None:
    transact(connection, lambda cursor: cursor.execute(SQL["touch"]))


def _checkpoint(connection: Connection) -> None:
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
