"""`perdure result RUN`: what a run ended with; with `--wait`, when it has."""

from __future__ import annotations

import argparse
import asyncio
import sys

from perdure.cli import endings, shown
from perdure.cli.live import Live
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.cli.terminal import clean
from perdure.core.policy import microseconds
from perdure.store.port import OPEN, STATUSES, RunRow


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument("--wait", action="store_true", help="wait for the end")
    parser.add_argument("--timeout", metavar="TIME", help="wait, but no longer than this")
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Print it; the exit code says how the run ended, or that it has not."""
    limit_s = None
    if options.timeout is not None:
        limit_s = microseconds(options.timeout, "--timeout") / 1_000_000
    row = asyncio.run(_row(options, limit_s))
    if row.status > OPEN or options.json:
        return endings.tell(row, as_json=options.json)
    print(f"run {clean(row.id)} is {STATUSES[row.status]}", file=sys.stderr)
    return endings.NOT_OVER


async def _row(options: argparse.Namespace, limit_s: float | None) -> RunRow:
    live = Live(wanted=not options.json)

    def seen(row: RunRow) -> None:
        why = "" if row.result is None else shown.error(row.result)
        live.show(f"{row.id}  {STATUSES[row.status]}  {shown.many(row.head, 'fact')}  {why}")

    async with client(options) as app:
        handle = await app.get(options.run_id)
        if options.wait or limit_s is not None:
            try:
                async with asyncio.timeout(limit_s):
                    return await endings.ending(app, handle, seen)
            except TimeoutError:
                pass  # as it stands now is what is asked for
            finally:
                live.clear()
        [row] = await app.store.find([handle.id])
        return row
