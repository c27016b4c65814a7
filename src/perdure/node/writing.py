"""Writing: drives the flush pipeline against a store, and meets each of a batch's fates.

Whatever is gathered in one turn of the loop is one batch. Knows entries and the `Writer`; what is
released, and what a fault means for runs, it leaves to the node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

from perdure.errors import brief
from perdure.node.flush import FENCED, IDLE, IN_FLIGHT, Entry, Pipeline
from perdure.node.house import House
from perdure.node.resident import with_images
from perdure.store.port import (
    ACTIVE,
    RUNNING,
    Down,
    Fence,
    Flushed,
    Refused,
    RunChange,
    Unclear,
    Writer,
)


class Writing:
    """The one way from memory to the store."""

    def __init__(self, node: House, writer: Writer) -> None:
        self.node = node
        self.writer = writer
        self.pipeline = Pipeline()
        self.pumping = False
        self.down_since_s = 0.0
        """Since when the store takes nothing; 0 while it does."""
        self.on_unclear: Callable[[], object] = lambda: None

    def add(self, entry: Entry, atom: int = 0) -> None:
        """Gather an entry, and see to it that it is written; of a fenced node, nothing is."""
        if self.pipeline.state == FENCED:
            return
        self.pipeline.add(entry, atom)
        self.kick()

    def kick(self) -> None:
        """See to it that what was gathered is written, once this turn of the loop is over."""
        if not self.pumping:
            self.pumping = True
            self.node.loop.call_soon(self._pump, context=self.node.context)

    def _pump(self) -> None:
        self.pumping = False
        if self.pipeline.state != IDLE:
            return
        entries = self.pipeline.take()
        if not entries:
            return
        with_images(entries, self.node.key)
        self._waken(entries)
        self.pipeline.seal(entries)
        self.send()

    def _waken(self, entries: list[Entry]) -> None:
        """Say in the row of a run that it is active now, where the row says that it sleeps."""
        for entry in entries:
            resident = entry.owner
            if (
                resident is not None
                and resident.stored_wake_us > ACTIVE
                and entry.change is None
                and entry.new_run is None
                and not resident.is_over
                and resident.run.broken is None
            ):
                wake = resident.wake_us(self.node.now_us())
                if wake < resident.stored_wake_us:
                    resident.stored_wake_us = wake
                    entry.change = RunChange(resident.rid, RUNNING, wake, result=resident.note)

    def send(self) -> None:
        """Write the batch, here and now if the store does not suspend."""
        flush = self.writer.flush(self.pipeline.again())
        try:
            waits = flush.send(None)
        except StopIteration as done:
            self._committed(done.value)
        except Exception as error:  # noqa: BLE001 — of a store: each kind has its own meaning
            self._not_committed(error)
        else:
            self.node.spawn(self._sent(_rest(flush, waits)))

    async def _sent(self, flush: Any) -> None:
        try:
            flushed = await flush
        except Exception as error:  # noqa: BLE001 — as above
            self._not_committed(error)
        else:
            self._committed(flushed)

    def _committed(self, flushed: Flushed) -> None:
        self.down_since_s = 0.0
        self.node.release(self.pipeline.committed(), flushed.refused)
        if not self.pipeline.quiet:
            self.kick()

    def _not_committed(self, error: Exception) -> None:
        if isinstance(error, Fence):
            self.node.fence()
        elif isinstance(error, Refused):
            self._poisoned(self.pipeline.refused(), error)
        elif isinstance(error, Down):
            if not self.down_since_s:
                self.down_since_s = time.monotonic()
                self.node.options.warn(f"the store takes nothing for now: {error}")
            self.node.loop.call_later(self.node.options.retry_s, self._try_again)
        elif isinstance(error, Unclear):
            self.pipeline.unclear()
            self.on_unclear()
        else:
            self.pipeline.unclear()
            self.node.options.warn(f"the store failed: {brief(error)}")
            self.on_unclear()

    def _try_again(self) -> None:
        if self.pipeline.state == IN_FLIGHT:
            self.send()

    def _poisoned(self, entries: list[Entry], error: Exception) -> None:
        """Stop the runs whose data the store refuses; all others go on."""
        victims = {each.owner.rid: each.owner for each in entries if each.owner is not None}
        self.node.give_up(entries, error)
        others = self.node.forget(frozenset(victims), error).difference(victims)
        for resident in victims.values():
            resident.last_seq = resident.durable_seq
            if resident.is_stored:
                self.node.stop(resident, error, None)
        if others:
            self.node.load_again(others)
        self.kick()


def fail_waiters(entry: Entry, error: Exception) -> None:
    """Tell whoever waits for an entry that it will never be durable."""
    for waiter in entry.waiters or ():
        if not waiter.done():
            waiter.set_exception(error)


@coroutine
def _rest(begun: Coroutine[Any, Any, Any], waits: Any) -> Generator[Any, Any, Any]:
    """Go on with a coroutine that was begun by hand and has come to wait for something."""
    while True:
        thrown: BaseException | None = None
        sent: Any = None
        try:
            sent = yield waits
        except BaseException as error:  # noqa: BLE001 — it belongs to who waits there
            thrown = error
        try:
            waits = begun.send(sent) if thrown is None else begun.throw(thrown)
        except StopIteration as done:
            return done.value
