"""What a workflow may ask of its run: `signal`, `record`, `now`, `sleep_until`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from perdure import values
from perdure.core.ambient import CURRENT, here
from perdure.core.clock import now_of, zone_of
from perdure.core.futures import Future
from perdure.core.policy import Seconds, microseconds
from perdure.core.prelude.groups import timeout as time_limit
from perdure.core.prelude.tasks import sleep
from perdure.core.reentry import ENGINE_MODULES
from perdure.core.run import Run
from perdure.core.vocabulary import CancelledError

ENGINE_MODULES.append(__name__)  # a run may wait in a coroutine of this module

P = ParamSpec("P")
T = TypeVar("T")


@overload
async def signal(name: str, type: type[T], /, *, timeout: Seconds | None = None) -> T: ...
@overload
async def signal(name: str, type: Any = Any, /, *, timeout: Seconds | None = None) -> Any: ...
async def signal(name: str, type: Any = Any, /, *, timeout: Seconds | None = None) -> Any:
    """Wait for a message called `name`, and give its payload as a `type`.

    Messages that came before are taken first, in the order in which they came. After
    `timeout`, `TimeoutError` is raised, and what comes later waits for the next who asks.
    """
    run: Run = here("signal()")
    if timeout is None:
        payload = await _take(run, name)
    else:
        async with time_limit(microseconds(timeout, "timeout") / 1_000_000):
            payload = await _take(run, name)
    return values.convert(payload, type, f"signal `{name}`")


async def _take(run: Run, name: str) -> Any:
    future = Future(run)
    run.mailbox.take(name, future)
    try:
        return await future
    except CancelledError:
        if future.done() and not future.cancelled():
            run.mailbox.put_back(name, future.result())  # it came, and this task will not see it
        raise
    finally:
        run.mailbox.leave(name, future)


def record(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `function` once and write down what it gave: a refold gives the same again.

    For what reaches outside and is not worth an action: a setting, a file's time, a draw.
    Outside of a run it just calls.
    """
    run: Run | None = CURRENT.get()
    if run is None or run.outside:
        return function(*args, **kwargs)
    result: T = run.record(function, args, kwargs)
    return result


setattr(record, "__perdure__", "record")  # noqa: B010 — how graphs and rules know it
setattr(signal, "__perdure__", "signal")  # noqa: B010 — how graphs and rules know it


def now(tz: dt.tzinfo | None = dt.UTC) -> dt.datetime:
    """Give the time of the run, in UTC unless another zone is asked for."""
    run: Run | None = CURRENT.get()
    return dt.datetime.now(tz) if run is None else now_of(run, tz)


async def sleep_until(when: dt.datetime) -> None:
    """Wait until a time; a naive one is in the zone of the run."""
    run: Run = here("sleep_until()")
    exact = when if when.tzinfo is not None else when.replace(tzinfo=zone_of(run))
    # In UTC: between two times of one zone Python counts what its clocks show, not what passes.
    left = exact.astimezone(dt.UTC) - now_of(run, dt.UTC)
    await sleep(left / dt.timedelta(seconds=1))


setattr(sleep_until, "__perdure__", "timer")  # noqa: B010 — how graphs and rules know it
