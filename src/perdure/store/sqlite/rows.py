"""Rows of tables as data of the port, and back. Knows columns and their order, and no file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from types import NoneType
from typing import Any, TypeVar

import msgspec
from msgspec.structs import astuple

from perdure.store.port import (
    NEVER,
    Batch,
    FactRow,
    Flushed,
    Message,
    NewRun,
    ProgramRow,
    ProgramUse,
    Query,
    RunRow,
    Stored,
)
from perdure.store.sqlite.failures import BadRow
from perdure.store.sqlite.library import Connection, Cursor
from perdure.store.sqlite.line import SQL, roll_back

Row = Sequence[Any]
T = TypeVar("T")
text = msgspec.json.Encoder().encode

_NUMBER, _TEXT, _BYTES = (int,), (str,), (bytes,)
_OR_NUMBER, _OR_TEXT, _OR_BYTES = (int, NoneType), (str, NoneType), (bytes, NoneType)
_SHAPES: dict[type, frozenset[tuple[type, ...]]] = {
    kind: frozenset(product(*columns))
    for kind, columns in {
        FactRow: (_NUMBER, _NUMBER, _NUMBER, _BYTES, _OR_TEXT, _OR_BYTES),
        Message: (_NUMBER, _TEXT, _BYTES, _OR_TEXT, _NUMBER),
        ProgramRow: (_TEXT, _TEXT, _OR_BYTES, _BYTES),
        ProgramUse: (_TEXT, _TEXT, _NUMBER),
        RunRow: (
            *(_NUMBER, _TEXT, _TEXT, _TEXT, _NUMBER, _NUMBER, _NUMBER, _OR_NUMBER),
            *(_BYTES, _OR_NUMBER, _OR_NUMBER, _TEXT, _OR_BYTES, _NUMBER),
        ),
    }.items()
}
"""Of what types a row may be. SQLite checks them as it writes, and takes the file's word after."""


def made(kind: type[T], row: Row) -> T:
    """Make a row of a table what the port calls it."""
    if tuple(map(type, row)) not in _SHAPES[kind]:
        raise BadRow(f"no {kind.__name__} begins like {row[:2]!r} and is of such types")
    return kind(*row)


def write_batch(cursor: Cursor, batch: Batch) -> Flushed:
    """Write all of a batch, inside of a transaction. A kind of rows is one prepared statement."""
    refused = insert_runs(cursor, batch.runs) if batch.runs else frozenset[int]()
    facts, changes, messages = batch.facts, batch.changes, batch.messages
    if refused:
        facts = [it for it in facts if it.rid not in refused]
        changes = [it for it in changes if it.rid not in refused]
        messages = [it for it in messages if it.rid not in refused]
    if facts:
        cursor.executemany(SQL["insert_fact"], map(astuple, facts))
    if changes:
        cursor.executemany(SQL["change_run"], map(astuple, changes))
    if batch.consumed:
        cursor.executemany(SQL["consume"], [(n,) for n in batch.consumed])
    if messages:
        rows = [(it.rid, it.kind, it.body, it.key) for it in messages]
        cursor.executemany(SQL["insert_message"], rows)
    if batch.programs:
        cursor.executemany(SQL["insert_program"], map(astuple, batch.programs))
    return Flushed(refused)


def insert_runs(cursor: Cursor, runs: Sequence[NewRun]) -> frozenset[int]:
    """Insert new runs; gives those whose id or number was taken."""
    written = {rid for (rid,) in cursor.executemany(SQL["insert_run"], map(_run_columns, runs))}
    return frozenset(run.rid for run in runs if run.rid not in written)


def _run_columns(run: NewRun) -> tuple[Any, ...]:
    return (
        run.rid,
        run.id,
        run.workflow,
        run.program,
        run.input_digest,
        run.created_us,
        run.wake_at_us,
        run.status,
        run.parent,
        run.parent_call,
        run.attrs,
    )


def heads(connection: Connection, rids: Sequence[int]) -> dict[int, int]:
    """Give the number of the last fact of each run."""
    return dict(connection.execute(SQL["heads"], (_array(rids),)))


def load(connection: Connection, rids: Iterable[int]) -> list[Stored]:
    """Give runs as they stand, all at one moment."""
    connection.execute(SQL["begin_reading"])
    try:
        return [it for rid in rids if (it := _load_one(connection, rid)) is not None]
    finally:
        roll_back(connection)  # nothing was written; after trouble SQLite may have done so itself


def _load_one(connection: Connection, rid: int) -> Stored | None:
    for row in connection.execute(SQL["run"], (rid,)):
        facts = [made(FactRow, it) for it in connection.execute(SQL["tail"], (rid,))]
        return Stored(made(RunRow, row), facts)
    return None


def facts(
    connection: Connection, rid: int, after: int, limit: int, *, images: bool
) -> list[FactRow]:
    """Give a page of the log of a run."""
    name = "facts" if images else "facts_without_images"
    return [made(FactRow, row) for row in connection.execute(SQL[name], (rid, after, limit))]


def find(connection: Connection, ids: Iterable[str]) -> list[RunRow]:
    """Give the rows of runs by the ids of users."""
    return [
        made(RunRow, row)
        for id_ in ids
        if is_text(id_)
        for row in connection.execute(SQL["run_by_id"], (id_,))
    ]


def list_runs(connection: Connection, query: Query) -> list[RunRow]:
    """Give the runs that a query asks for, by the index that serves it best."""
    if not all(map(is_text, (query.workflow or "", *query.attrs, *query.attrs.values()))):
        return []
    asked = {
        "before": NEVER if query.before is None else query.before,
        "statuses": _array(query.statuses),
        "workflow": query.workflow,
        "since": query.since_us,
        "until": query.until_us,
        "attrs": text(query.attrs).decode(),
        "limit": query.limit,
    }
    if query.parent is not None:
        found = connection.execute(SQL["list_of_parent"], asked | {"parent": query.parent})
    elif len(query.statuses) == 1:
        found = connection.execute(SQL["list_of_status"], asked | {"status": query.statuses[0]})
    else:
        found = connection.execute(SQL["list"], asked)
    return [made(RunRow, row) for row in found]


def due(
    connection: Connection, after: tuple[int, int], until_us: int, limit: int
) -> list[tuple[int, int]]:
    """Give open runs by the time when to look at them."""
    return list(connection.execute(SQL["due"], (*after, until_us, limit)))


def inbox(connection: Connection, limit: int) -> list[Message]:
    """Give the oldest messages."""
    return [made(Message, row) for row in connection.execute(SQL["inbox"], (limit,))]


def program(connection: Connection, hash_: str) -> ProgramRow | None:
    """Give a program by its hash."""
    rows = list(connection.execute(SQL["program"], (hash_,))) if is_text(hash_) else []
    return made(ProgramRow, rows[0]) if rows else None


def programs(connection: Connection) -> list[ProgramUse]:
    """Give all programs, and how many runs are on each."""
    return [made(ProgramUse, row) for row in connection.execute(SQL["programs"])]


def prune(cursor: Cursor, ended_before_us: int, limit: int) -> int:
    """Delete the facts of runs that ended before then, inside of a transaction."""
    ended = list(cursor.execute(SQL["to_prune"], (ended_before_us, limit)))
    cursor.executemany(SQL["delete_facts"], ended)
    cursor.executemany(SQL["mark_pruned"], ended)
    return len(ended)


def _array(numbers: Iterable[int]) -> str:
    return text(list(numbers)).decode()


def is_text(given: str) -> bool:
    """Whether a text can be in a store at all; half of a pair of surrogates cannot."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True
