"""`perdure doctor`: what a store is, how full, and what is wrong with it."""

from __future__ import annotations

import argparse
import asyncio
import json

import msgspec

from perdure.cli.live import Live
from perdure.cli.stores import client, takes_json, takes_store
from perdure.cli.terminal import clean, pad, paint, wants_colour
from perdure.store.port import Report


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_store(parser)
    takes_json(parser)
    parser.add_argument(
        "--thorough", action="store_true", help="read all of it, and hold it against its checksums"
    )


def command(options: argparse.Namespace) -> int:
    """Print the report; 1 if something is wrong."""
    report = asyncio.run(_examine(options))
    if options.json:
        print(json.dumps(msgspec.to_builtins(report)))
    else:
        _show(report)
    return 1 if report.problems else 0


async def _examine(options: argparse.Namespace) -> Report:
    live = Live(wanted=not options.json and options.thorough)
    live.show("reading all of the store")
    try:
        async with client(options) as app:
            return await app.examine(thorough=options.thorough)
    finally:
        live.clear()


def _show(report: Report) -> None:
    colour = wants_colour()
    told = {"store": report.place, "environment": report.environment or "none", **report.facts}
    width = max(map(len, told))
    for name, value in told.items():
        print(f"{pad(name, width)}  {clean(value)}")
    for problem in report.problems:
        print(paint(f"wrong: {clean(problem)}", "red", on=colour))
    if not report.problems:
        print(paint("nothing is wrong", "green", on=colour))
