"""Every `async def` that can be found here has a graph, and the graph is sound."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.lang.graph import to_data, validate
from perdure.lang.graph_build import graph_of
from perdure.lang.graph_text import to_mermaid, to_text
from tests.lang.test_graph import resolve

LIBRARY = Path(asyncio.__file__).parents[1]
PROGRAMS = Path(__file__).parents[1] / "differential" / "programs"


def files() -> Iterator[Path]:
    yield from sorted((LIBRARY / "asyncio").glob("*.py"))
    yield Path(contextlib.__file__)
    yield from sorted((LIBRARY / "test").rglob("test_*.py"))  # empty where it is not installed
    yield from sorted(PROGRAMS.glob("*.py"))


def workflows(path: Path) -> list[ast.AsyncFunctionDef]:
    text = path.read_bytes()
    if b"async def" not in text:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):  # files that test the parser
            return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]


def complaints(tree: ast.AsyncFunctionDef, path: Path) -> list[str]:
    graph = graph_of(tree, name=tree.name, file=path.name, resolve=resolve)
    assert to_text(graph).startswith(tree.name)
    assert to_mermaid(graph).startswith("flowchart TD\n")
    assert set(to_data(graph)) == {"name", "file", "nodes", "edges"}
    return [f"{path}:{tree.lineno} {tree.name}: {sentence}" for sentence in validate(graph)]


def test_every_workflow_of_the_library_and_of_our_programs_has_a_sound_graph() -> None:
    found = 0
    for path in files():
        for tree in workflows(path):
            found += 1
            assert complaints(tree, path) == []
    assert found > 100


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_the_same_tree_gives_the_same_graph(path: Path) -> None:
    for first, second in zip(workflows(path), workflows(path), strict=True):
        graphs = [graph_of(t, name="f", file="f.py", resolve=resolve) for t in (first, second)]
        assert graphs[0] == graphs[1]
