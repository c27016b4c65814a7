"""`Perdure`: an engine on a store, in this process. Starts runs, finds them, lists them.

One process owns the runs of a store and carries them out; every other one leaves messages, and
takes over when the owner is gone. The same code does both: nobody has to know which one it is.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import secrets
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, overload

import msgspec
from msgspec import Raw

from perdure import values
from perdure.client import Handle, RunInfo, demand_text, info_of
from perdure.core.policy import Seconds, microseconds
from perdure.errors import (
    Closed,
    NoSuchRun,
    Overloaded,
    PerdureError,
    RunExists,
    StoreDown,
    StoreError,
    brief,
)
from perdure.limits import LIMITS
from perdure.node.flush import Entry
from perdure.node.node import Taken
from perdure.node.options import Options
from perdure.node.owner import Owner
from perdure.node.resident import WORKFLOW
from perdure.node.wire import Start, digest_of
from perdure.registry import lookup, names
from perdure.store.opening import open_store
from perdure.store.port import (
    PENDING,
    STATUSES,
    Message,
    NewRun,
    Query,
    Report,
    RunRow,
    Store,
    Writer,
)
from perdure.workflows import Workflow

P = ParamSpec("P")
R = TypeVar("R")

_POLL_S = 0.01


def _unseen(_done: int, _of: int) -> None:
    """Nobody looks."""


class Call(msgspec.Struct, frozen=True):
    """A run to start: of which workflow, with which input, under which id."""

    flow: Workflow[Any, Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    id: str | None = None
    attrs: dict[str, str] = {}


class Perdure:
    """An engine on a store. `async with Perdure("orders.db") as app: …`."""

    def __init__(
        self,
        where: str | os.PathLike[str] = ":memory:",
        *,
        environment: str | None = None,
        serve: bool = True,
        options: Options | None = None,
        zone: str = "UTC",
    ) -> None:
        self.where = os.fspath(where)
        self.environment = environment
        self.serve = serve
        self.options = options or Options()
        self.zone = zone
        self.owner: Owner | None = None
        """What owns the runs, if it is this process that does."""
        self._store: Store | None = None
        self._key = b""
        self._turn: asyncio.Task[None] | None = None
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._closing = asyncio.Lock()
        self.owning = asyncio.Event()
        """Set while it is this process that owns the runs."""

    def __repr__(self) -> str:
        return f"<Perdure on {self.where}>"

    # --- opening and closing

    async def __aenter__(self) -> Self:
        self._store, self._key = open_store(self.where, self.environment)
        try:
            if self.serve:
                writer = await self._store.writer()
                if writer is not None:
                    await self._own(writer)
                self._turn = asyncio.create_task(self._take_turns())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let what is under way come to an end for a while, and hand the runs over.

        One that is cancelled waits no longer, and lets go of everything all the same.
        """
        async with self._closing:
            for task in (self._turn, self._poller):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            self._turn = self._poller = None
            owner, self.owner = self.owner, None
            try:
                if owner is not None:
                    await owner.close()
            finally:
                store, self._store = self._store, None
                if store is not None:
                    await store.close()
                self._tell_all()

    @property
    def store(self) -> Store:
        """The store, while the engine is open."""
        if self._store is None:
            raise Closed("the engine is not open", remedy="use it within `async with`")
        return self._store

    @property
    def key(self) -> bytes:
        """What proves that images and programs of the store are its own."""
        return self._key

    async def _own(self, writer: Writer, *, patient: bool = False) -> None:
        owner = Owner(self.store, writer, self._key, self.options)
        owner.node.observers.append(self._released)
        self.owner = owner
        try:
            await owner.begin(patient=patient)
            self.owning.set()
        finally:
            self._tell_all()

    async def _take_turns(self) -> None:
        """Own the runs whenever nobody else does."""
        while True:
            try:
                if self.owner is not None:
                    await self.owner.fenced.wait()
                    await self._let_go()
                await _link_all()
                writer = await self.store.writer(wait=True)
                if writer is not None:
                    await self._own(writer, patient=True)
            except Exception as error:  # noqa: BLE001 — a stand-by that died would hold the lock
                why = error if isinstance(error, StoreError) else brief(error)
                self.options.warn(f"runs cannot be taken over for now: {why}")
                await self._let_go()
                await asyncio.sleep(self.options.retry_s)

    async def _let_go(self) -> None:
        lost, self.owner = self.owner, None
        self.owning.clear()
        self._tell_all()
        if lost is not None:
            await lost.close()

    # --- starting

    @overload
    async def start(
        self, flow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Handle[R]: ...
    @overload
    async def start(
        self,
        flow: Workflow[..., R],
        /,
        *args: Any,
        id: str,
        attrs: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Handle[R]: ...
    @overload
    async def start(
        self, flow: Workflow[..., R], /, *args: Any, attrs: dict[str, str], **kwargs: Any
    ) -> Handle[R]: ...
    async def start(self, flow: Workflow[Any, R], /, *args: Any, **kwargs: Any) -> Handle[R]:
        """Start a run; when this returns, it is durable.

        The same `id` with the same workflow and input gives the run that is there; with another
        one it is an error. `attrs` are what the run can be listed by.
        """
        id_, attrs = kwargs.pop("id", None), kwargs.pop("attrs", None)
        return (await self.start_many([Call(flow, args, kwargs, id_, attrs or {})]))[0]

    async def start_many(self, calls: Iterable[Call]) -> list[Handle[Any]]:
        """Start many runs at once, in few writes."""
        made = [self._new_run(call) for call in calls]
        owner = self.owner
        if owner is None:
            taken = await self._start_by_message(made)
        else:
            taken = await self._start_here(owner, made)
        if taken:
            await self._compare([each for each in made if each[0].rid in taken])
        ids = [row.id for row, _, _ in made]
        if not taken:
            return [Handle(self, row.id, row.rid) for row, _, _ in made]
        rids = {row.id: row.rid for row in await self.store.find(ids)}
        return [Handle(self, id_, rids[id_]) for id_ in ids]

    def _new_run(self, call: Call) -> tuple[NewRun, Call, Raw]:
        given = [list(call.args), call.kwargs] if call.kwargs else [list(call.args)]
        raw = Raw(values.encode(given, f"arguments of {call.flow.name}"))
        call.flow.accepts(*call.args, **call.kwargs)
        id_ = call.id if call.id is not None else _new_id()
        _check_id(id_)
        now = _now_us()
        row = NewRun(
            _new_rid(self), id_, call.flow.name, "", digest_of(raw), now,
            attrs=_attrs(call.attrs), status=PENDING,
        )  # fmt: skip
        return row, call, raw

    async def _start_here(self, owner: Owner, made: list[tuple[NewRun, Call, Raw]]) -> set[int]:
        node = owner.node
        if node.pipeline.undurable_bytes > 2 * LIMITS.undurable_bytes_max:
            raise Overloaded(
                f"{node.pipeline.undurable_bytes:,} bytes wait to be written",
                remedy="start again when the store has caught up",
            )
        taken: set[int] = set()
        waiters: list[tuple[int, asyncio.Future[None]]] = []
        known = {row.id for row in await self._known([each for each in made if each[1].id])}
        if owner.fenced.is_set():
            return await self._start_by_message(made)
        for row, call, raw in made:
            if row.id in known:
                taken.add(row.rid)
                continue
            known.add(row.id)
            program = call.flow.program()
            new = msgspec.structs.replace(row, program=program.hash, status=1)
            seed = secrets.randbits(32)
            entry = node.begin_run(new, program, raw, seed=seed, zone=self.zone)
            waiter: asyncio.Future[None] = node.loop.create_future()
            entry.waiters = [waiter]
            waiters.append((row.rid, waiter))
        for rid, waiter in waiters:
            try:
                await waiter
            except Taken:
                taken.add(rid)
        return taken

    async def _known(self, made: list[tuple[NewRun, Call, Raw]]) -> list[RunRow]:
        return await self.store.find([row.id for row, _, _ in made]) if made else []

    async def _start_by_message(self, made: list[tuple[NewRun, Call, Raw]]) -> set[int]:
        messages = [
            Message(row.rid, "start", msgspec.json.encode(self._start_of(call, raw)))
            for row, call, raw in made
        ]
        return set(await self.store.send([row for row, _, _ in made], messages))

    def _start_of(self, call: Call, raw: Raw) -> Start:
        return Start(call.flow.name, raw, secrets.randbits(32), self.zone)

    async def _compare(self, made: list[tuple[NewRun, Call, Raw]]) -> None:
        """Refuse a start under an id that stands for something else."""
        there = {row.id: row for row in await self.store.find([row.id for row, _, _ in made])}
        for row, _, _ in made:
            other = there[row.id]
            if (other.workflow, other.input_digest) != (row.workflow, row.input_digest):
                raise RunExists(
                    f"run `{row.id}` is there already, of `{other.workflow}` with "
                    + ("another input" if other.workflow == row.workflow else "its own input"),
                    remedy="give another id, or the same workflow and input",
                )

    # --- finding

    async def get(self, id: str) -> Handle[Any]:
        """Give the run of an id."""
        found = await self.store.find([id])
        if not found:
            raise NoSuchRun(f"there is no run `{id}`", remedy="`perdure list` shows all")
        return Handle(self, id, found[0].rid)

    async def list(
        self,
        *,
        status: str | Iterable[str] = (),
        workflow: str | Workflow[..., Any] | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        attrs: dict[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """List runs, newest first: those with one of these statuses, of a workflow, and so on.

        `since` is when they were created at the earliest, `until` is before when.
        """
        found = self.iterate(
            status=status, workflow=workflow, since=since, until=until, attrs=attrs, limit=limit
        )
        return [each async for each in found]

    async def iterate(
        self,
        *,
        status: str | Iterable[str] = (),
        workflow: str | Workflow[..., Any] | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        attrs: dict[str, str] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[RunInfo]:
        """Go through runs, newest first, page by page."""
        query = Query(
            statuses=_statuses(status),
            workflow=workflow.name if isinstance(workflow, Workflow) else workflow,
            since_us=_us(since),
            until_us=_us(until),
            attrs=attrs or {},
            limit=min(limit or 1_000, 1_000),
        )
        left = limit
        while left is None or left > 0:
            rows = await self.store.rows(query)
            for row in rows[:left]:
                yield info_of(row)
            if len(rows) < query.limit:
                return
            left = None if left is None else left - len(rows)
            query = msgspec.structs.replace(query, before=rows[-1].rid)

    # --- keeping house

    async def backup(
        self, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy the store to a file while it is in use; `progress` hears of pages done and of all.

        The key stays where it is: keep a copy of it where you keep your secrets.
        """
        await self.store.backup(os.fspath(path), progress or _unseen)

    async def prune(
        self, older_than: Seconds, progress: Callable[[int], object] | None = None
    ) -> int:
        """Delete the facts of runs that ended so long ago; give how many runs there were.

        What stays is how each ended, and its id, which is never used again. `progress` hears how
        many there were so far.
        """
        before_us = _now_us() - microseconds(older_than, "older_than")
        pruned = 0
        while some := await self.store.prune(before_us, 1_000):
            pruned += some
            if progress is not None:
                progress(pruned)
        return pruned

    async def examine(self, *, thorough: bool = False) -> Report:
        """Say what the store is, how full, and what is wrong with it."""
        return await self.store.examine(thorough=thorough)

    # --- messages and changes

    async def leave(self, message: Message) -> None:
        """Leave a message for a run, durably; whoever owns it is told."""
        await self.store.send([], [message])
        if self.owner is not None:
            self.owner.look()

    @contextmanager
    def changes(self, rid: int) -> Generator[asyncio.Event]:
        """Give an event that is set whenever something about a run may have changed."""
        event = asyncio.Event()
        self._waiting.setdefault(rid, set()).add(event)
        self._see_to_polling()
        try:
            yield event
        finally:
            waiting = self._waiting[rid]
            waiting.discard(event)
            if not waiting:
                del self._waiting[rid]

    def _released(self, entry: Entry) -> None:
        about = entry.fact or entry.change
        if self._waiting and about is not None:
            for event in self._waiting.get(about.rid, ()):
                event.set()

    def _tell_all(self) -> None:
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
        self._see_to_polling()

    def _see_to_polling(self) -> None:
        """While another process owns the runs, only the store can say that something changed."""
        if self._waiting and self.owner is None and self._poller is None and self._store:
            self._poller = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        """See whether the store has changed, as long as anybody wants to know."""
        seen = -1
        while self._waiting and self.owner is None:
            with suppress(StoreDown):  # whoever reads next is told
                version = self.store.version()
                if version != seen:
                    seen = version
                    self._tell_all()
            await asyncio.sleep(_POLL_S)
        self._poller = None


async def _link_all() -> None:
    """Link what this process knows: a stand-by shall lose no time over it when its turn comes."""
    for kind, name in names():
        if kind == WORKFLOW:
            with suppress(PerdureError):  # it is told when the first run of it has to go on
                lookup(kind, name).program()
            await asyncio.sleep(0)


def _statuses(given: str | Iterable[str]) -> tuple[int, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in STATUSES:
            raise StoreError(f"`{name}` is no status", remedy=f"statuses are {', '.join(STATUSES)}")
    return tuple(STATUSES.index(name) for name in names)


def _us(when: dt.datetime | None) -> int | None:
    return None if when is None else int(when.timestamp() * 1_000_000)


def _attrs(attrs: dict[str, str]) -> str:
    for name, value in attrs.items():
        demand_text(name, "a name in attrs")
        demand_text(value, f"the value of `{name}` in attrs")
    return msgspec.json.encode(attrs).decode() if attrs else "{}"


def _check_id(id_: str) -> None:
    if not id_ or len(id_) > 500 or not id_.isprintable():
        raise StoreError(
            f"{id_[:80]!r} cannot be the id of a run", remedy="give 1 to 500 printable characters"
        )


def _now_us() -> int:
    return int(dt.datetime.now(dt.UTC).timestamp() * 1_000_000)


_rids = {"last": 0}


def _new_rid(app: Perdure) -> int:
    if app.owner is not None:
        return app.owner.node.new_rid()
    _rids["last"] = max(_rids["last"] + 1, (_now_us() << 10) | secrets.randbits(10))
    return _rids["last"]


def _new_id() -> str:
    return secrets.token_hex(8)


__all__ = ["Call", "Perdure"]
