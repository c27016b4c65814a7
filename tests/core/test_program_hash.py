"""Programs that differ in anything that they reach have different hashes; equal ones the same."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter, defaultdict, deque
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, partial
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from perdure import action
from tests.core import hash_flows as flows
from tests.core import helpers, other_helpers

PAIRS: list[tuple[str, Any, Any]] = [
    ("int", 5, 6),
    ("text", "a", "b"),
    ("kinds of number", 1, 1.0),
    ("kinds of text", "a", b"a"),
    ("list", [1, 5], [1, 6]),
    ("order", [5, 6], [6, 5]),
    ("nested", {"a": [7]}, {"a": [8]}),
    ("function", flows.one, flows.other),
    ("class", flows.Rate, flows.Account),
    ("instance", flows.Account("a"), flows.Account("b")),
    ("frozen instance", flows.Rate(7), flows.Rate(8)),
    ("bool that is known", True, False),
    ("defaults", flows.one, flows.swapped),
    ("range", range(7), range(8)),
    ("enum", flows.Mode.FAST, flows.Mode.SAFE),
    ("decimal", Decimal("1.5"), Decimal(2)),
    ("timedelta", timedelta(days=7), timedelta(days=8)),
    ("date", date(2026, 1, 1), date(2027, 1, 1)),
    ("list or deque", [7], deque([7])),
    ("list or set", [7], {7}),
    ("bytearray", bytearray(b"a"), bytearray(b"b")),
    ("clock or draw", time.time, random.random),
    ("partial", partial(flows.one, 7), partial(flows.one, left=7)),
    ("maxlen", deque([7], maxlen=8), deque([7], maxlen=9)),
    ("asyncio", asyncio.sleep, asyncio.gather),
    ("closure", flows.adder(7), flows.adder(8)),
    ("keyword", partial(flows.one, left=7), partial(flows.one, right=7)),
    ("class of an instance", flows.Account("a"), flows.Shop("a")),
    ("zone", ZoneInfo("UTC"), ZoneInfo("Asia/Tokyo")),
    ("id", UUID(int=7), UUID(int=8)),
    ("path", PurePath("a"), PurePath("b")),
    ("space", SimpleNamespace(a=7), SimpleNamespace(a=8)),
    ("counter", Counter(a=7), {"a": 7}),
    ("default", defaultdict(list), defaultdict(dict)),
    ("module", helpers, other_helpers),
    ("method", flows.Account("a").greet, flows.Account("a").leave),
    ("cache", cache(flows.one), flows.one),
    ("sentinel in a list", [None], [...]),
    ("sign of zero", 0.0, -0.0),
    ("tuple or list", (7,), [7]),
    ("depth", [[7]], [7]),
    ("text of a number", ["7"], [7]),
]


def hash_with(value: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The hash of the workflow while a global of its module has this value."""
    with monkeypatch.context() as patch:
        patch.setattr(flows, "VALUE", value)
        return flows.looks.program().hash


@pytest.mark.parametrize(
    ("one", "other"), [each[1:] for each in PAIRS], ids=[each[0] for each in PAIRS]
)
def test_a_changed_global_makes_another_program(one: Any, other: Any, monkeypatch: Any) -> None:
    assert hash_with(one, monkeypatch) != hash_with(other, monkeypatch)


def test_another_policy_makes_another_program(monkeypatch: Any) -> None:
    changed = flows.act.options(timeout=7)
    assert hash_with(flows.act, monkeypatch) != hash_with(changed, monkeypatch)


def test_another_pattern_makes_another_program(monkeypatch: Any) -> None:
    one, other = re.compile("a"), re.compile("b")
    assert hash_with(one, monkeypatch) != hash_with(other, monkeypatch)


@pytest.mark.parametrize("value", [each[1] for each in PAIRS], ids=[each[0] for each in PAIRS])
def test_the_same_global_makes_the_same_program(value: Any, monkeypatch: Any) -> None:
    assert hash_with(value, monkeypatch) == hash_with(value, monkeypatch)


def test_equal_values_make_the_same_program(monkeypatch: Any) -> None:
    ones = [[1, {"a": (2, 3)}], flows.Account("x"), {"k": "v" * 50}]
    others = [[1, {"a": (2, 3)}], flows.Account("x"), {"k": "v" * 50}]
    for one, other in zip(ones, others, strict=True):
        assert hash_with(one, monkeypatch) == hash_with(other, monkeypatch)


def test_a_global_that_was_changed_in_place_makes_another_program(monkeypatch: Any) -> None:
    monkeypatch.setattr(flows, "VALUE", [1])
    before = flows.looks.program().hash
    flows.VALUE.append(2)
    assert flows.looks.program().hash != before


def test_the_names_of_programs_are_those_of_their_workflows() -> None:
    program = flows.looks.program()
    assert program.name == "tests.core.hash_flows:looks"
    assert repr(program) == f"<program {program.name} {program.hash[:12]}>"


def test_every_process_knows_an_action_by_one_name() -> None:
    assert flows.act.name == "tests.core.hash_flows:act"
    assert action(name="mine")(flows.one).name == "mine"
