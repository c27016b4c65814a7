"""Every program of the corpus, imaged, dropped and restored after every fact, does what it does.

In the same way as `test_corpus`: undisturbed, and disturbed at some of its events.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.differential import harness
from tests.differential.harness import Schedule
from tests.differential.restoring import Points, restored
from tests.differential.test_corpus import DELIBERATE
from tests.tidy.pages import table_under

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DISTURBANCES = 3

SHARED = {
    "module_class_state": "the data of a class is that of its process, as in every program",
}
"""Programs that a restore changes, and why."""

POINTS_MIN = 0.95
"""Of all points at which the programs rest, how many must be restorable."""

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "restorable.md"

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


def _told_on_the_page(why: str) -> bool:
    said = [row[0] for row in table_under(PAGE.read_text(), "Values and moments")]
    patterns = [".*".join(re.escape(part) for part in each.split("…")) for each in said]
    return any(re.match(each, why.replace("`", "")) for each in patterns)


def test_nearly_all_points_are_restorable_and_the_rest_have_reasons_that_are_documented() -> None:
    points = Points()
    for source in harness.sources():
        for name in source.names:
            if name not in DELIBERATE and name not in SHARED:
                restored(source, name, Schedule(), points)
    told = "\n".join(f"{count:>5} {why}" for why, count in points.tails.most_common())
    print(f"\n{points.restored} of {points.all} points\n{told}")
    assert points.restored >= POINTS_MIN * points.all, told
    assert [why for why in points.tails if not _told_on_the_page(why)] == []
    assert points.failed == []
