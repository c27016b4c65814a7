"""From what a user names, a path or an address, to an open store and its key."""

from __future__ import annotations

import secrets

from perdure.errors import StoreError
from perdure.store.keys import key_of
from perdure.store.memory import MemoryDatabase, MemoryStore
from perdure.store.port import Store
from perdure.store.sqlite import SqliteStore


async def open_store(where: str, environment: str) -> tuple[Store, bytes]:
    """Open a store, and give the key under which its images and programs are written."""
    if where == ":memory:":
        store: Store = MemoryStore(MemoryDatabase(environment=environment))
        return store, secrets.token_bytes(32)
    if "://" in where:
        raise StoreError(f"`{where}` is no store", remedy='give a path, or ":memory:"')
    return SqliteStore.open(where, environment=environment), key_of(where)
