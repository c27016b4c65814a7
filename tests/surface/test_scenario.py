"""Given, when, then: a run that a test drives by hand, and a failure that shows both sides."""

from __future__ import annotations

import asyncio

import pytest

from perdure.errors import Stale, WrongFact
from perdure.testing import (
    arrives,
    calls,
    completes,
    ends,
    ends_with,
    fails,
    fires,
    given,
    is_cancelled,
    is_lost,
    passes,
    revokes,
    says,
    stops_waiting,
    waits,
)
from tests.surface import flows


def test_a_run_is_driven_step_by_step() -> None:
    (
        given(flows.fulfil, 7)
        .then(calls("act", 7))
        .when(completes("act", "r-7"))
        .then(calls(flows.plain, 1), calls("plain", 2))
        .when(completes("plain", 10))
        .then()
        .when(completes("plain", 20))
        .then(says("r-7 is fulfilled"), waits(60))
        .when(fires())
        .then(ends(["r-7", 10, 20]))
    )


def test_the_oldest_open_call_is_answered() -> None:
    scenario = given(flows.parent_of_two).then(calls("child", 1), calls("child", value=2))
    scenario.when(completes("child", "a")).then()
    scenario.when(completes("child", "b")).then(ends(["a", "b"]))


def test_a_failure_is_tried_again_and_then_raised() -> None:
    trouble = fails("flaky", flows.Trouble("x"))
    scenario = given(flows.tries_and_waits, "x").then(calls("flaky", "x"))
    for _ in range(3):
        scenario.when(trouble).then(calls("flaky", "x"))
    scenario.when(trouble).then(waits("1m")).when(fires()).then(ends("in vain"))


def test_a_loss_is_dispatched_again() -> None:
    given(flows.calls_once, 1).when(is_lost("act")).then(calls("act", 1))


def test_a_time_out_revokes_the_call() -> None:
    scenario = given(flows.gives_up_on_time).then(waits(30), calls("act", "slow"))
    scenario.when(fires()).then(revokes(), ends("too slow"))


def test_what_is_in_time_stops_the_clock() -> None:
    scenario = given(flows.gives_up_on_time).when(passes(29, completes("act", "r")))
    scenario.then(stops_waiting(), ends("r"))


def test_signals_arrive_with_their_keys() -> None:
    scenario = given(flows.takes_two).then().when(arrives("order", 1, key="k")).then()
    with pytest.raises(Stale):
        scenario.when(arrives("order", 2, key="k"))
    scenario.when(arrives("order", 3)).then(ends([1, 3]))


def test_a_cancelled_run_ends_with_its_cancellation() -> None:
    scenario = given(flows.calls_once, 1).when(is_cancelled("enough"))
    scenario.then(revokes(), ends_with(asyncio.CancelledError, "cancelled"))


def test_a_failed_run_ends_with_its_error() -> None:
    given(flows.failing_child).then(ends_with(flows.Trouble))


def test_several_things_happen_in_their_order() -> None:
    scenario = given(flows.takes_two).when(arrives("order", 1), arrives("order", 2))
    scenario.then(ends([1, 2]))


# --- what a test is told


def test_a_wrong_expectation_shows_both_sides() -> None:
    with pytest.raises(AssertionError) as failure:
        given(flows.fulfil, 7).then(calls("act", 8), waits(5))
    text = str(failure.value)
    expected, _, caused = text.partition("caused:")
    assert "expected:" in expected
    assert ("8" in expected, "wait" in expected) == (True, True)
    assert ("7" in caused, "wait" in caused) == (True, False)


def test_no_effects_are_shown_as_nothing() -> None:
    with pytest.raises(AssertionError, match=r"caused: +nothing"):
        given(flows.takes_two).then(calls("act"))


def test_an_answer_to_a_call_that_is_not_open_says_which_are() -> None:
    with pytest.raises(WrongFact, match="no call of `plain`; it waits for act"):
        given(flows.fulfil, 7).when(completes("plain", 1))


def test_a_timer_that_is_not_armed_does_not_fire() -> None:
    with pytest.raises(WrongFact, match="the run waits for no timer"):
        given(flows.fulfil, 7).when(fires())
