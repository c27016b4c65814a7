"""Every construct inside of every other, restored at every fact, does what it does in asyncio."""

from __future__ import annotations

import os
import random
from zlib import crc32

import pytest

from tests.differential import harness
from tests.differential.harness import Schedule
from tests.differential.nested import programs_within
from tests.differential.pairs import INNERMOST, KINDS, PAIRS, pairs
from tests.differential.restoring import Points, restored

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DEPTH = int(os.environ.get("PERDURE_DEPTH", "2"))
"""How many constructs stand inside of each other."""

DISTURBED = 4
"""Of how many programs one is disturbed besides."""

OUTER = [kind for kind in KINDS if kind != INNERMOST]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("outer", OUTER)
def test_constructs_inside_of_each_other_restored_at_every_fact(outer: str) -> None:
    source = programs_within(outer, DEPTH)
    points = Points()
    found: list[str] = []
    for name in source.names:
        schedules = [Schedule()]
        if crc32(name.encode()) % DISTURBED == 0:
            known = harness.schedules(harness.native(source, name))
            schedules.append(random.Random(name).choice(known))
        for schedule in schedules:
            differences = restored(source, name, schedule, points)
            found += [f"{source.file} {name} {schedule}\n  {each}" for each in differences]
    assert not found, "\n".join(found[:20])
    assert not points.tails


def test_every_pair_of_constructs_occurs() -> None:
    seen: set[str] = set()
    for outer in OUTER:
        seen |= pairs(programs_within(outer).loader.text)
    assert not PAIRS - seen
