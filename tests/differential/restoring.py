"""Runs programs of the corpus with the run imaged, dropped and restored after every fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from perdure.core import image
from perdure.core.facts import AnyFact
from perdure.errors import NotNow
from perdure.node.host import HOST
from perdure.testing.memory import Engine
from tests.differential import harness
from tests.differential.harness import Outcome, Schedule, Source

KEY = b"a key of the tests, 32 bytes long"[:32]


class Points:
    """Where images were taken, and where not, and why."""

    def __init__(self) -> None:
        self.restored = 0
        self.tails: Counter[str] = Counter()
        self.failed: list[str] = []
        """Images that were taken and could not be restored, or failed to be taken: faults."""

    @property
    def all(self) -> int:
        """How many points there were."""
        return self.restored + sum(self.tails.values())


@contextmanager
def restoring(points: Points) -> Iterator[None]:
    """Have every run in memory restored after every fact, wherever it can be."""
    feed = Engine.feed

    def feed_and_restore(engine: Engine, fact: AnyFact) -> None:
        feed(engine, fact)
        run = engine.memory.run
        if run.outcome is not None or run.broken is not None or run.seq == 0:
            return
        try:
            taken = image.take(run, KEY)
            restored = image.restore(run.program, taken, KEY, HOST)
        except NotNow as why:
            points.tails[why.what] += 1
            return
        except Exception as error:  # noqa: BLE001 — whatever it is: a loop would only log it
            points.failed.append(f"after fact {run.seq}: {type(error).__name__}: {error}")
            return
        restored.outlines = run.outlines
        engine.memory.run = restored
        run.drop()
        points.restored += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "feed", feed_and_restore)
        yield


def restored(source: Source, name: str, schedule: Schedule, points: Points) -> list[str]:
    """Say what differs from asyncio when a program is restored after every fact."""
    want = harness.native(source, name, schedule)
    faults = len(points.failed)
    with restoring(points):
        got, _ = harness.perdure(source, name, schedule)
    _forget_lines(want, got)
    return harness.differences(want, got) + points.failed[faults:]


def _forget_lines(want: Outcome, got: Outcome) -> None:
    """Tracebacks are not put into images: an error that was raised before has a shorter one."""
    want.lines = got.lines
