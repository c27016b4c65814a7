"""Workloads that one process carries out while the floor is measured beside them, turn by turn."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import apsw

from perdure.app import Call, Perdure
from perdure.bench import flows
from perdure.bench.figures import Figure, Tell, at_least, at_most, measured, resident_bytes
from perdure.bench.floor import Floor, at_once, one_by_one

Measure = Callable[[Perdure, Floor], Awaitable[dict[str, float]]]


async def repeated(measure: Measure, times: int, tell: Tell) -> dict[str, list[float]]:
    """Measure so often, on one file; give every figure by name."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="perdure-bench-", dir=".") as folder:
        floor = Floor(str(Path(folder) / "floor.db"))
        async with Perdure(Path(folder) / "engine.db") as app:
            await (await app.start(flows.steps_of, 2)).result()
            await one_by_one(floor, 2)
            for number in range(times):
                tell(f"{number + 1} of {times}")
                for name, value in (await measure(app, floor)).items():
                    found.setdefault(name, []).append(value)
        floor.close()
    return found


def _rates(name: str, found: dict[str, list[float]], ratio_bar: Any, cpu_bar: Any) -> list[Figure]:
    ratio = max(found["rate"]) / max(found["floor"])
    return [
        Figure(name, "actions a second", "/s", found["rate"], at_least(20_000), at_most=False),
        Figure(name, "processor time of an action", "µs", found["cpu_us"], cpu_bar),
        Figure(name, "the floor's actions a second", "/s", found["floor"], at_most=False),
        Figure(name, "share of the floor's rate", "x", [ratio], ratio_bar, at_most=False),
    ]


async def many(tell: Tell, *, quick: bool) -> list[Figure]:
    """1,000 runs of 5 steps each, started at once."""
    runs, steps = (20, 5) if quick else (1_000, 5)
    actions = runs * steps

    async def measure(app: Perdure, floor: Floor) -> dict[str, float]:
        with measured() as bare:
            await at_once(floor, runs, steps)
        with measured() as spent:
            started = await app.start_many(Call(flows.steps_of, (steps,)) for _ in range(runs))
            for run in started:
                assert await run.result() == steps
        return {
            "rate": actions / spent.wall_s, "cpu_us": spent.cpu_s / actions * 1e6,
            "floor": actions / bare.wall_s,
        }  # fmt: skip

    found = await repeated(measure, 1 if quick else 7, tell)
    return _rates("many", found, at_least(0.25), at_most(40))


async def fanout(tell: Tell, *, quick: bool) -> list[Figure]:
    """10,000 steps in one gather."""
    width = 100 if quick else 10_000
    growth: list[float] = []

    async def measure(app: Perdure, floor: Floor) -> dict[str, float]:
        with measured() as bare:
            await at_once(floor, width, 1)
        before = resident_bytes()
        with measured() as spent:
            run = await app.start(flows.fan_of, width)
            assert await run.result() == width
        growth.append((resident_bytes() - before) / 1e6)
        return {
            "rate": width / spent.wall_s, "cpu_us": spent.cpu_s / width * 1e6,
            "floor": width / bare.wall_s,
        }  # fmt: skip

    found = await repeated(measure, 1 if quick else 5, tell)
    grown = Figure("fanout", "growth of memory, most", "MB", [max(growth)], at_most(150))
    return [*_rates("fanout", found, None, None), grown]


async def seq(tell: Tell, *, quick: bool) -> list[Figure]:
    """One run of 500 steps, each with a commit of its own."""
    steps = 20 if quick else 500

    async def measure(app: Perdure, floor: Floor) -> dict[str, float]:
        with measured() as bare:
            await one_by_one(floor, steps)
        with measured() as spent:
            run = await app.start(flows.steps_of, steps)
            assert await run.result() == steps
        return {
            "us": spent.wall_s / steps * 1e6, "floor_us": bare.wall_s / steps * 1e6,
            "cpu_us": spent.cpu_s / steps * 1e6, "floor_cpu_us": bare.cpu_s / steps * 1e6,
            "ratio": spent.wall_s / bare.wall_s,
        }  # fmt: skip

    found = await repeated(measure, 1 if quick else 7, tell)
    return [
        Figure("seq", "a step", "µs", found["us"]),
        Figure("seq", "a step of the floor", "µs", found["floor_us"]),
        Figure("seq", "processor time of a step", "µs", found["cpu_us"]),
        Figure("seq", "processor time of the floor's", "µs", found["floor_cpu_us"]),
        Figure("seq", "a step in steps of the floor", "x", found["ratio"], at_most(1.4)),
    ]


async def latency(tell: Tell, *, quick: bool) -> list[Figure]:
    """200 runs of one step, one after the other, each from its start to its result."""
    runs = 10 if quick else 200

    async def measure(app: Perdure, floor: Floor) -> dict[str, float]:
        bare = statistics.median(await one_by_one(floor, runs)) * 1e3
        took: list[float] = []
        for _ in range(runs):
            begun = time.perf_counter()
            await (await app.start(flows.steps_of, 1)).result()
            took.append((time.perf_counter() - begun) * 1e3)
        took.sort()
        middle, late = statistics.median(took), took[len(took) * 99 // 100]
        return {"p50": middle, "p99": late, "floor": bare}

    found = await repeated(measure, 1 if quick else 5, tell)
    ratio = min(found["p50"]) / (2 * min(found["floor"]))
    return [
        Figure("latency", "p50, start to result", "ms", found["p50"], at_most(0.6)),
        Figure("latency", "p99, start to result", "ms", found["p99"], at_most(3)),
        Figure("latency", "p50 in two commits of the floor", "x", [ratio]),
    ]


async def children(tell: Tell, *, quick: bool) -> list[Figure]:
    """One parent of 10,000 child runs, of one step each."""
    width = 50 if quick else 10_000
    growth: list[float] = []

    async def measure(app: Perdure, _: Floor) -> dict[str, float]:
        before = resident_bytes()
        with measured() as spent:
            run = await app.start(flows.parent_of, width)
            assert await run.result() == width
        growth.append((resident_bytes() - before) / 1e6)
        return {"s": spent.wall_s, "cpu_us": spent.cpu_s / width * 1e6}

    found = await repeated(measure, 1 if quick else 3, tell)
    return [
        Figure("children", "start to end", "s", found["s"]),
        Figure("children", "processor time of a child", "µs", found["cpu_us"]),
        Figure("children", "growth of memory, most", "MB", [max(growth)]),
    ]


async def idle(tell: Tell, *, quick: bool) -> list[Figure]:
    """1,000 runs that wait, and the statements that SQLite is given meanwhile."""
    runs, seconds = (10, 1) if quick else (1_000, 60)
    counted: list[str] = []

    def count(told: Any) -> None:
        counted.append(told["sql"])

    def watch(connection: apsw.Connection) -> None:
        given = cast("Any", connection)  # apsw says of its events only that they are a `dict`
        given.trace_v2(apsw.SQLITE_TRACE_STMT, count)

    apsw.connection_hooks.append(watch)
    try:
        with tempfile.TemporaryDirectory(prefix="perdure-bench-", dir=".") as folder:
            async with Perdure(Path(folder) / "engine.db") as app:
                hour_s = time.time() + 3_600
                await app.start_many(Call(flows.waits_of, ("go",)) for _ in range(runs // 2))
                await app.start_many(
                    Call(flows.sleeps_of, (hour_s + number,)) for number in range(runs // 2)
                )
                tell("runs come to rest")
                await asyncio.sleep(0.5 if quick else 5)
                counted.clear()
                for second in range(seconds):
                    tell(f"second {second + 1} of {seconds}: {len(counted)} statements")
                    await asyncio.sleep(1)
    finally:
        apsw.connection_hooks.remove(watch)
    a_minute = len(counted) * 60 / seconds
    return [Figure("idle", "statements a minute", "", [a_minute], at_most(30))]
