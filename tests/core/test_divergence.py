"""An impurity that shows stops the refold at the very fact where it shows, with both sides told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.core import elsewhere

IMPURE = {
    "fresh_ids": "pear",
    "library_sets": "/",
    "sets_of_methods": "plum",
    "sets_of_views": "plum",
    "clocks_of_classes": "17",
}

SHOP = """
from perdure import action, workflow
from pricing import Prices

@action
async def act(value=None):
    return value

@workflow
async def sell():
    await act("pure")
    await act(Prices().of("pear"))
"""

PRICING = """
PRICES = {{"pear": {price}}}

class Prices:
    def of(self, item):
        return PRICES[item]
"""


def jobs(*names: str, logs: Any = ()) -> list[elsewhere.Job]:
    flows = [{"flow": name} for name in names]
    return [job | {"log": log} for job, log in zip(flows, logs, strict=True)] if logs else flows


@pytest.fixture(scope="module")
def refolded() -> dict[str, Any]:
    """What came of each, run in one process and folded again in another."""
    names = [f"tests.core.divergent_flows:{name}" for name in IMPURE]
    ran = elsewhere.ask(jobs(*names), PYTHONHASHSEED="1")
    logs = [each["log"] for each in ran]
    again = elsewhere.ask(jobs(*names, logs=logs), PYTHONHASHSEED="2")
    return dict(zip(IMPURE, again, strict=True))


def stopped_at(answer: Any, seq: int, then: str, now: str) -> None:
    """The refold stopped at this fact, and its text holds both sides."""
    assert answer.get("diverged") == seq, answer
    text = answer["text"]
    assert text.startswith(f"E302 fact {seq} (completed) caused other effects than before\n")
    old, new = (
        next(line for line in text.splitlines() if side in line) for side in ("then", "now")
    )
    assert then in old
    assert now in new
    assert old.partition(":")[2] != new.partition(":")[2]


@pytest.mark.parametrize(("name", "shown"), IMPURE.items())
def test_a_hidden_impurity_stops_the_refold_where_it_shows(
    name: str, shown: str, refolded: Any
) -> None:
    stopped_at(refolded[name], 2, shown, shown)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "pricing.py").write_text(PRICING.format(price=5))
    return tmp_path


def test_data_of_a_class_that_changed_between_the_runs_stops_the_refold(shop: Path) -> None:
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    (shop / "pricing.py").write_text(PRICING.format(price=6))
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), shop)
    stopped_at(again, 2, "5", "6")


def test_a_class_that_changed_between_the_runs_makes_another_program(shop: Path) -> None:
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    pricing = shop / "pricing.py"
    pricing.write_text(pricing.read_text().replace("PRICES[item]", "PRICES[item] + 1"))
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), shop)
    assert again["refused"] == 1
    assert "E306 the run was started on program" in again["text"]


def test_a_method_that_did_not_change_stops_nothing(shop: Path) -> None:
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), shop, PYTHONHASHSEED="9")
    assert (again["status"], again["digests"]) == ("completed", ran["digests"])


def test_a_workflow_that_changed_between_the_runs_is_another_program(shop: Path) -> None:
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    (shop / "shop.py").write_text(SHOP.replace('"pear"', '"plum"'))
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), shop)
    assert again["refused"] == 1
    assert "E306 the run was started on program" in again["text"]


def test_code_that_moved_to_another_folder_is_the_same_program(shop: Path) -> None:
    moved = shop / "moved"
    moved.mkdir()
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    for name in ("shop.py", "pricing.py"):
        (shop / name).rename(moved / name)
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), moved)
    assert (again["status"], again["program"]) == ("completed", ran["program"])


def test_a_failure_in_code_that_moved_is_the_same_failure(shop: Path) -> None:
    (shop / "shop.py").write_text(SHOP.replace('.of("pear")', ".of()"))
    moved = shop / "moved"
    moved.mkdir()
    (ran,) = elsewhere.ask(jobs("shop:sell"), shop)
    assert ran["status"] == "failed"
    for name in ("shop.py", "pricing.py"):
        (shop / name).rename(moved / name)
    (again,) = elsewhere.ask(jobs("shop:sell", logs=[ran["log"]]), moved)
    assert again.get("status") == "failed", again
