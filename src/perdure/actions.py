"""`@action`: a function that touches the world, called from workflows and run outside of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import msgspec

from perdure.core.ambient import CURRENT
from perdure.core.calls import Target
from perdure.core.policy import DEFAULT_POLICY, Policy, Retry, RetryPolicy, Seconds, microseconds
from perdure.core.run import perform
from perdure.core.sites import site
from perdure.errors import BadPolicy
from perdure.lang.binder import binder
from perdure.lang.link import name_of
from perdure.registry import register

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

RUN_IN = ("", "loop", "thread", "process")


class Action(Generic[P, R_co]):
    """An action. Awaited in a workflow, it is a durable call; anywhere else, it just runs."""

    __perdure__ = "action"

    def __init__(
        self, function: Callable[P, Any], name: str, policy: Policy, *, register_it: bool = True
    ) -> None:
        functools.update_wrapper(cast("Callable[..., Any]", self), function)
        self.function = function
        self.name = name
        self.policy = policy
        self.target = Target("action", name)
        self.accepts = binder(function)
        self.is_async = inspect.iscoroutinefunction(function)
        mark = getattr(inspect, "markcoroutinefunction", None)  # since Python 3.12
        if mark is not None:
            mark(self)
        if register_it:
            register("action", name, self)

    def __repr__(self) -> str:
        return f"<action {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Make a durable call in a workflow; just run it anywhere else."""
        run = CURRENT.get()
        if run is None or run.outside:
            return self.run_here(*args, **kwargs)
        self.accepts(*args, **kwargs)
        return perform(run, self.target, args, kwargs, site(), self.policy)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        call = cast("Callable[..., Any]", self)
        return self if instance is None else functools.partial(call, instance)

    def run_here(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Run the body, with no run, no retries and nothing written down."""
        if self.is_async:
            return cast("Coroutine[Any, Any, R_co]", self.function(*args, **kwargs))
        self.accepts(*args, **kwargs)
        return _run_sync(self.function, args, kwargs)

    def options(
        self,
        *,
        retry: int | RetryPolicy | None = None,
        timeout: Seconds | None = None,
        total_timeout: Seconds | None = None,
        queue: str | None = None,
        run_in: str | None = None,
        idempotent: bool | None = None,
        at_most_once: bool | None = None,
    ) -> Action[P, R_co]:
        """Give the same action with another policy for the calls made through what is returned."""
        policy = make_policy(
            self.policy,
            retry=retry,
            timeout=timeout,
            total_timeout=total_timeout,
            queue=queue,
            run_in=run_in,
            idempotent=idempotent,
            at_most_once=at_most_once,
        )
        return self.pinned(policy)

    def pinned(self, policy: Policy) -> Action[P, R_co]:
        """Give the same action under a policy; itself, if that is its own."""
        if policy == self.policy:
            return self
        return Action(self.function, self.name, policy, register_it=False)


async def _run_sync(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


def make_policy(
    base: Policy,
    *,
    retry: int | RetryPolicy | None,
    timeout: Seconds | None,
    total_timeout: Seconds | None,
    queue: str | None,
    run_in: str | None,
    idempotent: bool | None,
    at_most_once: bool | None,
) -> Policy:
    """Change a policy where something is given, and refuse what contradicts itself."""
    given: dict[str, Any] = {
        "retry": _retry(retry),
        "timeout_us": None if timeout is None else microseconds(timeout, "timeout"),
        "total_us": None if total_timeout is None else microseconds(total_timeout, "total_timeout"),
        "queue": queue,
        "run_in": run_in,
        "idempotent": idempotent,
        "at_most_once": at_most_once,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    policy = msgspec.structs.replace(base, **changes) if changes else base
    if policy.at_most_once and policy.retry.attempts > 1:
        raise BadPolicy(
            f"at_most_once with {policy.retry.attempts} attempts",
            remedy="an action that may run once only cannot be retried: leave one of them out",
        )
    if policy.run_in not in RUN_IN:
        raise BadPolicy(f"run_in is {policy.run_in!r}", remedy='give "loop", "thread" or "process"')
    return policy


def _retry(given: Any) -> RetryPolicy | None:
    if given is None or isinstance(given, RetryPolicy):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return Retry(attempts=given)
    raise BadPolicy(f"retry is {given!r}", remedy="give a number of attempts, or `Retry(…)`")


@overload
def action(function: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, R]: ...
@overload
def action(function: Callable[P, R], /) -> Action[P, R]: ...
@overload
def action(
    *,
    name: str | None = None,
    retry: int | RetryPolicy | None = None,
    timeout: Seconds | None = None,
    total_timeout: Seconds | None = None,
    queue: str | None = None,
    run_in: str | None = None,
    idempotent: bool | None = None,
    at_most_once: bool | None = None,
) -> _Decorator: ...
def action(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retry: int | RetryPolicy | None = None,
    timeout: Seconds | None = None,
    total_timeout: Seconds | None = None,
    queue: str | None = None,
    run_in: str | None = None,
    idempotent: bool | None = None,
    at_most_once: bool | None = None,
) -> Any:
    """Make an action of a function, `async def` or `def`.

    `retry` is a number of attempts or a `Retry(…)`; `timeout` bounds one attempt,
    `total_timeout` all of them with the waits between.
    """
    policy = make_policy(
        DEFAULT_POLICY,
        retry=retry,
        timeout=timeout,
        total_timeout=total_timeout,
        queue=queue,
        run_in=run_in,
        idempotent=idempotent,
        at_most_once=at_most_once,
    )
    decorator = _Decorator(name, policy)
    return decorator if function is None else decorator(function)


class _Decorator:
    """What `@action(…)` gives: it makes the action when it sees the function."""

    def __init__(self, name: str | None, policy: Policy) -> None:
        self.name = name
        self.policy = policy

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Action[P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        made: Action[..., Any] = Action(function, self.name or name_of(function), self.policy)
        return made
