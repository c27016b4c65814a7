"""What surrounds a fold in its process: libraries that ask asyncio for a loop find that of the run.

The only place that touches asyncio's registers of the running loop and the current task.
"""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import weakref
from asyncio import events
from collections.abc import AsyncGenerator
from typing import Any

from perdure.core.ambient import CURRENT
from perdure.core.effects import Say
from perdure.core.futures import Task
from perdure.core.loop import Loop, writable

_tasks: Any = asyncio.tasks  # its registers of the current task have no public names
_enter_task, _leave_task = _tasks._enter_task, _tasks._leave_task
_Entered = tuple[Any, Any]


class RunOutput(io.TextIOBase):
    """Standard output while runs are folded: what a run prints is shown once it is durable.

    Captured code has its own `print`; this is for methods of classes, and for libraries. One for
    all runs, since `sys.stdout` is of the process; who writes says the context.
    """

    def __init__(self, name: str) -> None:
        self.real: Any = None
        self.name = name
        self.partial: dict[Loop, str] = {}

    def write(self, text: str) -> int:
        """Keep what a run writes, line by line; let others write."""
        run = CURRENT.get()
        if run is None:
            return int(self.real.write(text))
        *lines, self.partial[run] = (self.partial.get(run, "") + text).split("\n")
        for line in lines:
            run.say(line, logger=self.name)
        return len(text)

    def writable(self) -> bool:
        """Say yes."""
        return True

    def finish(self, loop: Loop) -> None:
        """Show what was written without an end of line."""
        partial = self.partial.pop(loop, "")
        if partial:
            loop.effects.append(Say(writable(partial), logger=self.name))


class Console:
    """The outputs of the process, replaced from the first fold that begins to the last that ends.

    Folds may overlap, in threads and one inside of another: none may put back what was while
    another goes on.
    """

    def __init__(self) -> None:
        self.outputs = RunOutput(""), RunOutput("stderr")
        self.lock = threading.Lock()
        self.folds = 0

    def enter(self) -> None:
        """A fold begins."""
        with self.lock:
            if self.folds == 0:
                out, err = self.outputs
                out.real, err.real = sys.stdout, sys.stderr
                sys.stdout, sys.stderr = out, err
            self.folds += 1

    def leave(self) -> None:
        """A fold has ended."""
        with self.lock:
            self.folds -= 1
            if self.folds == 0:
                sys.stdout, sys.stderr = (each.real for each in self.outputs)


class AsyncioHost:
    """Puts the loop of a run in the place of asyncio's while the run is folded."""

    def __init__(self) -> None:
        self.console = Console()

    def enter(self, loop: Loop) -> _Entered:
        """Make the loop of the run the running one, and keep what was."""
        before = events._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        if loop.hooks is None:
            loop.hooks = _AsyncGenerators(loop)
        loop.hooks.install()
        events._set_running_loop(loop.facade)  # type: ignore[arg-type]
        self.console.enter()
        loop.stdout = self.console.outputs[0]
        return before, hooks

    def leave(self, loop: Loop, entered: object) -> None:
        """Put back what was."""
        before, hooks = entered  # type: ignore[misc]
        events._set_running_loop(before)  # type: ignore[has-type]
        sys.set_asyncgen_hooks(*hooks)  # type: ignore[has-type]
        self.console.leave()
        for output in self.console.outputs:
            if output.partial:
                output.finish(loop)

    def enter_task(self, loop: Loop, task: Task) -> None:
        """Make `task` the current one."""
        _enter_task(loop.facade, task)

    def leave_task(self, loop: Loop, task: Task) -> None:
        """Make none the current one."""
        _leave_task(loop.facade, task)


class _AsyncGenerators:
    """Closes asynchronous generators that were left half-way, on the loop that they ran on.

    One that the garbage collector finds between facts is left alone: when that is differs from
    process to process, and no fact caused it.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def install(self) -> None:
        """Hear of generators that begin or are dropped during this fold."""
        sys.set_asyncgen_hooks(firstiter=self.begins, finalizer=self.dropped)

    def begins(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Remember a generator that has begun, as the last: a dead one may have had its address."""
        self.loop.asyncgens.pop(id(agen), None)
        self.loop.asyncgens[id(agen)] = weakref.ref(agen)

    def dropped(self, agen: AsyncGenerator[Any, Any]) -> None:
        """Close a generator that nobody holds any more."""
        self.loop.asyncgens.pop(id(agen), None)
        if not self.loop.closed and CURRENT.get() is self.loop:
            self.loop.facade.call_soon(self.loop.create_task, agen.aclose())


HOST = AsyncioHost()
