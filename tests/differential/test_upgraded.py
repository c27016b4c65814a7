"""A run that is moved goes on as the new program does from there on, wherever it is moved."""

from __future__ import annotations

import os
import random
from collections import Counter
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from perdure.lang.diff import diff
from perdure.testing.memory import MemoryRun
from tests.differential import harness
from tests.differential.generator import programs
from tests.differential.harness import Outcome, Schedule
from tests.differential.test_generated import Generated, Support, one_order
from tests.differential.upgrading import Watched, marked, watching

PROGRAMS = int(os.environ.get("PERDURE_UPGRADED", "120"))
SEED = int(os.environ.get("PERDURE_SEED", "0"))
POINTS = 2
"""At how many facts, at most, a program is moved."""


class Side:
    """One version of a program, and what its run says when nobody moves it."""

    def __init__(self, text: str, support: Support) -> None:
        self.source = Generated(text, support)
        self.program = self.source.linked("program").flow.program()
        self.watched = Watched()

    def runs(self) -> bool:
        """Run it; say whether it ends."""
        self.plain, memory = _run(self.source, self.watched)
        return memory is not None


class Moves:
    """What the moves of all programs have come to."""

    def __init__(self) -> None:
        self.support = Support()
        self.moved = 0
        self.tails: Counter[str] = Counter()

    def check(self, text: str) -> None:
        """Move runs of one program to the same one with statements put in between, and back."""
        try:
            one = Side(text, self.support)
            other = Side(marked(text, crc32(text.encode())), self.support)
            if one.runs() and other.runs():
                self._check(one, other, text)
                self._check(other, one, text)
        finally:
            self.support.forget()

    def _check(self, old: Side, new: Side, text: str) -> None:
        difference = diff(old.program, new.program)
        points = list(old.watched.said)[:-1]
        for at in random.Random(text).sample(points, min(POINTS, len(points))):
            moving = Watched(difference, at)
            got, _ = _run(old.source, moving)
            if moving.tail:
                self.tails[moving.tail] += 1
                continue
            self.moved += 1
            want, said = new.plain, new.watched.said[at]
            want_lines = old.plain.printed[: old.watched.said[at]] + want.printed[said:]
            if got.printed != want_lines:
                _fail(text, at, [*want_lines, "and was", *got.printed])
            if (got.result, got.error, got.calls) != (want.result, want.error, want.calls):
                _fail(text, at, [str(want), "and was", str(got)])


def _run(source: Generated, watched: Watched) -> tuple[Outcome, MemoryRun | None]:
    with watching(watched):
        return harness.perdure(source, "program", Schedule())


def _fail(text: str, at: int, found: list[str]) -> None:
    pytest.fail("\n".join([text, "", f"moved after fact {at}:", *found]), pytrace=False)


@pytest.mark.timeout(600)
def test_a_moved_program_goes_on_as_the_new_one_does_from_there():
    moves = Moves()

    @seed(SEED)
    @settings(
        max_examples=PROGRAMS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def each(text: str) -> None:
        # Where a generator that was left half-way is closed depends on who has a hold on it, and
        # a run that was put on disk has no tracebacks that have.
        if "_keep(" not in text:
            moves.check(text)

    with one_order():
        each()
    print(f"\n{moves.moved} moves; not on disk: {dict(moves.tails)}")
    assert moves.moved > max(PROGRAMS // 2, 4 * sum(moves.tails.values()))
