"""Plain data becomes an instance of the type that was asked for, or `WrongType` says why not."""

from __future__ import annotations

import dataclasses
import datetime as dt
import typing
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NewType
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from perdure.errors import WrongType
from perdure.ordered import OrderedFrozenSet, OrderedSet
from perdure.values import convert
from tests.values import models as m

OrderId = NewType("OrderId", str)


@dataclasses.dataclass
class Line:
    name: str
    count: int = 1


@dataclasses.dataclass
class Order:
    lines: list[Line]
    tags: set[str] = dataclasses.field(default_factory=set)
    model: m.Model | None = None
    at: Path = Path("/")


class Unknown:
    pass


@dataclasses.dataclass
class Holder:
    a: Unknown


KNOWN = Unknown()

CASES: list[tuple[Any, Any, Any]] = [
    (1, int, 1),
    (True, bool, True),
    (True, int, True),
    (1, float, 1.0),
    ("x", str, "x"),
    (None, None, None),
    (None, type(None), None),
    ([1, "x"], Any, [1, "x"]),
    (KNOWN, object, KNOWN),
    (KNOWN, Unknown, KNOWN),
    (KNOWN, Unknown | None, KNOWN),
    ("2024-01-02", dt.date, dt.date(2024, 1, 2)),
    ("2024-01-02T03:04:05Z", dt.datetime, dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
    ("1.50", Decimal, Decimal("1.50")),
    ("00000000-0000-0000-0000-000000000005", UUID, UUID(int=5)),
    ("YQ==", bytes, b"a"),
    ("/a", Path, Path("/a")),
    ("a", PurePosixPath, PurePosixPath("a")),
    ("1/3", Fraction, Fraction(1, 3)),
    ("UTC", ZoneInfo, ZoneInfo("UTC")),
    ("r", m.Colour, m.Colour.RED),
    (2, m.Level, m.Level.HIGH),
    ("yes", Literal["yes", "no"], "yes"),
    (5, Annotated[int, msgspec.Meta(ge=0)], 5),
    ("o-1", OrderId, "o-1"),
    ({"name": "x"}, Line, Line("x")),
    ({"lines": [{"name": "x"}]}, Order, Order([Line("x")])),
    (
        {"lines": [], "model": {"a": 1}, "at": "/b"},
        Order,
        Order([], set(), m.Model(a=1), Path("/b")),
    ),
    ([{"name": "x"}, Line("y")], list[Line], [Line("x"), Line("y")]),
    ([{"a": 1}], list[m.Model], [m.Model(a=1)]),
    ({"a": 1}, m.Model, m.Model(a=1)),
    ({"a": 1}, m.Model | None, m.Model(a=1)),
    ({"a": 1}, m.Attrs, m.Attrs(1)),
    ({"a": 1}, m.Struct, m.Struct(1)),
    ([1, 2], m.Point, m.Point(1, 2)),
    ({"name": "x", "year": 1}, m.Movie, {"name": "x", "year": 1}),
    ([1, 2], tuple[int, int], (1, 2)),
    ([1, 2], tuple[int, ...], (1, 2)),
    ([1, 2], tuple, (1, 2)),
    ([1, 2], Sequence[int], [1, 2]),
    ({"1": "x"}, dict[int, str], {1: "x"}),
    ({"1": ["x"]}, Mapping[str, tuple[str, ...]], {"1": ("x",)}),
    ([3, 1], set[int], OrderedSet([3, 1])),
    ([3, 1], set, OrderedSet([3, 1])),
    ([3, 1], OrderedSet[int], OrderedSet([3, 1])),
    ([3, 1], OrderedSet, OrderedSet([3, 1])),
    ([3, 1], frozenset[int], OrderedFrozenSet([3, 1])),
    ([[3, 1]], list[set[int]], [OrderedSet([3, 1])]),
    (3, str | int, 3),
    ([3], int | list[int], [3]),
    ("2024-01-02", int | dt.date, dt.date(2024, 1, 2)),
    ({"name": "x"}, int | Line | Order, Line("x")),
    ({"lines": []}, typing.Union[int, Line, Order], Order([])),  # noqa: UP007 -- both spellings
    (m.Box(1), m.Box[int], m.Box(1)),
]


@pytest.mark.parametrize(("value", "type_", "expected"), CASES)
def test_data_becomes_what_was_asked_for(value, type_, expected):
    result = convert(value, type_, "payload")
    assert result == expected
    assert type(result) is type(expected)
    if isinstance(expected, OrderedSet | OrderedFrozenSet):
        assert list(result) == list(expected)


def test_what_is_an_instance_already_is_returned_itself():
    for value in (Line("x"), m.Model(a=1), [1], {"a": 1}, "x", {1}, m.Point(1)):
        assert convert(value, type(value)) is value
    lines = [Line("x")]
    assert convert(lines, list[Line])[0] is not None


def test_sets_inside_of_what_was_made_have_an_order():
    order = convert({"lines": [], "tags": ["b", "a"]}, Order)
    assert type(order.tags) is OrderedSet
    assert list(order.tags) == ["a", "b"]


def test_an_instance_inside_of_data_is_left_as_it_is():
    held = convert({"a": KNOWN}, Holder)
    assert type(held) is Holder
    assert held.a is KNOWN


def test_a_class_that_could_not_be_read_back_can_be_asked_for_still():
    @dataclasses.dataclass
    class Local:
        a: int

    assert convert({"a": 1}, Local) == Local(1)


FAULTS: list[tuple[Any, Any, str]] = [
    ("x", int, "payload should be `int`, but is `'x'`: Expected `int`, got `str`"),
    (None, str, "payload should be `str`, but is `None`: Expected `str`, got `null`"),
    (1.5, bool, "payload should be `bool`, but is `1.5`: Expected `bool`, got `float`"),
    (
        [{"name": 1}],
        list[Line],
        (
            f"payload should be `list[{__name__}.Line]`, but is a `list`: at [0]: Expected `str`,"
            " got `int` - at `$.name`"
        ),
    ),
    (
        {"a": [1, "x"]},
        dict[str, list[int]],
        (
            "payload should be `dict[str, list[int]]`, but is a `dict`: at ['a']: at [1]: Expected"
            " `int`, got `str`"
        ),
    ),
    (
        [1],
        tuple[int, int],
        "payload should be `tuple[int, int]`, but is a `list`: it has 1 items, not 2",
    ),
    (1, list[int], "payload should be `list[int]`, but is `1`: it is no array"),
    (1, tuple[int], "payload should be `tuple[int]`, but is `1`: it is no array"),
    (1, dict[str, int], "payload should be `dict[str, int]`, but is `1`: it is no object"),
    (
        "x",
        int | None,
        (
            "payload should be `int | None`, but is `'x'`: Expected `int`, got `str`; Expected"
            " `null`, got `str`"
        ),
    ),
    (
        "x" * 200,
        int,
        f"payload should be `int`, but is `{'x' * 200!r:.80}…`: Expected `int`, got `str`",
    ),
    (
        {1: 2},
        dict[str, int],
        "payload should be `dict[str, int]`, but is a `dict`: Expected `str`, got `int`",
    ),
    ([[]], set[Any], "payload should be `set[Any]`, but is a `list`: unhashable type: 'list'"),
    (1, Unknown, f"payload should be `{__name__}.Unknown`, but is `1`: "),
    ({"a": 1, "b": 2, "c": 3}, "Order", "payload should be `Order`, but is a `dict`: "),
    (
        {},
        m.Model,
        (
            "payload should be `tests.values.models.Model`, but is a `dict`: 1 validation error for"
            " Model"
        ),
    ),
]


@pytest.mark.parametrize(("value", "type_", "text"), FAULTS)
def test_the_text_of_each_fault_names_what_was_wanted_and_what_came(value, type_, text):
    with pytest.raises(WrongType) as caught:
        convert(value, type_, "payload")
    shown = str(caught.value)
    assert shown.startswith(f"E204 {text}") if text.endswith(": ") else shown == f"E204 {text}"
