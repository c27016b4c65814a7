"""Lives of an engine on a file: one that goes well, and those that go on from where it could end.

A life hears of every boundary: what SQLite is about to write or to sync, attempts that begin and
end, what clients are told. What would be left on the disk at that instant is the beginning of
another life, in another folder, in which the clients ask for the same again.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import apsw
import pytest

import perdure.app
from perdure import Options, Perdure
from perdure.app import Call
from perdure.core.facts import decode_row
from perdure.errors import PerdureError, RunOver, StoreError
from perdure.store.port import OPEN, Query
from perdure.store.sqlite import SqliteStore
from perdure.testing import VirtualLoop
from tests.crash.disk import Disk, read, write
from tests.sim import flows
from tests.sim.explained import asked_for, demand_explained, demand_once, refolded
from tests.sim.flows import GIVES, Journal

T = TypeVar("T")
KEY = b"k" * 32
START_US = 1_700_000_000_000_000
ENOUGH_S = 3_000
"""How long a life may take, in virtual seconds, before it is stuck."""


@dataclass(frozen=True)
class Scenario:
    """What clients want: runs of workflows, words for them, and cancelling some."""

    calls: tuple[tuple[str, tuple[Any, ...]], ...]
    words: int = 0
    cancel_after_s: float | None = None
    residents_max: int = 1_000
    pause_s: float = 0.3
    """How long the sender of words waits between two."""


@dataclass
class Instant:
    """What there is when a process ends just now: files, what was begun, and what was promised."""

    what: str
    killed: dict[str, bytes]
    powerless: dict[str, bytes]
    torn: dict[str, bytes]
    begun: list[tuple[str, int]]
    acknowledged: list[tuple[str, ...]]
    at_s: float

    def variants(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Give what may be left, once each."""
        yield "killed", self.killed
        if self.powerless != self.killed:
            yield "power failed", self.powerless
        if self.torn not in (self.killed, self.powerless):
            yield "torn", self.torn


@dataclass
class Life:
    """One process that owns the file in a folder, from its beginning to its end or to its crash."""

    scenario: Scenario
    folder: str
    begun: list[tuple[str, int]] = field(default_factory=list)
    acknowledged: list[tuple[str, ...]] = field(default_factory=list)
    at_s: float = 0.0
    seed: int = 0
    each_write: bool = False
    trouble: Callable[[Life, str], object] | None = None
    """Asked at every call of SQLite, and raises what is to go wrong."""
    listens: bool = True
    """Whether it keeps what would be left at every boundary."""
    instants: list[Instant] = field(default_factory=list)
    outcomes: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path = os.path.join(self.folder, "runs.db")
        self.disk = Disk()
        self.draw = Random(self.seed)
        self.kept = list(self.acknowledged)
        self.lock = read(self.path + "-lock")
        self.last_call = ""
        self.calls = 0

    def run(self) -> Life:
        """Live to the end, and hold what came of it against what was promised."""
        Journal.here = self.journal = Journal()
        self.journal.begun += self.begun
        self.journal.hear = self._boundary
        self.disk.hear = self._call
        self.loop = VirtualLoop(self.at_s)
        with self._world(), asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._live())
        demand_sound(self.path)
        return self

    @contextmanager
    def _world(self) -> Iterator[None]:
        """Have the engine use our disk, and its lock be synced where we can see it."""

        def sync(descriptor: int) -> None:
            if os.readlink(f"/proc/self/fd/{descriptor}").endswith("-lock"):
                self.lock = os.pread(descriptor, 100, 0)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(perdure.app, "open_store", self._open)
            patch.setattr(os, "fsync", sync)
            yield

    def _open(self, where: str, _: str | None) -> tuple[SqliteStore, bytes]:
        return SqliteStore.open(where, vfs=self.disk.name), KEY

    def _options(self) -> Options:
        return Options(
            residents_max=self.scenario.residents_max, poll_s=2.0, retry_s=0.5, drain_s=0.0,
            inline_s=1e6, blocked_s=1e6, say=lambda *_: None, warn=self.warnings.append,
            now_us=lambda: START_US + int(self.loop.time() * 1_000_000),
        )  # fmt: skip

    async def _live(self) -> None:
        async with asyncio.timeout(ENOUGH_S):
            app = await self._opened()
            try:
                await again(lambda: self._demand_kept(app))
                await self._drive(app)
                await again(lambda: self._until_all_is_over(app))
                await again(lambda: self._check(app))
                self.listens = False
                self.trouble = None
                self.instants.append(self.instant("over"))
            finally:
                await app.close()

    async def _opened(self) -> Perdure:
        """Open the engine, and again if there was trouble, as whoever looks after it does."""
        app = Perdure(self.path, options=self._options())
        await again(app.__aenter__)
        self._tap(app)
        return app

    def _tap(self, app: Perdure) -> None:
        """Hear of the instant at which a batch is durable, and nothing was done because of it."""
        assert app.owner is not None
        node, release = app.owner.node, app.owner.node.release

        def hear(*given: Any) -> None:
            self._boundary("committed")
            release(*given)

        node.release = hear  # type: ignore[method-assign]

    # --- boundaries

    def _call(self, call: str, path: str) -> None:
        """A call of SQLite is about to be made."""
        self.calls += 1
        if self.trouble is not None:
            self.trouble(self, call)
        if call in ("write", "truncate", "sync", "delete"):
            what = call + (" log" if path.endswith("-wal") else " file")
            # Many writes in a row are one boundary, unless each is asked for.
            if self.each_write or call != "write" or what != self.last_call:
                self._boundary(what)
            self.last_call = what

    def _boundary(self, what: str) -> None:
        if self.listens:
            self.instants.append(self.instant(what))

    def instant(self, what: str) -> Instant:
        """Give what there would be if this process ended now."""
        lock = {self.path + "-lock": read(self.path + "-lock")}
        synced = {self.path + "-lock": self.lock}
        return Instant(
            what,
            self.disk.if_killed() | lock,
            self.disk.if_power_fails() | synced,
            self.disk.if_torn(self.draw) | synced,
            list(self.journal.begun),
            list(self.acknowledged),
            self.loop.time(),
        )

    def _acknowledge(self, *what: str) -> None:
        self.acknowledged.append(what)
        self._boundary("acknowledged " + what[0])

    # --- what clients do, again in every life

    async def _drive(self, app: Perdure) -> None:
        ids = [f"{name}-{at}" for at, (name, _) in enumerate(self.scenario.calls)]
        calls = [
            Call(getattr(flows, name), args, {}, id_)
            for id_, (name, args) in zip(ids, self.scenario.calls, strict=True)
        ]
        if len(calls) > 3:
            handles = await again(lambda: app.start_many(calls))
        else:
            handles = [handle for call in calls for handle in await _started(app, call)]
        for id_ in ids:
            self._acknowledge("start", id_)
        await asyncio.gather(*map(self._talk, handles), *map(self._await, handles))

    async def _talk(self, handle: Any) -> None:
        """Send words under keys, each of them twice; then perhaps cancel."""
        with_words = self.scenario.words if handle.id.startswith(("asks", "hurried")) else 0
        try:
            for i in range(with_words):
                await asyncio.sleep(self.scenario.pause_s)
                for _ in range(2):
                    await again(partial(handle.signal, "word", f"w{i}", key=f"w{i}"))
                self._acknowledge("word", handle.id, f"w{i}")
            if self.scenario.cancel_after_s is not None:
                await asyncio.sleep(self.scenario.cancel_after_s)
                await again(lambda: handle.cancel("enough"))
                self._acknowledge("cancel", handle.id)
        except RunOver:
            return

    async def _await(self, handle: Any) -> None:
        try:
            outcome: Any = await again(handle.result)
        except asyncio.CancelledError as error:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            outcome = f"cancelled: {error}"
        except PerdureError:
            raise
        except Exception as error:  # noqa: BLE001 - the error of the run is its outcome
            outcome = f"{type(error).__name__}: {error}"
        self.outcomes[handle.id] = outcome
        self._acknowledge("result", handle.id, repr(outcome))

    # --- what must be true

    async def _demand_kept(self, app: Perdure) -> None:
        """Everything that was acknowledged in an earlier life is there."""
        assert app.owner is not None
        for kind, id_, *rest in self.kept:
            [row] = await app.store.find([id_])
            if kind == "word" and row.status <= OPEN:
                facts = await app.store.facts(row.rid, 0, 1_000, images=False)
                waiting = await app.owner.writer.inbox(1_000)
                keys = {each.key for each in (*facts, *waiting) if each.rid == row.rid}
                assert rest[0] in keys, f"word {rest[0]} of {id_} is lost"
            if kind == "result":
                assert row.status > OPEN, f"{id_} had ended"

    async def _until_all_is_over(self, app: Perdure) -> None:
        while await app.store.rows(Query(statuses=(0, 1), limit=1)):
            await asyncio.sleep(1)

    async def _check(self, app: Perdure) -> None:
        asked: Counter[tuple[str, int]] = Counter()
        for row in await app.store.rows(Query(limit=1_000)):
            facts = await app.store.facts(row.rid, 0, 10_000, images=False)
            rows = [decode_row(each.body) for each in facts]
            demand_once(rows)
            run, caused = refolded(row.workflow, rows)
            run.drop()
            asked += asked_for(row.id, caused)
        demand_explained(self.journal.begun, asked)
        for id_, outcome in self.outcomes.items():
            name, args = self.scenario.calls[int(id_.rpartition("-")[2])]
            demand_right(self.scenario, name, args, outcome)
        told = {id_: outcome for kind, id_, outcome in self._results()}
        assert all(repr(self.outcomes[id_]) == outcome for id_, outcome in told.items())

    def _results(self) -> list[tuple[str, ...]]:
        return [each for each in self.kept if each[0] == "result"]


async def _started(app: Perdure, call: Call) -> list[Any]:
    return [await again(lambda: app.start(call.flow, *call.args, id=call.id))]


async def again(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask, and again while the store is in trouble, as a client does."""
    while True:
        try:
            return await ask()
        except StoreError:
            await asyncio.sleep(0.5)


def demand_right(scenario: Scenario, name: str, args: tuple[Any, ...], outcome: Any) -> None:
    """Refuse what the workflow could not have given without any crash."""
    if scenario.cancel_after_s is not None and str(outcome).startswith("cancelled"):
        return
    if name in GIVES:
        assert outcome in GIVES[name](*args), (name, args, outcome)
    elif name == "hurried":
        assert outcome in ("w0", "NONE")
    else:
        words = [f"w{i}" for i in range(args[0])]
        assert outcome == (words if name == "asks" else [word.upper() for word in words])


def demand_sound(path: str) -> None:
    """Refuse a file that is damaged."""
    connection = apsw.Connection(path)
    try:
        assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)]
    finally:
        connection.close()


def after(instant: Instant, files: dict[str, bytes], scenario: Scenario, folder: Path) -> Life:
    """Give the life that begins with what was left."""
    folder.mkdir(parents=True)
    write(files, str(folder))
    return Life(
        scenario, str(folder), begun=instant.begun, acknowledged=list(instant.acknowledged),
        at_s=instant.at_s, seed=len(instant.begun),
    )  # fmt: skip
