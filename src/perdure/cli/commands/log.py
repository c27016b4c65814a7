"""`perdure log RUN`: what happened to a run, fact by fact, and what each fact caused."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from perdure.app import Perdure
from perdure.cli import telling
from perdure.cli.asked import count
from perdure.cli.naming import see_here
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.cli.terminal import clean
from perdure.core.effects import AnyEffect
from perdure.core.facts import Row, encode_row
from perdure.core.run import Program
from perdure.errors import PerdureError
from perdure.node.history import causes, log_of, program_at, rows_of
from perdure.node.programs import Programs
from perdure.store.port import RunRow

Caused = tuple[AnyEffect, ...] | None


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument("--tail", metavar="N", help="only the last so many")
    parser.add_argument(
        "--facts-only", action="store_true", help="do not fold the log again for what it caused"
    )
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Print the log."""
    tail = None if options.tail is None else count(options.tail, "--tail")
    row, rows, program = asyncio.run(_read(options))
    if not rows:
        print(f"run {clean(row.id)} has no facts{_why(row)}", file=sys.stderr)
    show = telling.Teller(row.workflow)
    first = 0 if tail is None else len(rows) - tail
    for at, (fact, caused) in enumerate(_with_causes(program, rows)):
        lines = show.lines(fact, caused or ())
        if at >= first:
            print(json.dumps(_told(fact, caused)) if options.json else lines)
    return 0


async def _read(options: argparse.Namespace) -> tuple[RunRow, list[Row], Program | None]:
    async with client(options) as app:
        handle = await app.get(options.run_id)
        [row] = await app.store.find([handle.id])
        facts = await log_of(app.store, row.rid)
        program = None
        if facts and not options.facts_only:
            program = await _program(app, program_at(facts) or row.program, row.workflow)
        return row, list(rows_of(facts)), program


async def _program(app: Perdure, hash_: str, workflow: str) -> Program | None:
    see_here()
    try:
        return await Programs(app.store, app.key).get(hash_, workflow)
    except PerdureError as error:
        _note(f"what the facts caused cannot be told: {error}")
        return None


def _with_causes(program: Program | None, rows: Sequence[Row]) -> Iterator[tuple[Row, Caused]]:
    """Give each row with its effects as far as they follow from the code that is here."""
    told = 0
    if program is not None:
        try:
            for row, effects in causes(program, rows):
                yield row, effects
                told += 1
        except PerdureError as error:
            _note(f"what the facts from {rows[told].seq} on caused cannot be told: {error}")
    for row in rows[told:]:
        yield row, None


def _told(row: Row, caused: Caused) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(encode_row(row))
    told["effects"] = None if caused is None else json.loads(msgspec.json.encode(caused))
    return told


def _why(row: RunRow) -> str:
    return ": it has not begun" if row.ended_us is None else " any more: they were pruned"


def _note(text: str) -> None:
    print(f"perdure: {clean(text.partition(chr(10))[0])}", file=sys.stderr)
