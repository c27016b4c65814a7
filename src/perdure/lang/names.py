"""The names that code uses: globals, attributes, and what it imports in its body."""

from __future__ import annotations

import ast
import dis
import importlib
import importlib.util
import types
from collections.abc import Iterator


def imported_modules(node: ast.AST | None, package: str) -> Iterator[str]:
    """Give the modules that are imported in the body of a function."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            base = "." * each.level + (each.module or "")
            name = importlib.util.resolve_name(base, package) if each.level else base
            yield name
            yield from (f"{name}.{alias.name}" for alias in each.names)


def import_module(name: str) -> types.ModuleType | None:
    """Import a module as its function would, to see what it is."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None  # the function will say so, if it gets there


_GLOBAL_OPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


def global_names(code: types.CodeType) -> list[str]:
    """Give the global names that a function and the functions inside of it read."""
    return list(dict.fromkeys(_global_names(code)))


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBAL_OPS:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def attribute_names(code: types.CodeType) -> Iterator[str]:
    """Give every name that a function and the functions inside of it mention."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from attribute_names(constant)


def every_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """Give a code object and all that are inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from every_code(constant)
