"""Blocks that own what runs inside of them: `TaskGroup`, `timeout`, `timeout_at`."""

from __future__ import annotations

from contextvars import Context
from types import TracebackType
from typing import Any, Self, cast

from perdure.core.ambient import here
from perdure.core.facade import Handle
from perdure.core.futures import Future, Task
from perdure.core.run import Run
from perdure.core.vocabulary import LATE_UNCANCEL, CancelledError


class TaskGroup:
    """Waits for its tasks at the end of the block; one failure cancels the rest, in order."""

    def __init__(self) -> None:
        self.entered = False
        self.exiting = False
        self.aborting = False
        self.parent: Task | None = None
        self.parent_cancelled = False
        self.tasks: dict[Task, None] = {}
        self.errors: list[BaseException] = []
        self.last_words: BaseException | None = None
        self.all_done: Future | None = None

    def __repr__(self) -> str:
        parts = [f" tasks={len(self.tasks)}"] if self.tasks else []
        parts += [f" errors={len(self.errors)}"] if self.errors else []
        parts += [" cancelling"] if self.aborting else [" entered"] if self.entered else []
        return f"<TaskGroup{''.join(parts)}>"

    async def __aenter__(self) -> Self:
        if self.entered:
            raise RuntimeError(f"TaskGroup {self!r} has already been entered")
        run: Run = here()
        self.parent = run.current
        self.entered = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.exiting = True
        parent = self.parent
        assert parent is not None
        if error is not None and _is_last_word(error) and self.last_words is None:
            self.last_words = error
        cancelled: BaseException | None = error if isinstance(error, CancelledError) else None
        if not LATE_UNCANCEL and self._take_back(parent):
            cancelled = None
        if error is not None and not self.aborting:
            self._abort()
        cancelled = await self._children(cancelled)
        if self.last_words is not None:
            raise self.last_words
        if LATE_UNCANCEL and self._take_back(parent):
            cancelled = None
        if cancelled is not None and not self.errors:
            raise cancelled
        if error is not None and not isinstance(error, CancelledError):
            self.errors.append(error)
        if self.errors:
            self._raise(parent)

    async def _children(self, cancelled: BaseException | None) -> BaseException | None:
        run: Run = here()
        while self.tasks:
            if self.all_done is None:
                self.all_done = Future(run)
            try:
                await self.all_done
            except CancelledError as again:
                if not self.aborting:
                    cancelled = again
                    self._abort()
            self.all_done = None
        return cancelled

    def _take_back(self, parent: Task) -> bool:
        return self.parent_cancelled and parent.uncancel() == 0

    def _raise(self, parent: Task) -> None:
        if LATE_UNCANCEL and parent.cancelling():
            parent.uncancel()  # and at once again: the count stays, the task is cancelled anew
            parent.cancel()
        errors, self.errors = self.errors, []
        raise BaseExceptionGroup("unhandled errors in a TaskGroup", errors) from None

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None
    ) -> Task:
        """Start a task that belongs to the block."""
        problem = (
            "has not been entered"
            if not self.entered
            else "is finished"
            if self.exiting and not self.tasks
            else "is shutting down"
            if self.aborting
            else ""
        )
        if problem:
            coro.close()
            raise RuntimeError(f"TaskGroup {self!r} {problem}")
        run: Run = here()
        task = run.create_task(coro, name, context)
        self.tasks[task] = None
        task.notify(self._task_done)
        return task

    def _abort(self) -> None:
        self.aborting = True
        for task in list(self.tasks):
            if not task.done():
                task.cancel()

    def _task_done(self, task: Task) -> None:
        self.tasks.pop(task, None)
        if self.all_done is not None and not self.tasks and not self.all_done.done():
            self.all_done.set_result(True)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        self.errors.append(error)
        if _is_last_word(error) and self.last_words is None:
            self.last_words = error
        parent = self.parent
        assert parent is not None
        if parent.done():
            parent.loop.report(f"Task {task!r} has errored out but its parent is completed", error)
        elif not self.aborting and not self.parent_cancelled:
            self._abort()
            self.parent_cancelled = True
            parent.cancel()


def _is_last_word(error: BaseException) -> bool:
    return isinstance(error, (SystemExit, KeyboardInterrupt))


CREATED, ENTERED, EXPIRING, EXPIRED, EXITED = "created", "active", "expiring", "expired", "finished"


class Timeout:
    """Cancels the task in its block when time is up, and turns that into `TimeoutError`."""

    def __init__(self, when: float | None) -> None:
        self.state = CREATED
        self.deadline = when
        self.handle: Handle | None = None
        self.task: Task | None = None
        self.cancels_before = 0

    def __repr__(self) -> str:
        due = f" when={self.deadline}" if self.state == ENTERED else ""
        return f"<Timeout [{self.state}]{due}>"

    def when(self) -> float | None:
        """Give the deadline, in the time of the loop."""
        return self.deadline

    def expired(self) -> bool:
        """Whether time was up."""
        return self.state in (EXPIRING, EXPIRED)

    def reschedule(self, when: float | None) -> None:
        """Move the deadline."""
        if self.state != ENTERED:
            if self.state == CREATED:
                raise RuntimeError("Timeout has not been entered")
            raise RuntimeError(f"Cannot change state of {self.state} Timeout")
        self.deadline = when
        self._drop()
        if when is None:
            return
        run: Run = here()
        if when <= run.time():
            self.handle = run.facade.call_soon(self._time_is_up)
        else:
            self.handle = run.facade.call_at(when, self._time_is_up)

    def _drop(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None

    def _time_is_up(self) -> None:
        assert self.task is not None
        self.task.cancel()
        self.state = EXPIRING
        self.handle = None

    async def __aenter__(self) -> Self:
        if self.state != CREATED:
            raise RuntimeError("Timeout has already been entered")
        run: Run = here()
        task = run.current
        if task is None:
            raise RuntimeError("Timeout should be used inside a task")
        self.state = ENTERED
        self.task = task
        self.cancels_before = task.cancelling()
        self.reschedule(self.deadline)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._drop()
        if self.state == ENTERED:
            self.state = EXITED
        if self.state != EXPIRING:
            return
        self.state = EXPIRED
        assert self.task is not None
        if self.task.uncancel() > self.cancels_before or error is None:
            return
        if isinstance(error, CancelledError) and (LATE_UNCANCEL or kind is CancelledError):
            raise TimeoutError from error
        if LATE_UNCANCEL:
            _mark(error)
            if isinstance(error, ExceptionGroup):
                group = cast("ExceptionGroup[Exception]", error)
                for each in group.exceptions:
                    _mark(each)


def _mark(error: BaseException) -> None:
    """Put a `TimeoutError` above the cancellation that an error was raised over."""
    while error.__context__ is not None:
        if isinstance(error.__context__, CancelledError):
            late = TimeoutError()
            late.__context__ = late.__cause__ = error.__context__
            error.__context__ = late
            return
        error = error.__context__


def timeout(delay: float | None) -> Timeout:
    """Give the block so many seconds."""
    if delay is None:
        return Timeout(None)
    run: Run = here()
    return Timeout(run.time() + delay)


def timeout_at(when: float | None) -> Timeout:
    """Give the block until a time of the loop."""
    return Timeout(when)
