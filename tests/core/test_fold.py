"""The fold: what does not fit is refused and changes nothing; what fits has its effects, once."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from msgspec import Raw, structs

from perdure import Interrupted, RetryAfter
from perdure.core import loop
from perdure.core.effects import Disarm, Dispatch, Finished, Revoke, Say
from perdure.core.facts import AnyFact
from perdure.core.run import Run
from perdure.errors import Broken, Endless, HolderLost, NotDecodable, NotEncodable, Stale, WrongFact
from perdure.limits import LIMITS
from perdure.node.host import HOST
from tests.core import flows
from tests.core.fold import (
    SECOND,
    Folded,
    at,
    cancelled,
    completed,
    everything,
    failed,
    fired,
    lost,
    refuses,
    signalled,
    started,
)

# --- the beginning


def test_a_run_starts_once() -> None:
    folded = Folded(flows.one)
    refuses(folded, WrongFact, started(flows.one), started(flows.one, 2))
    assert folded.feed(completed(7)).run.result() == 7


BEFORE_THE_START = [completed(), failed(ValueError()), lost(), fired(1, 0), cancelled()]


@pytest.mark.parametrize("fact", BEFORE_THE_START, ids=lambda fact: type(fact).__name__)
def test_before_the_start_nothing_fits(fact: AnyFact) -> None:
    run = Run(flows.one.program(), HOST)
    with pytest.raises((Stale, WrongFact)):
        run.apply(fact)
    run.apply(started(flows.one))
    assert run.status == "running"


def test_before_the_start_a_signal_does_not_fit_either() -> None:
    run = Run(flows.one.program(), HOST)
    with pytest.raises((Stale, WrongFact)):
        run.apply(signalled("a"))


def test_arguments_that_cannot_be_read_are_refused() -> None:
    run = Run(flows.one.program(), HOST)
    with pytest.raises(NotDecodable):
        run.apply(structs.replace(started(flows.one), args=Raw(b'{"$":"no-such-form"}')))
    run.apply(started(flows.one))
    assert run.status == "running"


def test_arguments_that_the_workflow_does_not_take_are_its_failure() -> None:
    folded = Folded(flows.one, 1, 2, 3)
    with pytest.raises(TypeError, match="takes from 0 to 1 positional arguments but 3 were given"):
        folded.run.result()


# --- outcomes that nobody waits for

WRONG = [
    completed(7, call=2),
    completed(7, call=0),
    completed(7, call=-1),
    completed(7, token=2),
    completed(7, token=0),
    failed(ValueError(), call=9),
    failed(ValueError(), token=9),
    lost(call=9),
    lost(token=9),
    fired(9, 100),
]


@pytest.mark.parametrize("fact", WRONG, ids=lambda fact: type(fact).__name__)
def test_an_outcome_for_another_call_or_token_changes_nothing(fact: AnyFact) -> None:
    folded = Folded(flows.two_in_a_row)
    refuses(folded, Stale, fact)
    untouched = Folded(flows.two_in_a_row)
    outcomes = [completed("a"), completed("b", call=2)]
    assert [row.digest for row in folded.feed(*outcomes).rows] == [
        row.digest for row in untouched.feed(*outcomes).rows
    ]
    assert folded.run.result() == ["a", "b"]


@pytest.mark.parametrize(
    "repeated", [completed("again"), failed(ValueError()), lost()], ids=lambda f: type(f).__name__
)
def test_a_second_outcome_of_one_attempt_changes_nothing(repeated: AnyFact) -> None:
    folded = Folded(flows.two_in_a_row).feed(completed("a"))
    refuses(folded, Stale, repeated)
    assert folded.feed(completed("b", call=2)).run.result() == ["a", "b"]


def test_an_outcome_that_cannot_be_read_changes_nothing() -> None:
    folded = Folded(flows.one)
    torn = Raw(b'{"$":"no-such-form"}')
    refuses(folded, NotDecodable, structs.replace(completed(), value=torn))
    refuses(folded, NotDecodable, structs.replace(failed(ValueError()), error=torn))
    refuses(folded, NotDecodable, structs.replace(signalled("a"), value=torn))
    assert folded.feed(completed(7)).run.result() == 7


def test_after_the_end_nothing_fits() -> None:
    folded = Folded(flows.one).feed(completed(7))
    refuses(folded, Stale, completed(8), failed(ValueError()), lost(), fired(1, 9), signalled("a"))
    refuses(folded, Stale, cancelled())
    refuses(folded, WrongFact, started(flows.one))
    assert folded.run.result() == 7


def test_after_the_end_nothing_is_held() -> None:
    folded = Folded(flows.leaves_tasks_behind)
    held = folded.run.statistics()
    assert (folded.run.status, held["tasks"], held["calls_open"], held["timers"]) == (
        "completed", 0, 0, 0,
    )  # fmt: skip


def test_after_the_end_no_callback_runs() -> None:
    folded = Folded(flows.leaves_a_callback_behind)
    assert folded.run.status == "completed"
    refuses(folded, Stale, fired(1, 10))


# --- time


def test_a_timer_that_fires_early_is_refused() -> None:
    folded = Folded(flows.sleeps, 10)
    refuses(folded, WrongFact, fired(1, 0), fired(1, 9.999_999))
    assert folded.feed(fired(1, 10)).run.result() == "awake"


def test_a_timer_fires_once() -> None:
    folded = Folded(flows.cleans_up_on_time).feed(fired(1, 10))
    refuses(folded, Stale, fired(1, 10))


def test_the_time_of_a_run_never_goes_back() -> None:
    folded = Folded(flows.one).feed(signalled("a", after_s=10))
    folded.feed(signalled("b", after_s=5))
    assert folded.run.now_us == at(10)


@pytest.mark.parametrize("seconds", [1e9, 1e12, 1e14, 1e30, math.inf], ids=repr)
def test_a_flow_may_sleep_for_ever(seconds: float) -> None:
    folded = Folded(flows.sleeps, seconds)
    assert (folded.run.status, folded.run.statistics()["timers"]) == ("running", 1)
    assert folded.feed(cancelled()).run.status == "cancelled"


# --- retries


def attempt(folded: Folded) -> tuple[int, int, int, float]:
    """Call, token, attempt and wait of the one dispatch that the last fact caused."""
    (dispatch,) = folded.caused(Dispatch)
    wait_us = max(0, dispatch.not_before_us - folded.run.now_us)
    return dispatch.call, dispatch.token, dispatch.attempt, wait_us / SECOND


def test_a_failure_is_another_attempt_of_the_same_call_under_a_new_token() -> None:
    folded = Folded(flows.calls_flaky)
    assert attempt(folded) == (1, 1, 1, 0)
    assert attempt(folded.feed(failed(OSError(), after_s=5))) == (1, 2, 2, 10)
    assert attempt(folded.feed(failed(OSError(), token=2, after_s=20))) == (1, 3, 3, 30)


def test_an_attempt_that_was_given_up_no_longer_counts() -> None:
    folded = Folded(flows.calls_flaky).feed(failed(OSError()))
    refuses(folded, Stale, completed("late"), failed(OSError()), lost())
    assert folded.feed(completed("in time", token=2)).run.result() == "in time"


def test_the_last_failure_is_raised_in_the_flow() -> None:
    folded = Folded(flows.calls_flaky)
    folded.feed(*(failed(OSError(token), token=token) for token in (1, 2, 3)))
    with pytest.raises(OSError, match="3"):
        folded.run.result()


def test_all_attempts_together_have_a_time_limit() -> None:
    folded = Folded(flows.calls_bounded).feed(failed(OSError(), after_s=20))
    folded.feed(fired(1, 60))
    assert folded.caused(Revoke) == [Revoke(1, 2)]
    assert folded.run.result() == "E402 tests.core.flows:bounded took longer than 60 s in all"


def test_the_time_limit_of_a_call_ends_with_the_call() -> None:
    folded = Folded(flows.calls_bounded).feed(completed("in time", after_s=59))
    assert folded.caused(Disarm) == [Disarm(1)]
    refuses(folded, Stale, fired(1, 60))


# --- holders that die


def test_a_lost_attempt_is_made_again_and_does_not_count_as_a_failure() -> None:
    folded = Folded(flows.calls_flaky)
    assert attempt(folded.feed(lost())) == (1, 2, 1, 0)
    assert attempt(folded.feed(failed(OSError(), token=2))) == (1, 3, 2, 10)
    assert attempt(folded.feed(lost(token=3, after_s=11))) == (1, 4, 2, 0)
    assert attempt(folded.feed(failed(OSError(), token=4, after_s=11))) == (1, 5, 3, 30)
    assert folded.feed(completed("at last", token=5)).run.result() == "at last"


def test_an_attempt_that_is_lost_before_its_time_still_has_its_time() -> None:
    folded = Folded(flows.calls_flaky)
    assert attempt(folded.feed(failed(OSError()))) == (1, 2, 2, 10)
    assert attempt(folded.feed(lost(token=2, after_s=4))) == (1, 3, 2, 6)


def test_a_call_that_is_lost_too_often_fails() -> None:
    folded = Folded(flows.one)
    folded.feed(*(lost(token=token) for token in range(1, LIMITS.lost_attempts_max + 1)))
    assert folded.run.status == "running"
    folded.feed(lost(token=LIMITS.lost_attempts_max + 1))
    with pytest.raises(HolderLost, match=r"E404 call 1, .* was lost 6 times"):
        folded.run.result()


def test_what_may_run_once_only_is_interrupted_when_its_holder_dies() -> None:
    folded = Folded(flows.calls_once).feed(lost())
    assert (folded.caused(Dispatch), folded.run.result()) == ([], Interrupted.__name__)


# --- cancellation


def test_cleanup_may_call_actions() -> None:
    folded = Folded(flows.cleans_up).feed(cancelled("enough"))
    assert [type(effect) for effect in folded.effects] == [Revoke, Dispatch]
    assert folded.run.status == "running"
    folded.feed(completed(call=2))
    assert folded.caused(Finished)[0].status == "cancelled"


def test_the_reason_of_a_cancellation_arrives() -> None:
    folded = Folded(flows.one).feed(cancelled("enough"))
    assert (folded.run.status, folded.run.error.args) == ("cancelled", ("enough",))


def test_a_flow_may_survive_its_cancellation() -> None:
    folded = Folded(flows.survives_cancellation).feed(cancelled())
    assert (folded.run.status, folded.run.result()) == ("completed", "survived")


def test_a_second_cancellation_interrupts_the_cleanup() -> None:
    folded = Folded(flows.cleans_up).feed(cancelled(), cancelled())
    assert (folded.caused(Revoke), folded.run.status) == ([Revoke(2, 1)], "cancelled")


# --- what cannot be written down


def test_a_result_that_cannot_be_written_is_a_failure_that_names_the_path() -> None:
    folded = Folded(flows.returns_what_no_one_can_write)
    assert folded.run.status == "failed"
    with pytest.raises(NotEncodable, match=r"^E201 result\['orders'\]\[1\]\['lock'\] "):
        folded.run.result()


def test_a_run_that_failed_has_an_error() -> None:
    folded = Folded(flows.returns_what_no_one_can_write)
    assert isinstance(folded.run.error, NotEncodable)


def test_an_argument_that_cannot_be_written_raises_at_its_await_and_is_never_sent() -> None:
    folded = Folded(flows.passes_what_no_one_can_write)
    assert folded.caused(Dispatch) == []
    assert folded.run.result().startswith("E201 argument 0 of tests.core.flows:act[1] ")


# --- runs that stop


@pytest.fixture
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dataclasses.replace(LIMITS, turns_per_fact_max=1_000)
    monkeypatch.setattr(loop, "LIMITS", few)


@pytest.mark.usefixtures("few_turns")
def test_a_flow_that_never_rests_is_stopped() -> None:
    folded = Folded(flows.never_rests)
    with pytest.raises(Endless, match=r"E305 1,0.. turns passed and nothing waits for the world"):
        folded.feed(completed(True))


@pytest.mark.usefixtures("few_turns")
def test_a_run_whose_engine_stopped_takes_no_further_fact() -> None:
    folded = Folded(flows.never_rests)
    with pytest.raises(Endless):
        folded.feed(completed(1))
    refuses(folded, Broken, completed(1), signalled("a"), cancelled(), started(flows.never_rests))


@pytest.mark.parametrize(
    "error", [StopIteration("x"), GeneratorExit(), KeyError("x"), SystemExit(3)], ids=repr
)
def test_no_error_of_an_action_breaks_the_engine(error: BaseException) -> None:
    folded = Folded(flows.calls_once).feed(failed(error))
    assert folded.run.broken is None
    assert folded.run.status in ("completed", "failed")


class Hint(RetryAfter):
    """Says nothing of seconds: a class of the user's, with a constructor of its own."""

    def __init__(self) -> None:
        Exception.__init__(self, "soon")


WAITS = [*(RetryAfter(seconds) for seconds in (-5, 0.5, math.nan, math.inf)), Hint()]


@pytest.mark.parametrize("error", WAITS, ids=repr)
def test_no_wait_that_an_action_asks_for_breaks_the_engine(error: BaseException) -> None:
    folded = Folded(flows.calls_flaky).feed(failed(error))
    assert attempt(folded)[:3] == (1, 2, 2)


# --- the end


def test_a_failure_that_nobody_looked_at_is_said() -> None:
    folded = Folded(flows.forgets_a_failure)
    text = "Task exception was never retrieved: ValueError: nobody looked"
    assert folded.caused(Say) == [Say(text, 40, "asyncio")]


def test_what_still_runs_at_the_end_is_cancelled_in_order_and_cleans_up() -> None:
    folded = Folded(flows.leaves_tasks_behind)
    assert folded.caused(Say) == [Say("first leaves"), Say("second leaves")]
    assert folded.run.result() == "2 left"


def test_a_run_ends_when_the_cleanup_of_its_tasks_has_ended() -> None:
    folded = Folded(flows.leaves_work_behind)
    assert (folded.run.status, attempt(folded)) == ("running", (1, 1, 1, 0))
    assert folded.feed(completed()).run.result() == "result False"


def test_a_result_before_the_end_is_refused() -> None:
    folded = Folded(flows.one)
    with pytest.raises(WrongFact, match="the run has not ended"):
        folded.run.result()


def test_statistics_count_what_a_run_holds() -> None:
    folded = Folded(flows.many_of_everything).feed(signalled("a"), completed(0))
    assert folded.run.statistics() == {
        "facts": 3, "tasks": 3, "calls_open": 2, "calls_made": 3, "timers": 1, "messages": 1,
    }  # fmt: skip


def test_rows_are_numbered_and_hold_their_fact() -> None:
    fact = completed(7)
    folded = Folded(flows.one).feed(fact)
    assert [row.seq for row in folded.rows] == [1, 2]
    assert folded.rows[1].fact is fact


def fed(*facts: AnyFact) -> Any:
    return everything(Folded(flows.many_of_everything).feed(*facts).run)


def test_the_state_is_a_function_of_the_facts() -> None:
    facts = [completed(1), signalled("a", 5, "k"), failed(ValueError("x"), call=2)]
    assert fed(*facts) == fed(*facts)
