"""`perdure show RUN`: the graph of a run, how every node stands, and what went wrong."""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import json
import shutil
from collections.abc import Iterator
from typing import Any

from perdure.cli import tree
from perdure.cli.asked import count
from perdure.cli.naming import see_here
from perdure.cli.stores import client, takes_id, takes_json, takes_store
from perdure.cli.terminal import clean, clip, paint, wants_colour
from perdure.client import Moment
from perdure.core.picture import Picture, to_data
from perdure.errors import PerdureError

_VALUE_CHARS_MAX = 400


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_id(parser)
    parser.add_argument("--at", metavar="SEQ", help="as it was after this fact, with its variables")
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Print the tree; 0 however the run stands."""
    seq = None if options.at is None else count(options.at, "--at")
    see_here()
    picture, moment, why = asyncio.run(_read(options, seq))
    if options.json:
        print(json.dumps(to_data(picture) | ({} if seq is None else {"tasks": _data(moment)})))
        return 0
    columns = shutil.get_terminal_size((100, 24)).columns
    colour = wants_colour()
    now = None if seq is not None else dt.datetime.now(dt.UTC)
    for line in tree.lines(picture, width=columns, colour=colour, now=now):
        print(line)
    for line, shade in _variables(moment, why):
        print(paint(clip(line, columns), shade, on=colour))
    return 0


async def _read(options: argparse.Namespace, seq: int | None) -> tuple[Picture, Moment | None, str]:
    async with client(options) as app:
        handle = await app.get(options.run_id)
        picture = await handle.picture(seq)
        if seq is None:
            return picture, None, ""
        try:
            return picture, await handle.at(seq), ""
        except PerdureError as error:
            if not picture.seq or picture.seq != seq:
                raise  # there is no such fact
            return picture, None, str(error)


# --- variables


def _variables(moment: Moment | None, why: str) -> Iterator[tuple[str, str]]:
    """Tell what stood where, with which variables."""
    if why:
        yield f"its variables cannot be had: {clean(why)}", "magenta"
    for task in () if moment is None else moment.tasks:
        yield "", ""
        yield clean(task.name), "bold"
        for frame in task.frames:
            yield f"  {clean(frame.function)}  {clean(frame.file)}:{frame.line}", "dim"
            for name, value in frame.variables.items():
                yield f"    {clean(name)} = {_shown(value)}", ""


def _data(moment: Moment | None) -> list[dict[str, Any]]:
    return [
        {
            "name": task.name,
            "frames": [
                {
                    "function": frame.function,
                    "file": frame.file,
                    "line": frame.line,
                    "variables": {name: _shown(each) for name, each in frame.variables.items()},
                }
                for frame in task.frames
            ],
        }
        for task in (() if moment is None else moment.tasks)
    ]


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 — its `__repr__` is the user's
        return f"(cannot be shown: {type(error).__name__})"
    return clip(clean(text), _VALUE_CHARS_MAX)
