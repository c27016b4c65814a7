"""`race`, `any_of`, `all_of`, `first` and `Task`: the same in a run and under plain asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure import Task
from perdure.testing import VirtualLoop
from tests.surface import races
from tests.surface.kit import comes_to

MANY_FAILED = ["ExceptionGroup", "Bad('a')", "Bad('b')"]

RESULTS: dict[Any, Any] = {
    races.race_of_all_kinds: [
        "quick",
        "quick",
        ("b", "quick"),
        "one",
        "quick",
        "Bad('quick')",
        "Bad('quick')",
        *["ValueError('race() needs at least one awaitable')"] * 3,
    ],
    races.any_of_all_kinds: [
        "slow",
        "slow",
        ("b", "slow"),
        MANY_FAILED,
        [MANY_FAILED[0], *MANY_FAILED[:0:-1]],
        *["ValueError('any_of() needs at least one awaitable')"] * 2,
    ],
    races.all_of_all_kinds: [["a", "b"], ["a", "b"], {"x": "a", "y": "b"}, [], [], {}, "Bad('b')"],
    races.first_of_all_kinds: [
        ["b", "c"],
        ["c"],
        {"y": "b", "z": "c"},
        ["a", "b"],
        MANY_FAILED,
        "ValueError('first() was asked for 0 of 1')",
        "ValueError('first() was asked for 2 of 1')",
    ],
    races.losers_are_cleaned_up: [f"{name} cleaned up" for name in "bdfh"],
    races.losers_may_be_kept: ["winner", "loser"] * 3,
    races.a_cancelled_race_cancels_all: ["a cleaned up", "b cleaned up", "out of time"],
    races.the_names_of_rhythm: [["a", "b"], "b", ("y", "b"), "handled"],
    races.losers_of_a_tie: [("a", None), "a"],
    races.through_the_module: ["b", "a", {"x": "a"}, ["a"]],
    races.nested: ["a", "d", {"k": "e"}],
}

each_flow = pytest.mark.parametrize("flow", RESULTS, ids=lambda flow: flow.__name__)


@each_flow
def test_in_a_run(flow: Any) -> None:
    comes_to(flow, result=RESULTS[flow])


@each_flow
def test_under_plain_asyncio(flow: Any) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(flow()) == RESULTS[flow]


def test_under_asyncios_own_loop() -> None:
    assert asyncio.run(races.nested()) == RESULTS[races.nested]


def test_a_name_that_task_does_not_have_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"^there is no `Task\.gather`$"):
        _ = Task.gather


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("thing", [5, "text", None], ids=repr)
def test_what_is_no_awaitable_is_refused(thing: Any) -> None:
    async def main() -> None:
        await races.race(asyncio.sleep(0), thing)

    with pytest.raises(TypeError):
        asyncio.run(main())
