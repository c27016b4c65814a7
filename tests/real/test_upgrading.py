"""A later process, with newer code on its path, moves a run; every process is killed with -9."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.real.kit import ROOT, child

STEP = "tests.real.upgrading_child"
OLD = """
from perdure import action, signal, workflow

RATE = 2

@action
async def twice(value):
    return value * 2

class Ledger:
    def __init__(self):
        self.lines = []

    async def paid(self, name):
        amount = await signal(name, int)
        self.lines.append(amount)
        return amount

async def wait(ledger, name):
    amount = await ledger.paid(name)
    ledger.lines.append(amount * RATE)
    return amount

@workflow
async def flow():
    ledger = Ledger()
    begun = await twice(1)
    amount = await wait(ledger, "go")
    return [begun, amount, *ledger.lines]
"""
NEW = OLD.replace("RATE = 2", "RATE = 3").replace(
    "    return [begun", "    ledger.lines.append(await twice(amount))\n    return ['new', begun"
)
NEW_CLASS = NEW.replace("self.lines.append(amount)", "self.lines.append(amount * 10)")
LOST = OLD.replace("amount = await ledger.paid(name)", "amount = 1")


class Place:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "runs.db"
        self.code = folder / "code"
        self.code.mkdir()

    def deploy(self, text: str) -> None:
        (self.code / "billing.py").write_text(text)

    def step(self, what: str) -> list[str]:
        """Have a process do a step; give what it said until it was killed, or ended."""
        paths = os.pathsep.join(map(str, (self.code, ROOT / "src", ROOT)))
        env = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        with child(STEP, self.file, what, env=env) as process:
            said = []
            while line := process.line():
                said.append(line)
            code = process.ends()
            assert code in (0, -9), process.errors()
        return said


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.deploy(OLD)
    assert made.step("begin") == ["waits"]
    return made


def test_a_run_goes_on_with_the_code_of_a_later_process(place):
    place.deploy(NEW)
    assert place.step("move") == ["moved"]
    place.deploy(OLD)
    assert place.step("end") == ["result ['new', 2, 7, 7, 21, 14]", "moves 1"]


def test_a_run_that_waits_in_a_method_of_a_class_that_was_changed_goes_on_in_the_new_one(place):
    place.deploy(NEW_CLASS)
    assert place.step("move") == ["moved"]
    assert place.step("end") == ["result ['new', 2, 7, 70, 21, 14]", "moves 1"]


def test_a_run_that_cannot_be_moved_goes_on_with_the_code_that_it_had(place):
    place.deploy(LOST)
    (said,) = place.step("move")
    assert said.startswith("refused E314 `wait` at billing.py@")
    assert "`amount = await ledger.paid(name)` is not in the new code" in said
    assert place.step("end") == ["result [2, 7, 7, 14]", "moves 0"]


@pytest.mark.parametrize("when", ["die-before", "die-after"])
def test_a_process_that_is_killed_as_it_moves_a_run_leaves_it_here_or_there(place, when):
    place.deploy(NEW)
    assert place.step(when) == []
    # What was asked for is still in the inbox, unless it was done.
    assert place.step("end") == ["result ['new', 2, 7, 7, 21, 14]", "moves 1"]
