"""How long files, functions and lines are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tests.tidy.tree import Finding, Module

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
FUNCTION_LINES_AIM = 50
FUNCTION_LINES_MEDIAN_MAX = 10
LINE_CHARS_MAX = 100


@dataclass(frozen=True)
class Function:
    """One function: where it stands, and how many lines it has from `def` to its end."""

    path: str
    name: str
    line: int
    lines: int

    @property
    def key(self) -> str:
        """The name under which the ratchet remembers it."""
        return f"{self.path}::{self.name}"


def functions(modules: Sequence[Module]) -> list[Function]:
    """Every function of the modules, methods and inner ones included."""
    return [found for module in modules for found in _functions_in(module, module.tree, "")]


def _functions_in(module: Module, node: ast.AST, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (child.end_lineno or child.lineno) - child.lineno + 1
            yield Function(module.path, prefix + child.name, child.lineno, lines)
            yield from _functions_in(module, child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions_in(module, child, f"{prefix}{child.name}.")
        else:
            yield from _functions_in(module, child, prefix)


def excess(modules: Sequence[Module]) -> dict[str, int]:
    """What is longer than it should be: files above their limit, functions above the aim."""
    files = {module.path: len(module.text.splitlines()) for module in modules}
    long = {path: lines for path, lines in files.items() if lines > FILE_LINES_MAX}
    for function in functions(modules):
        if function.lines > FUNCTION_LINES_AIM:
            long[function.key] = function.lines
    return dict(sorted(long.items()))


def too_long_functions(modules: Sequence[Module]) -> list[Finding]:
    """Functions beyond the limit that no ratchet can lift."""
    return [
        Finding(found.path, found.line, f"`{found.name}` has {found.lines} lines: split it")
        for found in functions(modules)
        if found.lines > FUNCTION_LINES_MAX
    ]


def too_long_lines(modules: Sequence[Module]) -> list[Finding]:
    """Lines that do not fit beside another file on a screen."""
    return [
        Finding(module.path, number, f"a line of {len(line)} characters")
        for module in modules
        for number, line in enumerate(module.text.splitlines(), 1)
        if len(line) > LINE_CHARS_MAX
    ]


def median_function_lines(modules: Sequence[Module]) -> float:
    """The length of the function in the middle; 0 if there is none."""
    return float(median([found.lines for found in functions(modules)] or [0]))
