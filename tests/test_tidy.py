"""Style as law: layers, sizes, banned calls, docstrings, dead code, links, codes and leaks.

The tables below say what is allowed, each exception with its reason. The checkers are in
tests/tidy/, and tests/tidy/test_checkers.py proves of each that it finds what was planted.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tidy import docs, ratchet
from tests.tidy.banned import banned
from tests.tidy.dead import dead_in_tree
from tests.tidy.layers import cycles, upward, without_layer
from tests.tidy.leaks import leaks
from tests.tidy.prose import unexplained_definitions, unexplained_modules
from tests.tidy.sizes import (
    FUNCTION_LINES_MEDIAN_MAX,
    excess,
    median_function_lines,
    too_long_functions,
    too_long_lines,
)
from tests.tidy.tree import ROOT, Finding, source_modules

# From the ground up. A module may import from its own layer and from those above it in this table.
LAYERS = {
    "ground": (
        "errors",
        "kinds",
        "limits",
        "ordered",
        "registry",
        "value_convert",
        "value_errors",
        "value_forms",
        "value_types",
        "values",
    ),
    "lang": ("lang",),
    "core": ("core",),
    "store": ("store",),
    "node": ("node",),
    "public": (
        "actions",
        "api",
        "app",
        "client",
        "combinators",
        "config",
        "portal",
        "reactive",
        "serving",
        "sync",
        "testing",
        "workflows",
    ),
    "surfaces": ("__init__", "__main__", "bench", "cli", "dashboard", "http"),
}

# (module, what it does) -> why it may. `head.*` covers all names of a module such as `random`.
ALLOWED = {
    ("core.clock", "import random"): "gives `random` a meaning inside of a run",
    ("core.clock", "import time"): "gives `time` a meaning inside of a run; never reads it",
    ("core.console", "print()"): "into a file of the workflow's own making",
    ("core.contents", "import random"): "takes the state of a generator that the user made",
    ("core.contents", "random.*"): "as above: it draws nothing",
    (
        "core.image",
        "import pickle",
    ): "the one module that may: images only, behind a keyed checksum",
    ("testing.crash_child", "print()"): "says what differs to the process that asked",
    ("core.run", "import random"): "each run has a generator of its own, seeded",
    ("core.vocabulary", "import asyncio"): "says what asyncio's names mean inside of a run",
    ("lang.containers", "import random"): "names the type of a generator of the user's",
    ("lang.makers", "import random"): "copies a generator of the user's, state and all",
    ("lang.source", "compile()"): "proves a module's text against its live code",
}

# `module:name` -> why it lives although nothing of ours refers to it.
KEPT: dict[str, str] = {}

MODULES = source_modules()
MAKE_SYNC = [sys.executable, str(ROOT / "tools" / "make_sync.py"), "--check"]
MUST_EXIST = ("README.md", "docs/ARCHITECTURE.md", "docs/GUARANTEES.md", "docs/adr/README.md")
NAME_TESTS = ("docs/ARCHITECTURE.md", "docs/GUARANTEES.md", "docs/RELIABILITY.md")


def demand_none(found: Sequence[Finding | str]) -> None:
    """Fail with all that was found, one per line, and with nothing else."""
    if found:
        pytest.fail("\n".join(["", *map(str, found)]), pytrace=False)


def _page(path: str) -> Path:
    page = ROOT / path
    if not page.exists():
        pytest.skip(f"{path} is not written yet")
    return page


def test_the_engine_without_a_loop_is_written_from_the_one_with() -> None:
    pytest.importorskip("ruff")
    assert subprocess.run(MAKE_SYNC, check=False).returncode == 0, "run tools/make_sync.py"


# --- layers ---------------------------------------------------------------------------


def test_every_module_has_a_layer() -> None:
    demand_none(without_layer(MODULES, LAYERS))


def test_imports_point_downward() -> None:
    demand_none(upward(MODULES, LAYERS))


def test_no_modules_import_each_other_in_a_ring() -> None:
    demand_none([" <-> ".join(ring) for ring in cycles(MODULES)])


# --- sizes ----------------------------------------------------------------------------


def test_what_is_too_long_may_only_shrink() -> None:
    demand_none(ratchet.breaches(ratchet.recorded(), excess(MODULES)))


def test_no_function_is_longer_than_a_screen() -> None:
    demand_none(too_long_functions(MODULES))


def test_half_of_the_functions_are_short() -> None:
    assert median_function_lines(MODULES) <= FUNCTION_LINES_MEDIAN_MAX


def test_lines_fit_on_half_a_screen() -> None:
    demand_none(too_long_lines(MODULES))


# --- what code must not do ------------------------------------------------------------


def test_nothing_banned_is_done_without_a_reason() -> None:
    demand_none(banned(MODULES, ALLOWED))


# --- what code must say ---------------------------------------------------------------


def test_every_module_states_its_law() -> None:
    demand_none(unexplained_modules(MODULES))


def test_everything_public_says_what_it_is() -> None:
    demand_none(unexplained_definitions(MODULES))


def test_nothing_is_defined_that_nothing_refers_to() -> None:
    demand_none(dead_in_tree(MODULES, KEPT))


# --- documentation --------------------------------------------------------------------


@pytest.mark.parametrize("path", MUST_EXIST)
def test_the_pages_that_explain_the_whole_exist(path: str) -> None:
    assert (ROOT / path).exists(), f"{path} is missing"


def test_every_link_leads_somewhere() -> None:
    demand_none(docs.broken_links())


def test_the_readme_is_read_in_one_sitting() -> None:
    lines = len(_page("README.md").read_text(encoding="utf-8").splitlines())
    assert lines <= docs.README_LINES_MAX


@pytest.mark.parametrize("path", NAME_TESTS)
def test_paths_that_a_page_names_exist(path: str) -> None:
    demand_none(docs.missing_paths(_page(path)))


@pytest.mark.parametrize("path", NAME_TESTS)
def test_tests_that_a_page_names_exist(path: str) -> None:
    demand_none(docs.missing_tests(_page(path)))


def test_every_decision_is_listed() -> None:
    _page("docs/adr/README.md")
    demand_none(docs.unlisted_decisions())


# --- errors ---------------------------------------------------------------------------

ERRORS = next(module for module in MODULES if module.inner == "errors")


def test_every_error_has_a_code_of_its_own() -> None:
    demand_none(docs.code_findings(ERRORS))


def test_the_reference_lists_every_error() -> None:
    page = _page("docs/reference/errors.md").read_text(encoding="utf-8")
    demand_none(docs.unlisted_codes(ERRORS, page))


def test_the_reference_lists_no_error_that_is_gone() -> None:
    page = _page("docs/reference/errors.md").read_text(encoding="utf-8")
    demand_none(docs.unknown_codes(MODULES, page))


# --- leaks ----------------------------------------------------------------------------


def test_nothing_speaks_of_the_machine_it_was_written_on() -> None:
    demand_none(leaks())
