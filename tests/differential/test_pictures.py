"""Pictures of every program of the corpus: each call has its place, and what is over is over.

The corpus holds every construct of the language, so a place that is not found, or a way that is
not there, would show.
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from perdure import workflow
from perdure.core.picture import Painter
from perdure.errors import Deadlocked, Endless, Refused
from perdure.node.host import HOST
from perdure.testing import MemoryRun, run_in_memory
from tests.differential import harness

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SOURCES = [pytest.param(source, id=source.name) for source in harness.sources()]
ACTIONS = ("act", "slow", "boom")
WITH_GENERATORS = ("programs_a_agens", "programs_b_generators")
"""What a generator awaits while a loop stands at it may be one stop for several calls."""
ELSEWHERE_MAX = 6
"""Of so many programs of a file one may count a call elsewhere: where a coroutine is made by one
function and awaited by another, its place is the await."""


def painted(memory: MemoryRun, wanted: Painter) -> Painter:
    for row in memory.rows:
        wanted.feed(row)
    return wanted


def calls_shown(painter: Painter) -> int:
    """Count the calls that nodes and their parts speak of."""
    nodes = zip(painter.places.nodes, painter.tallies, strict=True)
    direct = sum(tally.begun for node, tally in nodes if node.kind in ("action", "child"))
    parts = [
        inner.begun
        for tally in painter.tallies
        for (what, _), inner in tally.inner.items()
        if what in ACTIONS
    ]
    return direct + sum(parts)


def paint(name: str, memory: MemoryRun) -> tuple[list[str], bool]:
    """Give what is wrong with the picture of a run, and whether it shows all its calls."""
    flow = memory.workflow
    painter = painted(memory, Painter("run", flow.name, flow.program(), HOST))
    shown = painter.picture()
    if name in harness.CLASS_STATE:
        return [], True  # what a class holds is of the process: no log of it can be folded again
    found = [] if not shown.why else [f"{name}: {shown.why}"]
    ends = Counter(node.status for node in shown.nodes)
    if any(ends[each] for each in ("pending", "running", "waiting")):
        found.append(f"{name}: not all of it is over: {ends}")
    outputs = [node for node in shown.nodes if node.kind == "output" and node.status == "completed"]
    if memory.status == "completed" and len(outputs) != 1:
        found.append(f"{name}: it ended at {[node.label for node in outputs]}")
    return found, calls_shown(painter) == len(memory.calls)


@pytest.mark.parametrize("source", SOURCES)
def test_every_program_of_the_corpus_has_a_true_picture(source: harness.Source) -> None:
    found: list[str] = []
    elsewhere: list[str] = []
    for name in source.names:
        module = source.linked(name).module
        sys.modules[source.name] = module
        try:
            memory = run_in_memory(workflow(getattr(module, name)))
        except (Deadlocked, Endless, Refused):
            continue
        wrong, is_exact = paint(name, memory)
        found += wrong
        elsewhere += [] if is_exact or source.name in WITH_GENERATORS else [name]
    assert found == []
    assert len(elsewhere) <= 1 + len(source.names) // ELSEWHERE_MAX, elsewhere
