"""What is not of a run is refused at its await; outside of an engine all is plain asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure.errors import NoRun
from perdure.testing import run_in_memory
from tests.surface import flows
from tests.surface.kit import comes_to

REMEDY = "; it belongs to another event loop: move what makes it into an @action"


@pytest.fixture(params=["future", "task"])
def foreign(request: Any, monkeypatch: Any) -> Any:
    """A future, or a task, of a real loop, where a run can reach it."""
    loop = asyncio.new_event_loop()
    item = loop.create_future() if request.param == "future" else loop.create_task(_forever())
    monkeypatch.setattr(flows.Shelf, "item", item)
    yield request.param
    item.cancel()
    loop.run_until_complete(asyncio.gather(item, return_exceptions=True))
    loop.close()


async def _forever() -> None:
    await asyncio.Event().wait()


def test_a_future_of_another_loop_is_refused_at_its_await(foreign: str) -> None:
    text = f"E103 a `_asyncio.{foreign.title()}` cannot be awaited in a workflow{REMEDY}"
    memory = run_in_memory(flows.awaits_what_is_foreign)
    assert memory.result() == [text, "still here"]


@pytest.mark.usefixtures("foreign")
def test_a_future_that_was_refused_is_left_as_it_was() -> None:
    run_in_memory(flows.awaits_what_is_foreign)
    assert flows.Shelf.item._asyncio_future_blocking is False


def test_an_awaitable_that_yields_an_object_is_refused_at_its_await() -> None:
    text = f"E103 a `builtins.object` cannot be awaited in a workflow{REMEDY}"
    comes_to(flows.awaits_an_object, result=[text, "still here"])


def test_an_awaitable_that_yields_nothing_waits_a_turn() -> None:
    comes_to(flows.awaits_a_bare_yield, result=[None, "on"])


def test_what_cannot_be_awaited_is_pythons_own_error(monkeypatch: Any) -> None:
    monkeypatch.setattr(flows.Shelf, "item", 5)
    text = "object int can't be used in 'await' expression"
    comes_to(flows.awaits_what_cannot_be_awaited, result=text)


# --- outside of an engine


@pytest.mark.parametrize(
    ("flow", "args", "result"),
    [
        (flows.calls_in_all_forms, (), [1, 2, 5, 8, 4, 5, 6, [7, 8], 9, 10, 11, 12]),
        (flows.calls_a_method, (), ["bob paid 6", "ada paid 7"]),
        (flows.parent, (5,), [5, "child"]),
        (flows.parent_of_two, (), [[1, "child"], [2, "child"]]),
        (flows.parent_of_trouble, (), "Trouble (5, 'child in trouble')"),
        (flows.sleeps, (0,), "awake"),
    ],
)
def test_outside_of_an_engine_it_is_plain_asyncio(flow: Any, args: Any, result: Any) -> None:
    assert asyncio.run(flow(*args)) == result


def test_outside_of_a_run_there_are_no_signals() -> None:
    with pytest.raises(NoRun, match=r"^E104 signal\(\) was called outside of a run; "):
        asyncio.run(flows.takes_an_order())
