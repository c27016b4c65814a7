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
            for alias in each.names:
                yield from _with_packages(alias.name)  # `import a.b` gives `a`
        elif isinstance(each, ast.ImportFrom):
            base = "." * each.level + (each.module or "")
            name = importlib.util.resolve_name(base, package) if each.level else base
            yield name
            yield from (f"{name}.{alias.name}" for alias in each.names)
        elif isinstance(each, ast.Call) and _called(each) in _IMPORTING:
            yield from (name for text in _texts(each.args[:1]) for name in _with_packages(text))


_IMPORTING = frozenset({"import_module", "__import__"})
_ASKING = frozenset({"getattr", "hasattr"})
_LISTING = frozenset({"vars", "dir"})


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0])


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    for each in nodes:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def asked_names(node: ast.AST | None) -> Iterator[str]:
    """Give the attributes that a function asks for by text: `getattr(module, "name")`."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Call) and _called(each) in _ASKING:
            yield from _texts(each.args[1:2])


def asked_owners(node: ast.AST | None) -> Iterator[ast.expr]:
    """Give what a function may ask for any attribute of: `getattr(module, f"on_{kind}")`."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Attribute) and each.attr == "__dict__":
            yield each.value
        elif isinstance(each, ast.Call) and each.args:
            name = _called(each)
            if name in _LISTING or (name in _ASKING and not [*_texts(each.args[1:2])]):
                yield each.args[0]


def import_module(name: str) -> types.ModuleType | None:
    """Import a module as its function would, to see what it is."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None  # the function will say so, if it gets there


_LOAD_GLOBAL, _LOAD_NAME, _EXTENDED_ARG = (
    dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "EXTENDED_ARG")
)


def global_names(code: types.CodeType) -> list[str]:
    """Give the global names that a function and the functions inside of it read."""
    return list(dict.fromkeys(_global_names(code)))


def _global_names(code: types.CodeType) -> Iterator[str]:
    # `dis` would tell far more of each instruction, and take most of the time of linking for it.
    instructions, high = code.co_code, 0
    for at in range(0, len(instructions), 2):
        kind, argument = instructions[at], high | instructions[at + 1]
        if kind == _LOAD_GLOBAL:
            yield code.co_names[argument >> 1]
        elif kind == _LOAD_NAME:
            yield code.co_names[argument]
        high = argument << 8 if kind == _EXTENDED_ARG else 0
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
