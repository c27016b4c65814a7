"""`perdure upgrade RUN`: have a run go on with the code that its owner has of its workflow."""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from perdure.cli.messages import actor
from perdure.cli.naming import load_workflow
from perdure.cli.shown import print_json
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.cli.terminal import clean
from perdure.node.rehearsing import Rehearsal


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument(
        "--wait", metavar="TIME", default="30s", help="how long to wait for the owner's answer"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what lies between the code of the run and that in this folder, and do nothing",
    )
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Ask, and wait for the answer; a run that cannot be moved is an error that says why."""
    if options.dry_run:
        return _tell(options, asyncio.run(_rehearsed(options)))
    asyncio.run(_moved(options))
    if options.json:
        print_json({"run": options.run_id, "upgraded": True})
    else:
        print(f"run {clean(options.run_id)} goes on with the code of today")
    return 0


async def _moved(options: argparse.Namespace) -> None:
    async with client(options) as app:
        await (await app.get(options.run_id)).upgrade(actor=actor(), timeout=options.wait)


async def _rehearsed(options: argparse.Namespace) -> Rehearsal:
    async with client(options) as app:
        run = await app.get(options.run_id)
        load_workflow((await run.info()).workflow)
        return await run.rehearse_upgrade()


def _tell(options: argparse.Namespace, found: Rehearsal) -> int:
    name = clean(options.run_id)
    if options.json:
        print_json({"run": options.run_id, **msgspec.to_builtins(found)})
    else:
        print("\n".join(map(clean, found.difference.splitlines())))
        print(f"run {name} " + ("can be moved" if found.moves else f"stays: {clean(found.why)}"))
    return 0 if found.moves else 1
