"""`perdure log RUN`: what happened to a run, fact by fact, and what each fact caused."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
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
from perdure.node.history import causes, log_of, rows_of
from perdure.node.programs import Programs
from perdure.store.port import FactRow, RunRow

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
    log = asyncio.run(_read(options))
    if not log.facts:
        print(f"run {clean(log.row.id)} has no facts{_why(log.row)}", file=sys.stderr)
    show = telling.Teller(log.row.workflow)
    first = 0 if tail is None else len(log.facts) - tail
    for at, (row, caused) in enumerate(_with_causes(log)):
        lines = show.lines(row, caused or ())
        if at >= first:
            print(json.dumps(_told(row, caused)) if options.json else lines)
    return 0


@dataclass(frozen=True)
class _Log:
    """A log as it was read, and the programs that it names."""

    row: RunRow
    facts: list[FactRow]
    programs: dict[str, Program]
    key: bytes


async def _read(options: argparse.Namespace) -> _Log:
    async with client(options) as app:
        handle = await app.get(options.run_id)
        [row] = await app.store.find([handle.id])
        facts = await log_of(app.store, row.rid)
        named = {getattr(it.fact, "program", "") for it in rows_of(facts)} - {""}
        programs = {} if options.facts_only else await _programs(app, named, row.workflow)
        return _Log(row, facts, programs, app.key)


async def _programs(app: Perdure, named: set[str], workflow: str) -> dict[str, Program]:
    see_here()
    known = Programs(app.store, app.key)
    found: dict[str, Program] = {}
    for hash_ in named:
        try:
            found[hash_] = await known.get(hash_, workflow)
        except PerdureError as error:
            _note(f"what some facts caused cannot be told: {error}")
    return found


def _with_causes(log: _Log) -> Iterator[tuple[Row, Caused]]:
    """Give each row with its effects as far as they follow from the code that is here."""
    told = 0
    if log.programs:
        try:
            for row, effects in causes(log.programs, log.row.id, log.facts, log.key):
                yield row, effects
                told += 1
        except PerdureError as error:
            seq = log.facts[told].seq
            _note(f"what the facts from {seq} on caused cannot be told: {error}")
    for row in rows_of(log.facts[told:]):
        yield row, None


def _told(row: Row, caused: Caused) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(encode_row(row))
    told["effects"] = None if caused is None else json.loads(msgspec.json.encode(caused))
    return told


def _why(row: RunRow) -> str:
    return ": it has not begun" if row.ended_us is None else " any more: they were pruned"


def _note(text: str) -> None:
    print(f"perdure: {clean(text.partition(chr(10))[0])}", file=sys.stderr)
