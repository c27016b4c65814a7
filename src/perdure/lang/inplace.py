"""Code that is not captured made restorable where it stands: methods of classes, the engine's own.

A class stays a reference, so its functions are given restorable code themselves: the same meaning,
names and lines, in a run and outside of one. Only code whose text is proved is touched.
"""

from __future__ import annotations

import inspect
import sys
import zlib
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.names import every_code
from perdure.lang.recipes import World
from perdure.lang.source import made_in_place, module_source, original_of

Codes = dict[str, CodeType]
"""Code by a name that tells where it stands and what its text is: the same in every process."""


def restorable_classes(module: ModuleType, world: World) -> Codes:
    """Make the methods of the classes of a module restorable; give their code by name."""
    return _each(_methods_in(module), world)


def restorable_functions(functions: Iterable[FunctionType], world: World) -> Codes:
    """Make functions restorable; give their code by name."""
    return _each(functions, world)


def restorable_module(module: ModuleType, world: World) -> Codes:
    """Make all of a module restorable, in which nobody looks at dead locals: the engine's own."""
    module_source(module).lean = True
    functions = [
        value
        for value in vars(module).values()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]
    return _each(functions, world) | restorable_classes(module, world)


def named(functions: Iterable[FunctionType]) -> Codes:
    """Give the code of functions that stay as they are by name."""
    return _numbered((_name(each), each.__code__) for each in functions)


def _each(functions: Iterable[FunctionType], world: World) -> Codes:
    return _numbered(pair for each in functions for pair in _restorable(each, world))


def _numbered(tops: Iterable[tuple[str, CodeType]]) -> Codes:
    return {
        f"{name}.{number}": each
        for name, code in tops
        for number, each in enumerate(every_code(code))
    }


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


def _restorable(function: FunctionType, world: World) -> Iterator[tuple[str, CodeType]]:
    original = original_of(function.__code__)
    if not _awaits(original):
        return
    try:
        source = module_source(sys.modules[function.__module__])
        code = source.lowered(source.where(original), world, own_sets=False)
        name = _name(function)
    except (SourceUnproved, KeyError):
        return  # it runs as it is, and what waits in it is recovered by its facts
    if function.__code__ is not code:
        function.__code__ = code
        made_in_place(code, original)
    yield name, code


def _name(function: FunctionType) -> str:
    source = module_source(sys.modules[function.__module__])
    where = source.where(function.__code__)
    text = zlib.crc32(source.text_of(where).encode(errors="surrogatepass"))
    return f"{where.module}:{where.qualname}#{text:08x}"


_SUSPENDS = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _awaits(code: CodeType) -> bool:
    if code.co_flags & _SUSPENDS:
        return True
    return any(_awaits(each) for each in code.co_consts if isinstance(each, CodeType))
