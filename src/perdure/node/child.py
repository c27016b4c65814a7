"""The other end of `processes`: one process, one action after the other. Dies with its parent.

What actions print goes to standard error, since standard output is the pipe.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import struct
import sys
import threading
from typing import Any, BinaryIO

import msgspec

from perdure import values
from perdure.core.effects import arguments_of
from perdure.node.context import ATTEMPT, Attempt
from perdure.registry import lookup, names

_LENGTH = struct.Struct(">I")


def main() -> None:
    """Serve until the pipe is closed."""
    into, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks: list[bytes] = []
    came = threading.Condition()

    def read() -> None:
        """Read ahead, so that the end of the parent is seen while an action runs."""
        while (data := _read(into)) is not None:
            with came:
                tasks.append(data)
                came.notify()
        os._exit(0)

    threading.Thread(target=read, daemon=True, name="perdure-parent").start()
    while True:
        with came:
            came.wait_for(lambda: tasks)
            data = tasks.pop(0)
        kind, body = _outcome(json.loads(data), out)
        _write(out, kind, body)


def _read(into: BinaryIO) -> bytes | None:
    head = into.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = into.read(length)
    return data if len(data) == length else None


def _write(out: BinaryIO, kind: str, body: bytes) -> None:
    data = msgspec.json.encode((kind, body.decode()))
    out.write(_LENGTH.pack(len(data)) + data)
    out.flush()


def _outcome(task: dict[str, Any], out: BinaryIO) -> tuple[str, bytes]:
    def tell(details: Any) -> None:
        _write(out, "progress", values.encode(details))

    try:
        sys.path[:] = task["path"]
        action = _action(task)
        args, kwargs = arguments_of(msgspec.Raw(task["args"].encode()))
        details = values.decode(task["details"])
        ATTEMPT.set(
            Attempt(task["run_id"], task["action"], task["number"], task["key"], details, tell)
        )
        given = action.function(*args, **kwargs)
        value = asyncio.run(given) if inspect.iscoroutine(given) else given
        return "completed", values.encode(value, f"result of {task['action']}")
    except BaseException as error:  # noqa: BLE001 — whatever it was, it is the outcome
        return "failed", values.encode_error(error)


def _action(task: dict[str, Any]) -> Any:
    module, file = task["modules"]
    name = task["action"]
    if ("action", name) not in names():
        try:
            importlib.import_module(module)
        except ImportError:
            spec = importlib.util.spec_from_file_location(module, file) if file else None
            if spec is None or spec.loader is None:
                raise
            made = importlib.util.module_from_spec(spec)
            sys.modules[module] = made
            spec.loader.exec_module(made)
    return lookup("action", name)


if __name__ == "__main__":
    main()
