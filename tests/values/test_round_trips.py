"""What is written comes back: the same value, of the same types, in the same order."""

from __future__ import annotations

import datetime as dt
import math
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.ordered import OrderedFrozenSet, OrderedSet
from perdure.values import decode, encode
from tests.values import models as m
from tests.values.same import same

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    None,
    dt.UTC,
    BERLIN,
    ZoneInfo("UTC"),
    dt.timezone(dt.timedelta(hours=-3, minutes=-30)),
    dt.timezone(dt.timedelta(hours=1), "CET"),
    dt.timezone(dt.timedelta(seconds=3723, microseconds=5)),
]


def comes_back(value: Any) -> None:
    text = encode(value)
    read = decode(text)
    assert same(value, read), (value, text, read)
    assert encode(read) == encode(decode(encode(read)))


def with_(obj: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        vars(obj)[name] = value
    return obj


def secretive(model: m.Model, secret: Any) -> m.Model:
    model._secret = secret
    return model


def without(obj: Any, name: str) -> Any:
    object.__delattr__(obj, name)
    return obj


EXAMPLES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
    10**5000,
    -(10**5000),
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    5e-324,
    1e16,
    "",
    "\x00",
    "\ud800",
    "\ud83d\ude00",
    "\U0001f600",
    "$",
    '"$"',
    "\u2028\x7f",
    b"",
    b"\x00\xff",
    bytearray(b"abc"),
    [],
    (),
    {},
    [()],
    [math.nan],
    [1.5, math.inf],
    ["\ud800"],
    [2**64],
    [[1, 2.5, None, True, "x", [], {}]],
    list(range(100)),
    [float(i) for i in range(100)],
    [*map(float, range(100)), math.nan],
    [str(i) for i in range(100)],
    [*range(100), 2**64],
    [1e308] * 20,
    [None] * 20,
    [[1]] * 20,
    [(1,)] * 20,
    {"a": 1, "b": [1, {"c": None}]},
    {1: "a", "1": "b", 2.5: "c", None: "d", (1, 2): "e", b"x": "f"},
    {True: 1, "True": 2},
    {"$": 1},
    {"$": "tuple", "v": [1]},
    {"a": {"$": {"$": "x"}}},
    {"\ud800": 1},
    {"b": 1, "a": (2,)},
    {"z": math.nan},
    set(),
    {1, "1", 2.5, None, (1, 2)},
    {"b", "a", "c"},
    frozenset({1, frozenset({2})}),
    OrderedSet(["b", "a", 1]),
    OrderedFrozenSet([3, 1, 2]),
    complex(1, -0.0),
    complex(math.nan, math.inf),
    Decimal("1.200"),
    Decimal("-0"),
    Decimal("NaN123"),
    Decimal("-Infinity"),
    Decimal("1E+400"),
    Fraction(-1, 3),
    Fraction(10**5000, 7),
    dt.date(1, 1, 1),
    dt.date.max,
    dt.timedelta.min,
    dt.timedelta(days=-1, microseconds=1),
    dt.datetime.min,  # noqa: DTZ901 -- a naive one on purpose
    dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
    dt.datetime(2024, 10, 27, 2, 30, fold=1),  # noqa: DTZ001 -- a naive one on purpose
    dt.time(1, 2, 3, 4, tzinfo=dt.UTC),
    dt.time(1, tzinfo=BERLIN, fold=1),
    *ZONES,
    uuid.UUID(int=5),
    Path("/a/b"),
    Path(),
    PurePosixPath("a/../\udcff"),
    PureWindowsPath(r"c:\x"),
    range(0, 10**30, 7),
    range(5),
    slice(None, 5, None),
    slice("a", (1,), [2]),
    ...,
    OrderedDict([("b", 1), ("a", 2)]),
    OrderedDict({1: 2}),
    Counter("abca"),
    deque([1, (2,)]),
    deque([1, 2], maxlen=2),
    defaultdict(list, {"a": [1]}),
    defaultdict(OrderedSet, {1: OrderedSet()}),
    defaultdict(None, a=1),
    m.Plain(1, (2,)),
    m.Frozen(a=[1], b={1: 2}),
    m.Slotted(1, None),
    m.Tight(a=1, b=2),
    m.Child(1, 2),
    m.SlottedChild(1, 2, (3,)),
    m.Box([1]),
    m.Local.Inner(1),
    with_(m.Plain(1), extra=(1,)),
    with_(m.Frozen(1), **{"$": 1, "of": 2, "v": 3}),
    without(m.Plain(1), "a"),
    without(m.Slotted(1), "b"),
    m.Point(1, (2,)),
    m.Pair([1], None),
    with_(m.Tagged(1, 2), note="n"),
    m.Colour.RED,
    m.Colour.CRIMSON,
    m.Level.HIGH,
    m.Word.YES,
    m.Right.READ,
    m.Right.READ | m.Right.RUN,
    m.Right(0),
    m.Mode.A | m.Mode.B,
    m.Mode(64),
    m.Attrs(1, (2,)),
    m.FrozenAttrs(1),
    m.OpenAttrs((1,)),
    m.HashedAttrs("x"),
    m.Model(a=(1,)),
    m.Model(a=1, b=2),
    secretive(m.Model(a=1), {1: 2}),
    m.OpenModel(a=1, z=(2,)),
    m.OpenModel(a=1),
    m.Model.model_construct(a=m.Model(a=m.Point(1))),
    m.Numbers(items=[1]),
    m.Struct(1, (2,)),
    m.FrozenStruct(1),
    with_(m.OpenStruct(1), more=(2,)),
    m.Movie(name="x", year=1),
    int,
    dt.datetime,
    m.Plain,
    m.Local.Inner,
    m.Colour,
    ValueError,
    OrderedSet,
]


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_each_supported_value_comes_back_alone_and_inside_of_others(value):
    comes_back(value)
    comes_back([value])
    comes_back({"k": (value, value)})
    comes_back(m.Plain(value))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("fold", [0, 1])
def test_a_time_keeps_its_zone_and_its_fold(zone, fold):
    value = decode(encode(dt.datetime(2024, 10, 27, 2, 30, 0, 1, zone, fold=fold)))
    assert (value.tzinfo, value.fold) == (zone, fold)
    assert value.utcoffset() == dt.datetime(2024, 10, 27, 2, 30, 0, 1, zone, fold=fold).utcoffset()
    if zone is not None:
        assert str(value.tzinfo) == str(zone)


def test_a_box_with_a_parameter_loses_only_the_parameter():
    assert decode(encode(m.Box[int](1))) == m.Box(1)


def test_a_cached_hash_of_attrs_does_not_travel():
    value = m.HashedAttrs("x")
    hash(value)
    assert b'hash":null' in encode(value)
    assert hash(decode(encode(value))) == hash(value)


def test_a_struct_with_an_unset_field_comes_back_with_it_unset():
    value = m.Struct(1)
    del value.b
    read = decode(encode(value))
    assert read.a == 1
    assert not hasattr(read, "b")


def test_a_field_that_a_named_tuple_has_gained_takes_its_default():
    text = b'{"$":"named","of":"tests.values.models:Point","v":{"x":1}}'
    assert decode(text) == m.Point(1, 0)


def test_bytes_bytearray_memoryview_and_str_are_read_alike():
    text = encode((1, "ü"))
    for form in (text, bytearray(text), memoryview(text), text.decode()):
        assert decode(form) == (1, "ü")
    for form in (b"[1]", bytearray(b"[1]"), memoryview(b"[1]"), "[1]"):
        assert decode(form) == [1]


def test_a_model_made_without_its_constructor_comes_back_as_bare_as_it_was():
    value = m.Model.__new__(m.Model)
    read = decode(encode(value))
    assert vars(read) == {}
    assert read.model_fields_set == set()


def test_a_model_with_a_set_works_on_after_it_was_read():
    read = decode(encode(m.TaggedModel(tags={"b", "a"})))
    assert list(read.tags) == ["a", "b"]
    assert read.model_dump() == {"tags": {"a", "b"}}
    assert read.model_dump_json() == '{"tags":["a","b"]}'
    assert read.model_copy(update={"tags": {"c"}}).tags == {"c"}
    assert m.TaggedModel.model_validate(read.model_dump(), strict=True) == read


def test_what_is_shared_inside_of_a_value_becomes_copies():
    inner = [1]
    a, b = decode(encode((inner, inner)))
    assert a == b
    assert a is not b


def test_a_set_is_read_in_the_order_in_which_it_was_written():
    names = [f"n{i}" for i in range(50)][::-1]
    assert list(decode(encode(OrderedSet(names)))) == names
    assert list(decode(encode(OrderedFrozenSet(names)))) == names
    assert list(decode(encode(set(names)))) == sorted(names)


def test_the_fast_path_and_the_tagged_way_write_plain_trees_alike():
    plain = {"a": [1, 2.5, None, True, "ü", {"b": []}], "c": 2**64 - 1}
    assert encode((plain,)) == b'{"$":"tuple","v":[' + encode(plain) + b"]}"


def test_a_plain_tree_is_plain_json():
    assert encode(["order-17", 3, {"a": 1.0}]) == b'["order-17",3,{"a":1.0}]'


def test_integers_survive_a_limit_on_their_digits():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        comes_back([10**700])
    finally:
        sys.set_int_max_str_digits(before)


# --- anything, nested in anything ----------------------------------------------------------

LARGE = pytest.mark.filterwarnings("ignore:Generating overly large repr")
"""Hypothesis shows what it drew, which may be a number of many digits."""

texts = st.text(st.characters(codec=None), max_size=5)  # type: ignore[arg-type]
zones = st.sampled_from(ZONES)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    texts,
    st.text(st.characters(categories=["Cs"]), max_size=2),
    st.sampled_from(["$", "v", "of"]),
    st.binary(max_size=5),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.datetimes(timezones=zones),
    st.datetimes().map(lambda d: d.replace(fold=1)),
    st.dates(),
    st.times(timezones=st.sampled_from([None, dt.UTC, BERLIN])),
    st.timedeltas(),
    st.uuids(),
    st.builds(range, st.integers(), st.integers(), st.integers(1)),
    st.sampled_from([*m.Colour, *m.Level, m.Word.YES, m.Right.READ | m.Right.WRITE, ...]),
    st.sampled_from([int, m.Plain, m.Colour]),
)
hashable = atoms.filter(lambda v: not (isinstance(v, Decimal) and v.is_snan()))
keys = st.recursive(
    hashable,
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.frozensets(inner, max_size=3),
        st.builds(m.Frozen, inner, inner),
        st.builds(m.Point, inner, inner),
    ),
    max_leaves=4,
)


def containers(inner: Any) -> Any:
    few = st.lists(inner, max_size=4)
    return st.one_of(
        few,
        few.map(tuple),
        few.map(deque),
        st.sets(keys, max_size=4),
        st.lists(keys, max_size=4).map(OrderedSet),
        st.dictionaries(texts, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(texts, inner, max_size=3).map(OrderedDict),
        st.dictionaries(texts, inner, max_size=3).map(lambda d: defaultdict(dict, d)),
        st.dictionaries(keys, st.integers(), max_size=3).map(Counter),
        st.builds(slice, inner, inner, inner),
        *(
            st.builds(cls, a=inner, b=inner)
            for cls in (m.Plain, m.Tight, m.Slotted, m.Attrs, m.Model, m.Struct, m.FrozenStruct)
        ),
        st.builds(m.Pair, inner, inner),
        st.dictionaries(st.sampled_from(["p", "q", "$"]), inner, max_size=2).map(
            lambda d: with_(m.Plain(1), **d)
        ),
    )


@LARGE
@settings(max_examples=200)
@given(st.recursive(atoms, containers, max_leaves=12))
def test_any_tree_of_supported_types_comes_back(value):
    comes_back(value)


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


@LARGE
@given(json_trees)
def test_any_json_like_tree_comes_back(value):
    comes_back(value)
