"""Rows for tests of stores, with as little said as possible."""

from __future__ import annotations

from perdure.store import port
from perdure.store.port import FactRow, Message, NewRun, RunChange, checksum


def new(rid: int, id_: str = "", **told) -> NewRun:
    told = {"workflow": "flow", "program": "p", "input_digest": b"d", "created_us": rid} | told
    return NewRun(rid=rid, id=id_ or f"run-{rid}", **told)


def fact(rid: int, seq: int, body: bytes = b"{}", **told) -> FactRow:
    return FactRow(rid=rid, seq=seq, crc=checksum(rid, seq, body), body=body, **told)


def change(
    rid: int, status: int = port.RUNNING, wake_at_us: int = port.ACTIVE, **told
) -> RunChange:
    return RunChange(rid=rid, status=status, wake_at_us=wake_at_us, **told)


def message(rid: int, key: str | None = None, body: bytes = b"{}", kind: str = "signal") -> Message:
    return Message(rid=rid, kind=kind, body=body, key=key)
