"""`perdure prune --older-than TIME`: delete the facts of runs that ended long ago."""

from __future__ import annotations

import argparse
import asyncio

from perdure.cli.live import Live
from perdure.cli.shown import many, print_json
from perdure.cli.stores import client, takes_json, takes_store
from perdure.core.policy import microseconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "--older-than", metavar="TIME", required=True, help="such as 30d: ended longer ago"
    )
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Say how many runs there were. Their ids and results stay."""
    microseconds(options.older_than, "--older-than")  # refused before anything is opened
    pruned = asyncio.run(_prune(options))
    if options.json:
        print_json({"pruned": pruned})
    else:
        print(f"{many(pruned, 'run')} pruned")
    return 0


async def _prune(options: argparse.Namespace) -> int:
    live = Live(wanted=not options.json)
    try:
        async with client(options) as app:
            return await app.prune(
                options.older_than, lambda done: live.show(f"{many(done, 'run')} pruned")
            )
    finally:
        live.clear()
