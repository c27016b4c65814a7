"""The command `perdure`: parse, ask the library, show. `--json` is for programs.

Exit codes: 0 all is well, 1 the answer is no (errors were found), 2 the question was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from perdure import __version__
from perdure.cli import bench, check, graph
from perdure.errors import PerdureError

_COMMANDS: dict[
    str, tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]
] = {
    "graph": ("show the graph of a workflow", graph.arguments, graph.command),
    "check": (
        "find everything that is wrong with the workflows of modules",
        check.arguments,
        check.command,
    ),
    "bench": ("measure the engine on a file", bench.arguments, bench.command),
}


def parser() -> argparse.ArgumentParser:
    """Give the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="perdure", description="Durable workflows: asyncio that can be put on disk."
    )
    top.add_argument("--version", action="version", version=f"perdure {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (about, arguments, command) in _COMMANDS.items():
        sub = commands.add_parser(name, help=about, description=about.capitalize() + ".")
        arguments(sub)
        sub.set_defaults(run=command)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; an error of Perdure's is one clear line, never a traceback."""
    options = parser().parse_args(argv)
    try:
        return int(options.run(options))
    except PerdureError as error:
        print(f"perdure: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
