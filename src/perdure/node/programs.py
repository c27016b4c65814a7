"""The programs of the runs that a node owns: of its own modules, or rebuilt from the store's text.

A text from the store is code. It is rebuilt only if its keyed checksum holds.
"""

from __future__ import annotations

import hmac
from hashlib import blake2b
from typing import Any, cast

from perdure.core import bindings
from perdure.core.run import Program
from perdure.errors import BadProgram, NotAWorkflow, NotStorable, PerdureError
from perdure.lang.diff import Difference, diff
from perdure.lang.rebuilding import rebuild
from perdure.lang.telling import text_of
from perdure.registry import lookup
from perdure.store.port import ProgramRow, Store


class Programs:
    """Programs by their hash."""

    def __init__(self, store: Store, key: bytes) -> None:
        self.store = store
        self.key = key
        self.known: dict[str, Any] = {}
        self.written: set[str] = set()
        self.differences: dict[tuple[str, str], Difference] = {}

    def new_row(self, program: Any) -> ProgramRow | None:
        """Give the row of a program, the first time that a run is started on it."""
        if program.hash in self.written:
            return None
        self.written.add(program.hash)
        self.known[program.hash] = program
        return row_of(program, self.key)

    def difference(self, old: Program, new: Program) -> Difference:
        """Give the difference of two programs; of a pair, it is worked out once."""
        pair = old.hash, new.hash
        if pair not in self.differences:
            self.differences[pair] = diff(cast("Any", old), cast("Any", new))
        return self.differences[pair]

    async def get(self, hash_: str, workflow: str) -> Program:
        """Give the program that a run was started on."""
        found: Program | None = self.known.get(hash_)
        if found is None:
            found = _of_this_process(workflow, hash_)
            if found is None:
                found = await self._of_the_store(hash_, workflow)
            self.known[hash_] = found
        return found

    async def _of_the_store(self, hash_: str, workflow: str) -> Program:
        row = await self.store.program(hash_)
        if row is None or row.text is None:
            raise BadProgram(
                f"`{workflow}` {hash_[:12]} is not in this process, and could not be stored",
                remedy="deploy the version of the code on which the run was started",
            )
        if not hmac.compare_digest(mac_of(row.text, self.key), row.mac):
            raise BadProgram(
                f"the stored text of `{workflow}` was not written under this key",
                remedy="give the key that the store was made with: PERDURE_KEY, or its key file",
            )
        rebuilt: Program = rebuild(row.text, bindings)
        return rebuilt


def _of_this_process(workflow: str, hash_: str) -> Program | None:
    try:
        program: Program = lookup("workflow", workflow).program()
    except (NotAWorkflow, PerdureError):
        return None
    return program if program.hash == hash_ else None


def row_of(program: Any, key: bytes) -> ProgramRow:
    """Write a program down; one that holds what cannot be written down is named only."""
    try:
        text = text_of(program)
    except NotStorable:
        return ProgramRow(program.hash, program.name)
    return ProgramRow(program.hash, program.name, text, mac_of(text, key))


def mac_of(text: bytes, key: bytes) -> bytes:
    """Give the keyed checksum of a program's text."""
    return blake2b(text, key=key, digest_size=16, person=b"perdure-program").digest()
