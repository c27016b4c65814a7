"""Handles of runs: what anybody can ask of a run, and leave for it. Reads show what is durable."""

from __future__ import annotations

import asyncio
import datetime as dt
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.facts import Row, Upgraded
from perdure.core.picture import Move, Painter, Picture, trouble_of
from perdure.core.policy import Seconds, microseconds
from perdure.core.view import TaskView, tasks_of, waits_of
from perdure.errors import (
    DamagedLog,
    DataRefused,
    NoSuchRun,
    NotUpgraded,
    PerdureError,
    RunOver,
    RunStopped,
    WaitedTooLong,
)
from perdure.node.history import log_of, program_at, rows_of, run_of
from perdure.node.host import HOST
from perdure.node.programs import Programs
from perdure.node.rehearsing import Rehearsal, rehearse
from perdure.node.wire import Cancel, Retry, Signal, Upgrade
from perdure.registry import lookup
from perdure.store.port import COMPLETED, OPEN, STATUSES, STOPPED, Message, RunRow, Store
from perdure.store.sqlite.store import SqliteStore

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

PAGE = 1_000
_HOLDER_S = 1.0
"""How often somebody who follows a run looks whether anybody carries it out."""


class RunInfo(msgspec.Struct, frozen=True):
    """A run as the store has it."""

    id: str
    workflow: str
    status: str
    """`pending`, `running`, `completed`, `failed`, `cancelled` or `stopped`."""
    created: dt.datetime
    ended: dt.datetime | None
    parent: str | None
    attrs: dict[str, str]
    facts: int
    """How many facts its log has."""
    error: str | None
    """Why it failed, was cancelled or stopped, or cannot go on for now, in one line."""


def info_of(row: RunRow) -> RunInfo:
    """Give what people want to know of a row."""
    error = None
    if row.status != COMPLETED and row.result is not None:
        raised = values.decode_error(row.result)
        error = values.line_of(raised)
    parent = row.id.rpartition("/")[0] if row.parent is not None else None
    return RunInfo(
        row.id, row.workflow, STATUSES[row.status], _time(row.created_us),
        None if row.ended_us is None else _time(row.ended_us), parent,
        msgspec.json.decode(row.attrs), row.head, error,
    )  # fmt: skip


def demand_text(given: object, what: str) -> None:
    """Refuse what is no text, or none that can be written down."""
    if isinstance(given, str):
        with suppress(UnicodeEncodeError):
            given.encode()
            return
    raise DataRefused(
        f"{what} is {ascii(given)[:80]}", remedy="give text, and no half of a surrogate pair"
    )


def _time(us: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(us / 1_000_000, dt.UTC)


class Moment(msgspec.Struct, frozen=True):
    """A run as it was after one of its facts."""

    seq: int
    at: dt.datetime
    status: str
    tasks: list[TaskView]
    """What had not ended: the functions of each task, outermost first, with their variables."""
    waits: list[str]
    """What had to happen before it could go on."""


class Home(Protocol):
    """What a handle needs of the engine that it came from."""

    @property
    def store(self) -> Store:
        """The store, while the engine is open."""
        ...

    @property
    def key(self) -> bytes:
        """The key of the store."""
        ...

    async def leave(self, message: Message) -> None:
        """Leave a message for a run, durably."""
        ...

    def changes(self, rid: int) -> AbstractContextManager[asyncio.Event]:
        """Give an event that is set whenever something about a run may have changed."""
        ...


class Handle(Generic[R_co]):
    """One run, wherever it is: in this process, in another one, or only on disk."""

    def __init__(self, app: Home, id_: str, rid: int) -> None:
        self._app = app
        self.id = id_
        self.rid = rid
        self._over_at = -1
        """The last row of a log that was over, and which is to go on."""

    def __repr__(self) -> str:
        return f"<run {self.id}>"

    async def _row(self) -> RunRow:
        found = await self._app.store.find([self.id])
        if not found:
            raise NoSuchRun(f"there is no run `{self.id}`", remedy="`perdure list` shows all")
        return found[0]

    async def info(self) -> RunInfo:
        """Give how the run stands."""
        return info_of(await self._row())

    async def status(self) -> str:
        """Give `pending`, `running`, `completed`, `failed`, `cancelled` or `stopped`."""
        return STATUSES[(await self._row()).status]

    async def result(self, timeout: Seconds | None = None) -> R_co:
        """Wait for the end; give what the workflow returned, or raise what it raised."""
        if timeout is None:
            return await self._result()
        limit = asyncio.timeout(microseconds(timeout, "timeout") / 1_000_000)
        try:
            async with limit:
                return await self._result()
        except TimeoutError:
            if limit.expired():
                raise WaitedTooLong(
                    f"run `{self.id}` has not ended within {timeout}",
                    remedy="it goes on: ask again",
                ) from None
            raise

    async def _result(self) -> R_co:
        with self._app.changes(self.rid) as changed:
            while not self._is_over(row := await self._row()):
                await changed.wait()
                changed.clear()
        if row.status == STOPPED:
            raise RunStopped(
                f"run `{self.id}` is stopped: {info_of(row).error}",
                remedy="mend what it says, then retry the run; upgrade it if its code is at fault",
            )
        assert row.result is not None
        if row.status == COMPLETED:
            value: R_co = values.decode(row.result)
            return value
        raise values.decode_error(row.result)

    def _is_over(self, row: RunRow) -> bool:
        return row.status > OPEN and row.head != self._over_at

    # --- leaving messages

    async def signal(self, name: str, value: Any = None, *, key: str | None = None) -> None:
        """Send a signal; when this returns, it is durable. One key is taken once, for ever."""
        demand_text(name, "the name of a signal")
        body = Signal(name, Raw(values.encode(value, f"signal `{name}`")))
        await self._send("signal", msgspec.json.encode(body), key)

    async def cancel(self, reason: str = "", *, actor: str = "") -> None:
        """Ask the run to end; its `finally` blocks run. Returns when that is durable."""
        demand_text(reason, "a reason")
        demand_text(actor, "an actor")
        await self._send("cancel", msgspec.json.encode(Cancel(reason, actor)), None)

    async def retry(self, *, actor: str = "") -> None:
        """Have a failed run go on from the await that failed; a stopped one from where it stood."""
        demand_text(actor, "an actor")
        row = await self._row()
        if row.status <= COMPLETED:
            raise RunOver(
                f"run `{self.id}` is {STATUSES[row.status]}", remedy="only failed runs are retried"
            )
        body = msgspec.json.encode(Retry(actor))
        self._over_at = row.head
        await self._app.leave(Message(self.rid, "retry", body, f"retry:{row.head}"))

    async def upgrade(self, *, actor: str = "", timeout: Seconds | None = None) -> None:
        """Have the run go on with the code that its workflow has in the process that owns it.

        Waits for the owner's answer. A run that cannot be moved raises `NotUpgraded`, which says
        which function stands in the way and why, and goes on as it was.
        """
        demand_text(actor, "an actor")
        key = f"upgrade:{secrets.token_hex(8)}"
        head = (await self._row()).head
        await self._send("upgrade", msgspec.json.encode(Upgrade(actor)), key)
        limit_s = None if timeout is None else microseconds(timeout, "timeout") / 1_000_000
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                await self._upgraded(key, head)
        except TimeoutError:
            if limit.expired():
                raise WaitedTooLong(
                    f"nobody has moved run `{self.id}` within {timeout}",
                    remedy="the request stays: whoever owns the run next answers it",
                ) from None
            raise

    async def rehearse_upgrade(self) -> Rehearsal:
        """Say what `upgrade` would do with the code that the workflow has in this process.

        Nothing happens to the run. The workflow has to be imported here.
        """
        row = await self._row()
        new = lookup("workflow", row.workflow).program()
        return await rehearse(self._app.store, self._app.key, row, new)

    async def _upgraded(self, key: str, after: int) -> None:
        with self._app.changes(self.rid) as changed:
            while True:
                changed.clear()
                row = await self._row()
                while page := await self._app.store.facts(self.rid, after, PAGE, images=False):
                    if any(each.key == key for each in page):
                        return
                    after = page[-1].seq
                why = None if row.result is None else values.decode(row.result)
                if isinstance(why, NotUpgraded) and why.asked == key:
                    raise why
                if row.status > OPEN and row.status != STOPPED:
                    raise RunOver(f"run `{self.id}` has ended before it could be moved")
                await changed.wait()

    async def _send(self, kind: str, body: bytes, key: str | None) -> None:
        if key is not None:
            demand_text(key, "a key")
        row = await self._row()
        if self._is_over(row) and row.status != STOPPED:
            raise RunOver(
                f"run `{self.id}` is {STATUSES[row.status]}: it takes no {kind} any more",
                remedy="look at its result",
            )
        await self._app.leave(Message(self.rid, kind, body, key))

    # --- reading the log

    async def facts(self) -> list[Row]:
        """Give the whole log."""
        return [row async for row in self._rows(0)]

    async def _rows(self, after: int) -> AsyncIterator[Row]:
        while page := await self._app.store.facts(self.rid, after, PAGE, images=False):
            for row in rows_of(page):
                yield row
            after = page[-1].seq

    async def watch(self) -> AsyncIterator[Row]:
        """Give every fact, those of before first, then each as it becomes durable, to the end."""
        after = 0
        with self._app.changes(self.rid) as changed:
            while True:
                changed.clear()
                row = await self._row()
                async for fact in self._rows(after):
                    after = fact.seq
                    yield fact
                if self._is_over(row) and after >= row.head:
                    return
                await changed.wait()

    async def picture(self, seq: int | None = None) -> Picture:
        """Give the run as its graph shows it, now or after fact `seq`: what stands how, and why.

        The log is folded again, beside the run, so the code has to be here, or its text in the
        store. Where it is not, the picture shows what the facts alone tell, and says why.
        """
        row = await self._row()
        painter = await self._painter(row)
        async for fact in self._rows(0):
            if seq is not None and fact.seq > seq:
                break
            painter.feed(fact, await self._move(fact, row))
        shown = painter.picture()
        painter.close()
        if seq is not None and seq < row.head:
            return shown
        return _as_stored(shown, row, self._holder(row))

    async def pictures(self) -> AsyncIterator[Picture]:
        """Give a picture now, and another one whenever facts have become durable, to the end."""
        painter = await self._painter(await self._row())
        seen = (-1, -1, "")
        try:
            with self._app.changes(self.rid) as changed:
                while True:
                    changed.clear()
                    row = await self._row()
                    if painter.seq == 0 and row.head:
                        painter = await self._painter(row)  # it has begun
                    async for fact in self._rows(painter.seq):
                        painter.feed(fact, await self._move(fact, row))
                    now = (painter.seq, row.status, self._holder(row))
                    if now != seen:
                        seen = now
                        yield _as_stored(painter.picture(), row, now[2])
                    if self._is_over(row) and painter.seq >= row.head:
                        return
                    with suppress(TimeoutError):  # the death of a process changes no file
                        await asyncio.wait_for(changed.wait(), _HOLDER_S)
        finally:
            painter.close()

    def _holder(self, row: RunRow) -> str:
        store = self._app.store
        return store.owner() if row.status <= OPEN and isinstance(store, SqliteStore) else ""

    async def _painter(self, row: RunRow) -> Painter:
        first = list(rows_of(await self._app.store.facts(self.rid, 0, 1, images=False)))
        if not first:
            return Painter(self.id, row.workflow, None)
        hash_ = getattr(first[0].fact, "program", "")
        program: Any
        try:
            program = await Programs(self._app.store, self._app.key).get(hash_, row.workflow)
        except PerdureError as error:
            program = error
        return Painter(self.id, row.workflow, program, HOST)

    async def _move(self, row: Row, run: RunRow) -> Move | None:
        """Give what leads on from a row that moved the run to other code, if it can be had."""
        if not isinstance(row.fact, Upgraded):
            return None
        store, key = self._app.store, self._app.key
        [stored] = await store.facts(self.rid, row.seq - 1, 1, images=True)
        try:
            program = await Programs(store, key).get(row.fact.program, run.workflow)
        except PerdureError:
            return None
        return None if stored.image is None else Move(program, stored.image, key)

    async def at(self, seq: int) -> Moment:
        """Give the run as it was after fact `seq`: what stood where, with which variables.

        The code of the run has to be in this process, or its text in the store under its key.
        """
        row = await self._row()
        facts = await log_of(self._app.store, self.rid, seq)
        if not facts or facts[-1].seq != seq:
            raise NoSuchRun(
                f"run `{self.id}` has no fact {seq}", remedy=f"its facts are 1 to {row.head}"
            )
        hash_ = program_at(facts) or row.program
        program = await Programs(self._app.store, self._app.key).get(hash_, row.workflow)
        run = run_of(program, row.id, facts, self._app.key, lambda _: None)
        if run is None:
            raise DamagedLog(f"nothing leads to fact {seq} of run `{self.id}`")
        moment = Moment(seq, _time(run.now_us), run.status, tasks_of(run), waits_of(run))
        run.drop()
        return moment


def _as_stored(picture: Picture, row: RunRow, holder: str) -> Picture:
    """Let the row of a run say how it stands: it knows also where the log cannot be folded."""
    trouble = picture.trouble
    if trouble is None and row.status not in (COMPLETED, STOPPED) and row.result is not None:
        trouble = trouble_of(values.decode_error(row.result))
    ended = None if row.ended_us is None else _time(row.ended_us)
    began = picture.began or _time(row.created_us)
    is_pruned = not picture.seq and row.status > OPEN
    return msgspec.structs.replace(
        picture,
        status=STATUSES[row.status],
        began=began,
        ended=ended,
        holder=holder,
        trouble=trouble,
        why="its facts were deleted by a prune" if is_pruned else picture.why,
    )


__all__ = ["Handle", "Moment", "RunInfo", "demand_text", "info_of"]
