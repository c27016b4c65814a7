"""`perdure cancel RUN`: ask a run to end; its `finally` blocks run."""

from __future__ import annotations

import argparse
from typing import Any

from perdure.cli.messages import actor, leave
from perdure.cli.stores import takes_id, takes_json, takes_store
from perdure.client import Handle


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument("--reason", metavar="TEXT", default="", help="for the log of the run")
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Ask; when this returns, that is durable."""

    async def ask(handle: Handle[Any]) -> None:
        await handle.cancel(options.reason, actor=actor())

    return leave(options, ask)
