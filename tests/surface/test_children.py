"""A workflow that another one awaits is a run of its own: how it ends is handed on."""

from __future__ import annotations

import asyncio

import pytest

from perdure.core.effects import Dispatch
from perdure.testing import cancel_at, raises, returns, run_in_memory
from tests.surface import flows
from tests.surface.kit import comes_to, took_s


def test_the_result_of_a_child_is_that_of_its_await() -> None:
    memory = comes_to(flows.parent, 5, result=[5, "child"])
    (child,) = memory.children
    assert (child.status, child.result()) == ("completed", [5, "child"])


def test_a_child_is_one_call_of_its_parent() -> None:
    memory = run_in_memory(flows.parent, 5)
    (dispatch,) = [effect for effect in memory.effects if isinstance(effect, Dispatch)]
    assert (dispatch.kind, dispatch.target) == ("workflow", "tests.surface.flows:child")
    assert memory.calls == [("child", [5], {})]


def test_a_child_has_a_log_of_its_own() -> None:
    memory = run_in_memory(flows.parent, 5)
    assert memory.children[0].refold().result() == [5, "child"]


def test_children_run_side_by_side() -> None:
    memory = comes_to(flows.parent_of_two, result=[[1, "child"], [2, "child"]])
    assert [child.run.run_id for child in memory.children] == ["memory/1", "memory/2"]
    assert len({child.run.seed for child in memory.children}) == 2


def test_a_child_may_be_answered_by_a_script() -> None:
    script = {flows.child: [raises(ValueError("no")), returns("never")]}
    memory = run_in_memory(flows.parent, 5, script=script)
    assert (memory.status, memory.children) == ("failed", [])


def test_the_failure_of_a_child_is_caught_by_its_class() -> None:
    comes_to(flows.parent_of_trouble, result="Trouble (5, 'child in trouble')")


def test_a_child_whose_parent_no_longer_waits_is_cancelled() -> None:
    memory = comes_to(flows.impatient_parent, result="gave up")
    (child,) = memory.children
    assert (child.status, child.printed) == ("cancelled", ["child cleans up"])
    assert took_s(child) == 5


def test_a_child_that_is_abandoned_goes_on_to_its_end() -> None:
    memory = comes_to(flows.abandoning_parent, result="gave up")
    (child,) = memory.children
    assert (child.status, child.result()) == ("completed", "an hour")


def test_the_cancellation_of_a_parent_cancels_its_child() -> None:
    memory = run_in_memory(flows.parent_of_the_patient, events=[cancel_at(7)])
    assert memory.status == "cancelled"
    assert [child.status for child in memory.children] == ["cancelled"]
    with pytest.raises(asyncio.CancelledError):
        memory.children[0].result()


def test_the_cleanup_of_a_child_outlives_its_parent() -> None:
    memory = run_in_memory(flows.parent_of_the_thorough, events=[cancel_at(7)])
    (child,) = memory.children
    assert (child.status, child.printed) == ("cancelled", ["child cleaned up"])


def test_a_child_of_a_child_is_found_below_it() -> None:
    memory = comes_to(flows.grandparent, 5, result=[5, "child"])
    assert memory.children[0].children[0].run.run_id == "memory/1/1"
