"""Whatever text is read: it makes a value or `NotDecodable`, imports nothing and runs nothing."""

from __future__ import annotations

import os
import sys
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure import values
from perdure.errors import NotDecodable
from perdure.values import decode, decode_error, encode, encode_error
from tests.values import models as m
from tests.values.test_round_trips import EXAMPLES


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc from KeyError("cause")
    except type(exc) as caught:
        return caught


ERRORS = [
    m.PaymentError("o", code=1),
    OSError(2, "no", "f"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    SyntaxError("bad", ("f", 1, 2, "x", 1, 3)),
    ExceptionGroup("g", [ValueError(1), m.ShopError()]),
    m.Several([ValueError("x")], "n"),
    ImportError("x", name="n", path="p"),
]
TEXTS = [encode(value) for value in EXAMPLES]
TEXTS += [encode_error(raised(exc)) for exc in ERRORS]
TEXTS = [text for text in TEXTS if len(text) < 2_000]
FORMS = sorted({bytes(part) for text in TEXTS for part in text.split(b'"') if part.isalpha()})

PIECES = [
    *FORMS,
    b'"$"',
    b'"of"',
    b'"v"',
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"9" * 30,
    b'""',
    b'"\\ud800"',
    b'"os:system"',
    b'"os:PathLike"',
    b'"antigravity:x"',
    b'"builtins:type"',
    b'"builtins:BaseException"',
    b'"tests.values.models:Plain"',
    b'"tests.values.models:ShopError"',
    b"\x00",
    b"\xff",
]


def held(text: bytes) -> None:
    """Read a text, and demand that nothing but a value or `NotDecodable` comes of it."""
    before = set(sys.modules)
    m.RAN.clear()
    for read in (decode, decode_error):
        try:
            read(text)
        except NotDecodable as refusal:
            assert str(refusal).startswith("E203 ")  # noqa: PT017 -- it need not be raised
    assert not m.RAN
    assert set(sys.modules) <= before


@st.composite
def mutants(draw: Any) -> bytes:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        a, b = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        match draw(st.sampled_from(["cut", "put", "swap", "graft", "bit"])):
            case "cut":
                text = text[:a] + text[b:]
            case "put":
                text = text[:a] + draw(st.sampled_from(PIECES)) + text[a:]
            case "swap":
                old = draw(st.sampled_from(PIECES))
                text = text.replace(old, draw(st.sampled_from(PIECES)), 1)
            case "graft":
                text = text[:a] + draw(st.sampled_from(TEXTS)) + text[b:]
            case "bit" if text:
                i = min(a, len(text) - 1)
                text = text[:i] + bytes([text[i] ^ 1 << draw(st.integers(0, 7))]) + text[i + 1 :]
    return text


@settings(max_examples=600)
@given(mutants())
def test_a_damaged_text_makes_a_value_or_not_decodable(text):
    held(text)


names = st.sampled_from(
    [
        "os:PathLike",
        "os:system",
        "builtins:int",
        "builtins:ValueError",
        "builtins:OSError",
        "builtins:ExceptionGroup",
        "builtins:MemoryError",
        "antigravity:x",
        "x:Gone",
        ":",
        "",
        *(f"tests.values.models:{name}" for name, held in vars(m).items() if type(held) is type),
        "tests.values.models:Model",
        "tests.values.models:TrapStruct",
        "tests.values.models:Colour",
        "tests.values.models:Right",
    ]
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "$", "list", "tuple", "RED", "0x1f", "UTC", "YQ==", "1.5"]),
    names,
)
FIELDS = ["v", "of", "a", "b", "tz", "fold", "name", "max", "set", "extra", "private", "more"]
ERROR_FIELDS = ["mro", "args", "text", "state", "fields", "cause", "context", "suppress", "trace"]
GROUP_FIELDS = ["subs", "message", "inexact", "errno", "start", "end", "object", "lineno"]


def nodes(inner: Any) -> Any:
    fields = st.dictionaries(st.sampled_from(FIELDS + ERROR_FIELDS + GROUP_FIELDS), inner)
    tags = st.sampled_from([form.decode() for form in FORMS] + ["path", "list", "?"])
    tagged = st.builds(lambda tag, of, more: {"$": tag, "of": of} | more, tags, names, fields)
    return st.one_of(st.lists(inner, max_size=3), fields, tagged)


@settings(max_examples=600)
@given(st.recursive(leaves, nodes, max_leaves=10))
def test_a_well_formed_text_of_nonsense_makes_a_value_or_not_decodable(tree):
    held(msgspec.json.encode(tree))


@settings(max_examples=100)
@given(st.binary())
@example(b"")
@example(b'"\\ud800"')
@example(b"[" * 100_000)
@example(b'{"$":"tuple","v":[' * 50_000)
@example(b'{"$":"tuple","v":[' * 300 + b"]}" * 300)
@example(b'{"a":' * 100_000)
@example(b"1" * 10_000)
@example(b"1e400")
@example(b'["$"')
@example(b'{"$":["tuple"]}')
@example(b'{"$":null}')
@example(b'{"$":"set","v":[[]]}')
@example(b'{"$":"dict","v":[1]}')
@example(b'{"$":"dict","v":[[],1]}')
@example(b'{"$":"zone","v":"../../etc/passwd"}')
@example(b'{"$":"zone","v":"Nowhere/Land"}')
@example(b'{"$":"Decimal","v":"1e99999999999999999999"}')
@example(b'{"$":"Fraction","v":[1,0]}')
@example(b'{"$":"timedelta","v":[1e300,0,0]}')
@example(b'{"$":"timedelta","v":{}}')
@example(b'{"$":"deque","v":[],"max":-1}')
@example(b'{"$":"WindowsPath","v":"x"}')
@example(b'{"$":"enum","of":"tests.values.models:Right","v":-99999}')
@example(b'{"$":"enum","of":"tests.values.models:Colour","v":1}')
@example(b'{"$":"enum","of":"tests.values.models:TrapEnum","v":2}')
@example(b'{"$":"enum","of":"os:PathLike","v":"x"}')
@example(b'{"$":"tuple","v":{}}')
@example(b'{"$":"data","of":"tests.values.models:Plain","v":[]}')
@example(
    b'{"$":"error","of":"tests.values.models:Several","mro":["builtins:ExceptionGroup"],'
    b'"message":"m","args":[],"subs":[{"$":"error","of":"builtins:KeyboardInterrupt","args":[]}]}'
)
@example(b'{"$":"error","of":"builtins:OSError","args":[],"fields":{"errno":[{"$":"x"}]}}')
@example(b'{"$":"error","of":"builtins:UnicodeDecodeError","args":[],"fields":{"start":-9}}')
@example(b'{"$":"error","of":"x:X","mro":["builtins:OSError","builtins:SyntaxError"],"args":[1]}')
@example(
    b'{"$":"error","of":"builtins:ExceptionGroup","message":"m","args":"list",'
    b'"subs":[{"$":"error","of":"builtins:KeyboardInterrupt","args":[]}]}'
)
@example(b'{"$":"model","of":"tests.values.models:Model","v":{},"set":7}')
def test_any_bytes_make_a_value_or_not_decodable(text):
    held(text)


def test_running_out_of_memory_is_not_the_fault_of_the_text():
    with (
        patch.object(values, "_parse", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        decode("1")


def test_a_text_with_a_lone_surrogate_is_not_decodable():
    with pytest.raises(NotDecodable):
        decode('"\ud800"')


def test_decoding_deep_in_the_stack_is_not_decodable_rather_than_a_recursion_error():
    text = b'{"$":"tuple","v":[' * 900 + b"]}" * 900
    with pytest.raises(NotDecodable, match="nested too deep"):
        decode(text)


def test_a_name_in_data_never_causes_an_import():
    for name in ("antigravity:fly", "this:s", "wsgiref.validate:InputWrapper"):
        module = name.partition(":")[0]
        assert module not in sys.modules
        for tag in ("data", "enum", "type", "named", "error", "struct", "attrs", "model"):
            text = f'{{"$":"{tag}","of":"{name}","v":{{}},"args":[],"text":""}}'
            held(text.encode())
        assert module not in sys.modules


def test_a_module_that_makes_names_on_demand_is_not_asked():
    asked = []

    class Lazy(type(sys)):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return m.Plain

    sys.modules["lazy_module"] = Lazy("lazy_module")
    try:
        with pytest.raises(NotDecodable):
            decode('{"$":"data","of":"lazy_module:Plain","v":{}}')
    finally:
        del sys.modules["lazy_module"]
    assert not asked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"$":"data","of":"shop.gone:Order","v":{}}',
            (
                "E203 there is no class `shop.gone:Order` in this process; import `shop.gone`"
                " before reading; if the class has moved or was renamed, leave its old name behind"
                " as an alias"
            ),
        ),
        (
            '{"$":"data","of":"os:PathLike","v":{}}',
            (
                "E203 `os:PathLike` is stored as `data`, which it is not in this process; keep the"
                " kind of a class for as long as data of it is stored"
            ),
        ),
        (
            '{"$":"enum","of":"tests.values.models:Colour","v":"GREEN"}',
            (
                "E203 `tests.values.models:Colour` has no member `GREEN`; keep a member, or an"
                " alias of its name, for as long as data holds it"
            ),
        ),
        (
            '{"$":"data","of":"tests.values.models:Slotted","v":{"gone":1}}',
            (
                "E203 `tests.values.models:Slotted` has no field `gone`, but stored data has a"
                " value for it; keep the field, or register the new form under a new class name"
            ),
        ),
        (
            '{"$":"named","of":"tests.values.models:Point","v":{"x":1,"z":2}}',
            "E203 `tests.values.models:Point` has no field `z`",
        ),
        (
            '{"$":"hologram","v":1}',
            (
                "E203 there is no written form `hologram`; read it with the version of Perdure that"
                " wrote it, or a later one"
            ),
        ),
        (
            '{"$":"error","of":"os:PathLike","args":[]}',
            (
                "E203 `os:PathLike` is stored as `error`, which it is not in this process; keep the"
                " kind of a class for as long as data of it is stored"
            ),
        ),
    ],
)
def test_the_text_of_each_fault_names_class_and_remedy(text, message):
    with pytest.raises(NotDecodable) as caught:
        decode(text)
    assert str(caught.value) == message


def test_a_system_function_is_no_class():
    assert os.system
    with pytest.raises(NotDecodable, match="there is no class `os:system`"):
        decode('{"$":"type","of":"os:system"}')


def test_what_is_no_error_is_no_error():
    with pytest.raises(NotDecodable, match="is a `list`, where an error should be"):
        decode_error("[]")
