"""Every diagnostic has a golden file: bad code, and exactly what is said about it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from perdure.cli.naming import workflows_of
from perdure.errors import Refused
from perdure.lang.diagnostics import CODES, Diagnostic, render, render_all
from perdure.lang.link import Program
from perdure.workflows import collecting

GOLDEN = Path(__file__).parents[1] / "golden" / "diag"
CASES = sorted(path.stem for path in GOLDEN.glob("*.py"))


def load(path: Path) -> ModuleType:
    name = f"golden_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def link_all(case: str) -> list[Program]:
    return [flow.program() for flow in workflows_of(load(GOLDEN / f"{case}.py"))]


def diagnose(path: Path) -> list[Diagnostic]:
    with collecting():
        module = load(path)
    flows = workflows_of(module)
    assert flows
    return sorted({each for flow in flows for each in flow.diagnose()})


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_golden(case: str) -> None:
    path = GOLDEN / f"{case}.py"
    said = render_all(diagnose(path)).replace(str(GOLDEN) + os.sep, "") + "\n"
    golden = path.with_suffix(".diag")
    if os.environ.get("PERDURE_GOLDEN") == "write":
        golden.write_text(said)
    assert said == golden.read_text()


def test_every_code_has_a_golden_file() -> None:
    shown = {
        code for code in CODES if any(code in path.read_text() for path in GOLDEN.glob("*.diag"))
    }
    elsewhere = {"L108"}  # needs a module whose file has changed: see test_source.py
    assert shown | elsewhere == set(CODES)


def test_every_code_is_in_the_reference() -> None:
    pages = (Path(__file__).parents[2] / "docs" / "reference" / "diagnostics.md").read_text()
    told = {line[4:8] for line in pages.splitlines() if line.startswith("### L")}
    assert told == set(CODES)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("L1")])
def test_an_error_keeps_the_workflow_from_starting(case: str) -> None:
    with pytest.raises(Refused) as refused:
        link_all(case)
    assert refused.value.diagnostics
    assert f"error {case}" in str(refused.value)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith(("L2", "clean"))])
def test_a_warning_does_not(case: str) -> None:
    for program in link_all(case):
        assert program.hash


def test_the_caret_stands_under_wide_and_tabbed_text() -> None:
    shown = render(Diagnostic("f.py", 3, 5, 9, "L105", "no", "yes", "\té = open"))
    assert shown.splitlines()[3] == "  | \t    ^^^^"


def test_colour_is_only_added_when_asked_for() -> None:
    one = Diagnostic("f.py", 3, 0, 4, "L201", "no", "yes", "open")
    assert "\x1b[" not in render(one)
    assert "\x1b[33;1m" in render(one, colour=True)
