"""`make demo`: one order, in memory, under a virtual clock, shown fact by fact, then refolded.

What to look at: every line on the left is a fact that the run could not have computed; what
follows it is what the run then asked the world to do. The log of facts alone gives the same
run again, checked digest by digest, in another process under another hash seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orders import Line, Order, charge, fulfil

from perdure.cli import main as perdure
from perdure.core.facts import Row, decode_row, encode_row
from perdure.core.refold import refold
from perdure.node.host import HOST
from perdure.testing import MemoryRun, raises, returns, run_in_memory, signal_at

HERE = Path(__file__).parent
ORDER = Order("42", 1800, [Line("lamp", 2), Line("chair", 4), Line("table", 1)])
COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def main() -> int:
    """Show the graph, the run, and the refold."""
    _title("the workflow, as a graph: perdure graph examples/orders.py:fulfil")
    perdure(["graph", f"{HERE / 'orders.py'}:fulfil"])
    _title("one run in memory: a flaky charge, an approval after 26 hours, a day's sleep")
    begun = time.perf_counter()
    run = run_in_memory(
        fulfil,
        ORDER,
        script={charge: [raises(ConnectionError("bank away"), "3s"), returns("receipt-42", "2s")]},
        events=[signal_at("26h", "approval", True)],
    )
    took_ms = (time.perf_counter() - begun) * 1000
    for row in run.rows:
        _show(row)
    days = _elapsed(run) / timedelta(days=1)
    print(f"\n{run.status}: {run.result()!r}   ({days:.1f} virtual days in {took_ms:.0f} ms)")
    _title("the same log, folded again in another process, another hash seed, another zone")
    return _refold_elsewhere(run)


def _show(row: Row) -> None:
    at = datetime.fromtimestamp(row.fact.at_us / 1e6, UTC)
    kind = type(row.fact).__name__.lower()
    print(f"{at:%d %b %H:%M:%S}  {_bold(f'{row.seq:>2} {kind:<10}')} digest {row.digest:08x}")
    for line in row.outline:
        print(f"{'':>18}→ {line}")


def _elapsed(run: MemoryRun) -> timedelta:
    first, last = run.rows[0].fact.at_us, run.rows[-1].fact.at_us
    return timedelta(microseconds=last - first)


def _refold_elsewhere(run: MemoryRun) -> int:
    log = json.dumps([encode_row(row).decode() for row in run.rows])
    child = subprocess.run(
        [sys.executable, __file__, "--refold"],
        input=log,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
    )
    return child.returncode


def _refold_here() -> int:
    rows = [decode_row(line.encode()) for line in json.load(sys.stdin)]
    begun = time.perf_counter()
    run = refold(fulfil.program(), rows, HOST)
    took_us = (time.perf_counter() - begun) * 1e6
    print(f"process {os.getpid()}: {len(rows)} facts, {len(rows)} equal digests, {took_us:.0f} µs")
    print(f"{run.status}: {run.result()!r}")
    return 0


def _title(text: str) -> None:
    print(f"\n{_bold(f'── {text} ──')}\n")


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if COLOUR else text


if __name__ == "__main__":
    raise SystemExit(_refold_here() if "--refold" in sys.argv else main())
