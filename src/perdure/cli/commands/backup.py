"""`perdure backup FILE`: copy a store while it is in use."""

from __future__ import annotations

import argparse
import asyncio

from perdure.cli.live import Live
from perdure.cli.shown import print_json
from perdure.cli.stores import client, store_of, takes_json, takes_store
from perdure.cli.terminal import clean


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", metavar="FILE", help="a new file; it opens as a store")
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Copy it; the file is there when it is whole."""
    pages = asyncio.run(_backup(options))
    if options.json:
        print_json({"store": store_of(options), "file": options.file, "pages": pages})
    else:
        print(
            f"copied {pages} pages to {clean(options.file)}; the key beside the store is not in it"
        )
    return 0


async def _backup(options: argparse.Namespace) -> int:
    live = Live(wanted=not options.json)
    pages = [0]

    def progress(done: int, of: int) -> None:
        pages[0] = of
        live.show(f"copying: {done} of {of} pages, {100 * done // max(of, 1)} %")

    try:
        async with client(options) as app:
            await app.backup(options.file, progress)
    finally:
        live.clear()
    return pages[0]
