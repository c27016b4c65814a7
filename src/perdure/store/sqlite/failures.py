"""What an error of SQLite means to those who use a store. Knows no connection.

Three kinds: the data cannot be taken (`Refused`, `Fence`), the disk or its lock is in trouble
(`Down`: it may come back), the file is damaged (coded, and no use to try again).
"""

from __future__ import annotations

import apsw

from perdure.errors import NotAStore, StoreDamaged
from perdure.store.port import Down, Fence, Refused

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

FACT_IS_THERE = "UNIQUE constraint failed: facts.rid, facts.seq"


def meaning(error: Exception, path: str) -> Exception:
    """Give what a store raises for an error of SQLite, or of what was handed to it.

    An error that only a fault of ours can bring about means itself.
    """
    if isinstance(error, apsw.ConstraintError) and FACT_IS_THERE in str(error):
        return Fence(f"somebody else has written: {error}")
    if isinstance(error, NOT_TAKEN):
        return Refused(f"{type(error).__name__}: {error}")
    if isinstance(error, apsw.CorruptError | apsw.SQLError | apsw.SchemaChangeError):
        remedy = "keep a copy, look at it with `perdure doctor`, restore a backup"
        return StoreDamaged(f"{path} is damaged: {error}", remedy=remedy)
    if isinstance(error, apsw.NotADBError):
        return NotAStore(f"{path} is no database", remedy="look at the path")
    if isinstance(error, TROUBLE):
        return Down(f"{path}: {type(error).__name__}: {error}")
    return error
