"""Actions in processes of their own: spawned, never forked, and gone when their parent is.

A process runs one action at a time; it hears of the next through a pipe, as JSON, and nothing that
it sends is ever unpickled. One that dies takes only its own action with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import struct
import sys
from typing import Any

import msgspec

from perdure import values
from perdure.core.effects import Dispatch

_LENGTH = struct.Struct(">I")


class Died(Exception):
    """The process of an action ended before the action did."""


class Worker:
    """One process, and the pipe to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, task: dict[str, Any], tell: Any) -> Any:
        """Have an action run; what it tells of its progress goes to `tell`."""
        out, into = self.process.stdin, self.process.stdout
        assert out is not None
        assert into is not None
        try:
            data = json.dumps(task).encode()
            out.write(_LENGTH.pack(len(data)) + data)
            await out.drain()
            while True:
                (length,) = _LENGTH.unpack(await into.readexactly(_LENGTH.size))
                kind, body = msgspec.json.decode(await into.readexactly(length))
                if kind != "progress":
                    break
                tell(values.decode(body))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self.process.wait()
            raise Died(_how(code)) from error
        if kind == "failed":
            raise values.decode_error(body)
        return values.decode(body)

    def kill(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


class Processes:
    """A few processes, each made when it is needed and kept for the next action."""

    def __init__(self, processes_max: int) -> None:
        self.free: list[Worker] = []
        self.all: set[Worker] = set()
        self.turn = asyncio.Semaphore(processes_max)

    async def run(self, effect: Dispatch, attempt: Any) -> Any:
        """Run an action in a process; one that is cancelled, or late, is killed with it."""
        async with self.turn:
            worker = self.free.pop() if self.free else await self._new()
            task = {
                "action": effect.target,
                "args": bytes(effect.args).decode(),
                "run_id": attempt.run_id,
                "number": attempt.number,
                "key": attempt.idempotency_key,
                "details": values.encode(attempt.details).decode(),
                "modules": _modules_of(effect.target),
                "path": sys.path,
            }
            is_whole = False
            try:
                value = await worker.ask(task, attempt.tell)
                is_whole = True
            except Died:
                raise
            except Exception:
                is_whole = True
                raise
            finally:
                if is_whole:
                    self.free.append(worker)
                else:
                    self.all.discard(worker)
                    worker.kill()
            return value

    async def _new(self) -> Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "perdure.node.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            limit=1 << 26,
        )  # fmt: skip
        worker = Worker(process)
        self.all.add(worker)
        return worker

    def close(self) -> None:
        """End all processes."""
        for worker in self.all:
            worker.kill()
        self.all.clear()
        self.free.clear()


def _modules_of(action: str) -> list[str]:
    """Give the module to import for an action, and the file of it if it is run as a script."""
    module = action.partition(":")[0]
    live = sys.modules.get(module) or sys.modules.get("__main__")
    return [module, getattr(live, "__file__", None) or ""]
