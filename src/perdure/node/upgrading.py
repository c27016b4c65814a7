"""Moving a run to the code that its workflow has here, because somebody asked for it.

One fact, whose row carries the run on its new code: both are in one write, with the new program.
A run that cannot be moved goes on as it was; why is in its row, under the name of who asked.
"""

from __future__ import annotations

import msgspec

from perdure import values
from perdure.core import image
from perdure.core.facts import Row, Upgraded, encode_row
from perdure.core.moving import upgrade as moved
from perdure.core.run import Program, Run
from perdure.errors import NotNow, NotUpgraded, PerdureError, StoreError
from perdure.node.flush import Entry
from perdure.node.host import HOST
from perdure.node.house import House
from perdure.node.resident import Resident, fact_row
from perdure.node.surgery import Log, Origin, Take, from_outside, go_on, log_with_programs
from perdure.node.wire import Upgrade
from perdure.registry import lookup
from perdure.store.port import OPEN, PENDING, RUNNING, STOPPED, Message, RunChange, RunRow


async def upgrade(node: House, message: Message, take: Take) -> None:
    """Move a run, or say why not."""
    resident = node.residents.get(message.rid)
    if resident is None:
        await _one_away(node, message, take)
        return
    run = resident.run
    try:
        found = _moved(
            node, run.program, _taken(run, node.key), run.seq + 1, message, resident.workflow
        )
    except PerdureError as error:
        wake = resident.stored_wake_us
        resident.note = _why(error, message)
        _refuse(node, RunChange(message.rid, RUNNING, wake, result=resident.note), message, take)
        return
    resident.run = found[0]
    run.drop()
    _write(node, resident, found, message, take)


_Moved = tuple[Run, Row, bytes]


def _moved(
    node: House, old: Program, taken: bytes, seq: int, message: Message, workflow: str
) -> _Moved:
    """Give the run on today's code, its row, and the image for it."""
    actor = msgspec.json.decode(message.body, type=Upgrade).actor
    new = lookup("workflow", workflow).program()
    fact = Upgraded(node.now_us(), new.hash, old.hash, seq, actor)
    return moved(taken, node.programs.difference(old, new), fact, node.key, HOST)


def _taken(run: Run, key: bytes) -> bytes:
    try:
        return image.take(run, key)
    except NotNow as why:
        raise NotUpgraded(
            f"the run cannot be put into an image where it stands: {why.what}",
            remedy="try again when it stands elsewhere",
        ) from None


def _write(node: House, resident: Resident, found: _Moved, message: Message, take: Take) -> Entry:
    """Gather the row of a run that was moved, with its image and its program."""
    run, row, made = found
    entry = resident.entry(row, (), message.key)
    entry.fact = fact_row(resident.rid, row.seq, encode_row(row), message.key, made)
    entry.program = node.programs.new_row(run.program)
    resident.took(made)
    resident.note = None
    wake = resident.stored_wake_us = resident.wake_us(node.now_us())
    entry.change = RunChange(resident.rid, RUNNING, wake, program=run.program.hash)
    node.gathering.add(entry)
    take(message, entry)
    return entry


def _refuse(node: House, change: RunChange, message: Message, take: Take) -> None:
    entry = Entry(None, None)
    entry.change = change
    node.gathering.add(entry)
    take(message, entry)


def _why(error: PerdureError, message: Message) -> bytes:
    """Write down why a run was not moved, for the one who asked."""
    if not isinstance(error, NotUpgraded):
        error = NotUpgraded(str(error))
    told = NotUpgraded(error.what, remedy=error.remedy, asked=message.key or "")
    return values.encode_error(told, trace=False)


# --- runs that are not in memory: they cannot come back on the code that they have, or are stopped


async def _one_away(node: House, message: Message, take: Take) -> None:
    """Move a run that is stopped, or that this process cannot bring back."""
    stored = await node.writer.load([message.rid])
    row = stored[0].run if stored else None
    if row is None or row.status == PENDING or (row.status > OPEN and row.status != STOPPED):
        take(message, None)
        return
    try:
        log = await log_with_programs(node.store, node.key, node.programs, row)
        taken = stored_image(log)
        old = log.programs[row.program]
        found = _moved(node, old, taken, row.head + 1, message, row.workflow)
    except StoreError:
        raise
    except PerdureError as error:
        _refuse_one_away(node, row, error, message, take)
        return
    resident = node.loading.adopt(row, found[0])
    entry = _write(node, resident, found, message, take)
    later = list(from_outside(log, Origin(log.last), set()))
    await go_on(node, resident, entry, later)


def stored_image(log: Log) -> bytes:
    """Give the image of a run as it stands: that of its last row, or of what its rows lead to."""
    found = log.image()
    if found is not None:
        return found
    run = log.now()
    try:
        return _taken(run, log.key)
    finally:
        run.drop()


def _refuse_one_away(
    node: House, row: RunRow, error: PerdureError, message: Message, take: Take
) -> None:
    why = _why(error, message)
    if row.status != STOPPED:
        _refuse(node, RunChange(row.rid, RUNNING, row.wake_at_us, result=why), message, take)
        return
    told = values.decode_error(why)
    node.stop_row(row.rid, row.id, row.head, told)
    take(message, None)
