"""From what a user names, a path or an address, to an open store and its key."""

from __future__ import annotations

import secrets

from perdure.errors import StoreError
from perdure.store.memory import MemoryDatabase, MemoryStore
from perdure.store.port import Store


async def open_store(where: str, environment: str) -> tuple[Store, bytes]:
    """Open a store, and give the key under which its images and programs are written."""
    if where == ":memory:":
        store: Store = MemoryStore(MemoryDatabase(environment=environment))
        return store, secrets.token_bytes(32)
    raise StoreError(f"`{where}` is no store", remedy='give a path, or ":memory:"')
