"""What surrounds a fold in its process: libraries that ask asyncio for a loop find that of the run.

The only place that touches asyncio's registers of the running loop and the current task.
"""

from __future__ import annotations

import asyncio
import io
import sys
import weakref
from asyncio import events
from collections.abc import AsyncGenerator
from typing import Any

from perdure.core.ambient import CURRENT
from perdure.core.effects import Say
from perdure.core.futures import Task
from perdure.core.loop import Loop, writable

_tasks: Any = asyncio.tasks  # its registers of the current task have no public names
_Entered = tuple[Any, Any, Any]


class RunOutput(io.TextIOBase):
    """Standard output while a run is folded: what the run prints is shown once it is durable.

    Captured code has its own `print`; this is for methods of classes, and for libraries.
    """

    def __init__(self, name: str) -> None:
        self.real: Any = None
        self.name = name
        self.partial = ""

    def write(self, text: str) -> int:
        """Keep what a run writes, line by line; let other threads write."""
        run = CURRENT.get()
        if run is None:
            return int(self.real.write(text))
        *lines, self.partial = (self.partial + text).split("\n")
        for line in lines:
            run.say(line, logger=self.name)
        return len(text)

    def writable(self) -> bool:
        """Say yes."""
        return True

    def finish(self, loop: Loop) -> None:
        """Show what was written without an end of line."""
        if self.partial:
            loop.effects.append(Say(writable(self.partial), logger=self.name))
            self.partial = ""


class AsyncioHost:
    """Puts the loop of a run in the place of asyncio's while the run is folded."""

    def __init__(self) -> None:
        self.kept: weakref.WeakKeyDictionary[Loop, tuple[RunOutput, RunOutput]]
        self.kept = weakref.WeakKeyDictionary()

    def _outputs(self, loop: Loop, out: Any, err: Any) -> tuple[RunOutput, RunOutput]:
        """Give the outputs of a run: the same at every fact, since code may keep them."""
        if loop not in self.kept:
            self.kept[loop] = RunOutput(""), RunOutput("stderr")
            loop.stdout = self.kept[loop][0]
        kept = self.kept[loop]
        kept[0].real, kept[1].real = out, err
        return kept

    def enter(self, loop: Loop) -> _Entered:
        """Make the loop of the run the running one, and keep what was."""
        before = events._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        _AsyncGenerators(loop).install()
        events._set_running_loop(loop.facade)  # type: ignore[arg-type]
        outputs = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self._outputs(loop, *outputs)
        return before, hooks, outputs

    def leave(self, loop: Loop, entered: object) -> None:
        """Put back what was."""
        before, hooks, outputs = entered  # type: ignore[misc]
        events._set_running_loop(before)  # type: ignore[has-type]
        sys.set_asyncgen_hooks(*hooks)  # type: ignore[has-type]
        sys.stdout, sys.stderr = outputs  # type: ignore[has-type]
        for output in self.kept[loop]:
            output.finish(loop)

    def enter_task(self, loop: Loop, task: Task) -> None:
        """Make `task` the current one."""
        _tasks._enter_task(loop.facade, task)

    def leave_task(self, loop: Loop, task: Task) -> None:
        """Make none the current one."""
        _tasks._leave_task(loop.facade, task)


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
