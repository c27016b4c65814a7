"""Owning the runs of a store, from taking over to handing over.

Takes over, brings back what was under way, looks for messages, meets outages, and leaves in order.
"""

from __future__ import annotations

import asyncio

from perdure.errors import StoreError
from perdure.node.flush import Entry
from perdure.node.node import Node
from perdure.node.options import Options
from perdure.node.retention import retain
from perdure.node.watchdog import Watchdog
from perdure.store.port import Down, Fence, Store, Unclear, Writer


class Owner:
    """One ownership of a store's runs."""

    def __init__(self, store: Store, writer: Writer, key: bytes, options: Options) -> None:
        self.store = store
        self.writer = writer
        self.options = options
        self.node = Node(store, writer, key, options)
        self.node.writing.on_unclear = self._unclear
        self.node.on_fenced = self._fenced
        self.watchdog = Watchdog(self.node)
        self.seen = -1
        self.handle: asyncio.TimerHandle | None = None
        self.fenced = asyncio.Event()
        self.closed = False

    async def begin(self, *, patient: bool = False) -> None:
        """Bring back what was under way, then serve; patient: however long the store is away."""
        node = self.node
        node.recovery.clean = self.writer.was_left_in_order
        self.watchdog.start()
        await (node.insist(node.recovery.begin) if patient else node.recovery.begin())
        self._poll()
        self._tick()
        if self.options.keep_s is not None:
            node.spawn(retain(self.store, self.options, self.options.keep_s))

    # --- messages, and runs that wait

    def _poll(self) -> None:
        """Look whether others have written; costs no statement while nobody has."""
        if self.closed or self.fenced.is_set():
            return
        self.node.alarms.look()
        try:
            version = self.store.version()
        except Down:
            version = self.seen
        if version != self.seen or self.node.mail.again:
            self.seen = version
            self.node.spawn(self._read())
        self.handle = self.node.loop.call_later(self.options.poll_s, self._poll)

    async def _read(self) -> None:
        try:
            await self.node.mail.read()
        except StoreError as error:
            self.options.warn(f"messages cannot be read for now: {error}")

    def look(self) -> None:
        """Read messages now: somebody in this process has left one."""
        if not self.fenced.is_set():
            self.node.spawn(self._read())

    async def take_up(self) -> None:
        """Fold what others have left until now; who asks how a run stands wants to know with it."""
        await self._read()
        while self.node.mail.reading is not None:
            await asyncio.wait((self.node.mail.reading,))

    def goes_on(self, rid: int) -> bool:
        """Whether a run is in memory here; what the store says of it may be about to change."""
        return rid in self.node.residents

    def _tick(self) -> None:
        if self.closed or self.fenced.is_set():
            return
        self.node.room.sweep(self.node.clock())
        self.node.loop.call_later(max(self.options.idle_s / 4, 0.05), self._tick)

    # --- when the store does not answer

    def _unclear(self) -> None:
        self.node.spawn(self._recover())

    async def _recover(self) -> None:
        """Find out what became of a batch from what the store has of every run."""
        node = self.node
        while True:
            try:
                await self.writer.renew()
                rids = {*node.residents, *(each.rid for each in node.pipeline.facts_in_flight())}
                heads = await self.writer.heads(list(rids))
                break
            except Fence:
                node.fence()
                return
            except StoreError as error:
                self.options.warn(f"the store is out of reach: {error}")
                await asyncio.sleep(self.options.retry_s)
        durable = {rid: each.durable_seq for rid, each in node.residents.items()}
        verdict = node.pipeline.recovered(heads, durable)
        node.release(verdict.release, verdict.refused)
        if verdict.resend:
            node.writing.send()
        if verdict.reload:
            self._reload(verdict.lost, verdict.reload)
        node.writing.kick()

    def _reload(self, lost: list[Entry], rids: frozenset[int]) -> None:
        """What the store has is not what is in memory: the store is right."""
        self.options.warn(f"{len(rids)} runs are loaded again: the store has another state of them")
        why = Unclear("the run is loaded again")
        self.node.give_up(lost, why)
        self.node.load_again(self.node.forget(rids, why), fresh=True)

    def _fenced(self) -> None:
        self.fenced.set()

    # --- leaving

    async def close(self) -> None:
        """Let what is under way come to an end, write everything, and hand the runs over."""
        self.closed = True
        if self.handle is not None:
            self.handle.cancel()
        node = self.node
        node.draining = True
        try:
            await node.attempts.drain(self.options.drain_s)
        finally:
            try:
                await node.settled()
            finally:
                # If not all was written, or not all brought back, whoever is next must look.
                in_order = node.pipeline.quiet and not node.recovery.inherits
                self.watchdog.stop()
                node.close()
                await self.writer.close(in_order=in_order)
