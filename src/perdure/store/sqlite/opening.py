"""Opens the file of a store: whose it is, of which generation, of which environment.

A new file is made, an older one is led forward, and everything else is refused with a code.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from perdure.errors import NotAStore, StoreInUse, StoreTooNew, WrongEnvironment
from perdure.store.sqlite import lock
from perdure.store.sqlite.failures import damaged
from perdure.store.sqlite.library import Connection, Cursor
from perdure.store.sqlite.line import SQL, transact
from perdure.store.statements import migrations

MIGRATIONS = migrations()
GENERATION = max(MIGRATIONS)
APPLICATION_ID = 1346720324
"""The letters PERD, in the header of the file."""


@dataclass(frozen=True)
class Identity:
    """What a store says of itself."""

    store_id: str
    environment: str
    created_us: str


def prepare(connection: Connection, path: str, environment: str | None) -> Identity:
    """Make sure that the file is a store of ours, of our generation and environment."""
    if _is_empty(connection, path):
        transact(connection, lambda cursor: _create(connection, cursor, path, environment or ""))
    _, generation, _ = _who(connection)
    if generation > GENERATION:
        what = f"{path} is of generation {generation}, and this Perdure knows {GENERATION}"
        raise StoreTooNew(what, remedy="use the newer Perdure")
    if generation < GENERATION:
        _migrate(connection, path)
    found = read(connection, path)
    if environment is not None and environment != found.environment:
        what = f"{path} belongs to environment {found.environment!r}, not {environment!r}"
        raise WrongEnvironment(what, remedy="open it under its own name, or open another file")
    return found


def _who(connection: Connection) -> tuple[int, int, int]:
    application, generation, objects = next(iter(connection.execute(SQL["identity"])))
    return application, generation, objects


def demand_no_stranger(connection: Connection, path: str) -> None:
    """Refuse another program's database, of which nothing may be changed."""
    application, generation, objects = _who(connection)
    if application not in {0, APPLICATION_ID} or (not application and (generation or objects)):
        raise NotAStore(f"{path} is a database of another program", remedy="name another file")


def same_as(identity: Identity) -> Callable[[Connection, str], None]:
    """Give the check that a file is still the store that it was when it was opened first."""

    def demand_same(connection: Connection, path: str) -> None:
        demand_no_stranger(connection, path)
        application, generation, _ = _who(connection)
        if not application or generation != GENERATION or read(connection, path) != identity:
            remedy = "put back the file that was there"
            raise NotAStore(f"{path} is no longer the store that was opened", remedy=remedy)

    return demand_same


def read(connection: Connection, path: str) -> Identity:
    """Give what a store says of itself."""
    told: dict[str, str] = dict(map(tuple, connection.execute(SQL["meta"])))
    try:
        return Identity(told["store_id"], told["environment"], told["created_us"])
    except KeyError as error:
        raise damaged(path, f"it does not say its {error}") from error


def _is_empty(connection: Connection, path: str) -> bool:
    demand_no_stranger(connection, path)
    return _who(connection)[0] == 0


def _create(connection: Connection, cursor: Cursor, path: str, environment: str) -> None:
    if not _is_empty(connection, path):
        return  # another process was faster
    for script in MIGRATIONS.values():
        cursor.execute(script)
    cursor.execute(SQL["claim"])
    told = {
        "store_id": uuid.uuid4().hex,
        "environment": environment,
        "created_us": str(time.time_ns() // 1000),
    }
    cursor.executemany(SQL["set_meta"], list(told.items()))


def _migrate(connection: Connection, path: str) -> None:
    """Lead an older file forward, while nobody writes to it."""
    owner = lock.take(path)
    if owner is None:
        what = f"{path} must be migrated, and {lock.holder(path)} has it"
        raise StoreInUse(what, remedy="stop that process first")
    try:
        _, generation, _ = _who(connection)
        transact(connection, lambda cursor: _run_migrations(cursor, generation))
    finally:
        owner.release()


def _run_migrations(cursor: Cursor, generation: int) -> None:
    for number, script in MIGRATIONS.items():
        if number > generation:
            cursor.execute(script)
