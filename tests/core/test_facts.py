"""Rows survive the log as they are, damage is refused with a code, and digests miss nothing."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, strategies
from msgspec import Raw, structs

from perdure.core.effects import (
    AnyEffect,
    Arm,
    Disarm,
    Dispatch,
    Finished,
    Revoke,
    Say,
    digest,
    outline,
)
from perdure.core.facts import (
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Row,
    Signalled,
    Started,
    decode_row,
    encode_row,
)
from perdure.core.policy import Policy, RetryPolicy
from perdure.errors import NotDecodable
from tests.core import flows
from tests.core.fold import Folded, completed, failed, raw, signalled

INTS = strategies.integers(-(2**62), 2**62)
TEXTS = strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = strategies.none() | strategies.booleans() | INTS | TEXTS
RAWS = strategies.recursive(
    PLAIN, lambda inner: strategies.lists(inner) | strategies.dictionaries(TEXTS, inner)
).map(raw)

FACTS = strategies.one_of(
    strategies.builds(Started, INTS, TEXTS, RAWS, INTS, TEXTS, TEXTS),
    strategies.builds(Completed, INTS, INTS, INTS, RAWS),
    strategies.builds(Failed, INTS, INTS, INTS, RAWS),
    strategies.builds(Lost, INTS, INTS, INTS),
    strategies.builds(Fired, INTS, INTS),
    strategies.builds(Signalled, INTS, TEXTS, RAWS, strategies.none() | TEXTS),
    strategies.builds(Cancelled, INTS, TEXTS, TEXTS),
)
ROWS = strategies.builds(
    Row,
    INTS,
    FACTS,
    strategies.integers(0, 2**32 - 1),
    strategies.lists(RAWS, max_size=3).map(tuple),
    strategies.lists(TEXTS, max_size=3).map(tuple),
)


def plain(row: Row) -> Any:
    """A row with its raw parts as bytes, so that rows compare."""
    parts = structs.asdict(row.fact)
    fact = {name: bytes(v) if isinstance(v, Raw) else v for name, v in parts.items()}
    recorded = tuple(map(bytes, row.recorded))
    return type(row.fact), fact, row.seq, row.digest, recorded, row.outline


# --- rows


@given(ROWS)
def test_a_row_comes_back_as_it_was(row: Row) -> None:
    assert plain(decode_row(encode_row(row))) == plain(row)


@given(ROWS)
def test_a_row_is_one_line(row: Row) -> None:
    assert b"\n" not in encode_row(row)


@given(ROWS)
def test_a_row_makes_the_same_line_again(row: Row) -> None:
    line = encode_row(row)
    assert encode_row(decode_row(line)) == line


@pytest.mark.parametrize("fact", ["started.2", "completed.99", "thawed.1", "", None], ids=str)
def test_a_fact_of_a_newer_version_is_refused_with_a_code(fact: Any) -> None:
    row = json.loads(encode_row(Folded(flows.one).rows[0]))
    row["fact"]["fact"] = fact
    with pytest.raises(NotDecodable, match=r"^E203 .* newer Perdure, or be damaged$"):
        decode_row(json.dumps(row).encode())


@given(strategies.binary(max_size=200))
def test_garbage_is_refused_and_nothing_else(garbage: bytes) -> None:
    with pytest.raises(NotDecodable):
        decode_row(garbage)


@given(ROWS, strategies.data())
def test_a_damaged_row_is_read_or_refused_and_nothing_else(row: Row, data: Any) -> None:
    line = bytearray(encode_row(row))
    for _ in range(data.draw(strategies.integers(1, 3))):
        place = data.draw(strategies.integers(0, len(line) - 1))
        line[place] = data.draw(strategies.integers(0, 255))
    with contextlib.suppress(NotDecodable):
        decode_row(bytes(line))


def test_a_row_that_is_nested_without_end_is_refused() -> None:
    line = encode_row(Folded(flows.one).rows[0]).replace(b"[[]]", b"[" * 200_000)
    with pytest.raises(NotDecodable):
        decode_row(line)


# --- digests

POLICY = Policy(RetryPolicy(2, 1, 1.5, 9, 0.5, ("a",), ("b",)), 1, 2, "q", "loop", True, False)
EFFECTS: list[AnyEffect] = [
    Dispatch(1, 2, 3, "action", "m:act", raw([[1]]), "flow:9", POLICY, 4),
    Revoke(1, 2),
    Arm(1, 2),
    Disarm(1),
    Say("text", 20, "log"),
    Finished("completed", raw(1)),
]


def changed(value: Any) -> list[Any]:
    """Values that differ from this one, in each of its fields if it has any."""
    if isinstance(value, (Policy, RetryPolicy)):
        return [each for _, each in variants(value)]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1]
    if isinstance(value, str):
        return [value + "x"]
    return [(*value, "x")] if isinstance(value, tuple) else [raw([[2]])]


def variants(struct: Any) -> list[tuple[str, Any]]:
    return [
        (name, structs.replace(struct, **{name: other}))
        for name in struct.__struct_fields__
        for other in changed(getattr(struct, name))
    ]


VARIANTS = [(effect, name, other) for effect in EFFECTS for name, other in variants(effect)]
IDS = [f"{type(effect).__name__}.{name}" for effect, name, _ in VARIANTS]


@pytest.mark.parametrize(
    ("effect", "other"), [(effect, other) for effect, _, other in VARIANTS], ids=IDS
)
def test_every_field_of_an_effect_matters_to_the_digest(effect: Any, other: Any) -> None:
    assert digest([effect]) != digest([other])


@pytest.mark.parametrize(
    ("effect", "other"), [(effect, other) for effect, _, other in VARIANTS], ids=IDS
)
def test_effects_that_differ_look_different(effect: Any, other: Any) -> None:
    assert outline([effect]) != outline([other])


def test_long_arguments_that_differ_at_the_end_look_different() -> None:
    dispatch = EFFECTS[0]
    args = [raw(["x" * 500 + end]) for end in "ab"]
    one, other = (outline([structs.replace(dispatch, args=each)]) for each in args)
    assert one != other


def test_order_and_number_of_effects_matter_to_the_digest() -> None:
    lists = [EFFECTS, EFFECTS[::-1], EFFECTS[:-1], EFFECTS * 2, []]
    assert len({digest(each) for each in lists}) == len(lists)


def test_no_effects_no_digest() -> None:
    assert digest([]) == 0


FACT_LISTS = [
    [completed(1), completed(2, call=2)],
    [signalled("a"), completed(1)],
    [failed(ValueError("x"))],
]


@pytest.mark.parametrize("facts", FACT_LISTS, ids=len)
def test_the_same_facts_have_the_same_digests(facts: list[Any]) -> None:
    one, other = (Folded(flows.two_in_a_row).feed(*facts) for _ in range(2))
    assert [row.digest for row in one.rows] == [row.digest for row in other.rows]


def test_other_facts_have_other_digests() -> None:
    one, other = (Folded(flows.one).feed(completed(value)) for value in (1, 2))
    assert one.rows[0].digest == other.rows[0].digest
    assert one.rows[1].digest != other.rows[1].digest


# --- outlines


@pytest.mark.parametrize(
    ("effect", "parts"),
    [
        (EFFECTS[0], ["call 1", "act", "1", "flow:9", "attempt 3"]),
        (EFFECTS[1], ["1"]),
        (Arm(7, 1_767_225_600_000_000), ["timer 7", "2026-01-01"]),
        (EFFECTS[3], ["timer", "1"]),
        (EFFECTS[4], ["text", "log"]),
        (EFFECTS[5], ["completed", "1"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_outline_says_in_a_line_what_is_done(effect: AnyEffect, parts: list[str]) -> None:
    (line,) = outline([effect])
    assert [part for part in parts if part not in line] == []


def test_an_outline_is_kept_with_its_row_when_it_is_asked_for() -> None:
    (line,) = Folded(flows.one).rows[0].outline
    assert line.startswith("call 1 ")
    assert " at one:" in line


def test_a_wait_beyond_the_calendar_can_be_outlined() -> None:
    assert Folded(flows.sleeps, 10**12).run.status == "running"
