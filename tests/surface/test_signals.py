"""Signals arrive as the type that was asked for; a time-out takes none with it."""

# ruff: noqa: DTZ001  (users write such things, and that is what is tested)

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from perdure.core.effects import Revoke
from perdure.errors import Deadlocked, WrongType
from perdure.testing import run_in_memory, signal_at
from tests.surface import flows
from tests.surface.kit import comes_to, took_s


@pytest.mark.parametrize(
    ("payload", "order"),
    [
        (flows.Order("pear", 2), flows.Order("pear", 2)),
        ({"item": "pear", "count": 2}, flows.Order("pear", 2)),
        ({"item": "pear"}, flows.Order("pear")),
    ],
    ids=repr,
)
def test_a_signal_is_converted_to_the_type_that_was_asked_for(payload: Any, order: Any) -> None:
    comes_to(flows.takes_an_order, events=[signal_at(1, "order", payload)], result=order)


def test_without_a_type_a_signal_is_what_was_sent() -> None:
    payload = {"item": ("pear", 2), "tags": [{"x"}]}
    comes_to(flows.takes_in_time, events=[signal_at(1, "order", payload)], result=payload)


@pytest.mark.parametrize("payload", [5, {"count": 2}, {"item": "pear", "count": "x"}], ids=repr)
def test_a_signal_of_the_wrong_type_fails_the_run(payload: Any) -> None:
    memory = run_in_memory(flows.takes_an_order, events=[signal_at(1, "order", payload)])
    with pytest.raises(WrongType, match=r"^E204 signal `order` should be `.*Order`, but is "):
        memory.result()


def test_a_flow_may_catch_a_wrong_type_and_take_the_next() -> None:
    events = [signal_at(1, "order", 5), signal_at(2, "order", {"item": "fig"})]
    refused, order = run_in_memory(flows.takes_what_is_right, events=events).result()
    assert refused.startswith("E204 signal `order` should be ")
    assert order == flows.Order("fig")


def test_a_signal_after_the_time_out_waits_for_the_next_who_asks() -> None:
    events = [signal_at("2h", "order", "late")]
    memory = comes_to(flows.waits_in_vain, events=events, result=["none", "late"])
    assert took_s(memory) == 7_200


def test_a_signal_in_time_is_taken_and_nothing_waits_for_the_time_out() -> None:
    events = [signal_at("59m", "order", "in time")]
    memory = comes_to(flows.takes_in_time, events=events, result="in time")
    assert took_s(memory) == 59 * 60


def test_a_signal_at_the_very_moment_of_the_time_out_is_not_lost() -> None:
    events = [signal_at("1h", "order", "just"), signal_at("2h", "order", "next")]
    result = run_in_memory(flows.waits_in_vain, events=events).result()
    assert result in ("one", ["none", "just"])


def test_a_signal_may_race_a_call_and_the_loser_is_told() -> None:
    events = [signal_at(1, "order", "a"), signal_at(2, "order", "b")]
    memory = comes_to(flows.waits_for_signal_or_call, events=events, result=[["a"], "b"])
    assert [type(effect) for effect in memory.effects].count(Revoke) == 1


def test_a_signal_that_lost_a_race_takes_nothing_with_it() -> None:
    events = [signal_at(20, "order", "late")]
    comes_to(flows.waits_for_signal_or_call, events=events, result=[["nap"], "late"])


def test_a_signal_that_nobody_sends_is_a_deadlock() -> None:
    with pytest.raises(Deadlocked):
        run_in_memory(flows.takes_an_order, events=[signal_at(1, "another", 1)])


# --- sleeping until a time

NAIVE, UTC = dt.datetime(2026, 1, 1, 6), dt.datetime(2026, 1, 1, 6, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("when", "zone", "seconds"),
    [
        (UTC, "UTC", 6 * 3600),
        (UTC, "America/New_York", 6 * 3600),
        (NAIVE, "UTC", 6 * 3600),
        (NAIVE, "America/New_York", 11 * 3600),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "UTC", 0),
    ],
    ids=str,
)
def test_a_flow_sleeps_until_a_time_in_its_zone(when: Any, zone: str, seconds: float) -> None:
    memory = comes_to(flows.wakes_at, when, zone=zone, result=None)
    assert took_s(memory) == seconds


SPRING = dt.datetime(2026, 3, 8, 12)


@pytest.mark.parametrize("zone", [None, ZoneInfo("America/New_York")], ids=str)
def test_a_night_in_spring_is_an_hour_shorter(zone: Any) -> None:
    memory = run_in_memory(
        flows.wakes_at,
        SPRING.replace(tzinfo=zone),
        zone="America/New_York",
        start_us=round(dt.datetime(2026, 3, 8, 5, tzinfo=dt.UTC).timestamp() * 1_000_000),
    )
    assert took_s(memory) == 11 * 3600
