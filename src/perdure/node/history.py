"""From rows of the store to a run as it stood: the newest usable image, and the facts after it.

One way for a recovery, a look back and a retry. Knows the rows of one run, nothing of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from perdure.core import image
from perdure.core.effects import AnyEffect
from perdure.core.facts import Retried, Row, Started, Stopped, Upgraded, decode_row
from perdure.core.refold import fold_again, in_force, refold
from perdure.core.run import Program, Run
from perdure.errors import BadImage, BadProgram, DamagedLog
from perdure.node.host import HOST
from perdure.store.port import FactRow, Store, checksum

PAGE = 1_000


def rows_of(facts: Iterable[FactRow]) -> Iterable[Row]:
    """Read rows of the store, and refuse those that are damaged or stand in the wrong place."""
    for fact in facts:
        if checksum(fact.rid, fact.seq, fact.body) != fact.crc:
            raise DamagedLog(
                f"row {fact.seq} of run {fact.rid} is not what was written",
                remedy="restore the store from a backup; `perdure doctor` looks at all of it",
            )
        yield decode_row(fact.body)


async def log_of(store: Store, rid: int, until: int | None = None) -> list[FactRow]:
    """Give the whole log of a run with its images, or what of it stood at row `until`."""
    found: list[FactRow] = []
    while page := await store.facts(rid, found[-1].seq if found else 0, PAGE, images=True):
        found += page
        if until is not None and found[-1].seq >= until:
            return [each for each in found if each.seq <= until]
    return found


def program_at(facts: Sequence[FactRow]) -> str:
    """Give the hash of the program that was in force at the end of a log."""
    named = [getattr(row.fact, "program", "") for row in in_force(rows_of(facts))]
    return next((each for each in reversed(named) if each), "")


Caused = tuple[Row, tuple[AnyEffect, ...]]


def causes(
    programs: Mapping[str, Program], run_id: str, facts: Sequence[FactRow], key: bytes
) -> Iterator[Caused]:
    """Fold a log again, and give each row with what it caused; what a retry undid, too.

    `programs` are those that the log names, as far as they are here; what needs another is refused.
    """
    rows = list(rows_of(facts))
    run: Run | None = None
    for at, row in enumerate(rows):
        fact = row.fact
        if isinstance(fact, Upgraded):
            run = _restored(_of(programs, fact.program), run_id, facts[at], key)
        if isinstance(fact, (Stopped, Upgraded)):
            yield row, ()
            continue
        if isinstance(fact, Retried):
            run = _before(
                programs, run_id, [it for it in facts[:at] if it.seq <= fact.back_to], key
            )
        if run is None:
            run = Run(_of(programs, getattr(rows[0].fact, "program", "")), HOST)
        yield row, fold_again(run, row).effects


def _before(
    programs: Mapping[str, Program], run_id: str, facts: Sequence[FactRow], key: bytes
) -> Run | None:
    program = program_at(facts)
    return run_of(_of(programs, program), run_id, facts, key, lambda _: None) if program else None


def _of(programs: Mapping[str, Program], hash_: str) -> Program:
    found = programs.get(hash_)
    if found is None:
        raise BadProgram(f"program {hash_[:12] or '?'} is not here")
    return found


def run_of(
    program: Program,
    run_id: str,
    facts: Sequence[FactRow],
    key: bytes,
    warn: Callable[[BadImage], object],
) -> Run | None:
    """Give the run that a log, or the end of one, leads to; `None` if what is given is no use."""
    rows = in_force(rows_of(facts))
    upgrades = [row.seq for row in rows if isinstance(row.fact, Upgraded)]
    oldest = max(upgrades, default=0)
    place = {row.seq: at for at, row in enumerate(rows) if row.seq >= oldest}
    for fact in reversed(facts):
        if fact.image is None or fact.seq not in place:
            continue
        try:
            run = _restored(program, run_id, fact, key)
        except BadImage as bad:
            warn(bad)
            continue
        for row in rows[place[fact.seq] + 1 :]:
            fold_again(run, row)
        return run
    if not rows or not isinstance(rows[0].fact, (Started, Retried)):
        return None
    if upgrades:
        raise DamagedLog(
            f"run `{run_id}` was moved to other code in row {oldest}, and the image that goes on "
            "from there cannot be used",
            remedy="restore the store from a backup, or the key that the images have",
        )
    return refold(program, rows, HOST)


def _restored(program: Program, run_id: str, fact: FactRow, key: bytes) -> Run:
    assert fact.image is not None
    run = image.restore(program, fact.image, key, HOST)
    if (run.run_id, run.seq) != (run_id, fact.seq):
        run.drop()
        raise BadImage(f"the image in row {fact.seq} was taken of another run, or at another row")
    return run
