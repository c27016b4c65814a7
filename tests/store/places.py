"""Where stores are: each place can be opened several times, as by several processes."""

from __future__ import annotations

from perdure.store.memory import MemoryDatabase, MemoryStore
from perdure.store.sqlite import SqliteStore


class memory:  # noqa: N801 - the name of the test's parameter
    def __init__(self, folder) -> None:
        self.database = MemoryDatabase()

    def __enter__(self):
        return self

    def __exit__(self, *what) -> None:
        pass

    async def open(self, *, row_bytes_max: int | None = None) -> MemoryStore:
        if row_bytes_max is not None:
            self.database.row_bytes_max = row_bytes_max
        return MemoryStore(self.database)


class sqlite:  # noqa: N801 - as above
    def __init__(self, folder) -> None:
        self.path = folder / "store.db"

    def __enter__(self):
        return self

    def __exit__(self, *what) -> None:
        pass

    async def open(self, *, row_bytes_max: int | None = None) -> SqliteStore:
        return SqliteStore.open(self.path, row_bytes_max=row_bytes_max)


PLACES = [memory, sqlite]
