"""`perdure graph module:flow`: the structure of a workflow, as text, Mermaid or JSON."""

from __future__ import annotations

import argparse
import json
from types import FunctionType
from typing import cast

import msgspec

from perdure.cli.naming import load_workflow, shown
from perdure.core import bindings
from perdure.lang import reading
from perdure.lang.graph import to_data
from perdure.lang.graph_text import to_mermaid, to_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "flow", metavar="MODULE:FLOW", help="such as orders:fulfil, or orders.py:fulfil"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--mermaid", action="store_true", help="as a Mermaid flowchart")
    form.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--no-data", action="store_true", help="leave the data edges out of Mermaid"
    )


def command(options: argparse.Namespace) -> int:
    """Print the graph."""
    flow = load_workflow(options.flow)
    found = reading.graph(cast("FunctionType", flow.function), flow.function.__name__, bindings)
    found = msgspec.structs.replace(found, name=flow.name, file=shown(found.file))
    if options.json:
        print(json.dumps(to_data(found), indent=2))
    elif options.mermaid:
        print(to_mermaid(found, data=not options.no_data).rstrip("\n"))
    else:
        print(to_text(found).rstrip("\n"))
    return 0
