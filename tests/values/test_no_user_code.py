"""Reading runs no code of the classes whose instances it makes."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.values import decode, decode_error
from tests.values import models as m

HOME = "tests.values.models"

TRAPS: list[tuple[str, Any]] = [
    ('{"$":"data","of":"%s:TrapData","v":{"a":1,"shown":2}}', {"a": 1, "shown": 2}),
    ('{"$":"attrs","of":"%s:TrapAttrs","v":{"a":1}}', None),
    ('{"$":"model","of":"%s:TrapModel","v":{"a":1},"set":["a"]}', {"a": 1}),
    ('{"$":"struct","of":"%s:TrapStruct","v":{"a":1}}', None),
    ('{"$":"named","of":"%s:TrapTuple","v":{"x":1,"y":2}}', None),
    ('{"$":"enum","of":"%s:TrapEnum","v":"ONE"}', None),
    ('{"$":"type","of":"%s:TrapData"}', None),
]


@pytest.mark.parametrize(("text", "state"), TRAPS, ids=[text[6:12] for text, _ in TRAPS])
def test_no_constructor_hook_or_validator_runs(text, state):
    m.RAN.clear()
    value = decode(text % HOME)
    assert not m.RAN
    if state is not None:
        assert vars(value) == state
    elif text.startswith(('{"$":"attrs', '{"$":"struct')):
        assert (type(value).__name__[:4], value.a) == ("Trap", 1)


def test_no_code_of_an_exception_runs():
    m.RAN.clear()
    text = f'{{"$":"error","of":"{HOME}:TrapError","mro":[],"args":[1],"state":{{"x":2}}}}'
    exc: Any = decode_error(text)
    assert not m.RAN
    assert type(exc) is m.TrapError
    assert (exc.args, exc.x) == ((1,), 2)


def test_no_code_of_a_parent_runs_when_its_subclass_is_unknown():
    ran = []

    class Watched(Exception):
        def __init_subclass__(cls) -> None:
            ran.append(cls)

    m.Watched = Watched  # type: ignore[attr-defined]
    try:
        mro = f'["{HOME}:Watched","builtins:Exception"]'
        text = f'{{"$":"error","of":"x:Gone","mro":{mro},"args":["t"]}}'
        exc = decode_error(text)
    finally:
        del m.Watched  # type: ignore[attr-defined]
    assert not ran
    assert type(exc).__mro__[1] is Exception
