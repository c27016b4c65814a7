"""What the store uses of apsw, as types: its own stubs say less than a strict checker wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import apsw

Bindings = Sequence[Any] | Mapping[str, Any] | None


class Cursor(Protocol):
    """Statements under way, and the rows that they give."""

    def execute(self, statements: str, bindings: Bindings = None) -> Cursor:
        """Begin a statement; it runs as far as its first row."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Any]) -> Cursor:
        """The same statement for each of many rows."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Connection(Protocol):
    """One connection to a file."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Bindings = None) -> Cursor:
        """Begin a statement on a cursor of its own."""
        ...

    def cursor(self) -> Cursor:
        """Give a new cursor."""
        ...

    def close(self, force: bool = ...) -> None:  # noqa: FBT001 - the name is apsw's
        """Close; with `force`, also when errors come of it."""
        ...

    def config(self, op: int, *args: int) -> int:
        """Set a switch of this connection."""
        ...

    def limit(self, id: int, newval: int = ...) -> int:  # noqa: A002 - the name is apsw's
        """Set an upper bound."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:  # noqa: A002
        """Say who decides whether to wait."""
        ...

    def set_wal_hook(self, callable: Callable[[Any, str, int], int] | None) -> None:  # noqa: A002
        """Say who hears how long the write-ahead log is after each commit."""
        ...

    def wal_checkpoint(self, dbname: str | None = ..., mode: int = ...) -> tuple[int, int]:
        """Move what is in the log into the file."""
        ...


def opened(path: str, flags: int, vfs: str | None) -> Connection:
    """Open a file."""
    return cast("Connection", apsw.Connection(path, flags=flags, vfs=vfs))


def copying(target: Connection, source: Connection) -> apsw.Backup:
    """Begin to copy all pages of one file into another."""
    return cast("apsw.Connection", target).backup("main", cast("apsw.Connection", source), "main")
