"""`perdure watch RUN`: a run as it goes on, until it is over."""

from __future__ import annotations

import argparse
import asyncio
import sys

from perdure.cli.endings import EXIT, NOT_OVER
from perdure.cli.following import follow, way_for
from perdure.cli.naming import see_here
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.core.picture import Picture


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Draw the tree anew whenever something happens; the exit code says how the run ended."""
    see_here()
    last = asyncio.run(_watch(options))
    return NOT_OVER if last is None else EXIT.get(last.status, NOT_OVER)


async def _watch(options: argparse.Namespace) -> Picture | None:
    async with client(options) as app:
        handle = await app.get(options.run_id)
        return await follow(handle, way_for(sys.stdout, as_json=options.json))
