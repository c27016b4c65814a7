"""The command `perdure`: parse, ask the library, show. `--json` is for programs.

Exit codes: 0 all is well, 1 the answer is no, 2 the question was wrong. A command is listed here by
its name, and made by the module `commands.NAME`, which is imported when it is asked for.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Collection, Sequence
from typing import NoReturn, Protocol, cast

from perdure import __version__
from perdure.cli.terminal import clean
from perdure.errors import BadUsage, PerdureError, Refused

COMMANDS = {
    "run": "start a run, or go on with it, and serve until it ends",
    "worker": "serve a store until told to stop",
    "start": "leave a run to whoever serves the store",
    "list": "list the runs of a store, newest first",
    "result": "say what a run ended with",
    "show": "show the graph of a run, how every node stands, and what went wrong",
    "watch": "follow a run until it ends",
    "log": "show what happened to a run, fact by fact",
    "signal": "send a signal to a run",
    "cancel": "ask a run to end",
    "retry": "have a run that did not end well go on from the await that failed",
    "upgrade": "have a run go on with the code that its workflow has now",
    "graph": "show the graph of a workflow",
    "check": "find everything that is wrong with the workflows of modules",
    "programs": "list the programs that are stored with the runs",
    "backup": "copy a store while it is in use",
    "prune": "delete the facts of runs that ended long ago",
    "doctor": "say what a store is, how full, and what is wrong with it",
    "bench": "measure the engine on a file",
    "completion": "print what a shell needs to complete the command line",
}


class Command(Protocol):
    """What the module of a command has."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what the command takes."""
        ...

    def command(self, options: argparse.Namespace) -> int:
        """Do it, and give the exit code."""
        ...


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong, so that it is told like everything else."""

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise BadUsage(message, remedy=f"`{self.prog} --help` says more")


def parser(wanted: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """Give the parser of the whole command line; only commands that are wanted take arguments."""
    top = Parser(prog="perdure", description="Durable workflows: asyncio that can be put on disk.")
    top.add_argument("--version", action="version", version=f"perdure {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, about in COMMANDS.items():
        sub = commands.add_parser(name, help=about, description=about.capitalize() + ".")
        if name in wanted:
            made = cast("Command", importlib.import_module(f"{__name__}.commands.{name}"))
            made.arguments(sub)
            sub.set_defaults(run=made.command)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; an error of Perdure's is one clear line, never a traceback."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        options = parser([next((each for each in given if each[:1] != "-"), "")]).parse_args(given)
        code = int(options.run(options))
        sys.stdout.flush()
    except PerdureError as error:
        print(f"perdure: {_told(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Who read the output has gone; what is still to be written must not be missed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def _told(error: PerdureError) -> str:
    """One line, whatever is in it; diagnostics alone have lines of their own."""
    return str(error) if isinstance(error, Refused) else clean(str(error))
