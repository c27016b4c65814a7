"""Messages: the only way in from outside. Each is folded once, or dropped because it is too late.

A message stays in the inbox until the flush that folds it takes it out, so that no crash loses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from perdure.core.facts import AnyFact, Cancelled, Completed, Failed, Signalled
from perdure.errors import PerdureError, Stale
from perdure.node import surgery
from perdure.node.flush import Entry
from perdure.node.house import House
from perdure.node.resident import Resident
from perdure.node.wire import Cancel, Outcome, Signal, Start
from perdure.registry import lookup
from perdure.store.port import PENDING, Message, NewRun, RunRow

PAGE = 500


class Mail:
    """Reads the inbox for one node."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.under_way: set[int] = set()
        """Messages that were folded, and whose flush is not over."""
        self.kept: dict[int, str] = {}
        """Messages that nobody here can fold, and why: they wait for other code."""
        self.reading = False
        self.again = False
        node.observers.append(self._released)

    def _released(self, entry: Entry) -> None:
        if entry.consumed:
            self.under_way.discard(entry.consumed)

    async def read(self) -> None:
        """Fold everything that waits in the inbox; one reader at a time."""
        if self.reading:
            self.again = True
            return
        self.reading = True
        try:
            while await self._page() or self.again:
                self.again = False
        finally:
            self.reading = False

    async def _page(self) -> bool:
        """Fold what the inbox holds that is new; say whether there may be more."""
        node = self.node
        limit = PAGE + len(self.under_way) + len(self.kept)
        found = await node.writer.inbox(limit)
        new = [each for each in found if each.n not in self.under_way and each.n not in self.kept]
        starts = [each for each in new if each.kind == "start"]
        if starts:
            await self._begin(starts)
        others = [each for each in new if each.kind != "start"]
        if others:
            await node.loading.load(dict.fromkeys(each.rid for each in others))
        for message in others:
            await self._fold(message)
        return bool(new) and len(found) == limit

    # --- runs that clients started

    async def _begin(self, starts: list[Message]) -> None:
        node = self.node
        stored = {
            each.run.rid: each.run for each in await node.writer.load([m.rid for m in starts])
        }
        for message in starts:
            row = stored.get(message.rid)
            if row is None or row.status != PENDING or row.rid in node.residents:
                self._consume(message)
            else:
                self._begin_one(message, row)

    def _begin_one(self, message: Message, row: RunRow) -> None:
        node = self.node
        start = msgspec.json.decode(message.body, type=Start)
        try:
            program = lookup("workflow", start.workflow).program()
        except PerdureError as error:
            self.kept[message.n] = str(error)
            node.options.warn(f"run `{row.id}` waits to begin: {error}")
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

    async def _fold(self, message: Message) -> None:
        resident = self.node.residents.get(message.rid)
        if resident is None:
            if message.kind in surgery.KINDS:
                await surgery.KINDS[message.kind](self.node, message, self._take)
            elif message.rid in self.node.unable:
                self.kept[message.n] = str(self.node.unable[message.rid])
            else:
                self._consume(message)  # the run is over: too late
            return
        if message.kind in surgery.KINDS:
            await surgery.KINDS[message.kind](self.node, message, self._take)
            return
        fact = FACTS[message.kind](self.node, resident, message)
        try:
            entry = self.node.fold(resident, fact, key=message.key)
        except Stale:
            self._consume(message)
        except PerdureError as error:
            self.node.options.warn(f"message for run `{resident.id}` is refused: {error}")
            self._consume(message)
        else:
            self._take(message, entry)

    def _take(self, message: Message, entry: Entry | None) -> None:
        if entry is None:
            self._consume(message)
        else:
            entry.consumed = message.n
            self.under_way.add(message.n)

    def _consume(self, message: Message) -> None:
        entry = Entry(None, None)
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
