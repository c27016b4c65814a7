"""Signals: first in first out, each key once, and none is lost when its taker is cancelled."""

from __future__ import annotations

from perdure.errors import Stale, WrongFact
from perdure.limits import LIMITS
from tests.core import flows
from tests.core.fold import Folded, cancelled, refuses, signalled


def kept(folded: Folded) -> dict[str, list[object]]:
    return {name: list(each) for name, each in folded.run.mailbox.messages.items()}


def test_a_signal_that_nobody_asked_for_waits() -> None:
    folded = Folded(flows.one).feed(signalled("a", 1), signalled("a", 2), signalled("b", 3))
    assert kept(folded) == {"a": [1, 2], "b": [3]}
    assert folded.run.statistics()["messages"] == 3


def test_the_oldest_message_is_taken_first() -> None:
    folded = Folded(flows.hears_twice).feed(signalled("a", 1), signalled("a", 2))
    assert folded.run.result() == [1, 2]


def test_a_message_of_another_name_wakes_nobody() -> None:
    folded = Folded(flows.hears).feed(signalled("b", 1))
    assert (folded.run.status, folded.effects) == ("running", [])


def test_whoever_waits_longest_is_served_first() -> None:
    folded = Folded(flows.three_takers)
    folded.feed(*(signalled("a", n) for n in (10, 20, 30)))
    assert folded.run.result() == [10, 20, 30]


def test_a_repeated_key_is_stale_and_changes_nothing() -> None:
    folded = Folded(flows.hears_twice).feed(signalled("a", 1, "k"))
    refuses(folded, Stale, signalled("a", 2, "k"), signalled("b", 1, "k"))
    assert folded.feed(signalled("a", 3, "l")).run.result() == [1, 3]


def test_signals_without_a_key_may_repeat() -> None:
    folded = Folded(flows.hears_twice).feed(signalled("a", 1), signalled("a", 1))
    assert folded.run.result() == [1, 1]


def test_the_last_thousand_keys_are_remembered_and_no_more() -> None:
    folded = Folded(flows.one)
    folded.feed(*(signalled("a", n, f"k{n}") for n in range(LIMITS.signal_keys_kept + 1)))
    refuses(folded, Stale, signalled("a", 0, "k1"), signalled("a", 0, "k1000"))
    folded.feed(signalled("a", 0, "k0"))
    assert len(folded.run.mailbox.keys) == LIMITS.signal_keys_kept


def test_a_mailbox_that_is_full_refuses() -> None:
    folded = Folded(flows.one)
    full = [0] * LIMITS.mailbox_messages_max
    folded.run.mailbox.deliver("a", None, 0)
    folded.run.mailbox.messages["a"].extend(full[1:])
    refuses(folded, WrongFact, signalled("a", 1))
    folded.feed(signalled("b", 1))


def delivered_and_cancelled(count: int, *takers: int) -> Folded:
    """A message comes, and in the same turn takers are cancelled, before any of them runs."""
    folded = Folded(flows.takers, count)
    tasks = {task.name: task for task in folded.run.tasks.values()}

    def settle() -> None:
        folded.run.mailbox.deliver("a", None, "kept")
        for number in takers:
            tasks[f"taker {number}"].cancel()

    folded.run._fold(settle)
    return folded


def test_a_message_outlives_a_taker_that_is_cancelled_before_it_can_look() -> None:
    assert delivered_and_cancelled(1, 0).run.result() == ["cancelled", "kept"]


def test_a_message_whose_taker_was_cancelled_goes_to_the_next_in_line() -> None:
    folded = delivered_and_cancelled(2, 0).feed(signalled("a", "later"))
    assert folded.run.result() == ["cancelled", "kept", "later"]


def test_a_message_passes_over_every_cancelled_taker() -> None:
    folded = delivered_and_cancelled(3, 0, 1).feed(signalled("a", "later"))
    assert folded.run.result() == ["cancelled", "cancelled", "kept", "later"]


def test_a_taker_that_was_cancelled_before_takes_nothing() -> None:
    folded = Folded(flows.takers, 2)
    taker = next(task for task in folded.run.tasks.values() if task.name == "taker 0")
    folded.run._fold(taker.cancel)
    folded.feed(signalled("a", 1), signalled("a", 2))
    assert folded.run.result() == ["cancelled", 1, 2]


def test_a_message_goes_back_to_the_front() -> None:
    folded = Folded(flows.one).feed(signalled("a", 2))
    folded.run.mailbox.put_back("a", 1)
    assert kept(folded) == {"a": [1, 2]}


def test_nobody_is_left_waiting_after_the_end() -> None:
    folded = Folded(flows.hears).feed(cancelled())
    assert (folded.run.status, folded.run.mailbox.waiting) == ("cancelled", {})
