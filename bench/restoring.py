"""The cost of putting runs on disk: images, restores, lowering and linking, beside their bars.

Each figure is the best of many rounds: what else a machine does only ever adds.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw

from bench import flows
from perdure.core import bindings, image
from perdure.core.facts import Completed, Started
from perdure.core.run import Run
from perdure.lang.inplace import restorable_functions
from perdure.workflows import Workflow

_KEY = bytes(range(32))
_FLOWS = 30


class Cost(NamedTuple):
    """What something cost, and what it may."""

    workload: str
    value: float
    unit: str
    most: float


def best_s(work: Callable[[], object], *, rounds: int, times: int = 1) -> float:
    """Give the seconds of one piece of work, in the best of some rounds of so many."""
    found: list[float] = []
    gc.collect()
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(times):
            work()
        found.append((time.perf_counter() - begun) / times)
    return min(found)


def waiting(flow: Workflow[..., Any], argument: int, answers: int) -> Run:
    """Give a run that has had so many of its calls answered."""
    program = flow.program()
    run = Run(program)
    run.apply(Started(0, program.hash, Raw(f"[[{argument}]]".encode())))
    for number in range(1, answers + 1):
        run.apply(Completed(number, number, 1, Raw(b"1")))
    return run


def image_costs() -> list[Cost]:
    """Measure images and restores of a small run, and of one that holds 300 KB."""
    small, large = waiting(flows.loop_of, 100, 10), waiting(flows.holder_of, 4_650, 2)
    taken, heavy = image.take(small, _KEY), image.take(large, _KEY)
    assert 290_000 < len(heavy) < 320_000, len(heavy)

    def restored(run: Run, whole: bytes) -> Callable[[], object]:
        return lambda: image.restore(run.program, whole, _KEY).drop()

    take_s = best_s(lambda: image.take(small, _KEY), rounds=40, times=200)
    restore_s = best_s(restored(small, taken), rounds=40, times=50)
    heavy_s = best_s(lambda: image.take(large, _KEY), rounds=40)
    again_s = best_s(restored(large, heavy), rounds=20)
    return [
        Cost(f"image of a small run ({len(taken)} B)", take_s * 1e6, "µs", 15),
        Cost("restore of a small run", restore_s * 1e6, "µs", 150),
        Cost(f"image of a state of {len(heavy) // 1000} KB", heavy_s * 1e3, "ms", 3),
        Cost(f"restore of a state of {len(heavy) // 1000} KB", again_s * 1e3, "ms", 12),
    ]


def lowering_cost(steps: int = 50_000) -> Cost:
    """Measure what lowering adds to the steps of a coroutine that only waits."""
    restorable_functions([vars(flows)["lowered"]], bindings)
    natively = best_s(lambda: _drive(flows.native(steps)), rounds=15)
    lowered = best_s(lambda: _drive(flows.lowered(steps)), rounds=15)
    return Cost("lowering, added to a step", (lowered / natively - 1) * 100, "%", 25)


def _drive(coroutine: Any) -> None:
    send = coroutine.send
    try:
        while True:
            send(None)
    except StopIteration:
        return


def linking_cost() -> Cost:
    """Measure the linking of all workflows of a module that was never linked before."""
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(5):
            linked = _module(Path(folder) / f"linked{number}.py")
            gc.collect()
            begun = time.perf_counter()
            for flow in linked:
                flow.program()
            found.append(time.perf_counter() - begun)
    return Cost(f"linking a module of {_FLOWS} workflows", min(found) * 1e3, "ms", 150)


def _module(path: Path) -> list[Workflow[..., Any]]:
    path.write_text(_HEAD + "".join(_FLOW.format(n=n) for n in range(_FLOWS)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return [value for value in vars(module).values() if isinstance(value, Workflow)]


_HEAD = """
import asyncio
from perdure import action, workflow

RATES = {{"a": 1, "b": 2}}


@action
async def step(number):
    return number


async def fee(number, extra=1):
    return RATES["a"] * await step(number) + extra
""".replace("{{", "{").replace("}}", "}")

_FLOW = """

async def part{n}(items):
    total = 0
    for item in items:
        try:
            total += await fee(item)
        except ValueError as error:
            total -= len(str(error))
    return total


@workflow
async def flow{n}(count):
    done = []
    while count:
        count -= 1
        if await step(count) > 3:
            done.append(await part{n}([count, count + 1]))
        else:
            done += await asyncio.gather(step(1), fee(count))
    async with asyncio.timeout(5):
        return [await step(each) for each in done]
"""


def costs() -> list[Cost]:
    """Measure everything."""
    return [*image_costs(), lowering_cost(), linking_cost()]
