"""Who may write: the process that holds a lock on a file beside the store.

The kernel lets go of the lock when its holder ends, however it ends. The file holds the number of
the process, for messages, and says so when its last holder has left in order. It has one size for
ever, so that a full disk keeps nobody from it.
"""

from __future__ import annotations

import fcntl
import os
import weakref

from perdure.errors import StoreUnreachable
from perdure.store.sqlite.guard import identity

_BYTES = 32
_FREE = b"free"

_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


class OwnerLock:
    """The lock on one store, held."""

    def __init__(self, place: str, descriptor: int, *, left_in_order: bool) -> None:
        self._place = place
        self._descriptor = descriptor
        self._identity = _identity_of(descriptor)
        self.left_in_order = left_in_order
        """Whether the holder before us let go, rather than died."""
        _held.add(self)

    def keeps_others_out(self) -> bool:
        """Whether the file is still open here, and where others look for it."""
        return self._is_open() and identity(self._place) == self._identity

    def _is_open(self) -> bool:
        """Whether nobody has closed it behind our back; then its number may be of another file."""
        try:
            return self._descriptor >= 0 and _identity_of(self._descriptor) == self._identity
        except OSError:
            return False

    def release(self) -> None:
        """Let the next one have it, and say that all is in order."""
        try:
            if self._is_open():
                _write(self._descriptor, _FREE)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go without a word, as the end of a process does."""
        if self._is_open():
            os.close(self._descriptor)
        self._descriptor = -1


def take(path: str) -> OwnerLock | None:
    """Give the lock on a store, or `None` while another holds it. Never waits.

    A thread that waits inside of the kernel could not be called back, so whoever waits asks often.
    """
    place = path + "-lock"
    while True:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unreachable(place, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if identity(place) == _identity_of(descriptor):
                before = os.pread(descriptor, _BYTES, 0).strip()
                _write(descriptor, str(os.getpid()).encode())
                # Not even a power failure may leave the word of the holder before us.
                os.fsync(descriptor)
                return OwnerLock(place, descriptor, left_in_order=before == _FREE)
            os.close(descriptor)  # somebody removed the file meanwhile: this lock keeps nobody out
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise _unreachable(place, error) from error


def holder(path: str) -> str:
    """Say who holds the lock, as far as is known: of a file that nobody holds, who had it last."""
    try:
        with open(path + "-lock", "rb") as file:
            is_held = _is_held(file.fileno())
            written = file.read(_BYTES).strip()
    except FileNotFoundError:
        return "nobody"
    except OSError:
        return "another process"
    who = f"process {int(written)}" if written.isdigit() else "another process"
    if is_held:
        return who
    return "nobody" if written in {b"", _FREE} else f"nobody; {who} ended without a word"


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # at once: somebody may want to become the owner
    return False


def _identity_of(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _write(descriptor: int, what: bytes) -> None:
    os.pwrite(descriptor, what.ljust(_BYTES), 0)


def _unreachable(place: str, error: OSError) -> StoreUnreachable:
    what = f"{place} cannot be locked: {error.strerror}"
    return StoreUnreachable(what, remedy="look at its permissions, and whether its disk is full")


def _forget_after_fork() -> None:
    """A forked child must not keep its parent's lock alive."""
    for lock in list(_held):
        lock.abandon()


os.register_at_fork(after_in_child=_forget_after_fork)
