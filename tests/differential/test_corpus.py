"""Every program of the corpus behaves as under asyncio: as it is, and disturbed at every event.

Compared are: the result, or the error with its chain; what was printed; the calls with their
arguments, in order; and the lines of the traceback.
"""

from __future__ import annotations

import sys

import pytest

from tests.differential import harness
from tests.differential.harness import Schedule

pytestmark = [
    # Some programs leave coroutines and generators half-way: that is what they are about.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DELIBERATE: dict[str, str] = {
    "action_result_is_a_copy": "what goes to an action and comes back is copied, sharing and all",
    "set_and_deque_changed": (
        "a set of the run says `dictionary changed size`, not `Set changed size`"
    ),
    "error_handler_of_the_loop": "refused: the loop of a run takes no exception handler",
}
"""Programs that differ, and why; each is a documented difference or a clear refusal."""

if sys.version_info < (3, 13):
    DELIBERATE["versions_completed_async_for"] = "only the text of the TypeError names another type"
    DELIBERATE["versions_sleep_not_a_number"] = "refused: a run has no timer for NaN"

CASES = [
    pytest.param(source, name, id=f"{source.name}-{name}")
    for source in harness.sources()
    for name in source.names
]


@pytest.mark.parametrize(("source", "name"), CASES)
def test_program_is_exact_to_asyncio(source: harness.Source, name: str) -> None:
    plain = harness.native(source, name)
    found = [
        f"{schedule}\n  {difference}"
        for schedule in (Schedule(), *harness.schedules(plain))
        for difference in _differences(source, name, schedule)
    ]
    if name in DELIBERATE:
        assert found, "it no longer differs: take it off the list"
    else:
        assert not found, "\n".join(found)


def _differences(source: harness.Source, name: str, schedule: Schedule) -> list[str]:
    want = harness.native(source, name, schedule)
    got, _ = harness.perdure(source, name, schedule)
    return harness.differences(want, got)


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 300
    assert len(DELIBERATE) <= 5
