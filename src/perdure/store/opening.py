"""From what a user names, a path or `:memory:`, to an open store and its key."""

from __future__ import annotations

import secrets

from perdure.errors import StoreError
from perdure.store.keys import key_of
from perdure.store.memory import MemoryDatabase, MemoryStore
from perdure.store.port import Store
from perdure.store.sqlite import SqliteStore

MEMORY = ":memory:"


def open_store(where: str, environment: str | None) -> tuple[Store, bytes]:
    """Open a store, and give the key under which its images and programs are written."""
    if where == MEMORY:
        return MemoryStore(MemoryDatabase(environment=environment or "")), secrets.token_bytes(32)
    if "://" in where:
        raise StoreError(
            f"`{where}` is no store that this version knows",
            remedy='give the path of a file, or ":memory:"',
        )
    store = SqliteStore.open(where, environment=environment)
    return store, key_of(where)
