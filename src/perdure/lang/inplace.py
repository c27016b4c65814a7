"""Code that is not captured made restorable where it stands: methods of classes, the engine's own.

A class stays a reference, so its functions are given restorable code themselves: the same meaning,
names and lines, in a run and outside of one. Only code whose text is proved is touched.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.recipes import World
from perdure.lang.source import made_in_place, module_source, original_of


def restorable_classes(name: str, world: World) -> list[CodeType]:
    """Make the methods of the classes of a module restorable; give their code, in order."""
    module = sys.modules.get(name)
    if module is None:
        return []
    return [code for function in _methods_in(module) for code in _restorable(function, world)]


def restorable_module(name: str, world: World) -> list[CodeType]:
    """Make all of a module restorable, in which nobody looks at dead locals: the engine's own."""
    module = sys.modules[name]
    module_source(module).lean = True
    found: list[CodeType] = []
    for value in vars(module).values():
        if isinstance(value, FunctionType) and value.__module__ == name:
            found += _restorable(value, world)
    return found + restorable_classes(name, world)


def _methods_in(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from _methods_of(value)


def _methods_of(cls: type) -> Iterator[FunctionType]:
    for value in list(vars(cls).values()):
        if isinstance(value, type) and value.__qualname__.startswith(cls.__qualname__ + "."):
            yield from _methods_of(value)
        for function in functions_in(value):
            if function.__module__ == cls.__module__:
                yield function


def functions_in(value: Any) -> Iterator[FunctionType]:
    """Give the functions that an attribute of a class holds: itself, or what it wraps."""
    parts = [value, getattr(value, "__func__", None)]
    if isinstance(value, property):
        parts += [value.fget, value.fset, value.fdel]
    for part in parts:
        if isinstance(part, FunctionType):
            yield part


def _restorable(function: FunctionType, world: World) -> list[CodeType]:
    if not _awaits(original_of(function.__code__)):
        return []
    try:
        source = module_source(sys.modules[function.__module__])
        code = source.lowered(function.__code__, world, own_sets=False)
    except (SourceUnproved, KeyError):
        return []  # it runs as it is, and what waits in it is recovered by its facts
    if function.__code__ is not code:
        original = original_of(function.__code__)
        function.__code__ = code
        made_in_place(code, original)
    return [code]


_SUSPENDS = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _awaits(code: CodeType) -> bool:
    if code.co_flags & _SUSPENDS:
        return True
    return any(_awaits(each) for each in code.co_consts if isinstance(each, CodeType))
