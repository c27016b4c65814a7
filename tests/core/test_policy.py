"""Policies mean what they say or are refused; waits follow from policy, error and seed."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies

from perdure import Retry, RetryAfter, action
from perdure.core.policy import RetryPolicy, microseconds, next_attempt_delay_us, roll
from perdure.errors import BadPolicy

SECOND = 1_000_000


class Down(ConnectionError):
    """A network that is not there."""


def waits(retry: RetryPolicy, error: BaseException, up_to: int = 10) -> list[float]:
    """The waits after one failure, two, … until there is no further attempt; in seconds."""
    found: list[float] = []
    for failures in range(1, up_to + 1):
        delay_us = next_attempt_delay_us(retry, failures, error, 0.0)
        if delay_us is None:
            break
        found.append(delay_us / SECOND)
    return found


# --- durations

DURATIONS: list[tuple[Any, int]] = [
    (0, 0),
    (30, 30 * SECOND),
    (0.25, 250_000),
    ("30s", 30 * SECOND),
    ("30 s", 30 * SECOND),
    ("250ms", 250_000),
    ("7us", 7),
    ("5m", 300 * SECOND),
    ("2h", 7_200 * SECOND),
    ("1d", 86_400 * SECOND),
    ("1h 30m", 5_400 * SECOND),
    ("1h30m", 5_400 * SECOND),
    ("1.5h", 5_400 * SECOND),
    (timedelta(minutes=2), 120 * SECOND),
    (timedelta(microseconds=1), 1),
]

NONSENSE = [
    "", "s", "30", "30x", "30 seconds", "-5s", "1h 30", "1e3s", "٣s", "30s!",
    math.nan, math.inf, -1, -0.5, True, None, [30], b"30s", timedelta(seconds=-1),
]  # fmt: skip

HUGE = [10**400, 1e308, "9" * 400 + "s"]


@pytest.mark.parametrize(("given_", "us"), DURATIONS, ids=repr)
def test_a_duration_is_a_number_of_microseconds(given_: Any, us: int) -> None:
    assert microseconds(given_) == us


@pytest.mark.parametrize("given_", NONSENSE, ids=repr)
def test_what_is_no_duration_is_refused_by_name(given_: Any) -> None:
    with pytest.raises(BadPolicy, match=r"^E401 pause is .*; "):
        microseconds(given_, "pause")


@pytest.mark.parametrize("given_", HUGE, ids=["int", "float", "text"])
def test_a_duration_beyond_all_bounds_is_refused(given_: Any) -> None:
    with pytest.raises(BadPolicy):
        microseconds(given_)


def test_a_number_does_not_span_a_space() -> None:
    with pytest.raises(BadPolicy):
        microseconds("3 0s")


# --- what a policy may not say


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"attempts": 0}, "E401 attempts is 0; the first try counts: give at least 1"),
        ({"attempts": -3}, "E401 attempts is -3; the first try counts: give at least 1"),
        ({"factor": 0.5}, "E401 factor is 0.5; waits may not shrink: give at least 1"),
        ({"factor": math.nan}, "E401 factor is nan; waits may not shrink: give at least 1"),
        ({"factor": math.inf}, "E401 factor is inf; waits may not shrink: give at least 1"),
        ({"jitter": 1.5}, "E401 jitter is 1.5; it is a part of the wait: give 0 to 1"),
        ({"jitter": -0.1}, "E401 jitter is -0.1; it is a part of the wait: give 0 to 1"),
        ({"jitter": math.nan}, "E401 jitter is nan; it is a part of the wait: give 0 to 1"),
        ({"backoff": -1}, "E401 backoff is -1; it cannot be negative"),
        ({"cap": "soon"}, 'E401 cap is \'soon\'; write it as "30s", "5m", "1h 30m" or "250ms"'),
    ],
    ids=str,
)
def test_a_retry_that_means_nothing_is_refused(options: Any, text: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        Retry(**options)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"at_most_once": True, "retry": 2},
            (
                "E401 at_most_once with 2 attempts; an action that may run once only "
                "cannot be retried: leave one of them out"
            ),
        ),
        ({"run_in": "moon"}, 'E401 run_in is \'moon\'; give "loop", "thread" or "process"'),
        (
            {"timeout": "soon"},
            'E401 timeout is \'soon\'; write it as "30s", "5m", "1h 30m" or "250ms"',
        ),
        ({"retry": 0}, "E401 attempts is 0; the first try counts: give at least 1"),
    ],
    ids=str,
)
def test_an_action_whose_policy_contradicts_itself_is_refused(options: Any, text: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        action(**options)(waits)
    assert str(refused.value) == text


@pytest.mark.parametrize("retry", ["3", 2.5, {"attempts": 3}], ids=repr)
def test_a_retry_of_another_type_is_refused_where_it_is_written(retry: Any) -> None:
    with pytest.raises(BadPolicy):
        action(retry=retry)


def test_one_class_is_as_good_as_a_list_of_one() -> None:
    assert Retry(on=Down) == Retry(on=[Down])  # type: ignore[arg-type]


# --- the wait before the next attempt


def test_waits_grow_by_the_factor_up_to_the_cap() -> None:
    assert waits(Retry(6, backoff=1, factor=3, cap=10), Down()) == [1, 3, 9, 10, 10]


def test_as_many_tries_as_attempts_the_first_included() -> None:
    assert [len(waits(Retry(n), Down())) for n in (1, 2, 5)] == [0, 1, 4]


def test_there_is_one_attempt_unless_more_are_asked_for() -> None:
    assert waits(RetryPolicy(), Down()) == []


def test_waits_beyond_all_numbers_are_capped() -> None:
    retry = Retry(10**6, backoff=1, factor=10, cap="1h")
    assert next_attempt_delay_us(retry, 999_999, Down(), 0.0) == 3_600 * SECOND


def test_retry_after_says_the_wait_itself() -> None:
    assert waits(Retry(3, backoff=1), RetryAfter(99)) == [99, 99]


def test_retry_after_has_no_attempts_of_its_own() -> None:
    assert waits(Retry(1), RetryAfter(99)) == []


@pytest.mark.parametrize("seconds", [math.nan, math.inf], ids=repr)
def test_retry_after_nonsense_falls_back_to_the_policy(seconds: float) -> None:
    assert waits(Retry(2, backoff=7), RetryAfter(seconds)) == [7]


@pytest.mark.parametrize(
    ("options", "error", "tried_again"),
    [
        ({}, ValueError(), True),
        ({"on": [ConnectionError]}, Down(), True),
        ({"on": [ConnectionError]}, ConnectionError(), True),
        ({"on": [ConnectionError]}, ValueError(), False),
        ({"on": [Down]}, ConnectionError(), False),
        ({"on": [Exception]}, ValueError(), True),
        ({"not_on": [ConnectionError]}, Down(), False),
        ({"not_on": [ConnectionError]}, ValueError(), True),
        ({"on": [OSError], "not_on": [Down]}, Down(), False),
        ({"on": [OSError], "not_on": [Down]}, ConnectionError(), True),
        ({}, KeyboardInterrupt(), False),
        ({}, SystemExit(), False),
        ({}, ExceptionGroup("several", [Down()]), True),
    ],
    ids=str,
)
def test_classes_say_what_is_tried_again(options: Any, error: Any, tried_again: bool) -> None:
    assert bool(waits(Retry(2, **options), error)) is tried_again


@given(
    strategies.floats(0, 1),
    strategies.integers(0, 2**32),
    strategies.integers(1, 10**6),
    strategies.integers(1, 40),
)
def test_jitter_only_shortens_a_wait_and_by_its_part_at_most(
    jitter: float, seed: int, call: int, failures: int
) -> None:
    retry = Retry(50, backoff=2, factor=1.5, jitter=jitter)
    most = next_attempt_delay_us(retry, failures, Down(), 0.0)
    drawn = next_attempt_delay_us(retry, failures, Down(), roll(seed, call, failures))
    assert most is not None
    assert drawn is not None
    assert most * (1 - jitter) - 1 <= drawn <= most


def test_a_draw_is_a_function_of_seed_call_and_failures_alone() -> None:
    draws = [roll(seed, call, n) for seed in range(9) for call in range(9) for n in range(9)]
    again = [roll(seed, call, n) for seed in range(9) for call in range(9) for n in range(9)]
    assert draws == again
    assert len(set(draws)) == len(draws)
    assert all(0 <= draw < 1 for draw in draws)


def test_draws_cover_the_whole_part() -> None:
    draws = sorted(roll(7, call, 1) for call in range(1_000))
    assert draws[0] < 0.02
    assert draws[-1] > 0.98
