"""An exception comes back as its own class, with all that it held; or as near as can be."""

# ruff: noqa: TRY301 -- these tests are about what `raise` leaves behind
from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pydantic
import pytest

from perdure import value_errors, values
from perdure.limits import LIMITS, Limits
from perdure.values import decode, decode_error, encode, encode_error, remote_traceback
from tests.values import models as m
from tests.values.process import environment

FIELDS = sorted({name for names in value_errors.FIELDS.values() for name in names})


def again(exc: BaseException) -> Any:
    return decode_error(encode_error(exc))


def raised(make: Any) -> BaseException:
    try:
        make()
    except BaseException as exc:  # noqa: BLE001 -- all kinds are raised here on purpose
        return exc
    raise AssertionError("nothing was raised")


def fail(exc: BaseException, cause: BaseException | None = None) -> BaseException:
    def throw() -> None:
        raise exc from cause

    return raised(throw)


@contextmanager
def without(name: str) -> Iterator[None]:
    """Let a class of the models be unknown for a while."""
    cls = getattr(m, name)
    delattr(m, name)
    try:
        yield
    finally:
        setattr(m, name, cls)


def syntax_error() -> None:
    compile("a = = 1", "file.py", "exec")


EXCEPTIONS = [
    ValueError(),
    ValueError("x"),
    ValueError(1, ("a",), {"k": {1}}),
    KeyError("k"),
    IndexError(0),
    OSError("just text"),
    OSError(2, "none", "here"),
    OSError(2, "none", "from", None, "to"),
    ConnectionResetError(104, "reset"),
    BlockingIOError(11, "again", 5),
    TimeoutError(),
    UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "bad"),
    UnicodeEncodeError("ascii", "\ud800", 0, 1, "bad"),
    UnicodeTranslateError("x\u1234", 1, 2, "bad"),
    ImportError("no", name="n", path="p"),
    ModuleNotFoundError("no", name="n"),
    AttributeError("no", name="n", obj=object()),
    NameError("no", name="n"),
    UnboundLocalError("no"),
    StopIteration(7),
    StopAsyncIteration(7),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    MemoryError("m"),
    RecursionError("r"),
    asyncio.CancelledError("why"),
    TimeoutError(),
    asyncio.IncompleteReadError(b"a", 3),
    json.JSONDecodeError("bad", "doc", 1),
    subprocess.CalledProcessError(1, ["a"], b"out"),
    raised(syntax_error),
    raised(lambda: zlib.decompress(b"x")),
    raised(lambda: int("x")),
    raised(lambda: {}["k"]),
    raised(lambda: open("/no/such/file")),  # noqa: SIM115, PTH123
    m.ShopError("a", 1),
    m.PaymentError("o-1", code=3),
    m.OddArgs(1, 2),
    m.DataError(1, "b"),
    m.DiskError("sda"),
    m.Local.Oops("deep"),
    Warning("w"),
]


@pytest.mark.parametrize("exc", EXCEPTIONS, ids=lambda exc: type(exc).__name__)
def test_an_exception_comes_back_with_class_args_text_and_fields(exc):
    read = again(exc)
    assert type(read) is type(exc)
    assert read.args == exc.args
    assert str(read) == str(exc)
    assert repr(read) == repr(exc)
    for name in FIELDS:
        if name != "obj":
            assert getattr(read, name, None) == getattr(exc, name, None), name
    assert {k: v for k, v in vars(read).items() if not k.startswith("__perdure")} == vars(exc)
    assert encode_error(read, trace=False) == encode_error(again(read), trace=False)


def test_an_exception_may_occur_anywhere_inside_of_a_value():
    value = decode(encode({"k": [(ValueError("x"), m.Plain(m.ShopError("y")))]}))
    first, second = value["k"][0]
    assert (type(first), str(first)) == (ValueError, "x")
    assert (type(second.a), str(second.a)) == (m.ShopError, "y")


def test_a_slot_of_an_exception_survives():
    exc = m.SlottedError("x")
    exc.extra = (1,)
    assert again(exc).extra == (1,)


def test_notes_survive():
    exc = ValueError("x")
    exc.add_note("first")
    exc.add_note("second")
    assert again(exc).__notes__ == ["first", "second"]


def test_cause_context_and_suppression_survive():
    inner = fail(KeyError("inner"))
    outer = again(fail(ValueError("outer"), inner))
    assert (type(outer.__cause__), outer.__cause__.args) == (KeyError, ("inner",))
    assert outer.__suppress_context__

    def hidden() -> None:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b") from None

    def shown() -> None:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")  # noqa: B904 -- the context is what the test is about

    for make, suppressed in ((hidden, True), (shown, False)):
        read = again(raised(make))
        assert type(read.__context__) is KeyError
        assert read.__cause__ is None
        assert read.__suppress_context__ is suppressed


def test_a_cause_that_is_the_context_too_is_written_once():
    def chain() -> None:
        exc: BaseException | None = None
        for n in range(60):
            try:
                raise ValueError(n) from exc
            except ValueError as error:
                exc = error
        raise ValueError("last") from exc

    def throw() -> None:
        try:
            raise KeyError("a")
        except KeyError as error:
            raise ValueError("b") from error

    read = again(raised(throw))
    assert read.__context__ is read.__cause__
    assert len(encode_error(raised(chain))) < 200_000


def test_a_cyclic_or_endless_chain_is_cut():
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__context__ = b, a
    read = again(a)
    assert str(read.__cause__) == "b"
    assert read.__cause__.__context__ is None
    top = last = ValueError(0)
    for n in range(5_000):
        last.__context__ = ValueError(n)
        last = last.__context__
    read = again(top)
    length = 0
    while read is not None:
        read, length = read.__context__, length + 1
    assert 50 < length <= 201


def test_an_exception_that_holds_itself_is_written():
    exc = ValueError("x")
    exc.args = (exc, 1)
    exc.me = [exc]  # type: ignore[attr-defined]
    read = again(exc)
    assert read.args[1] == 1
    assert isinstance(read.args[0], str)
    assert not hasattr(read, "me")


# --- what cannot be written ------------------------------------------------------------------


def test_an_argument_that_cannot_be_written_becomes_its_repr_and_marks_the_error():
    exc = ValueError("x", object(), m.Rude(), "\ud800")
    exc.held = object()  # type: ignore[attr-defined]
    exc.kept = (1,)  # type: ignore[attr-defined]
    read = again(exc)
    assert read.args[:2] == ("x", "<object object>")
    assert read.args[2].startswith("<a Rude, whose repr fails")
    assert read.args[3] == "\ud800"
    assert read.kept == (1,)
    assert not hasattr(read, "held")
    assert vars(read)["__perdure_inexact__"] is True
    assert vars(again(read))["__perdure_inexact__"] is True
    assert "__perdure_inexact__" not in vars(again(ValueError("x")))


def test_an_exception_without_a_text_is_written():
    class Silent(Exception):
        __str__ = m.Rude.__str__

    read = again(Silent(1))
    assert str(read) == "<its text cannot be had: AssertionError>"
    assert read.args == (1,)


def test_any_exception_is_written_within_the_bounds():
    big = "x" * LIMITS.payload_bytes_max
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    loop: list[Any] = []
    loop.append(loop)
    nested: Exception = ValueError("core")
    for n in range(500):
        nested = ExceptionGroup(f"g{n}", [nested])
    for exc in (
        ValueError(big, 1),
        ValueError(*[big] * 5),
        ValueError(deep, loop),
        nested,
        ExceptionGroup("g", [ValueError(big) for _ in range(50)]),
        ExceptionGroup(big, [nested, KeyError()]),
        ExceptionGroup("many", [ValueError("y" * 1000) for _ in range(10_000)]),
    ):
        data = encode_error(exc)
        assert len(data) <= LIMITS.payload_bytes_max
        read = decode_error(data)
        assert type(read) is type(exc)
        assert vars(read)["__perdure_inexact__"] is True
    while deep:
        deep = deep[0]


def test_an_error_that_takes_more_than_a_payload_is_told_in_short():
    with patch.object(values, "LIMITS", Limits(payload_bytes_max=1_000)):
        read = again(fail(ExceptionGroup("g", [ValueError("y" * 2_000), KeyError("k")])))
    assert str(read) == "g (2 sub-exceptions)"
    assert [type(sub) for sub in read.exceptions] == [ValueError, KeyError]


# --- groups -----------------------------------------------------------------------------------


def test_groups_come_back_with_their_members_and_can_be_split():
    exc = ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [m.PaymentError("o", code=1)])])
    read = again(fail(exc))
    assert type(read) is ExceptionGroup
    assert (read.message, repr(read)) == (exc.message, repr(exc))
    assert type(read.args[1]) is list
    matched, rest = read.split(m.ShopError)
    assert matched.exceptions[0].exceptions[0].code == 1
    assert str(rest.exceptions[0]) == "a"
    try:
        raise read
    except* m.ShopError as caught:
        assert len(caught.exceptions) == 1  # noqa: PT017 -- `raises` knows no `except*`
    except* ValueError:
        pass


def test_a_group_of_a_users_class_comes_back_without_its_constructor():
    read = again(m.Several([ValueError("a")], "note"))
    assert type(read) is m.Several
    assert read.note == "note"
    assert [str(e) for e in read.exceptions] == ["a"]
    assert repr(read.args) == repr(m.Several([ValueError("a")], "note").args)


def test_a_base_group_keeps_what_is_no_exception():
    read = again(BaseExceptionGroup("g", (KeyboardInterrupt(), ValueError())))
    assert type(read) is BaseExceptionGroup
    assert type(read.args[1]) is tuple
    assert type(read.exceptions[0]) is KeyboardInterrupt


def test_a_group_of_an_unknown_class_is_a_group_still():
    text = encode_error(m.Several([m.ShopError("a")], "note"))
    with without("Several"):
        read: Any = decode_error(text)
    assert isinstance(read, ExceptionGroup)
    assert (type(read).__name__, str(read)) == ("Several", "several (1 sub-exception)")
    assert type(read.exceptions[0]) is m.ShopError


# --- classes that are not there ----------------------------------------------------------------


def test_an_unknown_class_is_caught_by_its_parents_and_tells_its_text():
    text = encode_error(m.PaymentError("o-1", code=3))
    with without("PaymentError"):
        read: Any = decode_error(text)
    for parent in (m.ShopError, ValueError, Exception):
        try:
            raise read
        except parent as caught:
            assert caught is read  # noqa: PT017 -- whether it is caught is the question
    assert str(read) == "o-1 was declined (3)"
    assert (read.order, read.code) == ("o-1", 3)
    cls = type(read)
    assert (cls.__name__, cls.__qualname__, cls.__module__) == (
        "PaymentError",
        "PaymentError",
        "tests.values.models",
    )
    assert cls is not m.PaymentError
    assert not isinstance(read, m.PaymentError)


def test_the_stand_in_of_a_class_is_made_once():
    text = encode_error(m.PaymentError("o-1", code=3))
    with without("PaymentError"):
        assert type(decode_error(text)) is type(decode_error(text))


def test_a_stand_in_is_written_under_the_name_and_parents_of_the_class_it_stands_for():
    text = encode_error(m.PaymentError("o-1", code=3))
    with without("PaymentError"), without("ShopError"):
        read = decode_error(text)
        assert type(read).__mro__[1] is ValueError
        second = encode_error(read)
    assert json.loads(second)["mro"] == json.loads(text)["mro"]
    assert type(decode_error(second)) is m.PaymentError


def test_a_class_made_inside_of_a_function_is_caught_by_its_parents():
    class Inner(m.ShopError):
        pass

    read = again(Inner("x"))
    assert isinstance(read, m.ShopError)
    assert type(read).__qualname__.endswith("<locals>.Inner")
    assert str(read) == "x"


def test_an_unknown_class_with_builtin_fields_keeps_them():
    text = encode_error(m.DiskError("sda"))
    with without("DiskError"):
        read: Any = decode_error(text)
    assert isinstance(read, OSError)
    assert (read.errno, read.filename, read.disk) == (5, "sda", "sda")
    assert str(read) == "[Errno 5] broken: 'sda'"


def test_a_class_of_an_extension_that_cannot_be_made_is_replaced():
    exc = raised(lambda: pydantic.TypeAdapter(int).validate_python("x"))
    read = again(exc)
    assert type(read) is not type(exc)
    assert type(read).__name__ == "ValidationError"
    assert isinstance(read, ValueError)
    assert str(read) == str(exc)


def test_stand_ins_are_bounded():
    for n in range(3_000):
        decode_error(f'{{"$":"error","of":"x:E{n}","mro":[],"args":["t"]}}')
    assert len(value_errors._stand_ins) <= value_errors._STAND_INS_MAX


def test_a_read_exception_can_be_raised_pickled_and_shown():
    read = again(fail(m.ShopError("x")))
    shown = "".join(traceback.format_exception(fail(read)))
    assert "ShopError: x" in shown
    assert pickle.loads(pickle.dumps(read)).args == ("x",)


# --- tracebacks -----------------------------------------------------------------------------


def test_the_traceback_of_where_it_was_raised_survives_and_goes_on():
    read = again(fail(m.ShopError("x"), fail(KeyError("first"))))
    text = remote_traceback(read)
    assert text is not None
    assert text.index("KeyError: 'first'") < text.index("ShopError: x")
    assert "in throw" in text
    assert "This was the cause of the following exception" in text
    assert vars(read)["__perdure_traceback__"] in text
    assert not hasattr(read, "__notes__")
    assert remote_traceback(again(decode(encode(read)))) == text
    further = remote_traceback(again(fail(read)))
    assert further is not None
    assert text.splitlines()[-1] in further
    assert "Raised again in another process" in further


def test_a_context_is_told_unless_it_is_suppressed():
    def throw(*, hide: bool) -> None:
        try:
            raise KeyError("first")
        except KeyError:
            if hide:
                raise ValueError("second") from None
            raise ValueError("second")  # noqa: B904 -- the context is what the test is about

    shown = remote_traceback(again(raised(lambda: throw(hide=False))))
    hidden = remote_traceback(again(raised(lambda: throw(hide=True))))
    assert "While this was being handled" in str(shown)
    assert "first" not in str(hidden)


def test_a_context_that_was_never_raised_ends_the_told_chain():
    exc = fail(ValueError("x"))
    exc.__context__ = KeyError("never raised")
    assert "never raised" not in str(remote_traceback(again(exc)))


def test_a_long_chain_is_told_in_part():
    exc: BaseException | None = None
    for n in range(60):
        exc = fail(ValueError(n), exc)
    assert exc is not None
    text = str(remote_traceback(again(exc)))
    assert text.endswith("ValueError: 59\n")
    assert text.count("This was the cause") == value_errors._CHAIN_MAX - 1


def test_an_exception_never_raised_or_never_sent_has_no_remote_traceback():
    assert remote_traceback(again(ValueError())) is None
    assert remote_traceback(fail(ValueError())) is None


def test_a_long_traceback_is_bounded_and_keeps_its_end():
    def down(n: int) -> None:
        if n:
            down(n - 1)
        exec("raise ValueError('the end' + 'x' * 9_000)", {"__name__": "y" * 50})

    text = remote_traceback(again(raised(lambda: down(400))))
    assert text is not None
    assert len(text) < 10_000
    assert "characters left out" in text


def test_without_a_trace_equal_errors_make_equal_bytes():
    def one() -> BaseException:
        return fail(m.ShopError("x"), fail(KeyError()))

    def two() -> BaseException:
        return fail(m.ShopError("x"), fail(KeyError()))

    here, there = one(), two()
    assert encode_error(here, trace=False) == encode_error(there, trace=False)
    assert encode(here) == encode(there)
    assert encode_error(here) != encode_error(here, trace=False)


def test_the_interpreter_reports_a_stand_in_under_its_own_name():
    code = (
        "from perdure.values import decode_error\n"
        'raise decode_error(\'{"$":"error","of":"shop:Gone","mro":["builtins:ValueError"],'
        '"args":["t"],"text":"told"}\')'
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "shop.Gone: told"
