"""Keeps a second SQLite library of this process away from files that the engine has open.

Two libraries in one process do not see each other's locks. When the other one closes the file,
it removes the write-ahead log under the engine, and what is acknowledged from then on is lost at
the end of the process. So `sqlite3.connect` on such a file is refused, and whoever gets past that
is found out by `Files.are_ours` before a commit is acknowledged.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from perdure.errors import SecondLibrary

Identity = tuple[int, int]
"""Device and number of a file."""


def identity(path: str) -> Identity | None:
    """Give what makes a file itself, whatever leads to it; `None` if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Files:
    """The file of a store, its log and the index of its log, as they were when it was opened."""

    __slots__ = ("_are", "_paths")

    def __init__(self, path: str) -> None:
        self._paths = (path, path + "-wal", path + "-shm")
        self._are = tuple(map(identity, self._paths))

    def are_ours(self) -> bool:
        """Whether what is at the paths now is still what is open."""
        return tuple(map(identity, self._paths)) == self._are


class _Guard:
    """The files that are open in this process, and the hook that speaks for them."""

    def __init__(self) -> None:
        self._open: Counter[Identity] = Counter()
        self._lock = threading.Lock()
        self._process = 0

    def watch(self, path: str) -> Identity | None:
        """Begin to refuse a file to others; gives what `leave` wants."""
        it = identity(path)
        with self._lock:
            if not self._process:
                sys.addaudithook(_hear)
            if self._process != os.getpid():
                # After a fork nothing is open here: the engine is in the parent.
                self._process = os.getpid()
                self._open.clear()
            if it is not None:
                self._open[it] += 1
        return it

    def leave(self, it: Identity | None) -> None:
        """Stop refusing a file, once for each `watch`."""
        with self._lock:
            if it is not None and self._open[it] > 0:
                self._open[it] -= 1

    def hear(self, args: tuple[Any, ...]) -> None:
        """Refuse to open a file that is open here."""
        if args and self._process == os.getpid():
            path = _path_of(args[0])
            it = identity(path) if path else None
            if it is not None and self._open[it] > 0:
                raise SecondLibrary(
                    f"{path} is open in this process through another SQLite library",
                    remedy="use it from another process: two in one lose each other's commits",
                )


def _path_of(database: Any) -> str:
    """Give the path that `sqlite3.connect` would open; text that begins with `file:` may be one."""
    if not hasattr(database, "__fspath__") and not isinstance(database, str | bytes):
        return ""
    path = os.fsdecode(cast("str | bytes", os.fspath(database)))
    if path.startswith("file:") and not os.path.exists(path):
        return unquote(urlsplit(path).path)
    return path


GUARD = _Guard()


def _hear(event: str, args: tuple[Any, ...]) -> None:
    # A plain function that looks at one thing: it hears of every `id()` of the process, and a
    # method costs three times as much.
    if event == "sqlite3.connect":
        GUARD.hear(args)
