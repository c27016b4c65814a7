"""What cannot be written is refused by a text that names the place, the type and a way out."""

from __future__ import annotations

import array
import asyncio
import collections
import dataclasses
import datetime as dt
import functools
import io
import threading
import traceback
from collections import defaultdict
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest

from perdure import value_forms, values
from perdure.errors import NotEncodable, ValueTooLarge
from perdure.limits import LIMITS, Limits
from perdure.values import decode, encode
from tests.values import models as m

OUTSIDE = "pass data instead, or open it inside the action"
OWN = "make its class a dataclass, or pass data instead"
CALL = "pass its name, or the data that it would be called with"
LAZY = "pass a list of its items"
NOT = "which cannot be written down"


class Stranger:
    pass


class Text(str):
    __slots__ = ()


class Bag(collections.Counter):
    pass


class Moment(dt.datetime):
    pass


class Zone(dt.tzinfo):
    pass


@dataclasses.dataclass
class Listed(list):  # type: ignore[type-arg]
    a: Any


def local() -> Any:
    @dataclasses.dataclass
    class Inner:
        a: int

    return Inner(1)


def page() -> Any:
    # Inside of a function: pydantic puts one that is made at the top of a module into its names.
    return m.Page[str](items=["x"])


def generator() -> Any:
    yield


async def coroutine() -> None:
    """Stand for a call that was not awaited."""


COROUTINE = coroutine()
COROUTINE.close()

CASES: list[tuple[Any, str]] = [
    (Stranger(), f"result is a `{__name__}.Stranger`, {NOT}; {OWN}"),
    (object(), f"result is a `object`, {NOT}; {OUTSIDE}"),
    (threading.Lock(), f"result is a `_thread.lock`, {NOT}; {OUTSIDE}"),
    (io.StringIO(), f"result is a `_io.StringIO`, {NOT}; {OUTSIDE}"),
    (lambda: 1, f"result is a `function`, {NOT}; {CALL}"),
    (len, f"result is a `builtin_function_or_method`, {NOT}; {CALL}"),
    ([].append, f"result is a `builtin_function_or_method`, {NOT}; {CALL}"),
    (functools.partial(len), f"result is a `functools.partial`, {NOT}; {CALL}"),
    (generator(), f"result is a `generator`, {NOT}; {LAZY}"),
    ({}.keys(), f"result is a `dict_keys`, {NOT}; {LAZY}"),
    (COROUTINE, f"result is a `coroutine`, {NOT}; await it, and pass the result"),
    (memoryview(b""), f"result is a `memoryview`, {NOT}; pass `bytes(view)`"),
    (asyncio, f"result is a `module`, {NOT}; pass its name"),
    (array.array("b"), f"result is a `array.array`, {NOT}; {OUTSIDE}"),
    (Text("x"), f"result is a `{__name__}.Text`, {NOT}; pass a plain `str`"),
    (Bag(), f"result is a `{__name__}.Bag`, {NOT}; pass a plain `dict`"),
    (Listed(1), f"result is a `{__name__}.Listed`, {NOT}; pass a plain `list`"),
    (Moment(1, 1, 1), f"result is a `{__name__}.Moment`, {NOT}; pass a plain `datetime`"),
    (
        dt.datetime(1, 1, 1, tzinfo=Zone()),
        (
            f"result.tzinfo is a `{__name__}.Zone`, {NOT};"
            " use `zoneinfo.ZoneInfo` or `datetime.timezone`"
        ),
    ),
    (
        defaultdict(Stranger),
        "result is a `defaultdict` whose factory is no builtin type; pass `dict(value)` instead",
    ),
    (
        local(),
        (
            "result needs the class `local.<locals>.Inner`, which is made inside of a function;"
            " move the class to the top level of its module"
        ),
    ),
    (
        page(),
        (
            "result needs the class `tests.values.models:Page[str]`, but that name does not lead to"
            " it; make the class importable under its own name; a parametrised model needs a"
            " subclass that has a name"
        ),
    ),
    (
        type("Gone", (), {}),
        (
            f"result needs the class `{__name__}:Gone`, but that name does not lead to it;"
            " make the class importable under its own name; a parametrised model needs a"
            " subclass that has a name"
        ),
    ),
]

PLACES: list[tuple[Any, str]] = [
    ([0, Stranger()], "result[1]"),
    ((0, [Stranger()]), "result[1][0]"),
    ({"k": [Stranger()]}, "result['k'][0]"),
    ({1: Stranger()}, "result[1]"),
    ({(1, 2): Stranger()}, "result[a `tuple`]"),
    ({Stranger(): 1}, f"result (its key a `{__name__}.Stranger`)"),
    ({"x" * 99: (Stranger(),)}, f"result[{'x' * 99!r:.60}…][0]"),
    ({Stranger()}, "result (a member of it)"),
    (collections.deque([1, Stranger()]), "result[1]"),
    (m.Plain([m.Frozen(1, Stranger())]), "result.a[0].b"),
    (m.Slotted(1, Stranger()), "result.b"),
    (m.Point(1, Stranger()), "result.y"),
    (m.Model(a=1, b=Stranger()), "result.b"),
    (m.OpenModel(a=1, z=Stranger()), "result.extra['z']"),
    (m.Struct(Stranger()), "result.a"),
    (m.Attrs(Stranger()), "result.a"),
    (slice(1, Stranger()), "result.stop"),
    (collections.OrderedDict(k=Stranger()), "result['k']"),
]


@pytest.mark.parametrize(("value", "text"), CASES, ids=[type(v).__name__ for v, _ in CASES])
def test_the_text_of_each_refusal_names_type_and_remedy(value, text):
    with pytest.raises(NotEncodable) as caught:
        encode(value, "result")
    assert str(caught.value) == f"E201 {text}"
    assert not isinstance(caught.value, ValueTooLarge)


@pytest.mark.parametrize(("value", "path"), PLACES, ids=[p for _, p in PLACES])
def test_the_text_of_each_refusal_names_the_path(value, path):
    with pytest.raises(NotEncodable) as caught:
        encode(value, "result")
    assert str(caught.value) == f"E201 {path} is a `{__name__}.Stranger`, {NOT}; {OWN}"


def test_a_refused_class_is_looked_at_again_the_next_time():
    cls = dataclasses.make_dataclass("Late", ["a"])
    cls.__module__ = __name__
    with pytest.raises(NotEncodable):
        encode(cls(1))
    globals()["Late"] = cls
    try:
        assert decode(encode(cls(1))) == cls(1)
    finally:
        del globals()["Late"]


def test_a_zone_without_a_key_is_refused():
    path = next(p for p in (f"{d}/UTC" for d in __import__("zoneinfo").TZPATH) if _exists(p))
    with open(path, "rb") as file:  # noqa: PTH123
        zone = ZoneInfo.from_file(file)
    with pytest.raises(NotEncodable, match="result is a `ZoneInfo` without a key; make it by"):
        encode(zone, "result")


def _exists(path: str) -> bool:
    return __import__("pathlib").Path(path).exists()


def test_an_attribute_whose_name_is_no_string_is_refused():
    value = m.Plain(1)
    vars(value)[7] = 1
    with pytest.raises(NotEncodable, match="result has an attribute whose name is no string"):
        encode(value, "result")
    value = m.Plain(1)
    vars(value)["\ud800"] = 1
    with pytest.raises(NotEncodable, match="result has an attribute whose name is no text"):
        encode(value, "result")


# --- cycles and bounds ----------------------------------------------------------------------


def test_a_cycle_is_refused_with_both_of_its_ends():
    loop: list[Any] = [0]
    loop.append({"k": loop})
    node = m.Plain(1)
    node.b = {"next": [node]}
    twins = m.Frozen([1], {})
    twins.b["me"] = (twins, 1)
    for value, text in [
        (loop, "result[1]['k'] refers back to result"),
        (node, "result.b['next'][0] refers back to result"),
        ([[node]], "result[0][0].b['next'][0] refers back to result[0][0]"),
        (twins, "result.b['me'][0] refers back to result"),
    ]:
        with pytest.raises(NotEncodable) as caught:
            encode(value, "result")
        assert str(caught.value) == (
            f"E201 {text}, and a payload is a tree; pass an id in place of the back reference"
        )


def deep(levels: int, wrap: Any = lambda inner: [inner], core: Any = 0) -> Any:
    for _ in range(levels):
        core = wrap(core)
    return core


WRAPS = {
    "list": lambda inner: [inner],
    "dict": lambda inner: {"k": inner},
    "tuple": lambda inner: (inner,),
    "pairs": lambda inner: {1: inner},
    "data": m.Plain,
    "model": lambda inner: m.Model.model_construct(a=inner),
    "struct": m.Struct,
    "named": m.Point,
    "slice": slice,
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_a_value_may_be_nested_to_the_limit_and_no_deeper(wrap):
    # The hidden attributes of a model are a container inside of it.
    limit = LIMITS.payload_depth_max - (wrap is WRAPS["model"])
    core = decode(encode(deep(limit, wrap)))
    assert type(core) is type(wrap(0))
    with pytest.raises(ValueTooLarge) as caught:
        encode(deep(limit + 1, wrap), "result")
    assert f"… is nested deeper than {LIMITS.payload_depth_max} levels; flatten it" in str(
        caught.value
    )


@pytest.mark.parametrize("name", ["list", "dict", "tuple", "data"])
def test_a_value_nested_without_end_is_refused_and_not_a_recursion_error(name):
    value = deep(100_000, WRAPS[name])
    with pytest.raises(ValueTooLarge):
        encode(value)
    while value != 0:  # taken apart from the outside, for comparison and deletion recurse, too
        value = value.a if name == "data" else next(iter(_parts(value)))


def _parts(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def test_a_value_is_written_or_refused_from_any_depth_of_the_stack():
    def at(depth: int) -> Any:
        if depth:
            return at(depth - 1)
        try:
            return decode(encode(deep(150, WRAPS["tuple"])))
        except values.NotEncodable as refusal:
            return refusal
        except values.NotDecodable as refusal:
            return refusal

    for depth in range(0, 900, 23):
        try:
            at(depth)
        except RecursionError as error:
            # Only the test's own frames may run out, never those of the codec.
            frames = traceback.extract_tb(error.__traceback__)
            assert not [frame for frame in frames if "perdure" in frame.filename]
            break


def test_a_text_over_the_limit_is_refused_by_either_way():
    with patch.object(values, "LIMITS", Limits(payload_bytes_max=100)):
        for value in ("x" * 101, ["x" * 101], ["x" * 40] * 3):
            with pytest.raises(ValueTooLarge, match=r"result takes .* and a payload may take 100;"):
                encode(value, "result")
    huge = LIMITS.payload_bytes_max + 1
    for value in ((b"x" * huge,), ("x" * huge,), (1 << huge * 4,), {1: "x" * huge}):
        with pytest.raises(ValueTooLarge, match="takes more bytes than the 8,388,608"):
            encode(value, "result")


@pytest.mark.parametrize("name", ["list", "tuple"])
def test_a_small_value_that_doubles_at_each_level_is_refused_in_time(name):
    wrap = {"list": lambda inner: [inner, inner], "tuple": lambda inner: (inner, inner)}[name]
    small = Limits(payload_bytes_max=200_000)
    with (
        patch.object(values, "LIMITS", small),
        patch.object(value_forms, "LIMITS", small),
        pytest.raises(ValueTooLarge, match="takes more bytes than the 200,000"),
    ):
        encode(deep(100, wrap))


def test_many_references_to_one_long_text_are_refused_before_they_are_written():
    for value in ([["x" * 1_000_000] * 2] * 10_000, [("x" * 1_000_000,)] * 10_000):
        with pytest.raises(ValueTooLarge):
            encode(value)
