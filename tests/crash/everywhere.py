"""Crashes at every boundary, crashes inside of recoveries, and faults at every call of SQLite.

    python -m tests.crash.everywhere            all of it, with what was counted

The tests take a part of it; `step` says how large a part.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import apsw

from tests.crash.disk import Short
from tests.crash.lives import Instant, Life, Scenario, after
from tests.crash.scenarios import SCENARIOS

Counts = Counter[str]


def calm(name: str, folder: Path, *, each_write: bool = False) -> Life:
    """Live one scenario without trouble; every other one on the file of an engine that closed."""
    folder.mkdir()
    if list(SCENARIOS).index(name) % 2:
        Life(Scenario(()), str(folder), listens=False).run()
    return Life(SCENARIOS[name], str(folder), each_write=each_write).run()


def crash(name: str, folder: Path, *, each_write: bool = False) -> Counts:
    """Crash a scenario at every boundary, and let another process go on."""
    counts: Counts = Counter()
    scenario = SCENARIOS[name]
    life = calm(name, folder / "calm", each_write=each_write)
    counts["boundaries"] += len(life.instants)
    for at, instant in enumerate(life.instants):
        for how, one in recoveries(instant, scenario, folder):
            one.listens = False
            lived(one, f"{name}: {how} at {at} ({instant.what})")
            counts[how] += 1
            counts[f"at: {instant.what.split(':')[0].split(' ')[0]}"] += 1
    return counts


def crash_twice(name: str, folder: Path, *, step: int = 1) -> Counts:
    """Crash a scenario, and then its recovery at every boundary; of each, every `step`th."""
    counts: Counts = Counter()
    scenario = SCENARIOS[name]
    life = calm(name, folder / "calm")
    for at, instant in some(life.instants, name, step):
        for how, one in recoveries(instant, scenario, folder):
            lived(one, f"{name}: {how} at {at} ({instant.what})")
            for then, second in some(one.instants, f"{name} {how} {at}", step):
                for again, other in recoveries(second, scenario, folder):
                    other.listens = False
                    where = f"{how} at {at} ({instant.what}), {again} at {then} ({second.what})"
                    lived(other, f"{name}: {where}")
                    counts["pairs"] += 1
    return counts


def some(instants: list[Instant], what: str, step: int) -> list[tuple[int, Instant]]:
    """Give every `step`th instant, from a place on that differs from case to case."""
    begin = crc32(what.encode()) % min(step, len(instants))
    return list(enumerate(instants))[begin::step]


def recoveries(instant: Instant, scenario: Scenario, folder: Path) -> Iterator[tuple[str, Life]]:
    """Give the lives that may begin with what an instant leaves, each in a passing folder."""
    for how, files in instant.variants():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            yield how, after(instant, files, scenario, Path(place) / "life")


def lived(life: Life, where: str) -> None:
    """Live, and say where the process ended before if anything is wrong."""
    try:
        life.run()
    except BaseException as error:
        raise AssertionError(f"{where}: {error!r} {life.warnings[:3]}") from error


# --- faults

FAULTS = {
    "write fails": ("write", lambda: apsw.IOError("it was not written")),
    "short write": ("write", lambda: Short(apsw.IOError("it was half written"))),
    "sync fails": ("sync", lambda: apsw.IOError("it was not synced")),
    "cut fails": ("truncate", lambda: apsw.IOError("it was not cut")),
    "read fails": ("read", lambda: apsw.IOError("it was not read")),
    "open fails": ("open", lambda: apsw.CantOpenError("it was not opened")),
    "disk full": ("write", lambda: apsw.FullError("no room")),
}
FULL_S = 4.0
"""How long a disk is full, in virtual seconds."""


class Trouble:
    """One fault, at the n-th call of its kind; a disk that is full stays so for a while."""

    def __init__(self, fault: str, at: int) -> None:
        self.fault = fault
        self.call, self.error = FAULTS[fault]
        self.left = at
        self.struck = 0
        self.until_s = 0.0

    def __call__(self, life: Life, call: str) -> None:
        if self.struck and self.fault == "disk full":
            if call in ("write", "truncate") and life.loop.time() < self.until_s:
                raise self.error()
            return
        if call != self.call or self.struck:
            return
        self.left -= 1
        if self.left < 0:
            self.struck += 1
            self.until_s = life.loop.time() + FULL_S
            raise self.error()


def fault(name: str, folder: Path, *, step: int = 1) -> Counts:
    """Have each call of SQLite fail once, in every way; then lose the power at the end."""
    counts: Counts = Counter()
    scenario = SCENARIOS[name]
    for kind in FAULTS:
        at = crc32(f"{name} {kind}".encode()) % step
        while True:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                trouble = Trouble(kind, at)
                life = Life(scenario, place, listens=False, trouble=trouble)
                lived(life, f"{name}: {kind} at {at}")
                if not trouble.struck:
                    break
                counts[kind] += 1
                [over] = life.instants
                for how, one in recoveries(over, scenario, folder):
                    one.listens = False
                    lived(one, f"{name}: {kind} at {at}, then {how} at its end")
                    counts["power lost after a fault"] += how != "killed"
            at += step
    return counts


def main(names: list[str]) -> None:
    """Do all of it, and say what was counted."""
    total: Counts = Counter()
    began = time.process_time()
    for name in names or SCENARIOS:
        base = Path(tempfile.mkdtemp())
        for part, work in (("a", crash), ("b", crash_twice), ("c", fault)):
            folder = base / part
            folder.mkdir()
            total += work(name, folder)
        shutil.rmtree(base)
        print(f"{name}: {dict(total)}", flush=True)
        total["scenarios"] += 1
    print(dict(total), f"in {time.process_time() - began:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
