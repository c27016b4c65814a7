"""The kill loop: engines in processes that are killed at random instants, and what is left.

    python -m tests.real.kill_loop [CYCLES [SEED]]

One process owns the runs, others stand by; the owner is killed, now and then all of them. The loop
believes only what was acknowledged over a pipe, and what is in a journal that no engine can undo.
In the end a last engine lets all runs end, and everything is held against everything.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import random
import selectors
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perdure import Perdure, values
from perdure.core.facts import Cancelled, Completed, Lost, Signalled, decode_row
from perdure.errors import RunOver
from tests.real.kill_engine import IN_FLIGHT, JOURNAL, expected
from tests.real.kit import LATEST_S, ROOT

STANDING_BY = 2
ALL_DIE_EVERY = 8
"""In one of so many cycles, the stand-bys die with the owner."""
LOAD_S = 0.15
"""How long an owner lives at most, from when it owns the runs."""
PHASES = ("before the log", "in the log", "before the sync", "after the sync")
READER = "tests.real.foreign_reader"
ENGINE = "tests.real.kill_engine"


@dataclass
class Seen:
    """What is believed, and what was measured."""

    acknowledged: dict[str, set[str]] = field(
        default_factory=lambda: {"started": set(), "signalled": set(), "cancelled": set()}
    )
    kills: int = 0
    in_flight: Counter[str] = field(default_factory=Counter)
    took_ms: list[float] = field(default_factory=list)
    owned_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    facts: int = 0
    runs: int = 0
    effects: int = 0
    losses: int = 0
    doubled: int = 0
    reads: int = 0

    @property
    def share(self) -> float:
        """The part of the kills that found a batch under way."""
        return sum(self.in_flight.values()) / self.kills

    def report(self) -> str:
        """Say it in lines."""
        n = sum(map(len, self.acknowledged.values()))
        return "\n".join(
            [
                f"kills {self.kills}, with a batch in flight {self.share:.0%}",
                *(f"  {phase}: {self.in_flight[phase]}" for phase in PHASES),
                f"the lock was taken after {_spread(self.took_ms)} ms",
                f"runs were owned after    {_spread(self.owned_ms)} ms",
                f"runs {self.runs}, facts {self.facts}, acknowledgements {n}",
                f"effects {self.effects}, losses {self.losses}, effects twice {self.doubled}",
                f"foreign reads {self.reads}",
                *(self.problems or ["no problem"]),
            ]
        )


def _spread(ms: list[float]) -> str:
    found = sorted(ms) or [0.0]
    at = {50: len(found) // 2, 99: min(len(found) - 1, len(found) * 99 // 100)}
    return ", ".join(f"p{each} {found[where]:.1f}" for each, where in at.items())


class Process:
    """One engine, and what it has said."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        self.state_file = folder / f"state-{number}"
        given = (folder / "runs.db", self.state_file, f"{seed}-{number}")
        self.popen = subprocess.Popen(
            [sys.executable, "-m", ENGINE, *map(str, given)],
            stdout=subprocess.PIPE, cwd=ROOT, env=_environment(folder / "journal"),
        )  # fmt: skip
        assert self.popen.stdout is not None
        self.pipe = self.popen.stdout.fileno()
        os.set_blocking(self.pipe, False)
        self.rest = b""
        self.said: dict[str, int] = {}

    def hear(self, seen: Seen) -> bool:
        """Take in what it has said; gives whether there may be more."""
        try:
            data = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return False
        *lines, self.rest = (self.rest + data).split(b"\n")
        for word, _, what in (each.decode().partition(" ") for each in lines):
            if word in seen.acknowledged:
                seen.acknowledged[word].add(what)
            else:
                self.said[word] = int(what or 0)
        return bool(data)

    def kill(self, seen: Seen) -> int:
        """Kill it, and take in its last words; gives when."""
        at = time.monotonic_ns()
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait(LATEST_S)
        while self.hear(seen):
            pass
        self.popen.stdout.close()  # type: ignore[union-attr]
        return at

    def state(self) -> tuple[int, int]:
        """Say whether a batch was under way when it was killed, and how far."""
        with (
            self.state_file.open("rb") as file,
            closing(mmap.mmap(file.fileno(), mmap.PAGESIZE, access=mmap.ACCESS_READ)) as state,
        ):
            return state[0], state[1]


def _environment(journal: Path) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, JOURNAL: str(journal)}


class Loop:
    """Owner and stand-bys, killed and made anew."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.draw = random.Random(seed)
        self.seen = Seen()
        self.made = 0
        self.processes: list[Process] = []

    def fill(self) -> None:
        """Have an owner and so many stand-bys."""
        while len(self.processes) <= STANDING_BY:
            self.processes.append(Process(self.folder, self.made, self.seed))
            self.made += 1

    def until(self, what: Callable[[], Any], limit_s: float = LATEST_S) -> Any:
        """Listen to all of them until something holds."""
        end = time.monotonic() + limit_s
        while not (found := what()):
            if time.monotonic() > end:
                for each in self.processes:  # so that it is known what they do instead
                    each.popen.send_signal(signal.SIGUSR1)
                time.sleep(1)
                raise AssertionError(f"never came: {[each.said for each in self.processes]}")
            self._listen(0.002)
        return found

    def _listen(self, limit_s: float) -> None:
        with selectors.DefaultSelector() as selector:
            for each in self.processes:
                selector.register(each.pipe, selectors.EVENT_READ, each)
            for key, _ in selector.select(limit_s):
                if not key.data.hear(self.seen) and key.data.popen.poll() is not None:
                    raise AssertionError(f"an engine ended by itself: {key.data.popen.poll()}")

    def owner(self) -> Process | None:
        """Give who owns the runs."""
        return next((each for each in self.processes if "owns" in each.said), None)

    def cycle(self, number: int) -> None:
        """Wait for an owner, kill it at some instant, and see who takes over."""
        self.fill()
        owner: Process = self.until(self.owner)
        all_die = number % ALL_DIE_EVERY == ALL_DIE_EVERY - 1
        heirs = [each for each in self.processes if each is not owner]
        if not all_die:
            self.until(lambda: any("stands" in each.said for each in heirs))
        end = time.monotonic() + self.draw.uniform(0, LOAD_S)
        while (left := end - time.monotonic()) > 0:
            self._listen(min(left, 0.002))
        at = self._kill(owner)
        for each in heirs if all_die else ():
            each.kill(self.seen)
            self.processes.remove(each)
        if not all_die:
            self._measure(at)

    def _kill(self, owner: Process) -> int:
        at = owner.kill(self.seen)
        self.processes.remove(owner)
        is_in_flight, phase = owner.state()
        self.seen.kills += 1
        if is_in_flight == IN_FLIGHT:
            self.seen.in_flight[PHASES[phase]] += 1
        return at

    def _measure(self, at: int) -> None:
        heir: Process = self.until(self.owner)
        self.seen.took_ms.append((heir.said["took"] - at) / 1e6)
        self.seen.owned_ms.append((heir.said["owns"] - at) / 1e6)

    def end(self) -> None:
        """Kill what is left."""
        for each in self.processes:
            each.kill(self.seen)
        self.processes.clear()


@contextmanager
def foreign_reader(file: Path, seen: Seen) -> Iterator[None]:
    """Have somebody else read the file all the while."""
    reader = subprocess.Popen(
        [sys.executable, "-m", READER, str(file)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        yield
    finally:
        said, complained = reader.communicate(timeout=LATEST_S)
    if reader.returncode:
        seen.problems.append(f"the foreign reader: {complained.strip().splitlines()[-1]}")
    else:
        seen.reads = int(said.split()[1])


# --- what is left


async def let_all_end(file: Path) -> list[str]:
    """Have a last engine bring every run to its end; gives what is wrong with the store."""
    async with Perdure(file) as app:
        async for run in app.iterate(status=["pending", "running"]):
            if run.parent is None:
                handle = await app.get(run.id)
                number = int(run.id.rpartition("-")[2])
                # The same key as before: whoever has had it takes no second one.
                with suppress(RunOver):
                    await handle.signal("go", number, key=f"go-{number}")
        async for run in app.iterate(status=["pending", "running"]):
            with suppress(asyncio.CancelledError):  # as a client had asked
                await (await app.get(run.id)).result(LATEST_S)
        return (await app.examine(thorough=True)).problems


def check(file: Path, journal: Path, seen: Seen) -> None:
    """Hold the store, the journal and what was acknowledged against each other."""
    effects: dict[str, Counter[int]] = {}
    for id_, _, call in (line.rpartition(":") for line in journal.read_text().splitlines()):
        effects.setdefault(id_, Counter())[int(call)] += 1
        seen.effects += 1
    with closing(sqlite3.connect(file)) as connection:
        [(verdict,)] = connection.execute("pragma integrity_check")
        runs = connection.execute("select rid, id, status, result from runs").fetchall()
        ids = {id_ for _, id_, _, _ in runs}
        seen.runs = len(runs)
        seen.problems += [] if verdict == "ok" else [f"integrity_check: {verdict}"]
        seen.problems += [
            f"{each} was acknowledged, and is not there"
            for each in seen.acknowledged["started"] - ids
        ]
        seen.problems += [f"{id_} took effect, and is not there" for id_ in effects.keys() - ids]
        for rid, id_, status, result in runs:
            bodies = connection.execute("select body from facts where rid = ? order by seq", (rid,))
            facts = [decode_row(body).fact for (body,) in bodies]
            seen.facts += len(facts)
            of_actions = {
                fact.call
                for fact in facts
                if isinstance(fact, Completed) and not ids & _ids_of_child(id_, fact)
            }
            seen.problems += _of_effects(id_, facts, of_actions, effects.get(id_, Counter()), seen)
            seen.problems += _of_order(id_, status, result, facts, seen)


def _ids_of_child(id_: str, fact: Completed) -> set[str]:
    return {f"{id_}/{fact.call}", f"{id_}/{fact.call}.{fact.token}"}


def _of_effects(
    id_: str, facts: list[Any], of_actions: set[int], effects: Counter[int], seen: Seen
) -> Iterator[str]:
    """What was done must be in the journal, and twice only if a loss is in the log."""
    losses = Counter(fact.call for fact in facts if isinstance(fact, Lost))
    seen.losses += losses.total()
    for call in of_actions - effects.keys():
        yield f"{id_}:{call} has an outcome, and never took effect"
    for call, times in effects.items():
        if times > 1 + losses[call]:
            yield f"{id_}:{call} took effect {times} times with {losses[call]} losses"
        if times > 1:
            seen.doubled += 1


def _of_order(id_: str, status: int, result: bytes, facts: list[Any], seen: Seen) -> Iterator[str]:
    signals = [fact for fact in facts if isinstance(fact, Signalled)]
    if len(signals) > 1:
        yield f"{id_} has had one signal {len(signals)} times"
    if id_ in seen.acknowledged["signalled"] and not signals:
        yield f"the signal for {id_} was acknowledged, and is not there"
    if id_ in seen.acknowledged["cancelled"] and not any(isinstance(f, Cancelled) for f in facts):
        yield f"the end of {id_} was acknowledged, and is not there"
    if "/" in id_:
        return
    if status not in (2, 4):
        yield f"{id_} is {status}: {json.loads(result)}"
    elif status == 2:
        number = int(id_.rpartition("-")[2])
        value = values.decode(result)
        if value != expected(number, value[5]) or value[5] not in {f"send {number}", "unknown"}:
            yield f"{id_} gave {value}"


def kill_loop(folder: Path, cycles: int, seed: int) -> Seen:
    """Kill so many owners; give what was seen."""
    file, journal = folder / "runs.db", folder / "journal"
    os.environ[JOURNAL] = str(journal)
    loop = Loop(folder, seed)
    loop.fill()
    try:
        loop.until(loop.owner)
        with foreign_reader(file, loop.seen):
            for number in range(cycles):
                loop.cycle(number)
            loop.end()
            loop.seen.problems += asyncio.run(let_all_end(file))
    finally:
        loop.end()
    check(file, journal, loop.seen)
    return loop.seen


def main(cycles: int = 300, seed: int = 1) -> None:
    """Run the loop and say what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        seen = kill_loop(Path(folder), cycles, seed)
        print(f"{cycles} cycles, seed {seed}, {time.monotonic() - begun:.0f} s\n{seen.report()}")
    if seen.problems or seen.share < 0.8:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
