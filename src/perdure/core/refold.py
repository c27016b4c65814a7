"""Refolding: from a log to the same state, checked fact by fact by the digests of its effects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.core.effects import outline
from perdure.core.facts import Retried, Row, Started, Stopped, Upgraded
from perdure.core.loop import Host
from perdure.core.run import Applied, Program, Run
from perdure.errors import ClassChanged, Diverged, PerdureError, WrongFact


def refold(program: Program, rows: Iterable[Row], host: Host | None = None) -> Run:
    """Give the state of a run after its rows, or raise `Diverged` at the first that differs."""
    run = Run(program, host)
    for row in in_force(rows):
        fold_again(run, row)
    return run


def in_force(rows: Iterable[Row]) -> list[Row]:
    """Give the rows that the state of a run follows from: not stops, nor what a retry undid."""
    kept: list[Row] = []
    for row in rows:
        if isinstance(row.fact, Stopped):
            continue
        if isinstance(row.fact, Retried):
            while kept and kept[-1].seq > row.fact.back_to:
                kept.pop()
        kept.append(row)
    return kept


def fold_again(run: Run, row: Row) -> Applied:
    """Fold one row of a log again, and hold it against what it caused before."""
    if run.program.changed:
        names = ", ".join(f"`{name}`" for name in run.program.changed)
        raise ClassChanged(
            f"{names} changed since the run began, and fact {row.seq} was folded before that",
            remedy="bring the old class back until the run has an image; then it can be moved, too",
        )
    if isinstance(row.fact, Upgraded):
        raise WrongFact(
            f"row {row.seq} moves the run to other code: only the image in it leads on from there",
            remedy="restore the store from a backup, or the key that the images have",
        )
    if row.seq != run.seq + 1 and not isinstance(row.fact, Retried):
        raise WrongFact(
            f"row {row.seq} follows row {run.seq}", remedy="the log has a gap, or is out of order"
        )
    if isinstance(row.fact, Started) and row.fact.program != run.program.hash:
        raise WrongFact(
            f"the run was started on program {row.fact.program[:12]}, "
            f"and this is {run.program.hash[:12]}",
            remedy="a run goes on with the program that it was started on",
        )
    try:
        applied = run.apply(row.fact, row.recorded)
    except Diverged:
        raise
    except PerdureError as error:
        run.broken = _diverged(row, (), f"the fact is refused now: {error}")
        raise run.broken from error
    if applied.row.digest != row.digest or len(applied.row.recorded) != len(row.recorded):
        run.broken = _diverged(row, outline(applied.effects), "")
        raise run.broken
    return applied


def _diverged(row: Row, now: Sequence[str], why: str) -> Diverged:
    kind = type(row.fact).__name__.lower()
    then = row.outline or (f"(effects with the digest {row.digest:08x})",)
    shown = [f"fact {row.seq} ({kind}) caused other effects than before"]
    shown += [f"  then: {line}" for line in then[:20]]
    shown += [f"  now:  {line}" for line in list(now)[:20]] or ["  now:  nothing"]
    if not why and list(then) == list(now):
        why = "the same: the log is damaged, or the difference is beyond what is shown"
    if why:
        shown[-1] = f"  now:  {why}"
    return Diverged(
        "\n".join(shown),
        remedy="inline code is not repeatable: look for sets, clocks and ids in libraries",
    )
