"""Calls: what a run has asked of the world and not heard of yet.

Knows the run only as somebody who takes effects and timers.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec import Raw

from perdure.core.effects import AnyEffect, Dispatch, Revoke
from perdure.core.futures import PENDING, Future, Home
from perdure.core.gates import Waiter
from perdure.core.policy import Policy, next_attempt_delay_us, roll
from perdure.core.timers import Timer
from perdure.errors import ActionTimeout, HolderLost, Interrupted
from perdure.limits import LIMITS


class Target(msgspec.Struct, frozen=True):
    """Whom a call goes to: an action or a workflow, by the name that every process knows it by."""

    kind: str
    name: str


class Caller(Home, Protocol):
    """What a call needs of its run."""

    calls: dict[int, Call]
    effects: list[AnyEffect]
    now_us: int
    seed: int

    def arm(self, due_us: int, waiter: Waiter, what: Any = None) -> Timer:
        """Make `waiter` ready at a time."""
        ...

    def disarm(self, timer: Timer) -> None:
        """Forget a timer."""
        ...


class Call(Future):
    """One call, from its first dispatch to its outcome: a future, which the outcome settles."""

    __slots__ = (
        "args", "call", "deadline", "details", "failures", "lost", "not_before_us", "policy", "run",
        "site", "target", "token",
    )  # fmt: skip

    throws = False
    """An action that fails raises natively, below the frames that await it; so does this, and
    `__context__` comes out as it would have."""

    def __init__(
        self, run: Caller, call: int, target: Target, args: Raw, site: str, policy: Policy
    ) -> None:
        super().__init__(run)
        self.run = run
        self.call = call
        self.target = target
        self.args = args
        self.site = site
        self.policy = policy
        self.token = 0
        self.failures = 0
        self.lost = 0
        self.deadline: Timer | None = None
        self.not_before_us = 0
        """When the attempt that is asked for may begin: while that is not yet, nobody holds it."""
        self.details = b""
        """What the holder of an attempt told of its progress, for the next one to go on from."""
        run.calls[call] = self
        self.dispatch(0)
        if policy.total_us is not None:
            self.deadline = run.arm(run.now_us + policy.total_us, self.expire)

    def dispatch(self, not_before_us: int) -> None:
        """Have one more attempt made, under a token of its own."""
        self.token += 1
        self.not_before_us = not_before_us
        self.run.effects.append(
            Dispatch(
                call=self.call,
                token=self.token,
                attempt=self.failures + 1,
                kind=self.target.kind,
                target=self.target.name,
                args=self.args,
                site=self.site,
                policy=self.policy,
                not_before_us=not_before_us,
            )
        )

    def close(self) -> None:
        """Take the call off the books: whatever still comes for it is stale."""
        del self.run.calls[self.call]
        if self.deadline is not None:
            self.run.disarm(self.deadline)

    def revoke(self) -> None:
        """Nobody waits any more: the holder is told."""
        if self.call in self.run.calls:
            self.close()
            self.run.effects.append(Revoke(self.call, self.token))

    def cancel(self, msg: Any = None) -> bool:
        """Settle as cancelled, and have the holder told."""
        if self.state == PENDING:
            self.revoke()
        return super().cancel(msg)

    def complete(self, value: Any) -> None:
        """It returned `value`."""
        self.close()
        self.set_result(value)

    def fail(self, error: BaseException) -> None:
        """An attempt raised `error`: try again, or hand the error to the flow."""
        self.failures += 1
        drawn = roll(self.run.seed, self.call, self.failures)
        delay_us = next_attempt_delay_us(self.policy.retry, self.failures, error, drawn)
        if delay_us is None:
            self.close()
            self.set_exception(_as_raised(error))
        else:
            self.dispatch(self.run.now_us + delay_us)

    def start_over(self, *, tokens: int) -> None:
        """Make the first attempt anew; `tokens` more than it has may be known to somebody."""
        self.token += tokens
        self.failures = self.lost = 0
        self.dispatch(0)

    def lose(self, *, counted: bool = True) -> None:
        """Its holder died: dispatch again, unless it may run once only or was lost too often."""
        self.lost += counted
        if self.policy.at_most_once:
            error: Exception = Interrupted(
                f"the holder of call {self.call}, {self.target.name}, died",
                remedy="it may or may not have taken effect: find out before you call it again",
            )
        elif self.lost > LIMITS.lost_attempts_max:
            error = HolderLost(
                f"call {self.call}, {self.target.name}, was lost {self.lost} times",
                remedy="it may be what kills its worker: look at the logs of the workers",
            )
        else:
            self.dispatch(self.not_before_us if self.not_before_us > self.run.now_us else 0)
            return
        self.close()
        self.set_exception(error)

    def expire(self, _: object) -> None:
        """All its attempts together have taken too long."""
        total_s = (self.policy.total_us or 0) / 1_000_000
        self.deadline = None
        self.revoke()
        self.set_exception(
            ActionTimeout(f"{self.target.name} took longer than {total_s:g} s in all")
        )


def _as_raised(error: BaseException) -> BaseException:
    """Give an error as a coroutine would have raised it: none raises `StopIteration`."""
    if not isinstance(error, StopIteration):
        return error
    stopped = RuntimeError("coroutine raised StopIteration")
    stopped.__cause__ = stopped.__context__ = error
    return stopped
