"""The store in one SQLite file, for one machine: one process writes, any number read and send."""

from perdure.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
