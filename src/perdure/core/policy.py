"""Retry and time-out policies, and the decision whether there is another attempt.

Pure: the decision is a function of the policy, the facts and the seed of the run.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec

from perdure.errors import BadPolicy, RetryAfter

Seconds = float | int | str | timedelta
"""A duration: seconds as a number, `"30s"`, `"5m"`, `"2h"`, `"1d"`, `"250ms"`, or a timedelta."""

_UNITS_US = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"\s*(?:{_PART.pattern}\s*)+", re.ASCII)
_SECONDS_MAX = 1_000 * 366 * 86_400


def microseconds(duration: Seconds, what: str = "a duration") -> int:
    """Give a duration in whole microseconds; refuse what is none, or negative."""
    if isinstance(duration, timedelta):
        us = duration // timedelta(microseconds=1)
    elif isinstance(duration, str):
        us = _from_text(duration, what)
    elif _is_number(duration):
        if not -_SECONDS_MAX <= duration <= _SECONDS_MAX:
            raise BadPolicy(
                f"{what} is {duration}", remedy="give seconds, fewer than a millennium's"
            )
        us = round(duration * 1_000_000)
    else:
        raise BadPolicy(
            f"{what} is {duration!r}", remedy='give seconds, a timedelta, or text such as "30s"'
        )
    if us > _SECONDS_MAX * 1_000_000:
        raise BadPolicy(f"{what} is {duration!r}", remedy="give less than a thousand years")
    if us < 0:
        raise BadPolicy(f"{what} is {duration!r}", remedy="it cannot be negative")
    return us


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _from_text(text: str, what: str) -> int:
    parts = _PART.findall(text)
    if not _WHOLE.fullmatch(text):
        raise BadPolicy(
            f"{what} is {text!r}", remedy='write it as "30s", "5m", "1h 30m" or "250ms"'
        )
    try:
        return round(sum(float(number) * _UNITS_US[unit] for number, unit in parts))
    except OverflowError:
        return _SECONDS_MAX * 1_000_000 + 1


class RetryPolicy(msgspec.Struct, frozen=True, gc=False):
    """How often a call is tried, and how long is waited between; error classes by their names."""

    attempts: int = 1
    backoff_us: int = 1_000_000
    factor: float = 2.0
    cap_us: int = 3_600_000_000
    jitter: float = 0.0
    on: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()


class Policy(msgspec.Struct, frozen=True, gc=False):
    """All that is decided about a call before it is made; pinned with the program."""

    retry: RetryPolicy = RetryPolicy()
    timeout_us: int | None = None
    total_us: int | None = None
    queue: str = ""
    run_in: str = ""
    idempotent: bool = False
    at_most_once: bool = False
    parent_close: str = ""
    """Of a child run: what becomes of it when nobody waits for it any more."""

    @property
    def abandons(self) -> bool:
        """Whether a child goes on when nobody waits for it any more."""
        return self.parent_close == ABANDON


CANCEL, ABANDON = "cancel", "abandon"
"""What may become of a child run when its parent no longer waits for it."""


DEFAULT_POLICY = Policy()


def class_name(cls: type[BaseException]) -> str:
    """Give the name by which a policy knows an error class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def Retry(  # noqa: N802 — reads as the noun that it is: `retry=Retry(attempts=5)`
    attempts: int = 3,
    backoff: Seconds = 1.0,
    factor: float = 2.0,
    cap: Seconds = "1h",
    jitter: float = 0.0,
    on: type[BaseException] | Iterable[type[BaseException]] = (),
    not_on: type[BaseException] | Iterable[type[BaseException]] = (),
) -> RetryPolicy:
    """Try up to `attempts` times, waiting `backoff`, then `factor` times as long, up to `cap`.

    `jitter` is the part of a wait that is drawn at random: 0.2 waits between 80 and 100 %.
    `on` limits retries to these error classes; `not_on` takes classes out.
    """
    if attempts < 1:
        raise BadPolicy(f"attempts is {attempts}", remedy="the first try counts: give at least 1")
    if factor < 1 or not math.isfinite(factor):
        raise BadPolicy(f"factor is {factor}", remedy="waits may not shrink: give at least 1")
    if not 0 <= jitter <= 1:
        raise BadPolicy(f"jitter is {jitter}", remedy="it is a part of the wait: give 0 to 1")
    return RetryPolicy(
        attempts=attempts,
        backoff_us=microseconds(backoff, "backoff"),
        factor=float(factor),
        cap_us=microseconds(cap, "cap"),
        jitter=float(jitter),
        on=_class_names(on, "on"),
        not_on=_class_names(not_on, "not_on"),
    )


def _class_names(given: Any, what: str) -> tuple[str, ...]:
    classes = (given,) if isinstance(given, type) else tuple(given)
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            raise BadPolicy(f"{what} holds {cls!r}", remedy="give exception classes")
    return tuple(class_name(cls) for cls in classes)


def next_attempt_delay_us(
    retry: RetryPolicy, failures: int, error: BaseException, roll: float
) -> int | None:
    """Give the wait before the next attempt after so many failures, or `None`: there is none."""
    if failures >= retry.attempts or not _matches(retry, error):
        return None
    asked_s = _asked_s(error)
    if asked_s is not None:
        return round(asked_s * 1_000_000)
    try:
        wait_us = min(retry.cap_us, round(retry.backoff_us * retry.factor ** (failures - 1)))
    except OverflowError:
        wait_us = retry.cap_us
    return wait_us - round(wait_us * retry.jitter * roll)


def _asked_s(error: BaseException) -> float | None:
    """Give the wait that an error asks for, if that is one: a class of the user's may lack it."""
    seconds = getattr(error, "seconds", None) if isinstance(error, RetryAfter) else None
    if isinstance(seconds, (int, float)) and 0 <= seconds <= _SECONDS_MAX:
        return seconds
    return None


def _matches(retry: RetryPolicy, error: BaseException) -> bool:
    if not isinstance(error, Exception):
        return False
    names = {class_name(cls) for cls in type(error).__mro__ if issubclass(cls, BaseException)}
    if names.intersection(retry.not_on):
        return False
    return not retry.on or bool(names.intersection(retry.on))


def roll(seed: int, call: int, failures: int) -> float:
    """Draw the jitter of one wait: from the run's seed alone, in [0, 1)."""
    return zlib.crc32(f"{seed}/{call}/{failures}".encode()) / 2**32
