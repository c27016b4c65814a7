"""A function with the signature of another and no body: it judges arguments as CPython does."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any


def binder(function: Callable[..., Any]) -> Callable[..., None]:
    """Give a function that raises the `TypeError` that calling `function` would, and no more."""
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None:
        return _by_signature(function)
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + flags.bit_count()
    bare = _nothing.__code__.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_nlocals=count,
        co_varnames=code.co_varnames[:count],
        co_flags=_nothing.__code__.co_flags | flags,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )
    made = FunctionType(bare, {}, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def _nothing() -> None:
    return None


def _by_signature(function: Callable[..., Any]) -> Callable[..., None]:
    signature = inspect.signature(function)

    def bind(*args: Any, **kwargs: Any) -> None:
        signature.bind(*args, **kwargs)

    return bind
