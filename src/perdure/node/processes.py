"""Actions in processes of their own: spawned, never forked, and gone when their parent is.

A process runs one action at a time; it hears of the next through a pipe, as JSON, and nothing that
it sends is ever unpickled. One that dies takes only its own action with it, and one that an action
has changed is not used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
from typing import Any, cast

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.effects import Dispatch
from perdure.errors import NotApart
from perdure.limits import LIMITS
from perdure.node.context import Attempt

LENGTH = struct.Struct(">I")
FRAME_BYTES_MAX = 2 * LIMITS.payload_bytes_max + (1 << 20)
"""A payload is text within text, so some of its characters are written twice as long."""
_BOOTSTRAP = """
import json, os, struct, sys
into = os.fdopen(os.dup(0), "rb")
head = into.read(4)
if len(head) < 4:
    sys.exit()  # the parent is gone already
parent, sys.path[:] = json.loads(into.read(*struct.unpack(">I", head)))
from perdure.node.child import main
main(parent, into)
"""


class Task(msgspec.Struct, frozen=True):
    """What a process has to run."""

    action: str
    args: str
    run_id: str
    number: int
    key: str
    details: str
    module: str
    file: str
    """Of the module, if it is not to be found by its name."""


class Answer(msgspec.Struct, frozen=True):
    """What a process says: how far it is, or what came of it."""

    kind: str
    """`progress`, `completed`, `failed`, or `absent`: it does not find the action."""
    body: str
    is_spent: bool = False
    """Whether the action has changed the process, so that it should not be used again."""


GONE_S = 5.0
"""How long at most is waited for processes that were killed: a disk may hold one of them."""


class Died(Exception):
    """The process of an action ended before the action did."""


_answers = msgspec.json.Decoder(Answer)


class Worker:
    """One process, and the pipe to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, task: Task, attempt: Attempt) -> Answer:
        """Have an action run; what it tells of its progress goes to the attempt."""
        out, into = self.process.stdin, self.process.stdout
        assert out is not None
        assert into is not None
        try:
            out.write(framed(msgspec.json.encode(task)))
            await out.drain()
            while True:
                (length,) = LENGTH.unpack(await into.readexactly(LENGTH.size))
                if length > FRAME_BYTES_MAX:
                    raise Died("it wrote into the pipe of its answers")
                answer = _answers.decode(await into.readexactly(length))
                if answer.kind != "progress":
                    return answer
                attempt.tell(values.decode(answer.body))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.kill()  # it may have closed the pipe and live on
            raise Died(_how(await self.process.wait())) from error
        except msgspec.DecodeError as error:
            raise Died("it wrote into the pipe of its answers") from error

    async def gone(self) -> None:
        """Wait until the process has ended; its pipes are let go of."""
        await self.process.wait()
        cast("Any", self.process)._transport.close()  # it has no public name

    def kill(self) -> None:
        """End the process, whatever it does, and those that it started and that stayed with it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def framed(data: bytes) -> bytes:
    """Give data as they go through a pipe."""
    return LENGTH.pack(len(data)) + data


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


class Processes:
    """Processes, each made when it is needed and kept for the next action."""

    def __init__(self) -> None:
        self.free: list[Worker] = []
        self.all: set[Worker] = set()
        self.going: set[Worker] = set()
        """Those that were killed and may not be gone yet."""

    async def run(self, effect: Dispatch, attempt: Attempt) -> tuple[str, Raw]:
        """Run an action in a process; one that is cancelled, or late, is killed with it.

        Gives `completed` with a value, or `failed` with an error; raises `Died` or `NotApart`.
        """
        worker = self.free.pop() if self.free else await self._new()
        module, file = _module_of(effect.target)
        details = values.encode(attempt.details).decode()
        task = Task(
            effect.target, bytes(effect.args).decode(), attempt.run_id, attempt.number,
            attempt.idempotency_key, details, module, file,
        )  # fmt: skip
        is_reusable = False
        try:
            answer = await worker.ask(task, attempt)
            is_reusable = not answer.is_spent
        finally:
            if is_reusable:
                self.free.append(worker)
            else:
                self.all.discard(worker)
                worker.kill()
                self.going = {each for each in self.going if each.process.returncode is None}
                self.going.add(worker)
        if answer.kind == "absent":
            raise NotApart(
                f"`{effect.target}` is not to be found in a process of its own: {answer.body}",
                remedy="define it at the top of a module that can be imported",
            )
        return answer.kind, Raw(answer.body.encode())

    async def _new(self) -> Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _BOOTSTRAP,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # what is typed at a terminal is for the parent
            limit=1 << 20,
            cwd=_folder(),
        )  # fmt: skip
        worker = Worker(process)
        self.all.add(worker)
        assert process.stdin is not None
        process.stdin.write(framed(msgspec.json.encode((os.getpid(), sys.path))))
        return worker

    async def close(self) -> None:
        """End all processes, and see them gone: the loop may be closed right after this."""
        for worker in self.all:
            worker.kill()
        workers = self.all | self.going
        self.all, self.going = set(), set()
        self.free.clear()
        if workers:
            ends = [asyncio.ensure_future(worker.gone()) for worker in workers]
            await asyncio.wait(ends, timeout=GONE_S)


def _folder() -> str:
    """Say where a process begins: here, unless this folder is gone: no interpreter begins there."""
    try:
        return os.getcwd()  # noqa: PTH109 — asked as the system says it
    except OSError:
        return "/"


def _module_of(action: str) -> tuple[str, str]:
    """Give the module to import for an action, and the file of it if it is run as a script."""
    module = action.partition(":")[0]
    live = sys.modules.get(module) or sys.modules.get("__main__")
    return module, getattr(live, "__file__", None) or ""
