"""What commands share that leave a message for a run: who does it, and what is printed of it."""

from __future__ import annotations

import argparse
import asyncio
import getpass
from collections.abc import Awaitable, Callable
from typing import Any

from perdure.cli.shown import print_json
from perdure.cli.stores import client
from perdure.cli.terminal import clean
from perdure.client import Handle


def leave(options: argparse.Namespace, act: Callable[[Handle[Any]], Awaitable[None]]) -> int:
    """Find the run, leave the message, and say that it is durable."""

    async def find_and_act() -> None:
        async with client(options) as app:
            await act(await app.get(options.run_id))

    asyncio.run(find_and_act())
    if options.json:
        print_json({"run": options.run_id, "left": options.command})
    else:
        print(f"left for run {clean(options.run_id)}: {options.command}")
    return 0


def actor() -> str:
    """Say who asks, for the log of the run."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""  # a number without a name
