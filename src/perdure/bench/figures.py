"""Figures: what was measured, beside its bar, and how it is shown. Knows no workload."""

from __future__ import annotations

import gc
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

Tell = Callable[[str], None]
"""Hears how far a measurement is."""


class Bar(msgspec.Struct, frozen=True):
    """What a figure has to reach: at most `limit`, or at least."""

    limit: float
    at_most: bool = True

    def holds(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {shown(self.limit)}"


class Figure(msgspec.Struct, frozen=True):
    """One measured figure: the best of all repetitions, and every one of them."""

    workload: str
    name: str
    unit: str
    every: list[float]
    bar: Bar | None = None
    at_most: bool = True
    """Whether less is better."""

    @property
    def best(self) -> float:
        """The best repetition."""
        return min(self.every) if self.at_most else max(self.every)

    @property
    def verdict(self) -> str:
        """`ok`, `SHORT`, or nothing where there is no bar."""
        if self.bar is None:
            return ""
        return "ok" if self.bar.holds(self.best) else "SHORT"

    def line(self) -> str:
        """Give the figure as a line of a table."""
        bar = "" if self.bar is None else str(self.bar)
        value = f"{shown(self.best)} {self.unit}"
        return f"{self.workload:<9} {self.name:<34} {value:>20}   {bar:<12} {self.verdict}".rstrip()

    def told(self) -> dict[str, object]:
        """Give the figure for programs."""
        return {
            "workload": self.workload, "name": self.name, "unit": self.unit, "best": self.best,
            "every": self.every, "bar": None if self.bar is None else str(self.bar),
            "verdict": self.verdict,
        }  # fmt: skip


def at_most(limit: float) -> Bar:
    """Give a bar for what should be small."""
    return Bar(limit)


def at_least(limit: float) -> Bar:
    """Give a bar for what should be large."""
    return Bar(limit, at_most=False)


def shown(value: float) -> str:
    """Give a number with the digits that mean something."""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 10 else f"{value:.1f}"


class Spent:
    """What something took."""

    wall_s = 0.0
    cpu_s = 0.0


@contextmanager
def measured() -> Generator[Spent]:
    """Measure time, and processor time of all threads of this process."""
    gc.collect()
    spent = Spent()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    yield spent
    spent.wall_s = time.perf_counter() - wall_s
    spent.cpu_s = time.process_time() - cpu_s


def resident_bytes() -> int:
    """Give the memory that this process occupies; where that is not told, the most it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGESIZE")


def machine() -> dict[str, str]:
    """Say on what was measured."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(usable),
        "load": f"{os.getloadavg()[0]:.1f}",
    }
