"""Who may write: the process that holds a lock on a file beside the store.

The kernel lets go of the lock when its holder ends, however it ends. The file holds the number of
the process, for messages, and is emptied by a holder that leaves in order.
"""

from __future__ import annotations

import fcntl
import os
import weakref

from perdure.errors import StoreUnreachable
from perdure.store.sqlite.guard import identity

_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


class OwnerLock:
    """The lock on one store, held."""

    def __init__(self, descriptor: int, *, left_in_order: bool) -> None:
        self._descriptor = descriptor
        self.left_in_order = left_in_order
        """Whether the holder before us let go, rather than died."""
        _held.add(self)

    def release(self) -> None:
        """Let the next one have it, and say that all is in order."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            self.abandon()

    def abandon(self) -> None:
        """Let go without a word, as the end of a process does."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def take(path: str) -> OwnerLock | None:
    """Give the lock on a store, or `None` while another holds it. Never waits.

    A thread that waits inside of the kernel could not be called back, so whoever waits asks often.
    """
    place = path + "-lock"
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreUnreachable(f"{place}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    status = os.fstat(descriptor)
    if identity(place) != (status.st_dev, status.st_ino):
        os.close(descriptor)  # somebody removed the file meanwhile: this lock keeps nobody out
        return None
    before = os.pread(descriptor, 32, 0)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return OwnerLock(descriptor, left_in_order=not before.strip())


def holder(path: str) -> str:
    """Say who holds the lock, as far as is known."""
    try:
        with open(path + "-lock", encoding="ascii", errors="replace") as file:
            process = file.read(32).strip()
    except OSError:
        process = ""
    return f"process {process}" if process else "another process"


def _forget_after_fork() -> None:
    """A forked child must not keep its parent's lock alive."""
    for lock in list(_held):
        lock.abandon()


os.register_at_fork(after_in_child=_forget_after_fork)
