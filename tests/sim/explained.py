"""What a log explains: how often each attempt may have been begun, and how each run may stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from perdure.core.effects import Dispatch
from perdure.core.facts import Completed, Failed, Lost, Row, Signalled
from perdure.core.refold import fold_again, in_force
from perdure.core.run import Run
from perdure.node.host import HOST
from perdure.registry import lookup

Attempts = Counter[tuple[str, int]]


def refolded(workflow: str, rows: Iterable[Row]) -> tuple[Run, list[tuple[Row, tuple[Any, ...]]]]:
    """Fold a log from its first row, held against its digests; give what each row caused."""
    run = Run(lookup("workflow", workflow).program(), HOST)
    caused = [(row, fold_again(run, row).effects) for row in in_force(rows)]
    return run, caused


def asked_for(run_id: str, caused: list[tuple[Row, tuple[Any, ...]]]) -> Attempts:
    """Give how often each attempt was asked for: more than once only after a loss."""
    asked: Attempts = Counter()
    for _, effects in caused:
        for effect in effects:
            if isinstance(effect, Dispatch) and effect.kind == "action":
                asked[f"{run_id}:{effect.call}", effect.attempt] += 1
    return asked


def demand_once(rows: Iterable[Row]) -> None:
    """Refuse a second outcome of a call, and a second taking of a key."""
    outcomes: Counter[int] = Counter()
    attempts: Counter[tuple[int, int]] = Counter()
    keys: Counter[str] = Counter()
    for row in rows:
        fact = row.fact
        if isinstance(fact, Completed):
            outcomes[fact.call] += 1
        if isinstance(fact, (Completed, Failed, Lost)):
            attempts[fact.call, fact.token] += 1
        if isinstance(fact, Signalled) and fact.key is not None:
            keys[fact.key] += 1
    for counted in (outcomes, attempts, keys):
        assert all(count == 1 for count in counted.values()), counted


def demand_explained(begun: Iterable[tuple[str, int]], asked: Attempts) -> None:
    """Refuse attempts that were begun more often than the logs asked for."""
    unexplained = Counter(begun) - asked
    assert not unexplained, f"begun more often than asked for: {dict(unexplained)}"
