"""Actions: durable calls in a run, plain functions outside; retried and timed out as told."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from perdure import Action, ActionTimeout, RetryAfter
from perdure.core.effects import Dispatch
from perdure.errors import BadPolicy
from perdure.testing import loses, raises, returns, run_in_memory
from tests.surface import flows
from tests.surface.kit import comes_to, took_s


@pytest.fixture(autouse=True)
def _fresh() -> None:
    flows.failures_left(0)


# --- outside of a run


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (lambda: flows.act(1), 1),
        (lambda: flows.plain(2, more=3), 5),
        (lambda: flows.renamed(4), 4),
        (lambda: flows.act.options(timeout=1)(5), 5),
        (lambda: flows.Account("bob").pay(5), "bob paid 5"),
        (lambda: flows.hurried(0), "in time"),
    ],
)
def test_outside_of_a_run_an_action_just_runs(make: Any, result: Any) -> None:
    async def main() -> Any:
        return await make()

    assert asyncio.run(main()) == result


def test_outside_of_a_run_nothing_is_tried_again() -> None:
    flows.failures_left(1)
    with pytest.raises(flows.Trouble):
        asyncio.run(flows.flaky("x"))
    assert flows.DONE == ["x"]


@pytest.mark.parametrize("act", [flows.act, flows.plain])
def test_an_action_looks_like_its_function(act: Action[Any, Any]) -> None:
    function = act.function
    assert act.__wrapped__ is function  # type: ignore[attr-defined]
    assert (act.__name__, act.__doc__) == (function.__name__, function.__doc__)  # type: ignore[attr-defined]
    assert inspect.signature(act) == inspect.signature(function)


# --- options


def test_options_make_another_policy_and_leave_the_first_alone() -> None:
    before = flows.act.policy
    other = flows.act.options(timeout="5s", retry=3, queue="slow", idempotent=True)
    assert flows.act.policy == before
    policy = other.policy
    assert (policy.timeout_us, policy.retry.attempts) == (5_000_000, 3)
    assert (policy.queue, policy.idempotent) == ("slow", True)
    assert (other.name, other.target) == (flows.act.name, flows.act.target)


def test_options_build_on_each_other() -> None:
    policy = flows.act.options(timeout=5).options(retry=2).policy
    assert (policy.timeout_us, policy.retry.attempts) == (5_000_000, 2)


def test_options_are_sent_with_the_call() -> None:
    memory = run_in_memory(flows.calls_in_all_forms)
    dispatches = [effect for effect in memory.effects if isinstance(effect, Dispatch)]
    assert [each.policy.timeout_us for each in dispatches if each.policy.timeout_us] == [3_000_000]


def test_options_that_contradict_the_policy_are_refused() -> None:
    with pytest.raises(BadPolicy, match="at_most_once with 4 attempts"):
        flows.flaky.options(at_most_once=True)


# --- in a run


def test_an_action_is_called_in_every_form_of_a_call() -> None:
    result = [1, 2, 5, 8, 4, 5, 6, [7, 8], 9, 10, 11, 12]
    memory = comes_to(flows.calls_in_all_forms, result=result)
    assert len(memory.calls) == 13


def test_a_method_may_be_an_action() -> None:
    comes_to(flows.calls_a_method, result=["bob paid 6", "ada paid 7"])


@pytest.mark.parametrize("number", range(len(flows.CALLS_THAT_FAIL)))
def test_wrong_arguments_raise_at_the_call_what_cpython_raises(number: int) -> None:
    bare = {"plain": flows.plain.function, "act": flows.act.function}
    call = flows.CALLS_THAT_FAIL[number]
    with pytest.raises(TypeError) as native:
        eval(call.__code__, bare)
    memory = comes_to(flows.calls_wrongly, number, result=str(native.value))
    assert memory.calls == []


def test_what_is_not_awaited_is_not_called() -> None:
    assert comes_to(flows.never_awaits, result="done").calls == []


# --- retries


@pytest.mark.parametrize("flow", [flows.calls_flaky, flows.calls_flaky_def])
def test_a_body_that_fails_is_run_again(flow: Any) -> None:
    flows.failures_left(2)
    memory = comes_to(flow, "x", result="x done")
    assert (flows.DONE, took_s(memory)) == (["x"] * 3, 30)


def test_the_last_failure_of_a_body_is_raised() -> None:
    flows.failures_left(9)
    memory = run_in_memory(flows.calls_flaky, "x")
    assert (memory.status, flows.DONE) == ("failed", ["x"] * 4)
    with pytest.raises(flows.Trouble, match="x"):
        memory.result()


def test_a_script_may_answer_attempt_by_attempt() -> None:
    answers = [raises(OSError(1)), loses(), raises(RetryAfter(100)), "scripted"]
    memory = comes_to(flows.calls_flaky, "x", result="scripted", script={flows.flaky: answers})
    assert (flows.DONE, took_s(memory)) == ([], 110)


def test_a_retry_is_one_call() -> None:
    answers = [raises(OSError(1)), "scripted"]
    memory = run_in_memory(flows.calls_flaky, "x", script={"flaky": answers})
    assert memory.calls == [("flaky", ["x"], {})]


def test_a_call_that_was_given_up_is_not_tried_again() -> None:
    flows.failures_left(1)
    comes_to(flows.loses_patience, result="patience lost")
    assert flows.DONE == ["late"]


def test_a_body_that_was_given_up_is_cancelled() -> None:
    comes_to(flows.stops_a_body, result="stopped")
    assert flows.DONE == ["body stopped"]


# --- time-outs

TOO_LONG = "E402 tests.surface.flows:hurried took longer than 5 s"


def test_an_attempt_that_takes_too_long_times_out() -> None:
    memory = comes_to(flows.is_hurried, 10, result=TOO_LONG)
    assert took_s(memory) == 5


def test_an_answer_that_comes_too_late_times_out() -> None:
    script = {flows.hurried: returns("late", after=6)}
    memory = comes_to(flows.is_hurried, 0, result=TOO_LONG, script=script)
    assert took_s(memory) == 5


def test_an_answer_that_comes_in_time_does_not() -> None:
    comes_to(flows.is_hurried, 4.9, result="in time")


def test_a_time_out_is_a_failure_and_tried_again() -> None:
    memory = run_in_memory(flows.is_hurried_twice, 9)
    assert (took_s(memory), flows.DONE) == (11, [9, 9])
    with pytest.raises(ActionTimeout) as raised:
        memory.result()
    assert isinstance(raised.value, TimeoutError)


def test_a_time_out_of_the_bodys_own_keeps_its_text() -> None:
    comes_to(flows.hears_of_a_time_out, result="the bank did not answer")


# --- outcomes


def test_a_result_that_cannot_be_written_fails_the_call_and_says_where() -> None:
    text = run_in_memory(flows.takes_nonsense).result()
    assert text.startswith("E201 result of tests.surface.flows:gives_nonsense['lock'] ")


def test_a_body_that_cancels_itself_is_a_cancelled_call() -> None:
    comes_to(flows.is_given_up, result="given up")
