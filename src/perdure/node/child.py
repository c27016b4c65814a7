"""The other end of `processes`: one process, one action after the other. Dies with its parent.

What actions print goes to standard error, since standard output is the pipe. An interrupt from the
terminal is for the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
import importlib.util
import inspect
import os
import resource
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

import msgspec

from perdure import values
from perdure.core.effects import arguments_of
from perdure.errors import NotAWorkflow
from perdure.node.context import ATTEMPT, Attempt
from perdure.node.processes import LENGTH, Answer, Task, framed
from perdure.registry import lookup, names

_TOLD_S = 0.05
"""How often at most progress is told to the parent."""
_PR_SET_PDEATHSIG = 1


def main(parent: int, into: BinaryIO) -> None:
    """Serve until the pipe is closed, or the parent is gone."""
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    tasks: list[bytes] = []
    came = threading.Condition()

    def read() -> None:
        """Read ahead, so that the end of the parent is seen while an action runs."""
        try:
            while (data := _read(into)) is not None:
                with came:
                    tasks.append(data)
                    came.notify()
        finally:
            os._exit(0)

    threading.Thread(target=read, daemon=True, name="perdure-parent").start()
    child = Child(out)
    while True:
        with came:
            came.wait_for(lambda: tasks)
            data = tasks.pop(0)
        child.serve(msgspec.json.decode(data, type=Task))


def _die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, be it in the midst of C code."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux does; elsewhere the pipe tells
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _read(into: BinaryIO) -> bytes | None:
    head = into.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = into.read(length)
    return data if len(data) == length else None


class Child:
    """This process, as its actions use it."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.told_s = 0.0
        self.untold = b""

    def serve(self, task: Task) -> None:
        """Run one action, and say what came of it."""
        self.told_s, self.untold = 0.0, b""
        try:
            action = _action(task)
        except BaseException as error:  # noqa: BLE001 — importing it ran code of the user's
            self._say(Answer("absent", f"{type(error).__name__}: {error}"))
            return
        before = _state()
        kind, body = self._outcome(task, action)
        if os.getpid() != self.pid:  # the action has forked itself, and this is not the one
            os._exit(0)
        if kind == "failed" and self.untold:
            self._say(Answer("progress", self.untold.decode()))
        self._say(Answer(kind, body.decode(), is_spent=_state() != before))

    def _outcome(self, task: Task, action: Any) -> tuple[str, bytes]:
        try:
            args, kwargs = arguments_of(msgspec.Raw(task.args.encode()))
            details = values.decode(task.details)
            ATTEMPT.set(
                Attempt(task.run_id, task.action, task.number, task.key, details, self.tell)
            )
            given = action.function(*args, **kwargs)
            value = asyncio.run(given) if inspect.iscoroutine(given) else given
            return "completed", values.encode(value, f"result of {task.action}")
        except BaseException as error:  # noqa: BLE001 — whatever it was, it is the outcome
            return "failed", values.encode_error(error)

    def tell(self, details: Any) -> None:
        """Tell the parent how far the action is; not too often, but the last before it fails."""
        self.untold = values.encode(details)
        if time.monotonic() - self.told_s >= _TOLD_S:
            self.told_s = time.monotonic()
            data, self.untold = self.untold, b""
            self._say(Answer("progress", data.decode()))

    def _say(self, answer: Answer) -> None:
        with self.lock:
            try:
                self.out.write(framed(msgspec.json.encode(answer)))
                self.out.flush()
            except (OSError, ValueError):  # the pipe is gone, be it that the action closed it
                os._exit(1)


def _state() -> tuple[object, ...]:
    """Give what an action may change of its process, and the next one would find changed."""
    try:
        here = os.getcwd()  # noqa: PTH109 — asked as the system says it
    except OSError:
        here = ""
    return (
        here,
        dict(os.environ),
        tuple(sys.path),
        sys.getrecursionlimit(),
        tuple(signal.getsignal(each) for each in signal.valid_signals()),
        resource.getrlimit(resource.RLIMIT_AS),
        threading.active_count(),
        sys.stdout is sys.__stdout__,
    )


def _action(task: Task) -> Any:
    if ("action", task.action) not in names():
        _import(task.module, task.file)
    return lookup("action", task.action)


def _import(module: str, file: str) -> None:
    """Import a module by its name, or from the file that the parent runs as a script."""
    try:
        importlib.import_module(module)
    except ImportError:
        spec = importlib.util.spec_from_file_location(module, file) if file else None
        if spec is None or spec.loader is None:
            raise NotAWorkflow(f"module `{module}` cannot be imported") from None
        made = importlib.util.module_from_spec(spec)
        sys.modules[module] = made
        spec.loader.exec_module(made)
