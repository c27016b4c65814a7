"""One run, folded fact by fact, and all of it that a refused fact must leave alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from perdure import values
from perdure.core.effects import AnyEffect
from perdure.core.facts import (
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Row,
    Signalled,
    Started,
)
from perdure.core.run import Run
from perdure.node.host import HOST
from perdure.testing.memory import START_US

SECOND = 1_000_000


def raw(value: Any) -> Raw:
    return Raw(values.encode(value))


def started(flow: Any, *args: Any, seed: int = 0, zone: str = "UTC") -> Started:
    return Started(START_US, flow.program().hash, raw([list(args)]), seed, zone, "a-run")


def completed(value: Any = None, call: int = 1, token: int = 1, after_s: float = 0) -> Completed:
    return Completed(at(after_s), call, token, raw(value))


def failed(error: BaseException, call: int = 1, token: int = 1, after_s: float = 0) -> Failed:
    return Failed(at(after_s), call, token, Raw(values.encode_error(error)))


def lost(call: int = 1, token: int = 1, after_s: float = 0) -> Lost:
    return Lost(at(after_s), call, token)


def fired(timer: int, after_s: float) -> Fired:
    return Fired(at(after_s), timer)


def signalled(
    name: str, value: Any = None, key: str | None = None, after_s: float = 0
) -> Signalled:
    return Signalled(at(after_s), name, raw(value), key)


def cancelled(reason: str = "", after_s: float = 0) -> Cancelled:
    return Cancelled(at(after_s), reason)


def at(after_s: float) -> int:
    return START_US + round(after_s * SECOND)


class Folded:
    """A run, its rows, and the effects of the last fact."""

    def __init__(self, flow: Any, *args: Any, seed: int = 0, zone: str = "UTC") -> None:
        self.run = Run(flow.program(), HOST, outlines=True)
        self.rows: list[Row] = []
        self.effects: list[AnyEffect] = []
        self.feed(started(flow, *args, seed=seed, zone=zone))

    def feed(self, *facts: AnyFact) -> Folded:
        for fact in facts:
            applied = self.run.apply(fact)
            self.rows.append(applied.row)
            self.effects = list(applied.effects)
        return self

    def caused(self, kind: type[AnyEffect]) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]


def everything(run: Run) -> Any:
    """All that is observable of a run, in a form that can be compared."""
    return (
        run.statistics(),
        (run.seq, run.now_us, run.status, run.outcome, run.broken, run.run_id),
        {number: (call.token, call.failures, call.lost) for number, call in run.calls.items()},
        {timer.number: timer.due_us for timer in run.timers.armed.values()},
        {name: list(messages) for name, messages in run.mailbox.messages.items()},
        {name: len(waiting) for name, waiting in run.mailbox.waiting.items()},
        (list(run.mailbox.keys), list(run.ready), list(run.effects)),
        [(task.number, task.state, task.cancels) for task in run.tasks.values()],
        run.random.getstate(),
    )


def refuses(folded: Folded, error: type[Exception], *facts: AnyFact) -> None:
    """Each fact raises `error`, and the run is what it was."""
    for fact in facts:
        before = everything(folded.run)
        with pytest.raises(error):
            folded.run.apply(fact)
        assert everything(folded.run) == before, fact
