"""`perdure worker MODULE…`: serve a store, as its owner or in its stead, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from typing import Any

from perdure.app import Perdure
from perdure.cli.naming import load_module
from perdure.cli.shown import print_json
from perdure.cli.stores import serving, store_of, takes_json, takes_store
from perdure.cli.terminal import clean
from perdure.core.policy import microseconds
from perdure.errors import NotAWorkflow
from perdure.node.options import Options
from perdure.registry import names
from perdure.serving import serve


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("modules", metavar="MODULE", nargs="+", help="such as orders, or orders.py")
    takes_store(parser)
    takes_json(parser)
    parser.add_argument(
        "--drain", metavar="TIME", default="10s",
        help="how long actions may go on after the first SIGTERM or SIGINT; 10s unless given",
    )  # fmt: skip
    parser.add_argument(
        "--keep", metavar="TIME",
        help="prune runs that ended longer ago, such as 30d; they are kept for ever unless given",
    )  # fmt: skip
    parser.add_argument(
        "--queue", metavar="NAME", action="append", default=[],
        help="serve calls of this queue too; repeatable",
    )  # fmt: skip


def command(options: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    told = _told(options)
    for name in options.modules:
        load_module(name)
    flows = sorted(name for kind, name in names() if kind == "workflow")
    if not flows:
        raise NotAWorkflow(
            f"there is no workflow in {', '.join(options.modules)}",
            remedy="name the modules that define what is to be run",
        )
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level="INFO")
    app = serving(options, told)
    return asyncio.run(_serve(app, options, flows))


def _told(options: argparse.Namespace) -> Options:
    drain_s = microseconds(options.drain, "--drain") / 1_000_000
    keep_s = None if options.keep is None else microseconds(options.keep, "--keep") / 1_000_000
    return Options(drain_s=drain_s, keep_s=keep_s, queues=tuple(options.queue))


async def _serve(app: Perdure, options: argparse.Namespace, flows: list[str]) -> int:
    telling: list[asyncio.Task[None]] = []

    def ready() -> None:
        role = "stand-by" if app.owner is None else "owner"
        _tell(options, "ready", role=role, store=store_of(options), workflows=flows)
        if app.owner is None:
            telling.append(asyncio.ensure_future(_tell_turn(app, options)))

    try:
        code = await serve(app, ready=ready)
    finally:
        for each in telling:
            each.cancel()
    _tell(options, "stopped")
    return code


async def _tell_turn(app: Perdure, options: argparse.Namespace) -> None:
    await app.owning.wait()
    _tell(options, "owner")


def _tell(options: argparse.Namespace, event: str, **more: Any) -> None:
    if options.json:
        print_json({"event": event, **more})
        return
    words = [f"{value}" if isinstance(value, str) else ", ".join(value) for value in more.values()]
    print(clean(": ".join([event, "  ".join(words)] if words else [event])), file=sys.stderr)
