"""What an operator does to a run: have it go on from the failed await, or on other code.

Each is one fact. What the log says after the row that a run goes back to is history, but for what
came from outside meanwhile: outcomes of calls that were under way, and signals, are folded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from perdure.core.calls import Call
from perdure.core.effects import Dispatch
from perdure.core.facts import (
    NOTHING,
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Progressed,
    Retried,
    Row,
    Signalled,
    Stopped,
    Upgraded,
)
from perdure.core.refold import fold_again, in_force
from perdure.core.run import Program, Run
from perdure.errors import BadImage, PerdureError, Stale, StoreError, WrongFact
from perdure.node.flush import Entry
from perdure.node.history import log_of, program_at, rows_of, run_of
from perdure.node.host import HOST
from perdure.node.house import House
from perdure.node.programs import Programs
from perdure.node.resident import WORKFLOW, Resident
from perdure.node.wire import Retry
from perdure.store.port import (
    ACTIVE,
    COMPLETED,
    RUNNING,
    FactRow,
    Message,
    RunChange,
    RunRow,
    Store,
)

Take = Callable[[Message, Entry | None], None]


class Origin(msgspec.Struct, frozen=True):
    """Where a run that did not end well went wrong."""

    back_to: int
    """The last row before that."""
    call: int = 0
    """The call that failed, if one did."""
    inline: bool = False
    """Whether code of the workflow itself failed: the row after it is folded again."""


class Log:
    """A run's log, and the run at any row of it, on the program that it had there."""

    def __init__(self, row: RunRow, facts: list[FactRow], key: bytes) -> None:
        self.row = row
        self.programs: dict[str, Program] = {}
        self.missing: dict[str, PerdureError] = {}
        self.facts = facts
        self.key = key
        self.all = list(rows_of(facts))
        self.rows = in_force(self.all)
        self.last = self.rows[-1].seq if self.rows else 0
        if not self.all:
            raise WrongFact(f"run `{row.id}` has no facts any more", remedy="they were pruned")

    def at(self, seq: int) -> Run:
        """Give the run as it stood at a row; 0 is before it began."""
        facts = [each for each in self.facts if each.seq <= seq]
        hash_ = program_at(facts or self.facts[:1]) or self.row.program
        if hash_ in self.missing:
            raise self.missing[hash_]
        if seq == 0:
            return Run(self.programs[hash_], HOST)
        run = run_of(self.programs[hash_], self.row.id, facts, self.key, _ignore)
        if run is None:
            raise WrongFact(f"nothing leads to row {seq} of run `{self.row.id}`")
        return run

    def now(self) -> Run:
        """Give the run as it stands."""
        return self.at(self.last)

    def image(self) -> bytes | None:
        """Give the image of the run as it stands, if its last row has one."""
        return next((each.image for each in self.facts if each.seq == self.last), None)


async def log_with_programs(store: Store, key: bytes, programs: Programs, row: RunRow) -> Log:
    """Give the log of a run with every program that it ever had."""
    log = Log(row, await log_of(store, row.rid), key)
    named = [getattr(each.fact, "program", "") for each in log.all]
    for hash_ in dict.fromkeys(each for each in (row.program, *named) if each):
        try:
            log.programs[hash_] = await programs.get(hash_, row.workflow)
        except PerdureError as error:
            log.missing[hash_] = error
    return log


def _ignore(_: BadImage) -> None:
    """An older image, or the log, will do."""


# --- going on from the failed await


async def retry(node: House, message: Message, take: Take) -> None:
    """Have a run go on that failed, was cancelled or was stopped."""
    stored = await node.writer.load([message.rid])
    if not stored or stored[0].run.status <= COMPLETED or message.rid in node.residents:
        take(message, None)
        return
    row = stored[0].run
    try:
        log = await log_with_programs(node.store, node.key, node.programs, row)
        end = log.now()
        origin = origin_of(log, end)
        run = log.at(origin.back_to)
    except StoreError:
        raise
    except PerdureError as error:
        node.stop_row(row.rid, row.id, row.head, error)
        take(message, None)
        return
    actor = msgspec.json.decode(message.body, type=Retry).actor
    later = list(from_outside(log, origin, set(run.calls) - {origin.call}))
    fact = Retried(node.now_us(), origin.back_to, row.head + 1, end.calls_made, origin.call, actor)
    had_ended = end.outcome is not None
    end.drop()
    resident = node.loading.adopt(row, run)
    entry = node.fold(resident, fact, key=message.key)
    take(message, entry)
    change = entry.change or RunChange(row.rid, RUNNING, ACTIVE)
    entry.change = msgspec.structs.replace(change, program=run.program.hash)
    await go_on(node, resident, entry, later, had_ended=had_ended)


async def go_on(
    node: House, resident: Resident, entry: Entry, later: list[AnyFact], *, had_ended: bool = False
) -> None:
    """Fold what came meanwhile, and see to it that what the run waits for is under way."""
    entries = [entry, *_fold_again(node, resident, later)]
    if had_ended:
        entries += _begin_again(node, resident)
    if resident.rid in node.residents:
        asked = [each.call for entry in entries for each in entry.effects if type(each) is Dispatch]
        await node.loading.reconcile(resident, fresh=True, asked=frozenset(asked))


def origin_of(log: Log, end: Run) -> Origin:
    """Find the await that failed: the call whose error the run ended with, or was caused by it."""
    rows = log.rows
    if end.outcome is None:
        return Origin(log.last)  # it was stopped
    for begin in _begins(rows):
        run = log.at(begin)
        found = _call_that_failed(log, run, [row for row in rows if row.seq > begin])
        if found is not None:
            return found
    for at, row in enumerate(rows):
        if isinstance(row.fact, Cancelled):
            return Origin(rows[at - 1].seq)
    return Origin(rows[-2].seq if len(rows) > 1 else 0, inline=True)


def _begins(rows: Sequence[Row]) -> Iterator[int]:
    """Give rows from which to look, each farther back than the one before, and then the first."""
    back = 3
    while back < len(rows):
        yield rows[-back].seq
        back *= 4
    yield rows[0].seq


def _call_that_failed(log: Log, run: Run, rows: Sequence[Row]) -> Origin | None:
    failed: dict[int, Origin] = {}
    held: list[BaseException] = []
    for row in rows:
        if isinstance(row.fact, Upgraded):  # nothing is folded into it
            run.drop()
            run = log.at(row.seq)
            continue
        call, before = _call_of(run, row.fact), run.seq
        fold_again(run, row)
        if call is not None and call.call not in run.calls and call.error is not None:
            failed[id(call.error)] = Origin(before, call.call)
            held.append(call.error)
    error = run.error
    run.drop()
    return next((failed[id(each)] for each in _behind(error) if id(each) in failed), None)


def _call_of(run: Run, fact: AnyFact) -> Call | None:
    """Give the call that a fact may make fail."""
    if isinstance(fact, (Failed, Lost)):
        return run.calls.get(fact.call)
    if isinstance(fact, Fired) and fact.timer in run.timers.armed:
        owner = getattr(run.timers.armed[fact.timer].waiter, "__self__", None)
        return owner if isinstance(owner, Call) else None
    return None


def _behind(error: BaseException | None) -> list[BaseException]:
    """Give an error and all that led to it, nearest first."""
    found: list[BaseException] = []
    coming = [] if error is None else [error]
    while coming:
        each = coming.pop(0)
        if any(each is known for known in found):
            continue
        found.append(each)
        coming += getattr(each, "exceptions", ())
        coming += [cause for cause in (each.__cause__, each.__context__) if cause is not None]
    return found


def from_outside(log: Log, origin: Origin, open_calls: set[int]) -> Iterator[AnyFact]:
    """Give what came from outside after that, and still holds where the run goes on."""
    for row in log.all:
        fact = row.fact
        if row.seq <= origin.back_to:
            continue
        if isinstance(fact, Stopped):
            if fact.cause != NOTHING:
                yield msgspec.json.decode(fact.cause, type=AnyFact)
        elif (
            isinstance(fact, Signalled)
            or (isinstance(fact, (Completed, Failed, Progressed)) and fact.call in open_calls)
            or (origin.inline and row.seq == log.last)
        ):
            yield fact


def _fold_again(node: House, resident: Resident, facts: Sequence[AnyFact]) -> Iterator[Entry]:
    for fact in facts:
        if resident.rid not in node.residents or resident.is_over:
            return
        try:
            yield node.fold(resident, fact)
        except (Stale, WrongFact):
            continue  # it waits for this no longer


def _begin_again(node: House, resident: Resident) -> Iterator[Entry]:
    """Have children made anew that were cancelled when the run ended."""
    for call in list(resident.run.calls.values()):
        if resident.rid not in node.residents:
            return
        is_gone = call.call not in resident.children and not call.policy.abandons
        if call.target.kind == WORKFLOW and is_gone:
            lost = Lost(node.now_us(), call.call, call.token, counted=False)
            yield node.fold(resident, lost)
