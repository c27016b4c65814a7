"""Fingerprints of classes: what their source, and all of the user's that it calls, amounts to.

A program refers to classes and does not keep them; a fingerprint tells whether one is still what
it was. Positions and comments do not count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from types import FunctionType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.inplace import functions_in
from perdure.lang.names import attribute_names
from perdure.lang.source import module_source, original_of
from perdure.value_types import named

IsUsers = Callable[[str], bool]


def fingerprints(classes: Iterable[type], is_users: IsUsers) -> dict[str, str]:
    """Give the fingerprint of every class of the user's among these and their bases, by name."""
    every = dict.fromkeys(each for cls in classes for each in cls.__mro__)
    return {
        named(cls): _fingerprint(cls, is_users)
        for cls in every
        if is_users(cls.__module__) and "<locals>" not in cls.__qualname__
    }


def _fingerprint(cls: type, is_users: IsUsers) -> str:
    reached: dict[Any, None] = {cls: None}
    waiting: list[Any] = [cls]
    constants: list[str] = []
    while waiting:
        thing = waiting.pop()
        for name, each in _named_by(thing):
            if type(each) in _CONSTANTS:
                constants.append(f"{thing.__module__}:{name} {each!r}")
            elif isinstance(each, _CODE) and each not in reached and is_users(each.__module__):
                reached[each] = None
                waiting.append(each)
    parts = sorted([*constants, *(_text(each) for each in reached)])
    return blake2b("\n".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


_CODE = (type, FunctionType)
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


def _named_by(thing: Any) -> Iterator[tuple[str, Any]]:
    """Give what a class or a function names in its module, and a class's bases."""
    module: Any = sys.modules.get(thing.__module__)
    if module is None:
        return
    if isinstance(thing, type):
        yield from ((each.__name__, each) for each in thing.__mro__[1:])
    for function in _functions(thing):
        for name in attribute_names(original_of(function.__code__)):
            if name in vars(module):
                yield name, vars(module)[name]


def _functions(thing: Any) -> Iterator[FunctionType]:
    if isinstance(thing, FunctionType):
        yield thing
    else:
        for value in list(thing.__dict__.values()):
            yield from functions_in(value)


def _text(thing: Any) -> str:
    module: str = thing.__module__
    return f"{module}:{thing.__qualname__} {_definition(module, thing.__name__)}"


def _definition(module: str, name: str) -> str:
    live = sys.modules.get(module)
    try:
        return "?" if live is None else module_source(live).tree_of(name) or "?"
    except (SourceUnproved, SyntaxError):
        return "?"
