"""The pictures of tests/golden/graph: NAME.py drawn as NAME.graph and NAME.mmd.

`PERDURE_GOLDEN=write pytest tests/lang/test_graph_golden.py` draws them anew; read the difference.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from perdure.lang.graph import Graph, validate
from perdure.lang.graph_build import graph_of
from perdure.lang.graph_text import to_mermaid, to_text
from tests.lang.test_graph import resolve

FOLDER = Path(__file__).parents[1] / "golden" / "graph"
CASES = sorted(path.stem for path in FOLDER.glob("*.py"))


def drawn(name: str) -> Graph:
    tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8")).body[0]
    assert isinstance(tree, ast.AsyncFunctionDef)
    return graph_of(tree, name=tree.name, file=f"{name}.py", resolve=resolve)


def compare(path: Path, text: str) -> None:
    if os.environ.get("PERDURE_GOLDEN") == "write":
        path.write_text(text, "utf-8")
    assert path.exists(), f"{path.name} is missing: run with PERDURE_GOLDEN=write"
    assert text == path.read_text("utf-8"), f"{path.name} differs"


@pytest.mark.parametrize("name", CASES)
def test_the_outline_is_the_golden_one(name: str) -> None:
    compare(FOLDER / f"{name}.graph", to_text(drawn(name)))


@pytest.mark.parametrize("name", CASES)
def test_the_diagram_is_the_golden_one(name: str) -> None:
    compare(FOLDER / f"{name}.mmd", to_mermaid(drawn(name)))


@pytest.mark.parametrize("name", CASES)
def test_every_golden_graph_is_sound(name: str) -> None:
    assert validate(drawn(name)) == []


def test_no_golden_file_is_left_over() -> None:
    made = {path.name for path in FOLDER.iterdir() if path.suffix in {".graph", ".mmd"}}
    assert made == {f"{name}{suffix}" for name in CASES for suffix in (".graph", ".mmd")}
