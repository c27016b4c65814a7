"""`perdure list`: the runs of a store, newest first."""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
from typing import Any

from perdure.cli import shown, table
from perdure.cli.asked import count, moment, pairs
from perdure.cli.stores import client, takes_json, takes_store
from perdure.client import RunInfo
from perdure.store.port import STATUSES

HEADINGS = ("RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", "FACTS", "")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_store(parser)
    takes_json(parser)
    parser.add_argument(
        "--status", action="append", default=[], choices=STATUSES, help="only these; repeatable"
    )
    parser.add_argument("--workflow", metavar="NAME", help="only runs of this workflow")
    parser.add_argument("--since", metavar="TIME", help="started then or later: a date, or 2h ago")
    parser.add_argument("--until", metavar="TIME", help="started before then")
    parser.add_argument(
        "--attr", metavar="NAME=TEXT", action="append", default=[], help="only with this attribute"
    )
    parser.add_argument("--limit", metavar="N", default="100", help="at most so many; 100")


def command(options: argparse.Namespace) -> int:
    """Print the runs."""
    now = dt.datetime.now(dt.UTC)
    found = asyncio.run(_list(options, now))
    if options.json:
        for info in found:
            shown.print_json(_told(info))
    elif found:
        table.show(HEADINGS, [_row(info, now) for info in found], shown.COLOURS, right=("FACTS",))
    else:
        print("no runs")
    return 0


async def _list(options: argparse.Namespace, now: dt.datetime) -> list[RunInfo]:
    asked: dict[str, Any] = {
        "status": options.status,
        "workflow": options.workflow,
        "since": options.since and moment(options.since, "--since", now),
        "until": options.until and moment(options.until, "--until", now),
        "attrs": pairs(options.attr, "--attr"),
        "limit": count(options.limit, "--limit"),
    }
    async with client(options) as app:
        return await app.list(**asked)


def _row(info: RunInfo, now: dt.datetime) -> list[str]:
    lasted = ((info.ended or now) - info.created).total_seconds()
    note = info.error or " ".join(f"{name}={text}" for name, text in info.attrs.items())
    return [
        info.id, info.workflow, info.status, shown.ago(info.created, now), shown.took(lasted),
        str(info.facts), note,
    ]  # fmt: skip


def _told(info: RunInfo) -> dict[str, Any]:
    return {
        "run": info.id,
        "workflow": info.workflow,
        "status": info.status,
        "created": info.created.isoformat(),
        "ended": info.ended and info.ended.isoformat(),
        "parent": info.parent,
        "attrs": info.attrs,
        "facts": info.facts,
        "error": info.error,
    }
