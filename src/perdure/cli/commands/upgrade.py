"""`perdure upgrade RUN`: have a run go on with the code that its owner has of its workflow."""

from __future__ import annotations

import argparse
import asyncio

from perdure.cli.messages import actor
from perdure.cli.shown import print_json
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.cli.terminal import clean


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument(
        "--wait", metavar="TIME", default="30s", help="how long to wait for the owner's answer"
    )
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Ask, and wait for the answer; a run that cannot be moved is an error that says why."""
    asyncio.run(_moved(options))
    if options.json:
        print_json({"run": options.run_id, "upgraded": True})
    else:
        print(f"run {clean(options.run_id)} goes on with the code of today")
    return 0


async def _moved(options: argparse.Namespace) -> None:
    async with client(options) as app:
        await (await app.get(options.run_id)).upgrade(actor=actor(), timeout=options.wait)
