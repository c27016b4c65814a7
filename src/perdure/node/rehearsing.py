"""What an upgrade would do, tried on a copy: for people who want to know before they ask for it."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from perdure.core.moving import moved
from perdure.core.run import Program
from perdure.errors import PerdureError, RunOver
from perdure.lang.diff import diff
from perdure.lang.diff_text import text
from perdure.node.host import HOST
from perdure.node.programs import Programs
from perdure.node.surgery import log_with_programs
from perdure.node.upgrading import stored_image
from perdure.store.port import OPEN, STATUSES, STOPPED, RunRow, Store


class Rehearsal(msgspec.Struct, frozen=True):
    """What an upgrade of a run would do, as it stands now."""

    moves: bool
    """Whether it would be moved."""
    why: str
    """Why not, if it would not."""
    difference: str
    """What lies between its code and that of today, function by function, for people."""


async def rehearse(store: Store, key: bytes, row: RunRow, new: Program) -> Rehearsal:
    """Move a copy of a run, and let go of it."""
    if row.status > OPEN and row.status != STOPPED:
        raise RunOver(f"run `{row.id}` is {STATUSES[row.status]}: it has nothing left to do")
    programs = Programs(store, key)
    old: Any = await programs.get(row.program, row.workflow)
    difference = diff(old, cast("Any", new))
    told = text(difference)
    try:
        log = await log_with_programs(store, key, programs, row)
        moved(stored_image(log), difference, key, HOST).drop()
    except PerdureError as error:
        return Rehearsal(moves=False, why=error.what, difference=told)
    return Rehearsal(moves=True, why="", difference=told)
