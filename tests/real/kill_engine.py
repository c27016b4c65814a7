"""A process of the kill loop: serves a store under load, and says what was acknowledged.

    python -m tests.real.kill_engine FILE STATE SEED

Its disk is slow, as disks are: every write to the log and every sync takes a while, drawn from the
seed. Eight bytes of STATE that outlive the process tell what it was doing when it was killed.
Nothing of the engine is altered for that: the file system is SQLite's own with pauses, and a writer
is handed on as it is, with a mark set around each flush.
"""

from __future__ import annotations

import asyncio
import faulthandler
import itertools
import mmap
import os
import random
import signal as signal_module
import sys
import time
from typing import Any, Self

import apsw

from perdure import Interrupted, Perdure, action, attempt, signal, workflow
from tests.real.kit import say

QUIET, IN_FLIGHT = 0, 1
"""The first byte of the state: whether a batch is under way."""
BEFORE, WRITING, WRITTEN, SYNCED = range(4)
"""The second: how far it is."""
SYSTEM = apsw.vfs_names()[0]
"""The file system that SQLite would take."""
UNDER_WAY = 8
"""Runs that one process keeps under way."""
JOURNAL = "KILL_LOOP_JOURNAL"
"""The variable that names the journal: processes that the engine makes for actions have it, too."""


def journal() -> None:
    """Take effect on the world, where no engine can undo it."""
    descriptor = os.open(os.environ[JOURNAL], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, f"{attempt().idempotency_key}\n".encode())
    os.close(descriptor)


@action
async def effect(name: str, number: int) -> str:
    journal()
    await asyncio.sleep(0)
    return f"{name} {number}"


@action
async def slow(name: str, number: int) -> str:
    journal()
    await asyncio.sleep(0.02)
    return f"{name} {number}"


@action(at_most_once=True)
async def once(name: str, number: int) -> str:
    journal()
    await asyncio.sleep(0.005)
    return f"{name} {number}"


@action
def in_thread(name: str, number: int) -> str:
    journal()
    return f"{name} {number}"


@workflow
async def part(number: int) -> list[str]:
    return [await effect("part", number), await slow("half", number)]


@workflow
async def order(number: int) -> list[Any]:
    first = await effect("reserve", number)
    pair = await asyncio.gather(effect("charge", number), slow("pack", number), part(number))
    word = await signal("go", int)
    await asyncio.sleep(0.01)
    try:
        sent = await once("send", number)
    except Interrupted:
        sent = "unknown"
    return [first, *pair, word, sent, await in_thread("close", number)]


def expected(number: int, sent: str) -> list[Any]:
    """Say what an order must give, however often its process was killed."""
    half = [f"part {number}", f"half {number}"]
    pair = [f"charge {number}", f"pack {number}", half]
    return [f"reserve {number}", *pair, number, sent, f"close {number}"]


class SlowDisk(apsw.VFS):
    """The disk of this machine, with pauses; says of the log how far a batch is."""

    def __init__(self, state: mmap.mmap, random: random.Random) -> None:
        super().__init__("slow", SYSTEM, makedefault=True)
        self.state = state
        self.random = random

    def xOpen(self, name: Any, flags: list[int]) -> SlowFile:  # noqa: N802 — as apsw says it
        return SlowFile(name, flags, self.state, self.random)


class SlowFile(apsw.VFSFile):
    """One file on it."""

    def __init__(
        self, name: Any, flags: list[int], state: mmap.mmap, random: random.Random
    ) -> None:
        super().__init__(SYSTEM, name, flags)
        self.is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        self.state = state
        self.random = random

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 — as above
        if self.is_log:
            self.state[1] = WRITING
            time.sleep(self.random.uniform(0, 0.0003))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 — as above
        if self.is_log:
            self.state[1] = WRITTEN
        time.sleep(self.random.uniform(0.002, 0.006))
        super().xSync(flags)
        if self.is_log:
            self.state[1] = SYNCED
            time.sleep(self.random.uniform(0, 0.002))


class Announced:
    """A writer as it is, with a mark around each flush."""

    def __init__(self, writer: Any, state: mmap.mmap) -> None:
        self._writer = writer
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    async def flush(self, batch: Any) -> Any:
        self._state[0:2] = bytes((IN_FLIGHT, BEFORE))
        try:
            return await self._writer.flush(batch)
        finally:
            self._state[0] = QUIET


class Engine(Perdure):
    """An engine that says when it stands by, and when it came to own the runs."""

    def __init__(self, file: str, state: mmap.mmap) -> None:
        super().__init__(file)
        self.state = state

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        become = self.store.writer

        async def writer(*, wait: bool = False) -> Any:
            say("stands")
            return await become(wait=wait)

        self.store.writer = writer  # type: ignore[method-assign]
        return self

    async def _own(self, writer: Any, **told: Any) -> None:
        say("took", time.monotonic_ns())
        await super()._own(Announced(writer, self.state), **told)
        say("owns", time.monotonic_ns())


async def load(app: Perdure, draw: random.Random) -> None:
    """Keep so many runs under way, and say of each thing when it is acknowledged."""
    turns = asyncio.Semaphore(UNDER_WAY)
    async with asyncio.TaskGroup() as group:
        for count in itertools.count():
            if app.owner is None:  # a stand-by leaves a message now and then
                await asyncio.sleep(0.05)
            await turns.acquire()
            number = os.getpid() * 100_000 + count
            group.create_task(one(app, number, draw.random(), turns))


async def one(app: Perdure, number: int, lot: float, turns: asyncio.Semaphore) -> None:
    id_ = f"order-{number}"
    try:
        handle = await app.start(order, number, id=id_)
        say("started", id_)
        if lot < 0.1:
            await handle.cancel("not wanted")
            say("cancelled", id_)
        else:
            await handle.signal("go", number, key=f"go-{number}")
            say("signalled", id_)
        await handle.result()
    except asyncio.CancelledError:
        if lot >= 0.1:
            raise
    finally:
        turns.release()


async def main(file: str, state_file: str, seed: str) -> None:
    descriptor = os.open(state_file, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, mmap.PAGESIZE)
    state = mmap.mmap(descriptor, mmap.PAGESIZE)
    disk = SlowDisk(state, random.Random(f"disk {seed}"))
    async with Engine(file, state) as app:
        await load(app, random.Random(f"load {seed}"))
    disk.unregister()


if __name__ == "__main__":
    faulthandler.register(signal_module.SIGUSR1, all_threads=True)
    asyncio.run(main(*sys.argv[1:]))
