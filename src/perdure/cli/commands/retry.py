"""`perdure retry RUN`: have a run that did not end well go on from the await that failed."""

from __future__ import annotations

import argparse
from typing import Any

from perdure.cli.messages import actor, leave
from perdure.cli.stores import takes_id, takes_json, takes_store
from perdure.client import Handle


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Ask; when this returns, that is durable."""

    async def ask(handle: Handle[Any]) -> None:
        await handle.retry(actor=actor())

    return leave(options, ask)
