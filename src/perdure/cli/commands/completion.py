"""`perdure completion SHELL`: what a shell needs to complete the command line."""

from __future__ import annotations

import argparse

from perdure.cli import completing, parser


def arguments(sub: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    sub.add_argument("shell", choices=completing.SHELLS)


def command(options: argparse.Namespace) -> int:
    """Print the script; `eval "$(perdure completion bash)"` uses it."""
    print(completing.SHELLS[options.shell](completing.known(parser())))
    return 0
