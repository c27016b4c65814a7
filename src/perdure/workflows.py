"""`@workflow`: an `async def` whose runs are durable. Outside of an engine it is plain asyncio."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import msgspec

from perdure.core import bindings
from perdure.core.ambient import CURRENT
from perdure.core.calls import Target
from perdure.core.policy import ABANDON, CANCEL, DEFAULT_POLICY, Policy
from perdure.core.run import perform
from perdure.core.sites import site
from perdure.errors import BadPolicy, NotAWorkflow
from perdure.lang import link as linking
from perdure.lang.binder import binder
from perdure.lang.diagnostics import Diagnostic
from perdure.lang.link import Program, name_of
from perdure.registry import register

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


_collecting: ContextVar[bool] = ContextVar("perdure.collecting", default=False)


@contextmanager
def collecting() -> Generator[None, None, None]:
    """Let refused workflows be defined, so that all that is wrong with them is told at once."""
    token = _collecting.set(True)
    try:
        yield
    finally:
        _collecting.reset(token)


class Workflow(Generic[P, R_co]):
    """A workflow. Awaited in another workflow, it is a child run; anywhere else, it just runs."""

    __perdure__ = "workflow"

    def __init__(
        self, function: Callable[P, Coroutine[Any, Any, R_co]], name: str | None = None
    ) -> None:
        functools.update_wrapper(cast("Callable[..., Any]", self), function)
        self.function = function
        self.name = name or name_of(function)
        self.policy: Policy = DEFAULT_POLICY
        self.target = Target("workflow", self.name)
        self._program: Program | None = None
        self.accepts = binder(function)
        if not _collecting.get():
            linking.check_definition(cast("FunctionType", function), bindings)
        register("workflow", self.name, self)

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Start a child run in a workflow; just run it anywhere else."""
        run = CURRENT.get()
        if run is None or run.outside:
            return self.function(*args, **kwargs)
        self.accepts(*args, **kwargs)
        return perform(run, self.target, args, kwargs, site(), self.policy)

    def options(self, *, parent_close: str | None = None) -> Workflow[P, R_co]:
        """Give the same workflow with another policy for the children made through what is given.

        `parent_close` says what becomes of a child when its parent no longer waits for it: with
        `"cancel"`, as without options, it is cancelled; with `"abandon"` it goes on alone.
        """
        if parent_close is None:
            return self
        if parent_close not in (CANCEL, ABANDON):
            raise BadPolicy(
                f"parent_close is {parent_close!r}", remedy='give "cancel" or "abandon"'
            )
        return self.pinned(msgspec.structs.replace(self.policy, parent_close=parent_close))

    def pinned(self, policy: Policy) -> Workflow[P, R_co]:
        """Give the same workflow under a policy; itself, if that is its own."""
        if policy == self.policy:
            return self
        made = copy.copy(self)
        made.policy = policy
        return made

    def program(self) -> Program:
        """Link the workflow, or raise `Refused` with everything that is wrong with it.

        Linked once, and again when a global that it reaches was replaced.
        """
        if self._program is None or not self._program.is_current():
            self._program = linking.link(cast("FunctionType", self.function), bindings)
        return self._program

    def diagnose(self) -> list[Diagnostic]:
        """Give everything that is wrong with the workflow, errors and warnings."""
        return linking.diagnose(cast("FunctionType", self.function), bindings)


@overload
def workflow(function: Callable[P, Coroutine[Any, Any, R]], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *, name: str | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Workflow[P, R]]: ...
def workflow(function: Any = None, /, *, name: str | None = None) -> Any:
    """Make a workflow of an `async def` at the top level of a module."""
    if function is None:
        return functools.partial(_make, name=name)
    return _make(function, name=name)


def _make(function: Any, *, name: str | None) -> Any:
    if not isinstance(function, FunctionType):
        raise NotAWorkflow(
            f"{function!r} cannot be a workflow", remedy="decorate an `async def` of a module"
        )
    made: Workflow[Any, Any] = Workflow(function, name)
    if not inspect.iscoroutinefunction(function) and not _collecting.get():
        raise NotAWorkflow(
            f"`{function.__qualname__}` is not an `async def`", remedy="write `async def`"
        )
    return made
