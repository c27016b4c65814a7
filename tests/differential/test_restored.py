"""Every program of the corpus, imaged, dropped and restored after every fact, does what it does.

In the same way as `test_corpus`: undisturbed, and disturbed at some of its events.
"""

from __future__ import annotations

import random

import pytest

from tests.differential import harness
from tests.differential.harness import Schedule
from tests.differential.restoring import Points, restored
from tests.differential.test_corpus import DELIBERATE

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DISTURBANCES = 3

SHARED = {
    "module_class_state": "the data of a class is that of its process, as in every program",
}
"""Programs that a restore changes, and why."""

POINTS_MIN = 0.80
"""Of all points at which the programs rest, how many must be restorable."""

SOURCES = [pytest.param(source, id=source.name) for source in harness.sources()]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("source", SOURCES)
def test_programs_restored_at_every_fact_do_what_they_do_under_asyncio(
    source: harness.Source,
) -> None:
    points = Points()
    found: list[str] = []
    for name in source.names:
        if name in DELIBERATE or name in SHARED:
            continue
        plain = harness.native(source, name)
        known = harness.schedules(plain)
        sample = random.Random(name).sample(known, min(DISTURBANCES, len(known)))
        for schedule in (Schedule(), *sample):
            differences = restored(source, name, schedule, points)
            found += [f"{name} {schedule}\n  {difference}" for difference in differences]
    assert not found, "\n".join(found)
    assert points.all


def test_most_points_are_restorable() -> None:
    points = Points()
    for source in harness.sources():
        for name in source.names:
            if name not in DELIBERATE and name not in SHARED:
                restored(source, name, Schedule(), points)
    told = "\n".join(f"{count:>5} {why}" for why, count in points.tails.most_common())
    assert points.restored >= POINTS_MIN * points.all, told
    print(f"\n{points.restored} of {points.all} points\n{told}")
