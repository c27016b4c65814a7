"""Which store a command speaks of: `--store`, else PERDURE_STORE, else `perdure.db` here."""

from __future__ import annotations

import argparse
import os

from perdure.app import Perdure
from perdure.errors import StoreUnreachable

VARIABLE = "PERDURE_STORE"
DEFAULT = "perdure.db"


def takes_store(parser: argparse.ArgumentParser) -> None:
    """Add `--store`."""
    parser.add_argument(
        "--store", metavar="FILE", help=f"the store; else {VARIABLE}, else {DEFAULT}"
    )


def takes_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="for programs")


def store_of(options: argparse.Namespace) -> str:
    """Give the path of the store."""
    return options.store or os.environ.get(VARIABLE) or DEFAULT


def client(options: argparse.Namespace) -> Perdure:
    """Give an engine on a store that is there, which reads and leaves messages, and runs nothing.

    Who only asks must not make a store: a wrong path would look like an empty one.
    """
    where = store_of(options)
    if not os.path.lexists(where):
        raise StoreUnreachable(
            f"there is no store `{where}`",
            remedy=f"name it with --store or {VARIABLE}; `perdure run` and `worker` make one",
        )
    return Perdure(where, serve=False)
