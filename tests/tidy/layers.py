"""Who imports whom: edges between modules, upward ones, and cycles.

Every import counts: at the top, inside a function, under TYPE_CHECKING, and by a literal name
given to `import_module`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.tidy.tree import PACKAGE, Finding, Module

Layers = Mapping[str, Sequence[str]]
UNKNOWN = (
    "`{top}` has no layer: add it to LAYERS at the top of tests/test_tidy.py, "
    "in the lowest layer that it can live in"
)


@dataclass(frozen=True)
class Edge:
    """`source` imports `target`, on a line."""

    source: Module
    target: str
    line: int


def edges(modules: Sequence[Module]) -> list[Edge]:
    """Every import of one module of the package by another."""
    known = {module.name for module in modules}
    return [
        Edge(module, target, line)
        for module in modules
        for target, line in _targets(module, known)
        if target != module.name
    ]


def _targets(module: Module, known: set[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module.tree):
        for name in _imported_names(module, node):
            target = _longest_known(name, known)
            if target is not None:
                yield target, getattr(node, "lineno", 0)


def _imported_names(module: Module, node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=base, names=names, level=level):
            origin = _absolute(module, base, level)
            return [f"{origin}.{alias.name}" for alias in names]
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]):
            called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return [name] if called in {"import_module", "__import__"} else []
    return []


def _absolute(module: Module, base: str | None, level: int) -> str:
    if level == 0:
        return base or ""
    parts = module.name.split(".")
    kept = len(parts) - level + (1 if module.is_package else 0)
    return ".".join([*parts[:kept], *([base] if base else [])])


def _longest_known(name: str, known: set[str]) -> str | None:
    """The module that an imported name leads to: itself, or the one that defines it."""
    while f"{name}.".startswith(f"{PACKAGE}."):
        if name in known:
            return name
        name = name.rpartition(".")[0]
    return None


def without_layer(modules: Sequence[Module], layers: Layers) -> list[Finding]:
    """Modules that the table of layers does not speak about."""
    placed = {top for tops in layers.values() for top in tops}
    return [
        Finding(module.path, 1, UNKNOWN.format(top=module.top))
        for module in modules
        if module.top not in placed
    ]


def upward(modules: Sequence[Module], layers: Layers) -> list[Finding]:
    """Imports of something that lies in a higher layer."""
    height = {top: (rank, name) for rank, name in enumerate(layers) for top in layers[name]}
    inner = {module.name: module.top for module in modules}
    found: list[Finding] = []
    for edge in edges(modules):
        source, target = height.get(edge.source.top), height.get(inner[edge.target])
        if source and target and source[0] < target[0]:
            what = f"{source[1]} imports upward: `{edge.target}` is in {target[1]}"
            found.append(Finding(edge.source.path, edge.line, what))
    return found


def cycles(modules: Sequence[Module]) -> list[list[str]]:
    """Groups of modules that import each other in a ring, by Tarjan's algorithm."""
    graph: dict[str, list[str]] = {module.name: [] for module in modules}
    for edge in edges(modules):
        graph[edge.source.name].append(edge.target)
    return sorted(sorted(ring) for ring in _components(graph) if len(ring) > 1)


def _components(graph: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                yield from visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            cut = stack.index(node)
            yield stack[cut:]
            del stack[cut:]

    for start in graph:
        if start not in index:
            yield from visit(start)
