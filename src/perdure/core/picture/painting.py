"""The fold behind a picture: a log, row after row, onto the nodes of the graph of its program.

A fact costs what it makes the run do, whatever came before. What no await shows is inferred from
the graph: between two stops of the workflow lies the likeliest way. Rows that cannot be folded
here still count as facts, and the picture says why.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, Final, NamedTuple

from perdure import values
from perdure.core import image
from perdure.core.calls import Call
from perdure.core.effects import AnyEffect, Say
from perdure.core.facts import Failed, Fired, Lost, Retried, Row, Signalled, Stopped, Upgraded
from perdure.core.futures import FINISHED, Task
from perdure.core.loop import Host
from perdure.core.picture.places import SEEN, Places
from perdure.core.picture.shown import Picture, time_of
from perdure.core.picture.tallies import Stay, Tally, short_name
from perdure.core.picture.telling import nodes_of
from perdure.core.picture.troubles import trouble_of
from perdure.core.picture.watching import (
    Birth,
    Births,
    Step,
    Watcher,
    chain,
    family,
    is_engine,
    key_of,
    outcome,
    span_at,
)
from perdure.core.refold import fold_again, in_force
from perdure.core.run import Run
from perdure.errors import PerdureError, WrongFact
from perdure.lang.reading import graph_of_program, main_of

_RECENT: Final = 6
_PLAIN: Final = ("action", "workflow", "timer", "signal")
_RAISING: Final = (
    "inline", "output", "branch", "loop", "call", "record", "barrier", "join", "handler", "timer",
)  # fmt: skip
"""Kinds of nodes with code of the workflow's own, which may raise."""
_PRELUDE: Final = {"sleep": "timer", "sleep_until": "timer", "_delay": "timer", "signal": "signal"}
"""Coroutines of the engine that are nodes of their own, and which kind."""


class Move(NamedTuple):
    """What leads on from a row that moved a run to other code: the program, and the run on it."""

    program: Any
    image: bytes
    key: bytes


class Moved(NamedTuple):
    """Where a task stands on other code, and since when."""

    at: int
    began_us: int


class Painter:
    """Folds the rows of one run into a picture.

    `program` is a linked workflow, or why there is none, or `None` for a run that has not begun.
    """

    def __init__(self, run_id: str, workflow: str, program: Any, host: Host | None = None) -> None:
        self.run_id = run_id
        self.workflow = workflow
        self.host = host
        self.rows: list[Row] = []
        self.facts: Counter[str] = Counter()
        self.recent: deque[str] = deque(maxlen=_RECENT)
        self.stopped: Stopped | None = None
        self.program: Any = None
        self.why = ""
        self.begun_on = program
        self.moves: dict[int, Move] = {}
        if isinstance(program, PerdureError):
            self.why = str(program)
        elif program is not None:
            try:
                self._load(program)
            except PerdureError as error:
                self.why = str(error)

    def _load(self, program: Any) -> None:
        graph = graph_of_program(program)
        self.program = program
        self.file = graph.file
        self.places = Places(graph)
        self.keys = family(main_of(program).code)
        self.first = next(i for i, node in enumerate(graph.nodes) if node.kind == "input")
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.run = Run(self.program, Watcher(self.host, self._heard))
        self.births = Births(self.run, self.keys)
        self.run.tasks = self.births
        self.tallies = [Tally() for _ in self.places.nodes]
        self.stays: dict[int, tuple[int, Tally, Stay]] = {}
        self.at = self.first
        self.moving: dict[int, Moved] | None = None
        self.said: deque[str] = deque(maxlen=_RECENT)

    def close(self) -> None:
        """Let go of the run, and run nothing of the user's."""
        if self.program is not None:
            self.stays.clear()
            self.tallies = []
            self.run.drop()

    # --- the fold

    def feed(self, row: Row, move: Move | None = None) -> None:
        """Take one more row of the log; with what leads on from it, if it is an `Upgraded`."""
        self.rows.append(row)
        if move is not None:
            self.moves[row.seq] = move
        self.facts[type(row.fact).__name__.lower()] += 1
        self.recent.append(_told(row))
        if isinstance(row.fact, Stopped):
            self.stopped = row.fact
            return
        self.stopped = None
        if self.why:
            return
        try:
            if isinstance(row.fact, Retried):
                self._fold_again(row)
            else:
                self._fold(row)
        except Exception as error:  # noqa: BLE001 — inline code of the user's may raise anything
            text = str(error) if isinstance(error, PerdureError) else repr(error)
            self.why = f"fact {row.seq} cannot be folded here: {text}"

    def _fold_again(self, last: Row) -> None:
        """An operator had the run go on from an earlier state: what it undid leaves the picture."""
        self.run.drop()
        self._load(self.begun_on)
        for row in in_force(self.rows):
            self._fold(row)
            if row is last:
                return

    def _fold(self, row: Row) -> None:
        if isinstance(row.fact, Upgraded):
            self._move(row)
            return
        applied = fold_again(self.run, row)
        if row.seq == 1:
            self.tallies[self.first].passed(self.run.origin_us)
        self.said.extend(_lines(applied.effects))

    def _move(self, row: Row) -> None:
        """The run goes on with other code: what was counted goes along, node by node."""
        move = self.moves.get(row.seq)
        if move is None:
            raise WrongFact("it moves the run to other code, and that cannot be had")
        places, tallies, stays = self.places, self.tallies, self.stays
        births, at, said = self.births.of, self.at, self.said
        self.run.drop()
        self._load(move.program)
        self.run = image.restore(move.program, move.image, move.key, self.run.host)
        self.births = Births(self.run, self.keys)
        self.births.of, self.run.tasks, self.said = births, self.births, said
        same = self.places.same_as(places)
        for old, new in same.items():
            self.tallies[new] = tallies[old]
            tallies[old].forget_open()
        self.at = same.get(at, self.first)
        self.moving = {
            number: Moved(same.get(old, -1), stay.began_us)
            for number, (old, _, stay) in stays.items()
        }
        for task in list(self.births.values()):
            self._heard(task, None)
        self.moving = None

    # --- where tasks stop

    def _heard(self, task: Task, frame: Any) -> None:
        """A task has taken a step: it stands somewhere else now, or is over."""
        over = task.done() or getattr(task.coro, "cr_frame", None) is None
        steps = [] if over else chain(task.coro)
        if task is not self.run.main:
            self._other_heard(task, steps)
        elif steps:
            self._main_heard(task, steps)
        else:
            self._main_over(task, frame)

    def _main_heard(self, task: Task, steps: list[Step]) -> None:
        known = self.stays.get(task.number)
        while len(steps) > 1 and key_of(steps[1].frame.f_code) in self.keys:
            steps = steps[1:]  # a comprehension of the workflow's own
        awaited = steps[1].owner if len(steps) > 1 else task.waits_on
        if known is None or not known[2].is_at(awaited):
            self._arrive(task, steps, awaited)
        self._look_inside(task, steps[1:])

    def _arrive(self, task: Task, steps: list[Step], awaited: Any) -> None:
        """The workflow itself stops at another await."""
        frame = steps[0].frame
        span = span_at(frame.f_code, frame.f_lasti)
        what, name = _what(steps[1:], task.waits_on)
        found = self.places.at(span, what, name)
        if not found:
            self._leave(task, raised=False)
            return
        at = found[0]
        self._walk(task, at)
        is_plain = what in _PLAIN or awaited is task.waits_on
        stay = Stay(awaited, name, self._began_us(task), is_plain=is_plain)
        stay.span = span
        counts = what != "gate" or self.places.nodes[at].kind not in SEEN
        self._begin(task, at, stay, counts=counts)  # a shield: its task counts

    def _other_heard(self, task: Task, steps: list[Step]) -> None:
        """A task beside the workflow stops: it counts where it was made, from first to last."""
        if task.number not in self.stays:
            at = self._node_of(task, steps)
            if at < 0:
                self.births.of.pop(task.number, None)
                return
            own = bool(steps) and not is_engine(steps[0].frame.f_code)
            name = task.coro.__name__ if own else task.name
            stay = Stay(task, name, self._began_us(task), is_plain=True)
            self._begin(task, at, stay, counts=self._is_direct(task))
        if steps:
            self._look_inside(task, steps)
            return
        _, _, stay = self.stays[task.number]
        if not isinstance(stay.future, Call) or stay.inner is not None:
            stay.future = task  # it came out as the task did
        self._leave(task, raised=outcome(task)[0] != "completed")
        self.births.of.pop(task.number, None)

    def _began_us(self, task: Task) -> int:
        """Give the time: for what moves to other code, that when it began."""
        moved = None if self.moving is None else self.moving.get(task.number)
        return self.run.now_us if moved is None else moved.began_us

    def _node_of(self, task: Task, steps: list[Step]) -> int:
        if self.moving is not None and task.number in self.moving:
            return self.moving[task.number].at
        birth = self.births.of.get(task.number, Birth(None, 0, False))  # noqa: FBT003
        if birth.span is None:
            parent = self.stays.get(birth.parent)
            return -1 if parent is None else parent[0]
        what, name = _what(steps, task.waits_on)
        found = self.places.at(birth.span, what, name)
        beside = [at for at in found if self.places.fan[at] >= 0 or self._is_started(at)]
        among = beside or found
        return min(among, key=lambda at: (self.tallies[at].begun, at)) if among else -1

    def _is_started(self, at: int) -> bool:
        return self.places.nodes[at].mode == "started"

    def _begin(self, task: Task, at: int, stay: Stay, *, counts: bool) -> None:
        """Something begins at a node; what does not count is told as a part of what does."""
        stay.future = task.waits_on
        tally = self.tallies[at] if counts else Tally()
        tally.begin(task.number, stay)
        self.stays[task.number] = (at, tally, stay)

    def _is_direct(self, task: Task) -> bool:
        """Whether the workflow itself made a task, not a helper."""
        birth = self.births.of.get(task.number)
        return birth is None or (birth.span is not None and birth.is_direct)

    def _leave(self, task: Task, *, raised: bool) -> None:
        """What a task stood at is over."""
        known = self.stays.pop(task.number, None)
        if known is None:
            return
        at, tally, stay = known
        self._leave_inside(task, stay)
        if task.number in tally.open:
            keep = self.places.fan[at] >= 0
            tally.finish(task.number, self.run.now_us, raised=raised, keep=keep)

    # --- in helpers

    def _look_inside(self, task: Task, steps: list[Step]) -> None:
        """Follow what the helper functions of the user's do below a node."""
        known = self.stays.get(task.number)
        if known is None:
            return
        at, tally, stay = known
        stay.future = task.waits_on
        own = [i for i, step in enumerate(steps) if not is_engine(step.frame.f_code)]
        if not own and tally is self.tallies[at]:
            return  # nothing of the user's lies between
        last = own[-1] if own else -1
        awaited = steps[last + 1].owner if last + 1 < len(steps) else task.waits_on
        if stay.inner is not None and stay.inner[1].is_at(awaited):
            stay.inner[1].future = task.waits_on
            return
        self._leave_inside(task, stay)
        what, name = _what(steps[last + 1 :], task.waits_on)
        key = (_shown(what, name, steps[last + 1 :]), _site(task, steps, last))
        inner = self.tallies[at].inner.setdefault(key, Tally())
        made = Stay(awaited, key[0], self.run.now_us, is_plain=True)
        made.future = task.waits_on
        inner.begin(task.number, made)
        stay.inner = (inner, made)

    def _leave_inside(self, task: Task, stay: Stay) -> None:
        if stay.inner is not None and task.number in stay.inner[0].open:
            stay.inner[0].finish(task.number, self.run.now_us, raised=False, keep=False)

    # --- ways

    def _walk(self, task: Task, to: int) -> None:
        """Mark what lies between the last stop of the workflow and this one."""
        if self.moving is not None:
            self.at = to
            return
        known = self.stays.get(task.number)
        raised = False if known is None else known[2].raised
        way = self.places.between(self.at, to, raised)
        self._leave(task, raised=way.by_exception)
        start, nodes = self._believed(way.nodes)
        for at, after in zip((start, *nodes), (*nodes, to), strict=True):
            if self.places.nodes[at].kind == "loop" and at in self.places.around(after):
                self.tallies[at].rounds += 1
            if at in nodes and self.places.fan[at] < 0:
                self.tallies[at].passed(self.run.now_us)
            if at in nodes and at in self.places.gates:
                self._open_fan(at)
        self.at = to

    def _believed(self, way: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Give what of a way can be true: at an action a run would have stopped."""
        for at in reversed(range(len(way))):
            if self.places.nodes[way[at]].kind in SEEN and self.places.fan[way[at]] < 0:
                return way[at], way[at + 1 :]
        return self.at, way

    def _open_fan(self, fan: int) -> None:
        for at, above in enumerate(self.places.fan):
            if above == fan:
                self.tallies[at].fan = [0, 0]

    def _main_over(self, task: Task, frame: Any) -> None:
        """The workflow is over: see which `return` it took, or where it raised."""
        failure = task.error if task.state == FINISHED else None
        if outcome(task)[0] == "completed":
            span = None if frame is None else span_at(frame.f_code, frame.f_lasti)
            at = -1 if span is None else self.places.plain(span, ("output",))
            at = at if at >= 0 else self._last_output()
            if at >= 0:
                self._walk(task, at)
                self.tallies[at].passed(self.run.now_us)
        elif not self._failed_at(task, task.error):
            self._leave(task, raised=True)
            if self.tallies[self.at].trouble is None:
                self.tallies[self.at].trouble = trouble_of(failure)
        self._leave(task, raised=False)

    def _last_output(self) -> int:
        found = [at for at, node in enumerate(self.places.nodes) if node.kind == "output"]
        return found[-1] if found else -1

    def _failed_at(self, task: Task, error: BaseException | None) -> bool:
        """Mark the node at which code of the workflow raised, if it was not the await itself."""
        trace = None if error is None else error.__traceback__
        while trace is not None and key_of(trace.tb_frame.f_code) not in self.keys:
            trace = trace.tb_next
        if trace is None:
            return False
        span = span_at(trace.tb_frame.f_code, trace.tb_lasti)
        known = self.stays.get(task.number)
        if known is not None and known[2].span == span:
            return False
        at = self.places.plain(span, _RAISING)
        if at < 0:
            return False
        if at != self.at:
            self._walk(task, at)
            self.tallies[at].begun += 1
        self.tallies[at].count("failed", self.run.now_us)
        self.tallies[at].trouble = trouble_of(error)
        return True

    # --- telling

    @property
    def seq(self) -> int:
        """The number of the last row."""
        return self.rows[-1].seq if self.rows else 0

    def picture(self) -> Picture:
        """Give the run as it stands after the rows so far."""
        last = self.rows[-1] if self.rows else None
        is_known = self.program is not None
        over = is_known and self.run.outcome is not None
        status = self.run.status if is_known and not self.why else "running"
        return Picture(
            id=self.run_id,
            workflow=self.workflow,
            file=self.file if is_known else "",
            status="stopped" if self.stopped is not None else status or "pending",
            seq=self.seq,
            at=None if last is None else time_of(last.fact.at_us),
            began=time_of(self.rows[0].fact.at_us) if self.rows else None,
            ended=time_of(self.run.now_us) if over else None,
            nodes=nodes_of(self) if is_known else [],
            facts=dict(self.facts),
            recent=list(self.recent),
            said=list(self.said) if is_known else [],
            trouble=trouble_of(self.run.error) if is_known else None,
            why=self.why or ("" if self.stopped is None else self.stopped.reason),
        )


# --- what something is that a task awaits


def _what(steps: list[Step], leaf: Any) -> tuple[str, str]:
    """Say what stands below a frame: a key of `places.KINDS`, and what it is called."""
    for step in steps:
        code = step.frame.f_code
        if not is_engine(code):
            return "helper", code.co_name
        if code.co_name in _PRELUDE:
            return _PRELUDE[code.co_name], code.co_name
    if isinstance(leaf, Call):
        return leaf.target.kind, short_name(leaf.target.name)
    return "gate", ""


def _shown(what: str, name: str, steps: list[Step]) -> str:
    """Name what a helper waits for."""
    if what == "signal":
        found = [step.frame.f_locals.get("name") for step in steps[:1]]
        return f"signal {found[0]!r}" if found and isinstance(found[0], str) else "signal"
    return name or "waits"


def _site(task: Task, steps: list[Step], last: int) -> str:
    """Say where in a helper it stands: `_approved:78`."""
    if last >= 0:
        frame = steps[last].frame
        return f"{frame.f_code.co_qualname}:{frame.f_lineno}"
    return task.waits_on.site if isinstance(task.waits_on, Call) else ""


# --- facts in words


def _lines(effects: tuple[AnyEffect, ...]) -> list[str]:
    return [each.text for each in effects if isinstance(each, Say)]


def _told(row: Row) -> str:
    fact = row.fact
    kind = type(fact).__name__.lower()
    if isinstance(fact, Failed):
        error = values.decode_error(bytes(fact.error))
        return f"call {fact.call} failed: {type(error).__name__}: {str(error)[:200]}"
    if isinstance(fact, Signalled):
        return f"signal {fact.name!r} came"
    if isinstance(fact, Fired):
        return f"timer {fact.timer} fired"
    if isinstance(fact, Lost):
        return f"the process that held call {fact.call} died"
    call = getattr(fact, "call", 0)
    return f"call {call} {kind}" if call else f"the run was {kind}"
