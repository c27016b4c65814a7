"""Definitions that nothing refers to.

A definition is a function, a class or a constant at the top of a module of the package. It lives
if its name occurs outside of its own lines: as a name, an attribute, an imported name or a string
that is an expression, in any Python file of ours, or in the code that the documentation shows.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tidy.pages import code_in
from tests.tidy.tree import ROOT, Finding, Module, parse

CODE_FOLDERS = ("tests", "examples", "bench")
TEXTS = ("*.md", "docs/**/*.md")
WORD = re.compile(r"[A-Za-z_]\w*")
QUOTED_CHARS_MAX = 200


@dataclass(frozen=True)
class Definition:
    """A name that a module defines, with the lines that do so."""

    module: Module
    name: str
    first: int
    last: int

    @property
    def key(self) -> str:
        """The name under which the table of exceptions knows it."""
        return f"{self.module.inner}:{self.name}"


Places = Mapping[str, set[tuple[str, int]]]
"""Where each name occurs: path and line."""


def definitions(modules: Sequence[Module]) -> Iterator[Definition]:
    """Every definition at the top of the modules, those under `if` and `try` included."""
    for module in modules:
        for node in _top_statements(module.tree.body):
            for name in _defined_names(node):
                if not (name.startswith("__") and name.endswith("__")) and name != "_":
                    yield Definition(module, name, _first_line(node), node.end_lineno or 0)


def _top_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            for field in ("body", "orelse", "finalbody"):
                yield from _top_statements(getattr(node, field, []))
        else:
            yield node


def _defined_names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=targets):
            named = [name for target in targets for name in ast.walk(target)]
            stored = [name for name in named if isinstance(name, ast.Name)]
            return [name.id for name in stored if isinstance(name.ctx, ast.Store)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _first_line(node: ast.stmt) -> int:
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])


def references(modules: Sequence[Module]) -> dict[str, set[tuple[str, int]]]:
    """Where each name is referred to in the given modules."""
    places: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for module in modules:
        for statement in module.tree.body:
            if "__all__" in _defined_names(statement):
                continue  # to export a name is not to use it
            for node in ast.walk(statement):
                for name in _referred(node):
                    places[name].add((module.path, getattr(node, "lineno", 0)))
    return places


def _referred(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.alias(name=name):
            yield from name.split(".")
        case ast.Constant(value=str(text)) if len(text) <= QUOTED_CHARS_MAX:
            if _is_expression(text):
                yield from WORD.findall(text)


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def dead(modules: Sequence[Module], places: Places, words: set[str]) -> list[Definition]:
    """The definitions whose names occur nowhere but in their own lines."""
    return [
        found
        for found in definitions(modules)
        if found.name not in words
        and all(_is_inside(found, place) for place in places.get(found.name, ()))
    ]


def _is_inside(found: Definition, place: tuple[str, int]) -> bool:
    path, line = place
    return path == found.module.path and found.first <= line <= found.last


def dead_in_tree(modules: Sequence[Module], exceptions: Mapping[str, str]) -> list[Finding]:
    """Dead definitions of the package that no exception keeps, and exceptions that keep none."""
    words = set(WORD.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    for file in (file for pattern in TEXTS for file in ROOT.glob(pattern)):
        words.update(WORD.findall(code_in(file.read_text(encoding="utf-8"))))
    places = references([*modules, *_other_code()])
    corpses = dead(modules, places, words)
    keys = {found.key for found in corpses}
    present = {module.inner: module.path for module in modules}
    idle = [
        Finding(present[key.partition(":")[0]], 1, f"`{key}` is alive: drop its exception")
        for key in exceptions
        if key not in keys and key.partition(":")[0] in present
    ]
    return idle + [
        Finding(found.module.path, found.first, f"nothing refers to `{found.name}`")
        for found in corpses
        if found.key not in exceptions
    ]


def _other_code() -> Iterator[Module]:
    for folder in CODE_FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            module = _parse_or_none(file)
            if module is not None:
                yield module


def _parse_or_none(file: Path) -> Module | None:
    path = file.relative_to(ROOT).as_posix()
    try:
        return parse(file.stem, file.read_text(encoding="utf-8"), path)
    except (SyntaxError, UnicodeDecodeError):
        # Programs that must be refused may be no Python at all.
        return None
