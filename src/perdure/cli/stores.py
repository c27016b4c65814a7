"""Which store a command speaks of: `--store`, else PERDURE_STORE, else `perdure.db` here."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from perdure.app import Perdure
from perdure.errors import StoreUnreachable
from perdure.node.options import Options

VARIABLE = "PERDURE_STORE"
DEFAULT = "perdure.db"


def takes_store(parser: argparse.ArgumentParser) -> None:
    """Add `--store` and `--env`."""
    parser.add_argument(
        "--store", metavar="FILE", help=f"the store; else {VARIABLE}, else {DEFAULT}"
    )
    parser.add_argument("--env", metavar="NAME", help="refuse a store of another environment")


def takes_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="for programs")


def takes_run(parser: argparse.ArgumentParser) -> None:
    """Add what says of which workflow a run is, and with which input."""
    parser.add_argument("flow", metavar="MODULE:FLOW", help="such as orders:fulfil")
    parser.add_argument(
        "--arg", metavar="NAME=JSON", action="append", default=[],
        help="an argument, as often as needed; NAME=@FILE reads it from a file, NAME=@- from stdin",
    )  # fmt: skip
    parser.add_argument(
        "--id", metavar="ID", help="the id of the run; the same one is the same run"
    )
    parser.add_argument(
        "--attr", metavar="NAME=TEXT", action="append", default=[], help="to list the run by"
    )


def takes_id(parser: argparse.ArgumentParser) -> None:
    """Add the id of a run that is there."""
    parser.add_argument("run_id", metavar="RUN", help="the id of a run")


def store_of(options: argparse.Namespace) -> str:
    """Give the path of the store."""
    return options.store or os.environ.get(VARIABLE) or DEFAULT


def client(options: argparse.Namespace) -> Perdure:
    """Give an engine on a store that is there, which reads and leaves messages, and runs nothing.

    Who only asks must not make a store: a wrong path would look like an empty one.
    """
    where = store_of(options)
    if not Path(where).exists() or _is_empty(where):
        raise StoreUnreachable(
            f"there is no store `{where}`",
            remedy=f"name it with --store or {VARIABLE}; `perdure run` and `worker` make one",
        )
    return Perdure(where, serve=False, environment=options.env)


def _is_empty(where: str) -> bool:
    """Whether a file has nothing in it, nor in a log beside it: it would be made a store."""
    return Path(where).stat().st_size == 0 and not Path(where + "-wal").exists()


def serving(options: argparse.Namespace, told: Options) -> Perdure:
    """Give an engine on the store that runs what is in it, or stands by."""
    return Perdure(store_of(options), environment=options.env, options=told)
