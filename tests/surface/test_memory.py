"""`run_in_memory`: a whole run under a virtual clock, answered by scripts, bodies and events."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import Any

import pytest

from perdure import ActionTimeout
from perdure.errors import Deadlocked, HolderLost, NotEncodable
from perdure.testing import (
    cancel_at,
    loses,
    raises,
    returns,
    run_in_memory,
    signal_at,
)
from tests.surface import flows
from tests.surface.kit import comes_to, took_s


@pytest.fixture(autouse=True)
def _fresh() -> None:
    flows.failures_left(0)


# --- time


def test_thirty_days_take_no_time() -> None:
    began = time.monotonic()
    memory = comes_to(flows.sleeps, 30 * 86_400, result="awake")
    assert took_s(memory) == 30 * 86_400
    assert time.monotonic() - began < 5


def test_a_run_begins_when_it_is_told() -> None:
    start = dt.datetime(2030, 5, 6, tzinfo=dt.UTC)
    memory = run_in_memory(flows.sleeps, 60, start_us=round(start.timestamp() * 1_000_000))
    assert memory.rows[0].fact.at_us == start.timestamp() * 1_000_000
    assert took_s(memory) == 60


def test_a_run_is_as_repeatable_as_its_log() -> None:
    first, second = (run_in_memory(flows.fulfil, 7, seed=3) for _ in range(2))
    assert [row.digest for row in first.rows] == [row.digest for row in second.rows]
    assert [row.fact.at_us for row in first.rows] == [row.fact.at_us for row in second.rows]


# --- scripts

SCRIPTS: list[tuple[str, Any, Any, int]] = [
    ("a value", 5, 5, 0),
    ("none", None, None, 0),
    ("an answer", returns(5), 5, 0),
    ("an answer later", returns(5, after="2m"), 5, 120),
    ("a list", [5, 6], 5, 0),
    ("a function", lambda value: value * 2, 14, 0),
    ("a function of answers", lambda value: returns(value * 3, after=1), 21, 1),
    ("a list in a function", lambda _: [1, 2], [1, 2], 0),
    ("losses", [loses(), loses(after=5), 5], 5, 5),
    ("a list as a value", returns([1, 2]), [1, 2], 0),
]


@pytest.mark.parametrize("name", ["act", flows.act, flows.act.name], ids=["name", "action", "full"])
def test_a_script_names_an_action_in_any_way(name: Any) -> None:
    comes_to(flows.fulfil, 7, script={name: "r", "plain": 1}, result=["r", 1, 1])


@pytest.mark.parametrize(
    ("script", "result", "seconds"),
    [each[1:] for each in SCRIPTS],
    ids=[each[0] for each in SCRIPTS],
)
def test_a_script_answers_in_any_form(script: Any, result: Any, seconds: int) -> None:
    memory = comes_to(flows.calls_once, 7, script={flows.act: script}, result=result)
    assert took_s(memory) == seconds
    assert flows.DONE == []


def test_the_last_answer_of_a_list_is_that_of_all_that_follow() -> None:
    comes_to(flows.calls_thrice, script={flows.act: [1, 2]}, result=[1, 2, 2])


def test_a_scripted_error_is_raised_as_itself() -> None:
    memory = run_in_memory(flows.calls_once, 7, script={"act": raises(flows.Trouble("why"))})
    with pytest.raises(flows.Trouble, match="why"):
        memory.result()


def test_a_scripted_loss_without_end_is_a_lost_holder() -> None:
    memory = run_in_memory(flows.calls_once, 7, script={"act": loses()})
    with pytest.raises(HolderLost):
        memory.result()


def test_what_no_script_names_is_run() -> None:
    memory = comes_to(flows.fulfil, 7, script={"plain": 0}, result=[7, 0, 0])
    assert flows.DONE == [7]
    assert memory.calls == [("act", [7], {}), ("plain", [1], {}), ("plain", [2], {})]


def test_a_script_for_an_action_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Exception, match="no-such-action"):
        run_in_memory(flows.calls_once, 7, script={"no-such-action": 5})


def test_an_error_in_a_script_is_raised_in_the_test() -> None:
    with pytest.raises(ZeroDivisionError):
        run_in_memory(flows.calls_once, 7, script={"act": lambda value: value / 0})


def test_an_answer_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(NotEncodable):
        run_in_memory(flows.calls_once, 7, script={"act": returns(object())})


# --- events


def test_events_come_at_their_times() -> None:
    events = [signal_at(20, "order", "b"), signal_at("10s", "order", "a")]
    memory = comes_to(flows.takes_two, events=events, result=["a", "b"])
    assert took_s(memory) == 20


def test_events_at_one_time_come_in_their_order() -> None:
    events = [signal_at(5, "order", name) for name in "ab"]
    comes_to(flows.takes_two, events=events, result=["a", "b"])


def test_a_repeated_key_is_dropped() -> None:
    events = [signal_at(n, "order", n, key=key) for n, key in enumerate("aab")]
    comes_to(flows.takes_two, events=events, result=[0, 2])


def test_a_cancellation_comes_at_its_time() -> None:
    memory = run_in_memory(flows.sleeps, 100, events=[cancel_at("7s", "enough")])
    assert (memory.status, took_s(memory)) == ("cancelled", 7)
    with pytest.raises(asyncio.CancelledError, match="enough"):
        memory.result()


def test_events_after_the_end_are_not_waited_for() -> None:
    memory = comes_to(flows.sleeps, 5, events=[signal_at(50, "order")], result="awake")
    assert took_s(memory) == 5


# --- ends


def test_a_run_that_can_never_go_on_is_a_deadlock() -> None:
    with pytest.raises(Deadlocked, match=r"^E307 nothing is left that could happen"):
        run_in_memory(flows.waits_for_nothing)


def test_a_deadlock_names_what_is_waited_for() -> None:
    with pytest.raises(Deadlocked, match="signal `order`"):
        run_in_memory(flows.takes_an_order)


def test_the_body_of_an_action_may_time_out() -> None:
    memory = run_in_memory(flows.is_hurried_twice, 30)
    with pytest.raises(ActionTimeout):
        memory.result()


def test_a_failed_run_raises_its_failure_with_a_notice_of_where() -> None:
    memory = run_in_memory(flows.failing_child)
    with pytest.raises(flows.Trouble) as raised:
        memory.result()
    assert raised.value.args == (5, "child in trouble")


def test_an_argument_that_cannot_be_written_is_refused_before_the_start() -> None:
    with pytest.raises(NotEncodable, match=r"^E201 arguments"):
        run_in_memory(flows.calls_once, object())


# --- around it


def test_a_run_may_be_made_inside_of_a_running_loop() -> None:
    async def main() -> Any:
        return run_in_memory(flows.sleeps, 5).result(), asyncio.get_running_loop().is_running()

    assert asyncio.run(main()) == ("awake", True)


def test_inside_of_a_running_loop_failures_are_raised_too() -> None:
    async def main() -> None:
        run_in_memory(flows.waits_for_nothing)

    with pytest.raises(Deadlocked):
        asyncio.run(main())


def test_what_was_printed_and_called_is_kept() -> None:
    memory = run_in_memory(flows.fulfil, 7)
    assert memory.printed == ["7 is fulfilled"]
    assert [name for name, _, _ in memory.calls] == ["act", "plain", "plain"]


def test_keyword_arguments_reach_the_workflow() -> None:
    comes_to(flows.calls_once, value=9, result=9)
