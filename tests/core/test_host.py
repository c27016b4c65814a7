"""Code that only knows asyncio finds the loop of the run, and finds its own again afterwards."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from perdure.core.run import Run
from perdure.errors import NotHere
from perdure.node.host import HOST, _AsyncGenerators
from perdure.testing import VirtualLoop, run_in_memory
from tests.core import library_flows as flows

SLEPT = ["slept 3", "slept 1", "slept 2"]

RESULTS: dict[str, tuple[Any, float]] = {
    "gathers": (["slept 2", "slept 1"], 2),
    "has_tasks": (["one", "True", "slept 3"], 3),
    "times_out": ("timed out", 5),
    "waits_for": ("timed out", 5),
    "groups": (SLEPT, 3),
    "queues": ([0, 1, 2], 0),
    "locks": ([0, 1, 2], 3),
    "hears": ("heard at 4", 4),
    "has_futures": ("settled", 0),
    "races": ("slept 1", 1),
    "shields": ("slept 1", 1),
    "completes": (["slept 1", "slept 2"], 2),
    "iterates": ([0, 1, 2], 3),
    "calls": ([1, "slept 1", 2], 1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_library_runs_on_the_loop_of_the_run(name: str) -> None:
    memory = run_in_memory(flows.uses, name)
    took_us = memory.rows[-1].fact.at_us - memory.rows[0].fact.at_us
    assert (memory.result(), took_us / 1_000_000) == RESULTS[name]
    assert memory.refold().result() == RESULTS[name][0]
    assert memory.logged == []


@pytest.mark.parametrize("name", RESULTS)
def test_under_plain_asyncio_it_does_the_same(name: str) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(flows.uses(name)) == RESULTS[name][0]


@pytest.mark.parametrize("name", ["run_in_executor", "create_connection", "add_reader"])
def test_what_the_loop_of_a_run_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(NotHere, match=f"^E102 a workflow asked its event loop for `{name}`; "):
        run_in_memory(flows.asks_the_loop, name).result()


def test_generators_left_half_way_are_closed_in_the_order_in_which_they_began() -> None:
    memory = run_in_memory(flows.leaves_generators)
    memory.result()
    assert memory.printed == [f"{number} ends" for number in (2, 1, 3, 0, 4, 5, 6, 7)]


def test_a_generator_that_begins_where_a_dead_one_was_is_the_last() -> None:
    async def counts() -> AsyncIterator[int]:
        yield 1

    loop: Any = SimpleNamespace(asyncgens={})
    generators = _AsyncGenerators(loop)
    one, other = counts(), counts()
    for each in (other, one, other):  # the first stands for one that died at that address
        generators.begins(each)
    assert list(loop.asyncgens) == [id(one), id(other)]


# --- afterwards


def surroundings() -> Any:
    return sys.stdout, sys.stderr, sys.get_asyncgen_hooks(), asyncio._get_running_loop()


def test_after_a_fold_all_is_as_it_was() -> None:
    before = surroundings()
    memory = run_in_memory(flows.fails_loudly)
    assert (memory.status, memory.printed) == ("failed", ["half a line"])
    assert surroundings() == before


def test_inside_of_a_loop_that_loop_is_found_again() -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        Run(flows.uses.program(), HOST)._fold(lambda: None)
        return asyncio.get_running_loop() is loop

    assert asyncio.run(main())


def test_folds_in_two_threads_leave_the_console_as_it_was(monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    before = sys.stdout
    runs = [Run(flows.uses.program(), HOST) for _ in range(2)]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        pairs = list(zip((one, other), runs, strict=True))
        entered = [pool.submit(HOST.enter, run).result() for pool, run in pairs]
        for (pool, run), each in zip(pairs, entered, strict=True):
            pool.submit(HOST.leave, run, each).result()
    assert sys.stdout is before
