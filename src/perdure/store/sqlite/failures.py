"""What an error of SQLite means to those who use a store. Knows no connection.

Three kinds: the data cannot be taken (`Refused`, `Fence`), the disk or its lock is in trouble
(`Down`: it may come back), the file is damaged (coded, and no use to try again).
"""

from __future__ import annotations

import apsw

from perdure.errors import NotAStore, StoreDamaged
from perdure.store.port import Down, Fence, Refused, Unclear

NOT_TAKEN = (
    apsw.TooBigError,
    apsw.MismatchError,
    apsw.ConstraintError,
    OverflowError,
    TypeError,
    UnicodeEncodeError,
)
"""Errors of the data themselves."""

TROUBLE = (
    apsw.FullError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.NoMemError,
    OSError,
    MemoryError,
)
"""Errors of the disk, of its locks, of the machine."""


class BadRow(Exception):
    """A row was read that nobody can have written."""


DAMAGE = (apsw.CorruptError, apsw.SQLError, apsw.SchemaChangeError, UnicodeDecodeError, BadRow)
"""Errors of what is in the file: tables that are not there, text that is none."""

EXPECTED = (apsw.Error, OverflowError, TypeError, UnicodeError, OSError, MemoryError, BadRow)
"""Everything that SQLite, binding a value, reading one, or a file system raises."""

FACT_IS_THERE = "UNIQUE constraint failed: facts.rid, facts.seq"


class CommitFailed(Exception):
    """The commit itself failed, with this cause."""


def meaning(error: Exception, path: str) -> Exception:
    """Give what a store raises for an error of SQLite, or of what was handed to it.

    An error that only a fault of ours can bring about means itself.
    """
    if isinstance(error, CommitFailed):
        return _meaning_of_commit(error, path)
    if isinstance(error, apsw.ConstraintError) and FACT_IS_THERE in str(error):
        return Fence(f"somebody else has written to {path}: {error}")
    if isinstance(error, NOT_TAKEN):
        return Refused(f"{path} does not take this: {type(error).__name__}: {error}")
    if isinstance(error, DAMAGE):
        return damaged(path, str(error))
    if isinstance(error, apsw.NotADBError):
        return NotAStore(f"{path} is no database", remedy="look at the path")
    if isinstance(error, TROUBLE):
        return Down(f"{path}: {type(error).__name__}: {error}")
    return error


def _meaning_of_commit(error: CommitFailed, path: str) -> Exception:
    """A full disk has no room for the mark of the commit; after all else it may be there or not.

    Not for the connections of now, but for whoever reads the log after a crash.
    """
    what = f"{path}: the commit has failed: {error}"
    surely_absent = isinstance(error.__cause__, apsw.FullError | apsw.BusyError)
    return Down(what) if surely_absent else Unclear(what)


def damaged(path: str, how: str) -> StoreDamaged:
    """Give the error for a file that does not hold what was written."""
    remedy = "keep a copy, look at it with `perdure doctor`, restore a backup"
    return StoreDamaged(f"{path} is damaged: {how}", remedy=remedy)
