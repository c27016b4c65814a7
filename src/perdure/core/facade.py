"""The loop in the shape that libraries expect: what is pure works, the rest is refused.

Code that Perdure does not capture (methods of classes, libraries) calls asyncio's own functions;
those ask for the running loop and get this. They end up on the same tasks, futures and timers.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from perdure.core.futures import Future, Home
from perdure.core.gates import Waiter
from perdure.core.timers import Timer
from perdure.errors import NotHere


class Clockwork(Home, Protocol):
    """What the façade needs of its loop beyond what futures need."""

    closed: bool
    origin_us: int

    def create_task(
        self, coro: Any, name: str | None = None, context: contextvars.Context | None = None
    ) -> Any:
        """Start a coroutine."""
        ...

    def time(self) -> float:
        """Give the time of the run in seconds."""
        ...

    def arm_in(self, delay_s: float, waiter: Waiter, what: Any = None) -> Timer:
        """Make `waiter` ready after so many seconds."""
        ...

    def disarm(self, timer: Timer) -> None:
        """Forget a timer."""
        ...


class Handle:
    """A callback on its way, which can be taken back."""

    __slots__ = ("_cancelled", "args", "context", "function", "loop", "timer")

    def __init__(
        self,
        loop: Clockwork,
        function: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> None:
        self.loop = loop
        self.function = function
        self.args = args
        self.context = context if context is not None else contextvars.copy_context()
        self.timer: Timer | None = None
        self._cancelled = False

    def __call__(self, _: object) -> None:
        """Run it, unless it was taken back; an error in it is reported."""
        if self._cancelled:
            return
        try:
            self.context.run(self.function, *self.args)
        except (KeyboardInterrupt, SystemExit) as last:
            self.loop.interrupted(last)
        except BaseException as error:  # noqa: BLE001 — also a cancellation
            name = getattr(self.function, "__qualname__", type(self.function).__name__)
            self.loop.report(f"Exception in callback {name}", error)

    def cancel(self) -> None:
        """Take it back."""
        self._cancelled = True
        if self.timer is not None:
            self.loop.disarm(self.timer)

    def cancelled(self) -> bool:
        """Whether it was taken back."""
        return self._cancelled

    def when(self) -> float:
        """Say when it is due, in the time of the loop."""
        if self.timer is None:
            return self.loop.time()
        return (self.timer.due_us - self.loop.origin_us) / 1_000_000


class Facade:
    """What `asyncio.get_running_loop()` gives inside of a run."""

    def __init__(self, loop: Clockwork) -> None:
        self._loop = loop

    def __repr__(self) -> str:
        return "<the event loop of a run>"

    def create_future(self) -> Future:
        """Make a future of the run."""
        return Future(self._loop)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **_: object,
    ) -> Any:
        """Make a task of the run."""
        return self._loop.create_task(coro, name, context)

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        """Call back on the next turn."""
        handle = Handle(self._loop, callback, args, context)
        self._loop.ready.append((handle, None))
        return handle

    call_soon_threadsafe = call_soon
    """There is one thread that folds; what it calls from elsewhere is not of the run."""

    def get_task_factory(self) -> None:
        """Say none: tasks are the run's."""

    def get_exception_handler(self) -> None:
        """Say none: what nobody handles is logged."""

    def set_debug(self, enabled: object) -> None:
        """Nothing: a run has no debug mode."""

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        """Call back at a time of the loop."""
        handle = Handle(self._loop, callback, args, context)
        handle.timer = self._loop.arm_in(when - self._loop.time(), handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Handle:
        """Call back after so many seconds."""
        return self.call_at(self._loop.time() + delay, callback, *args, context=context)

    def time(self) -> float:
        """Give the time of the run."""
        return self._loop.time()

    def get_debug(self) -> bool:
        """Say no: a run has no debug mode."""
        return False

    def is_running(self) -> bool:
        """Say yes: whoever can ask is running on it."""
        return True

    def is_closed(self) -> bool:
        """Say whether the run has ended."""
        return self._loop.closed

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Log what went wrong."""
        self._loop.report(str(context.get("message", "error")), context.get("exception"))

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log what went wrong."""
        self.call_exception_handler(context)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotHere(
            f"a workflow asked its event loop for `{name}`",
            remedy="the loop of a run has no threads, files or connections: use an @action",
        )
