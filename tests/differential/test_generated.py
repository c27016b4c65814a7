"""Random programs do in Perdure what they do under asyncio, disturbed or not, and fold again."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from perdure import workflow
from perdure.core.refold import refold
from perdure.node.host import HOST
from perdure.testing import VirtualLoop
from perdure.testing.memory import MemoryRun
from tests.differential import harness
from tests.differential.generator import CONSTRUCTS, constructs, programs
from tests.differential.harness import Outcome, Schedule, Source, Text, differences, schedules

PROGRAMS = int(os.environ.get("PERDURE_PROGRAMS", "5000"))
SEED = int(os.environ.get("PERDURE_SEED", "0"))
SHARDS = 10
COVERED_FROM = 300
"""How many programs a shard has to have before it must have seen every construct."""

DISTURBANCES = 2
JUMPS_MAX = 3_000
DEADLOCKS_MAX = 0.1
"""How many of the programs may end with nothing left that could happen: these compare little."""

FILE = "/generated/program.py"


class Generated(Source):
    """A module of one program, made of text, under a name that the next one takes over."""

    def __init__(self, text: str) -> None:
        self.names = ["program"]
        self.file = FILE
        self.name = "generated_program"
        self.loader = Text(text + harness._TAIL.format(name="program"), FILE)


# --- CPython leaves some orders to the addresses of objects: here it takes that of creation


class Ordered(dict[Any, None]):
    """A set, as far as asyncio needs one, in order of arrival."""

    def __init__(self, members: Any = ()) -> None:
        super().__init__(dict.fromkeys(members))

    def add(self, member: Any) -> None:
        self[member] = None

    def discard(self, member: Any) -> None:
        self.pop(member, None)

    def remove(self, member: Any) -> None:
        del self[member]


class OrderedLoop(VirtualLoop):
    """Closes asynchronous generators in the order in which they began."""

    def __init__(self) -> None:
        super().__init__()
        self._asyncgens: Any = weakref.WeakSet()
        self._asyncgens.data = Ordered()


def _in_order(all_tasks: Any) -> Any:
    def ordered(loop: Any = None) -> Any:
        return sorted(all_tasks(loop), key=lambda task: int(task.get_name().removeprefix("Task-")))

    return ordered


def _aside(close: Any) -> Any:
    """Have the end of a run handled in a thread of its own, where no exception is being handled.

    `asyncio.run` cancels what is left while it handles the failure of main, which then is the
    last context of every error that the rest still raises. Perdure does not model that.
    """

    def closed(loop: Any) -> None:
        thread = threading.Thread(target=close, args=(loop,))
        thread.start()
        thread.join()

    return closed


def _failed(failed: Any) -> Any:
    """Have no line counted that is printed when the error of a run is forgotten, with its frames."""

    def failed_and_printed(outcome: Outcome, *args: Any) -> None:
        failed(outcome, *args)
        outcome.printed = list(outcome.printed)

    return failed_and_printed


@contextmanager
def one_order() -> Iterator[None]:
    """Have asyncio take things in order of creation where any order would do.

    Besides: collect no cycles, for that closes generators at any moment, and be quiet about
    coroutines that nobody awaits.
    """
    hook = sys.unraisablehook
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(asyncio.tasks, "set", Ordered, raising=False)
        patch.setattr(asyncio.taskgroups, "set", Ordered, raising=False)
        patch.setattr(asyncio.tasks, "all_tasks", _in_order(asyncio.all_tasks))
        patch.setattr(
            asyncio.runners, "_cancel_all_tasks", _aside(asyncio.runners._cancel_all_tasks)
        )
        patch.setattr(harness, "_failed", _failed(harness._failed))
        patch.setattr(harness, "VirtualLoop", OrderedLoop)
        patch.setattr(VirtualLoop, "jumps_max", JUMPS_MAX)
        patch.setattr(sys, "unraisablehook", lambda _: None)
        gc.disable()
        try:
            yield
            gc.collect()
        finally:
            gc.enable()
    assert sys.unraisablehook is hook


# --- comparing


class Shard:
    """What one share of the programs has shown so far."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.programs = 0
        self.deadlocked = 0

    def check(self, text: str) -> None:
        """Compare one program: undisturbed, then disturbed, and its logs folded again."""
        self.seen |= constructs(text)
        self.programs += 1
        source = Generated(text)
        plain = self.compare(source, text, Schedule())
        self.deadlocked += plain.deadlocked
        drawn = random.Random(text)
        known = schedules(plain)
        for schedule in drawn.sample(known, min(DISTURBANCES, len(known))):
            self.compare(source, text, schedule)

    def compare(self, source: Source, text: str, schedule: Schedule) -> Outcome:
        """Compare under one schedule."""
        want = harness.native(source, "program", schedule)
        got, memory = harness.perdure(source, "program", schedule)
        found = differences(want, got)
        if memory is not None:
            found += refolded(source, memory)
        if found:
            pytest.fail("\n".join([text, "", f"under {schedule}:", *found]), pytrace=False)
        return want


def refolded(source: Source, memory: MemoryRun) -> list[str]:
    """Say what differs when the log is folded again, by a program that was imported afresh."""
    flow = workflow(source.fresh().__dict__["run_program"])
    try:
        again = refold(flow.program(), memory.rows, HOST)
    except Exception as error:  # noqa: BLE001 — whatever it is, it is a difference
        return [f"refold: {type(error).__name__}: {error}"]
    if again.outcome != memory.run.outcome:
        return [f"refold:\n    then: {memory.run.outcome}\n    now: {again.outcome}"]
    return []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_programs_do_what_they_do_under_asyncio(shard):
    count = PROGRAMS * (shard + 1) // SHARDS - PROGRAMS * shard // SHARDS
    state = Shard()
    every = seed(SEED * SHARDS + shard)
    few = settings(
        max_examples=max(1, count),
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )

    @every
    @few
    @given(programs())
    def check(text: str) -> None:
        state.check(text)

    with one_order():
        try:
            check()
        except BaseException as error:
            error.add_note(
                f"again: PERDURE_SEED={SEED} PERDURE_PROGRAMS={PROGRAMS} python -m pytest "
                f"'tests/differential/test_generated.py' -k 'asyncio and {shard}'"
            )
            raise
    if count >= COVERED_FROM:
        missing = sorted(CONSTRUCTS - state.seen)
        assert not missing, f"{state.programs} programs had none of: {', '.join(missing)}"
        assert state.deadlocked <= state.programs * DEADLOCKS_MAX, (
            "too many programs compare nothing"
        )
