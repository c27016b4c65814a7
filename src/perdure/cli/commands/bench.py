"""`perdure bench [WORKLOAD…]`: what the engine costs on this machine, beside the bars it keeps."""

from __future__ import annotations

import argparse
import json
import sys

from perdure.bench import command as bench
from perdure.bench.figures import Figure, machine
from perdure.cli.stores import takes_json


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "workloads", metavar="WORKLOAD", nargs="*", choices=[*bench.WORKLOADS, []],
        help=f"all unless given: {', '.join(bench.WORKLOADS)}",
    )  # fmt: skip
    takes_json(parser)
    parser.add_argument(
        "--quick", action="store_true", help="small numbers, to see that it works; no bars"
    )


def command(options: argparse.Namespace) -> int:
    """Measure, print the figures beside their bars; 1 if one falls short."""
    is_live = sys.stderr.isatty()

    def tell(text: str) -> None:
        if is_live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def show(figure: Figure) -> None:
        if is_live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        if not options.json:
            print(figure.line(), flush=True)

    found = bench.run(options.workloads, tell, show, quick=options.quick)
    if options.json:
        print(json.dumps({"machine": machine(), "figures": [each.told() for each in found]}))
    short = sum(each.verdict == "SHORT" for each in found)
    if not options.json:
        bars = sum(each.bar is not None for each in found)
        print(f"{bars - short} of {bars} bars hold; {', '.join(map(' '.join, machine().items()))}")
    return 1 if short and not options.quick else 0
