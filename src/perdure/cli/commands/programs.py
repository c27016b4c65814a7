"""`perdure programs`: the programs that are stored with the runs, and the text of each."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from perdure.app import Perdure
from perdure.cli import table
from perdure.cli.shown import print_json
from perdure.cli.stores import client, takes_json, takes_store
from perdure.cli.terminal import clean, paint, wants_colour
from perdure.errors import BadUsage, NoSuchProgram
from perdure.node.programs import mac_of
from perdure.store.port import ProgramRow, ProgramUse

HEADINGS = ("HASH", "WORKFLOW", "RUNS", "TEXT")
COLOURS = {"genuine": "green", "forged": "red", "none": "dim"}
HASH_SHOWN = 12


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("what", metavar="show", nargs="?", choices=["show", None])
    parser.add_argument("hash", metavar="HASH", nargs="?", help="the first letters are enough")
    parser.add_argument(
        "--source", action="store_true", help="show the code that a program was linked from"
    )
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Print the list, or the text; 1 if a text was not written under the key of the store."""
    if options.what is not None and not options.hash:
        raise BadUsage("which program is not said", remedy="write `perdure programs show HASH`")
    return asyncio.run(_show(options) if options.what else _list(options))


async def _list(options: argparse.Namespace) -> int:
    async with client(options) as app:
        uses = await app.store.programs()
        found = [(use, _standing(await app.store.program(use.hash), app)) for use in uses]
    if options.json:
        for use, standing in found:
            print_json(_told(use, standing))
    elif found:
        rows = [[use.hash[:HASH_SHOWN], use.name, str(use.runs), how] for use, how in found]
        table.show(HEADINGS, rows, COLOURS, right=("RUNS",))
    else:
        print("no programs")
    return 1 if any(standing == "forged" for _, standing in found) else 0


async def _show(options: argparse.Namespace) -> int:
    async with client(options) as app:
        use = _chosen(options.hash, await app.store.programs())
        row = await app.store.program(use.hash)
        standing = _standing(row, app)
    text = None if row is None or row.text is None else row.text
    if options.json:
        print_json({**_told(use, standing), "program": None if text is None else _parsed(text)})
    elif text is None:
        print(f"{use.name} {use.hash} could not be written down; its code has to be deployed")
    else:
        _print_text(text, source=options.source)
    if standing == "forged":
        line = "the text was not written under the key of this store: it is not run"
        print(paint(line, "red", on=wants_colour(sys.stderr)), file=sys.stderr)
    return 1 if standing == "forged" else 0


def _chosen(begin: str, uses: Sequence[ProgramUse]) -> ProgramUse:
    found = [each for each in uses if each.hash.startswith(begin)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} programs begin with" if found else "there is no program"
    raise NoSuchProgram(f"{what} `{begin}`", remedy="`perdure programs` shows all")


def _standing(row: ProgramRow | None, app: Perdure) -> str:
    """Whether a text is there, and was written under the key of the store."""
    if row is None or row.text is None:
        return "none"
    return "genuine" if hmac.compare_digest(mac_of(row.text, app.key), row.mac) else "forged"


def _told(use: ProgramUse, standing: str) -> dict[str, Any]:
    return {"hash": use.hash, "workflow": use.name, "runs": use.runs, "text": standing}


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


def _print_text(text: bytes, *, source: bool) -> None:
    """Print the text as it is stored, or of it the sources of modules."""
    sources: dict[str, str] = {}
    if source:
        with suppress(ValueError, KeyError, TypeError):
            sources = json.loads(text)["sources"]
    if not sources:
        print(clean(text.decode(errors="replace")))
    for name, code in sources.items():
        print(f"# --- {clean(name)}")
        print("\n".join(map(clean, str(code).rstrip("\n").split("\n"))))
