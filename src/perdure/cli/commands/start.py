"""`perdure start MODULE:FLOW`: leave a run to whoever serves the store; back when it is durable."""

from __future__ import annotations

import argparse
import asyncio
import sys

from perdure.app import Call, Perdure
from perdure.cli.asked import call_of
from perdure.cli.naming import load_workflow
from perdure.cli.shown import print_json
from perdure.cli.stores import store_of, takes_json, takes_run, takes_store
from perdure.store.sqlite import SqliteStore


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_run(parser)
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Print the id of the run."""
    flow = load_workflow(options.flow)
    call = call_of(flow, options.arg, options.id, options.attr)
    id_, is_served = asyncio.run(_start(options, call))
    if options.json:
        print_json({"run": id_, "workflow": flow.name})
    else:
        print(id_)
        if not is_served:
            print("nobody serves this store now; `perdure worker MODULE` does", file=sys.stderr)
    return 0


async def _start(options: argparse.Namespace, call: Call) -> tuple[str, bool]:
    async with Perdure(store_of(options), serve=False, environment=options.env) as app:
        [handle] = await app.start_many([call])
        store = app.store
        is_served = not (isinstance(store, SqliteStore) and store.owner().startswith("nobody"))
        return handle.id, is_served
