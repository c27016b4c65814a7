"""Short ways to use a store in a test that is not itself a coroutine."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager


def run(coroutine):
    return asyncio.run(coroutine)


@contextmanager
def closing(store):
    try:
        yield store
    finally:
        asyncio.run(store.close())
