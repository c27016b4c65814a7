"""Gates open exactly once, at what they require; timers come by due time, then by age."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, strategies

from perdure.core.gates import Gate, Ready, arrive
from perdure.core.timers import Timers
from perdure.errors import ReadinessOverflow


def noted(_: object) -> None:
    """Nothing: it is only looked at on the queue."""


def armed(*due_us: int) -> Timers:
    timers = Timers()
    for each in due_us:
        timers.arm(each, noted, None)
    return timers


def drained(timers: Timers) -> list[tuple[int, int]]:
    """Take every timer when it is due; give due times and numbers in their order."""
    order = []
    while (due_us := timers.next_due_us()) is not None:
        number = timers.heap[0][1]
        order.append((due_us, number))
        timers.take(number)
    return order


@pytest.mark.parametrize("required", [1, 2, 7])
def test_a_gate_opens_exactly_at_what_it_requires(required: int) -> None:
    gate, ready = Gate(required), deque()
    opened = [arrive(gate, ready) for _ in range(required)]
    assert opened == [False] * (required - 1) + [True]
    assert gate.open


def test_a_gate_that_requires_more_is_not_open() -> None:
    gate = Gate(2)
    arrive(gate, deque())
    assert not gate.open


def test_waiters_are_ready_in_the_order_in_which_they_came() -> None:
    gate = Gate()
    waiters = [lambda _, n=n: n for n in range(5)]
    gate.waiters.extend(waiters)
    ready: Ready = deque()
    arrive(gate, ready)
    assert list(ready) == [(waiter, gate) for waiter in waiters]


def test_waiters_are_not_ready_before_the_gate_opens() -> None:
    gate = Gate(2)
    gate.waiters.append(noted)
    ready: Ready = deque()
    arrive(gate, ready)
    assert (list(ready), gate.waiters) == ([], [noted])


def test_one_arrival_too_many_is_an_overflow() -> None:
    gate = Gate()
    gate.waiters.append(noted)
    ready: Ready = deque()
    arrive(gate, ready)
    with pytest.raises(ReadinessOverflow, match="E303 a gate that requires 1 had 2 arrivals"):
        arrive(gate, ready)
    assert len(ready) == 1


def test_timers_come_by_due_time_and_then_by_age() -> None:
    assert drained(armed(30, 10, 20, 10)) == [(10, 2), (10, 4), (20, 3), (30, 1)]


def test_no_timer_no_due_time() -> None:
    assert Timers().next_due_us() is None


def test_a_timer_that_was_taken_is_not_due() -> None:
    timers = armed(10, 20)
    assert timers.take(1) is not None
    assert timers.next_due_us() == 20


def test_a_timer_is_taken_once() -> None:
    timers = armed(10)
    timers.take(1)
    assert timers.take(1) is None


def test_numbers_of_timers_are_never_used_again() -> None:
    timers = armed(10)
    timers.take(1)
    assert timers.arm(10, noted, None).number == 2


def test_taken_timers_do_not_pile_up() -> None:
    timers = armed(5)
    for _ in range(10_000):
        timers.take(timers.arm(1_000, noted, None).number)
    assert len(timers.heap) <= 65
    assert timers.next_due_us() == 5


@given(
    strategies.lists(strategies.integers(0, 50), max_size=200),
    strategies.sets(strategies.integers(1, 200)),
)
def test_whatever_was_taken_the_rest_comes_in_order(due_us: list[int], taken: set[int]) -> None:
    timers = armed(*due_us)
    for number in taken:
        timers.take(number)
    left = [(due, n) for n, due in enumerate(due_us, 1) if n not in taken]
    assert drained(timers) == sorted(left)
