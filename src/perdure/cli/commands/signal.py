"""`perdure signal RUN NAME [JSON]`: send a signal to a run."""

from __future__ import annotations

import argparse
from typing import Any

from perdure.cli.asked import json_of
from perdure.cli.messages import leave
from perdure.cli.stores import takes_id, takes_json, takes_store
from perdure.client import Handle


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument("name", metavar="NAME", help="the name under which the workflow waits")
    parser.add_argument(
        "payload", metavar="JSON", nargs="?", default="null",
        help="what to send; @FILE reads it from a file, @- from standard input",
    )  # fmt: skip
    parser.add_argument("--key", metavar="TEXT", help="a signal of the same key is taken once")
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Send it; when this returns, it is durable."""
    payload = json_of(options.payload, "the payload")

    async def send(handle: Handle[Any]) -> None:
        await handle.signal(options.name, payload, key=options.key)

    return leave(options, send)
