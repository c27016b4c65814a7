"""Random programs do in Perdure what they do under asyncio, disturbed or not; they fold again,
and go on when they are imaged, dropped and restored after every fact."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from perdure import workflow
from perdure.core.refold import refold
from perdure.node.host import HOST
from perdure.testing import VirtualLoop
from perdure.testing.memory import MemoryRun
from perdure.workflows import Workflow
from tests.differential import harness
from tests.differential.generator import (
    CONSTRUCTS,
    SUPPORT,
    SUPPORT_NAME,
    constructs,
    programs,
)
from tests.differential.harness import (
    Linked,
    Outcome,
    Schedule,
    Source,
    Text,
    differences,
    schedules,
)
from tests.differential.pairs import PAIRS, pairs
from tests.differential.restoring import Points, restoring

PROGRAMS = int(os.environ.get("PERDURE_PROGRAMS", "5000"))
SEED = int(os.environ.get("PERDURE_SEED", "0"))
SHARDS = 10
COVERED_FROM = 300
"""How many programs a shard has to have before it must have seen every construct."""

DISTURBANCES = 2
RESTORED = float(os.environ.get("PERDURE_RESTORED", "0.6"))
"""The share of the programs that are gone through again, restored at every fact: 3,000 of 5,000."""

RESTORABLE_MIN = 0.85
"""Of the points at which the programs rest, how many are restorable; `except*` is drawn often.

Nine in ten are, over all shards. One shard has a few hundred programs, and a program that has no
template has many points.
"""

PAIRS_FROM = 10_000
"""How many programs a shard has to have before it must have seen every pair of constructs."""

LINKED_ANEW = 8
"""Of how many programs one has its logs folded by a fresh import: linking is half of the time."""

COLLECTED = 250
"""After how many programs the collector runs; in between it would close generators at any time."""

JUMPS_MAX = 3_000
DEADLOCKS_MAX = 0.1
"""How many of the programs may end with nothing left that could happen: these compare little."""

FILE = "/generated/program.py"


class Support(Source):
    """The module that every program imports: one for asyncio, one for Perdure."""

    def __init__(self) -> None:
        self.names = []
        self.file = "/generated/support.py"
        self.name = SUPPORT_NAME
        self.loader = Text(SUPPORT, self.file)
        self.natively = self.fresh()
        self.module = self.fresh()

    @contextmanager
    def of_asyncio(self) -> Iterator[None]:
        """Have what is imported meanwhile import that of asyncio, which no link has touched."""
        sys.modules[self.name] = self.natively
        try:
            yield
        finally:
            sys.modules[self.name] = self.module

    def forget(self) -> None:
        """Let go of the generators that the programs left half-way; what they still say is lost."""
        with redirect_stdout(io.StringIO()):
            for module in (self.natively, self.module):
                module.__dict__["_KEPT"].clear()


class Generated(Source):
    """A module of one program, made of text, under a name that the next one takes over.

    All runs in Perdure share one module and one link, and all of asyncio a module apart.
    """

    def __init__(self, text: str, support: Support) -> None:
        self.names = ["program"]
        self.file = FILE
        self.name = "generated_program"
        self.loader = Text(text + harness._TAIL.format(name="program"), FILE)
        self.support = support
        with support.of_asyncio():
            self.natively = super().fresh()
        module = super().fresh()
        self._linked = "program", Linked(module, workflow(module.__dict__["run_program"]))

    def fresh(self) -> ModuleType:
        """Give the module of asyncio, which needs no second one: a program has no module data."""
        return self.natively

    def print_by(self, printer: Any, module: ModuleType) -> None:
        """Have both modules of asyncio print by other means."""
        super().print_by(printer, module)
        self.support.print_by(printer, self.support.natively)

    def native(self, schedule: Schedule) -> Outcome:
        """Run it under asyncio."""
        outcome = harness.native(self, "program", schedule)
        outcome.printed = list(outcome.printed)
        return outcome

    def linked_anew(self) -> Workflow[Any, Any]:
        """Import it again, and make a workflow of that."""
        self.support.forget()
        return workflow(super().fresh().__dict__["run_program"])


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

    def closed(runner: Any) -> None:
        if sys.exception() is None:
            close(runner)
            return
        failed: list[BaseException] = []

        def work() -> None:
            try:
                close(runner)
            except BaseException as error:  # noqa: BLE001 — raised again in the right thread
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    return closed


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
        patch.setattr(asyncio.Runner, "close", _aside(asyncio.Runner.close))
        patch.setattr(harness, "VirtualLoop", OrderedLoop)
        patch.setattr(VirtualLoop, "jumps_max", JUMPS_MAX)
        patch.setattr(sys, "unraisablehook", lambda _: None)
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            yield
        finally:
            gc.unfreeze()
            gc.enable()
            with redirect_stdout(io.StringIO()):
                gc.collect()
    assert sys.unraisablehook is hook


# --- comparing


class Shard:
    """What one share of the programs has shown so far."""

    def __init__(self) -> None:
        self.support = Support()
        self.seen: set[str] = set()
        self.programs = 0
        self.deadlocked = 0
        self.points = Points()
        self.pairs: set[str] = set()

    def check(self, text: str) -> None:
        """Compare one program: undisturbed, then disturbed, and its logs folded again."""
        self.programs += 1
        if not self.seen >= CONSTRUCTS:
            self.seen |= constructs(text)
        if not self.pairs >= PAIRS:
            self.pairs |= pairs(text)
        source = Generated(text, self.support)
        try:
            self._check(source, text)
        finally:
            self.support.forget()
            if self.programs % COLLECTED == 0:
                with redirect_stdout(io.StringIO()):
                    gc.collect()

    def _check(self, source: Generated, text: str) -> None:
        plain, memory = compare(source, text, Schedule())
        logs = [(Schedule(), memory)]
        self.deadlocked += plain.deadlocked
        known = schedules(plain)
        chosen = random.Random(text).sample(known, min(DISTURBANCES, len(known)))
        logs += [(schedule, compare(source, text, schedule)[1]) for schedule in chosen]
        flow = source.linked_anew() if crc32(text.encode()) % LINKED_ANEW == 0 else None
        for schedule, memory in logs:
            found = [] if memory is None else refolded(flow or memory.workflow, memory)
            if found:
                _fail(text, schedule, found)
        if random.Random(text).random() < RESTORED:
            self._restored(source, text, [schedule for schedule, _ in logs[:2]])

    def _restored(self, source: Generated, text: str, chosen: list[Schedule]) -> None:
        """Compare again, imaged, dropped and restored after every fact."""
        with restoring(self.points):
            for schedule in chosen:
                compare(source, text, schedule, same=_but_for_lines)
        if self.points.failed:
            pytest.fail("\n".join([text, "", *self.points.failed]), pytrace=False)


def compare(
    source: Generated,
    text: str,
    schedule: Schedule,
    same: Callable[[Outcome, Outcome], None] = lambda _, __: None,
) -> tuple[Outcome, MemoryRun | None]:
    """Compare under one schedule, but for what `same` takes for the same."""
    want = source.native(schedule)
    got, memory = harness.perdure(source, "program", schedule)
    if memory is not None and any(_PENDING in said.text for said in memory.logged):
        # What begins while the last tasks are cleaned up is never finished; the collector ends it.
        want.printed, want.calls = got.printed, got.calls
    same(want, got)
    found = differences(want, got)
    if found:
        _fail(text, schedule, found)
    return want, memory


def _but_for_lines(want: Outcome, got: Outcome) -> None:
    """Tracebacks are not put into images: an error that was raised before has a shorter one."""
    want.lines = got.lines


_PENDING = "was destroyed but it is pending"


def refolded(flow: Workflow[Any, Any], memory: MemoryRun) -> list[str]:
    """Say what differs when a log is folded again by a program that was imported afresh."""
    try:
        again = refold(flow.program(), memory.rows, HOST)
    except Exception as error:  # noqa: BLE001 — whatever it is, it is a difference
        return [f"refold: {type(error).__name__}: {error}"]
    if again.outcome != memory.run.outcome:
        return [f"refold:\n    then: {memory.run.outcome}\n    now: {again.outcome}"]
    return []


def _fail(text: str, schedule: Schedule, found: list[str]) -> None:
    pytest.fail("\n".join([text, "", f"under {schedule}:", *found]), pytrace=False)


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
        told = "\n".join(f"{count:>6} {why}" for why, count in state.points.tails.most_common(20))
        print(f"\n{state.points.restored} of {state.points.all} points restored\n{told}")
        assert state.points.restored >= RESTORABLE_MIN * state.points.all, told
        assert state.deadlocked <= state.programs * DEADLOCKS_MAX, (
            "too many programs compare nothing"
        )
    if count >= PAIRS_FROM:
        assert not PAIRS - state.pairs
