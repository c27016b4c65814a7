"""The cost of the fold and of images alone: no store, no loop, no workers.

`python -m bench.core [--json]`.

Each workload applies facts to a run as a node would, with effects digested, and answers every
dispatch at once. The bars are those that the project keeps.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from msgspec import Raw

from bench import flows
from bench.restoring import costs
from perdure.core.effects import Dispatch
from perdure.core.facts import Completed, Started
from perdure.core.run import Applied, Run
from perdure.workflows import Workflow

_ONE = Raw(b"1")


@dataclass
class Figure:
    """One measured figure beside its bar."""

    workload: str
    value: float
    unit: str
    bar: str
    good: bool


def _start(flow: Workflow[..., Any], *args: int) -> tuple[Run, Applied]:
    program = flow.program()
    run = Run(program)
    payload = json.dumps([list(args)]).encode()
    return run, run.apply(Started(0, program.hash, Raw(payload)))


def sequential(steps: int) -> tuple[float, float]:
    """Fold a loop of `steps` awaits; give the seconds, and those of its last thousand facts."""
    run, applied = _start(flows.loop_of, steps)
    apply = run.apply
    last_s = 0.0
    begun = mark = time.perf_counter()
    for number in range(1, steps + 1):
        if number == steps - 999:
            mark = time.perf_counter()
        apply(Completed(number, number, 1, _ONE))
    ended = time.perf_counter()
    last_s = ended - mark
    assert run.status == "completed", run.status
    assert applied.row.seq == 1
    return ended - begun, last_s


def flat(steps: int) -> tuple[float, float]:
    """Give the µs per fact around the 1,000th and around the last fact of one long run."""
    run, _ = _start(flows.loop_of, steps)
    apply = run.apply
    early: list[float] = []
    late: list[float] = []
    window = 1_000
    mark = time.perf_counter()
    for number in range(1, steps + 1):
        apply(Completed(number, number, 1, _ONE))
        if number % window == 0:
            now = time.perf_counter()
            (
                early if number <= 20 * window else late if number > steps - 20 * window else []
            ).append(now - mark)
            mark = now
    return min(early) / window * 1e6, min(late) / window * 1e6


def gathered(width: int) -> float:
    """Fold one gather of `width` calls; give the seconds."""
    begun = time.perf_counter()
    run, applied = _start(flows.gather_of, width)
    calls = [effect.call for effect in applied.effects if isinstance(effect, Dispatch)]
    assert len(calls) == width
    for call in calls:
        run.apply(Completed(1, call, 1, _ONE))
    ended = time.perf_counter()
    assert run.status == "completed", run.status
    return ended - begun


def chained(depth: int, steps: int) -> float:
    """Fold `steps` awaits below `depth` helpers; give the seconds."""
    run, _ = _start(flows.chain_of, depth, steps)
    begun = time.perf_counter()
    for number in range(1, steps + 1):
        run.apply(Completed(number, number, 1, _ONE))
    ended = time.perf_counter()
    assert run.status == "completed", run.status
    return ended - begun


def native(steps: int) -> float:
    """Send into a bare coroutine `steps` times: the floor under every fold; give the seconds."""
    coroutine = flows.bare(steps)
    begun = time.perf_counter()
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        return time.perf_counter() - begun


def import_ms() -> float:
    """Give the milliseconds that importing the package adds to starting Python."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # measured as users have it

    def best(statement: str) -> float:
        found: list[float] = []
        for _ in range(7):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True, env=environment)  # noqa: S603
            found.append(time.perf_counter() - begun)
        return min(found) * 1000

    return best("import perdure") - best("pass")


def _best(measure: Callable[[], float], times: int = 3) -> float:
    found: list[float] = []
    for _ in range(times):
        gc.collect()
        found.append(measure())
    return min(found)


def figures(*, long_steps: int) -> list[Figure]:
    """Measure everything."""
    sequential(2_000)
    seq_s = _best(lambda: sequential(50_000)[0], 5)
    rate = 50_000 / seq_s
    floor_us = _best(lambda: native(50_000)) / 50_000 * 1e6
    early_us, late_us = flat(long_steps)
    ratio = late_us / early_us
    gather_us = _best(lambda: gathered(10_000)) / 10_000 * 1e6
    chain_us = _best(lambda: chained(100, 5_000)) / 5_000 * 1e6
    load_ms = import_ms()
    return [
        Figure("sequential loop", rate, "facts/s", ">= 60,000", rate >= 60_000),
        Figure("sequential loop", 1e6 / rate, "µs/fact", "", good=True),
        Figure("bare coroutine (floor)", floor_us, "µs/step", "", good=True),
        Figure("gather of 10,000", gather_us, "µs/fact", "", good=True),
        Figure("below 100 helpers", chain_us, "µs/fact", "", good=True),
        Figure(f"fact 1,000 against {long_steps:,}", ratio, "x", "<= 1.1", ratio <= 1.1),
        Figure("import perdure", load_ms, "ms", "< 120", load_ms < 120),
        *[
            Figure(
                each.workload, each.value, each.unit, f"<= {each.most:g}", each.value <= each.most
            )
            for each in costs()
        ],
    ]


def main() -> int:
    """Print the figures beside their bars; fail when one falls short."""
    parser = argparse.ArgumentParser(description="the cost of the fold alone")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--long", type=int, default=1_000_000, help="facts of the long run")
    options = parser.parse_args()
    found = figures(long_steps=options.long)
    if options.json:
        print(json.dumps([asdict(each) for each in found]))
    else:
        for each in found:
            mark = " " if not each.bar else "ok" if each.good else "SHORT"
            print(f"{each.workload:<32} {each.value:>12,.2f} {each.unit:<8} {each.bar:<10} {mark}")
    return 0 if all(each.good for each in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
