"""Messages: the only way in from outside. Each is folded once, or dropped because it is too late.

A message stays in the inbox until the flush that folds it takes it out, so that no crash loses it.
One for a run that cannot take it now, but may later, stays until the run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from perdure import values
from perdure.core.facts import AnyFact, Cancelled, Completed, Failed, Signalled
from perdure.errors import PerdureError, Stale, StoreError, brief
from perdure.node import surgery, upgrading
from perdure.node.flush import Entry
from perdure.node.house import House
from perdure.node.resident import Resident
from perdure.node.wire import Cancel, Outcome, Signal, Start
from perdure.registry import lookup
from perdure.store.port import PENDING, RUNNING, STOPPED, Message, NewRun, RunChange, RunRow

PAGE = 500
_WAITS = (PENDING, RUNNING, STOPPED)
"""How a run stands that is not in memory and may take a message later."""
_BAD = (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a message raises that was not written by us, or by a newer Perdure."""


class Mail:
    """Reads the inbox for one node."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.under_way: set[int] = set()
        """Messages that were folded, and whose flush is not over."""
        self.kept: dict[int, int] = {}
        """By message, runs that wait for other code, or were stopped: they cannot take it now."""
        self.reading: asyncio.Future[None] | None = None
        """Done when nobody reads any more."""
        self.again = False
        node.observers.append(self._released)

    def _released(self, entry: Entry) -> None:
        if entry.consumed:
            self.under_way.discard(entry.consumed)

    def undo(self, entry: Entry) -> None:
        """What would have taken a message out is not written: it is still there, to be read."""
        if entry.consumed:
            self.under_way.discard(entry.consumed)
            self.again = True

    async def read(self) -> None:
        """Fold everything that waits in the inbox; one reader at a time."""
        if self.reading is not None:
            self.again = True
            return
        self.reading = asyncio.get_running_loop().create_future()
        self.again = True
        try:
            while self.again:
                self.again = False
                self.again = await self._page() or self.again
        except BaseException:
            self.again = True
            raise
        finally:
            self.reading.set_result(None)
            self.reading = None

    async def _page(self) -> bool:
        """Fold what the inbox holds that is new; say whether there may be more."""
        node = self.node
        for rid in {rid for rid in self.kept.values() if rid in node.residents}:
            self._goes_on(rid)
        limit = PAGE + len(self.under_way) + len(self.kept)
        found = await node.writer.inbox(limit)
        new = [each for each in found if each.n not in self.under_way and each.n not in self.kept]
        starts = [each for each in new if each.kind == "start"]
        if starts:
            await self._begin(starts)
        others = [each for each in new if each.kind != "start"]
        if others:
            await node.loading.load(dict.fromkeys(each.rid for each in others))
        waiting = await self._waiting(others)
        for message in others:
            if self._goes_on(message.rid):
                return True  # first what it could not take before: it is read again, in order
            await self._fold(message, waiting)
        return bool(new) and len(found) == limit

    def _goes_on(self, rid: int) -> bool:
        """Let go of what was kept for a run that is in memory by now; say whether anything was."""
        if rid not in self.node.residents or rid not in self.kept.values():
            return False
        self.kept = {n: of for n, of in self.kept.items() if of != rid}
        return True

    async def _waiting(self, messages: list[Message]) -> set[int]:
        """Give the runs that are not in memory, and are not over either."""
        node = self.node
        away = {each.rid for each in messages if each.rid not in node.residents}
        stored = await node.writer.load(list(away)) if away else ()
        return {each.run.rid for each in stored if each.run.status in _WAITS}

    # --- runs that clients started

    async def _begin(self, starts: list[Message]) -> None:
        node = self.node
        rids = [message.rid for message in starts]
        await node.loading.written(frozenset(rids))
        stored = {each.run.rid: each.run for each in await node.writer.load(rids)}
        for message in starts:
            row = stored.get(message.rid)
            if row is None or row.status != PENDING or row.rid in node.residents:
                self._consume(message)
            else:
                self._begin_one(message, row)

    def _begin_one(self, message: Message, row: RunRow) -> None:
        node = self.node
        try:
            start = msgspec.json.decode(message.body, type=Start)
            program = lookup("workflow", start.workflow).program()
        except (PerdureError, *_BAD) as error:
            self.kept[message.n] = row.rid
            node.options.warn(f"run `{row.id}` waits to begin: {error}")
            why = values.encode_error(error, trace=False)
            node.write_change(RunChange(row.rid, PENDING, row.wake_at_us, result=why))
            return
        new = NewRun(
            row.rid, row.id, start.workflow, program.hash, row.input_digest, row.created_us,
            attrs=row.attrs,
        )  # fmt: skip
        entry = node.begin_run(
            new, program, start.args, seed=start.seed, zone=start.zone, stored=True, key=message.key
        )
        self._take(message, entry)

    # --- everything else

    async def _fold(self, message: Message, waiting: set[int]) -> None:
        node = self.node
        await node.loading.load([message.rid])  # it may have left the memory again meanwhile
        resident = node.residents.get(message.rid)
        try:
            if message.kind in SURGERY:
                await SURGERY[message.kind](node, message, self._take)
                self.again = self.again or self._goes_on(message.rid)
            elif resident is not None:
                fact = FACTS[message.kind](node, resident, message)
                self._take(message, node.fold(resident, fact, key=message.key))
            elif message.rid in waiting:
                self.kept[message.n] = message.rid
            else:
                self._consume(message)  # the run is over: too late
        except StoreError:
            raise  # it is read again when the store can be read
        except Stale:
            self._consume(message)
        except (PerdureError, *_BAD) as error:
            node.options.warn(f"a {message.kind} for run {message.rid} is refused: {brief(error)}")
            self._consume(message)

    def _take(self, message: Message, entry: Entry | None) -> None:
        if entry is None:
            self._consume(message)
        else:
            entry.consumed = message.n
            self.under_way.add(message.n)

    def _consume(self, message: Message) -> None:
        entry = Entry(None, None)
        entry.about = message.rid  # too late because of what is not durable yet, perhaps
        self.node.gathering.add(entry)
        self._take(message, entry)


def _signal(node: House, _: Resident, message: Message) -> AnyFact:
    signal = msgspec.json.decode(message.body, type=Signal)
    return Signalled(node.now_us(), signal.name, signal.value, message.key)


def _cancel(node: House, _: Resident, message: Message) -> AnyFact:
    cancel = msgspec.json.decode(message.body, type=Cancel)
    return Cancelled(node.now_us(), cancel.reason, cancel.actor)


def _outcome(node: House, resident: Resident, message: Message) -> AnyFact:
    outcome = msgspec.json.decode(message.body, type=Outcome)
    resident.children.pop(outcome.call, None)
    if outcome.completed:
        return Completed(node.now_us(), outcome.call, outcome.token, outcome.value)
    return Failed(node.now_us(), outcome.call, outcome.token, outcome.value)


FACTS: dict[str, Callable[[Any, Resident, Message], AnyFact]] = {
    "signal": _signal,
    "cancel": _cancel,
    "outcome": _outcome,
}

SURGERY: dict[str, Callable[[Any, Any, Any], Awaitable[None]]] = {
    "retry": surgery.retry,
    "upgrade": upgrading.upgrade,
}
