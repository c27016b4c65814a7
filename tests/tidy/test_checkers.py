"""Each checker of tidy finds the breach that was planted for it, and leaves good code alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy import docs, ratchet
from tests.tidy.banned import banned, breaches
from tests.tidy.dead import dead, references
from tests.tidy.layers import cycles, upward, without_layer
from tests.tidy.leaks import leaks_in
from tests.tidy.pages import anchors, code_in, links
from tests.tidy.prose import is_sentence, unexplained_definitions, unexplained_modules
from tests.tidy.sizes import excess, functions, median_function_lines, too_long_functions
from tests.tidy.tree import Module, parse, source_modules, tracked_files

LAYERS = {"ground": ("errors",), "lang": ("lang",), "core": ("core",), "top": ("__init__",)}


def _modules(**texts: str) -> list[Module]:
    """Modules of the package by their inner names, with `__` for a dot."""
    names = {key: "perdure." + key.replace("__", ".") for key in texts}
    return [parse(names[key], text) for key, text in texts.items()]


def _package(text: str, path: str = "src/perdure/__init__.py") -> Module:
    return parse("perdure", text, path)


# --- layers -----------------------------------------------------------------------------

UPWARD = [
    "from perdure.core.run import Run",
    "import perdure.core.run",
    "from ..core import run",
    "from perdure.core import run as other",
    "def late():\n    from perdure.core.run import Run",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import perdure.core.run",
    "from importlib import import_module\nimport_module('perdure.core.run')",
    "from perdure import core",
]


@pytest.mark.parametrize("text", UPWARD)
def test_an_upward_import_is_found_however_it_is_written(text: str) -> None:
    core = parse("perdure.core", "", "src/perdure/core/__init__.py")
    modules = [_package(""), core, *_modules(core__run="", lang__lower=text)]
    (found,) = upward(modules, LAYERS)
    assert found.path == "src/perdure/lang/lower.py"
    assert "lang imports upward" in found.what


def test_downward_and_level_imports_are_fine() -> None:
    run = "from perdure.lang.lower import x\nfrom . import gate\nimport perdure.errors\nimport os"
    modules = _modules(errors="", lang__lower="", core__gate="", core__run=run)
    assert upward(modules, LAYERS) == []
    assert without_layer(modules, LAYERS) == []
    assert cycles(modules) == []


def test_a_name_from_the_package_itself_is_an_import_of_its_surface() -> None:
    modules = [_package("from perdure.core.run import Run"), *_modules(core__run="")]
    modules += _modules(lang__lower="from perdure import Run")
    assert len(upward(modules, LAYERS)) == 1


def test_a_module_without_a_layer_is_told_where_to_be_added() -> None:
    (found,) = without_layer(_modules(novelty=""), LAYERS)
    assert "add it to LAYERS" in found.what


def test_a_ring_of_lazy_and_typing_imports_is_found() -> None:
    a = "def late():\n    from perdure.core import b"
    b = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from perdure.core.c import C"
    modules = _modules(
        core__a=a, core__b=b, core__c="import perdure.core.a", core__d="from . import a"
    )
    assert cycles(modules) == [["perdure.core.a", "perdure.core.b", "perdure.core.c"]]


# --- sizes ------------------------------------------------------------------------------


def _function(lines: int, name: str = "f") -> str:
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


def test_functions_are_measured_wherever_they_stand() -> None:
    text = "class A:\n    @mark\n    def f(self):\n        def g():\n            pass\n"
    found = [(item.name, item.lines) for item in functions(_modules(core__a=text))]
    assert found == [("A.f", 3), ("A.f.g", 2)]


def test_excess_lists_long_files_and_long_functions_only() -> None:
    modules = _modules(core__a=_function(51) + _function(50, "g"), core__b="x = 1\n" * 601)
    assert excess(modules) == {"src/perdure/core/a.py::f": 51, "src/perdure/core/b.py": 601}
    assert too_long_functions(modules) == []
    assert len(too_long_functions(_modules(core__a=_function(61)))) == 1


def test_the_median_is_that_of_all_functions() -> None:
    text = _function(2) + _function(4, "g") + _function(30, "h")
    assert median_function_lines(_modules(core__a=text)) == 4
    assert median_function_lines([]) == 0


@pytest.mark.parametrize(
    ("record", "present", "word"),
    [
        ({}, {"a.py::f": 51}, "split it"),
        ({}, {"a.py": 601}, "may have 600"),
        ({"a.py::f": 52}, {"a.py::f": 53}, "grew"),
        ({"a.py::f": 52}, {"a.py::f": 51}, "shrank"),
        ({"a.py::f": 52}, {}, "well done"),
    ],
)
def test_the_ratchet_turns_one_way(
    record: dict[str, int], present: dict[str, int], word: str
) -> None:
    (breach,) = ratchet.breaches(record, present)
    assert word in breach
    assert ratchet.breaches(record, record) == []


def test_writing_the_ratchet_lowers_it_and_takes_nothing_in_unasked() -> None:
    record, present = {"a": 60, "b": 55, "c": 70}, {"a": 58, "c": 80, "d": 51}
    assert ratchet.lowered(record, present, accept_new=False) == {"a": 58, "c": 70}
    assert ratchet.lowered(record, present, accept_new=True) == present


# --- bans -------------------------------------------------------------------------------

BANNED_IN_PURE = {
    "import asyncio": "import asyncio",
    "def f():\n    import time": "import time",
    "from random import Random": "import random",
    "import socket": "import socket",
    "import threading as t": "import threading",
    "from subprocess import run": "import subprocess",
    "import datetime\ndatetime.datetime.now()": "datetime.now",
    "from datetime import datetime as D\nD.utcnow()": "datetime.utcnow",
    "import uuid\nuuid.uuid4()": "uuid.uuid4",
    "from uuid import uuid1": "uuid.uuid1",
    "import os\nos.environ['A']": "os.environ",
    "from os import environ": "os.environ",
    "open('f')": "open()",
    "print('x')": "print()",
}
BANNED_ANYWHERE = {
    "import pickle": "import pickle",
    "from marshal import loads": "import marshal",
    "import shelve": "import shelve",
    "import dill": "import dill",
    "import importlib\nimportlib.import_module('pickle')": "import pickle",
    "eval('1')": "eval()",
    "exec('1')": "exec()",
    "import builtins\nbuiltins.exec('1')": "exec()",
    "compile('1', '', 'eval')": "compile()",
    "import inspect\ninspect.getsource(f)": "inspect.getsource",
    "from inspect import getsource": "inspect.getsource",
    "try:\n    f()\nexcept:\n    raise": "a bare except",
    "try:\n    f()\nexcept Exception:\n    pass": "an error swallowed",
    "try:\n    f()\nexcept (KeyError, BaseException):\n    ...": "an error swallowed",
    "import contextlib\nwith contextlib.suppress(Exception):\n    f()": "an error swallowed",
    "def f(a=[]): ...": "a mutable default argument",
    "def f(*, a=dict()): ...": "a mutable default argument",
    "lambda a={}: a": "a mutable default argument",
    "# " + "TO" + "DO later": "TO" + "DO",
    "# " + "FIX" + "ME": "FIX" + "ME",
    "print('x')": "print()",
    "db.execute(f'select {x}')": "formatted SQL",
    "db.executemany('select %s' % x, [])": "formatted SQL",
    "db.execute('select {}'.format(x))": "formatted SQL",
}
FINE = [
    "import re\nre.compile('x')",
    "try:\n    f()\nexcept KeyError:\n    pass",
    "try:\n    f()\nexcept Exception:\n    note()",
    "def f(a=(), b=None, c=frozenset()): ...",
    "self.print('x')",
    "db.execute('select 1')",
    "'a TO-DO list'",
]


@pytest.mark.parametrize("text", [*BANNED_IN_PURE, *BANNED_ANYWHERE])
def test_a_banned_thing_is_found_in_a_pure_layer(text: str) -> None:
    (module,) = _modules(core__a=text)
    assert (BANNED_IN_PURE | BANNED_ANYWHERE)[text] in {what for what, _ in breaches(module)}


@pytest.mark.parametrize("text", BANNED_ANYWHERE)
def test_a_dangerous_thing_is_found_in_every_layer(text: str) -> None:
    (module,) = _modules(node__a=text)
    assert BANNED_ANYWHERE[text] in {what for what, _ in breaches(module)}


@pytest.mark.parametrize("text", FINE)
def test_what_only_looks_banned_is_fine(text: str) -> None:
    (module,) = _modules(core__a=text)
    assert list(breaches(module)) == []


def test_the_edge_may_read_clocks_and_the_command_line_may_print() -> None:
    clock, shown = _modules(node__a="import time\nopen('f')", cli__show="print('x')")
    assert list(breaches(clock)) == []
    assert list(breaches(shown)) == []


def test_an_exception_allows_one_thing_in_one_module() -> None:
    modules = _modules(core__a="import time\nimport socket", core__b="import time")
    found = banned(modules, {("core.a", "import time"): "a reason"})
    assert [(item.path, item.what.partition(" is ")[0]) for item in found] == [
        ("src/perdure/core/a.py", "import socket"),
        ("src/perdure/core/b.py", "import time"),
    ]


def test_an_exception_that_nothing_needs_is_a_breach() -> None:
    (found,) = banned(_modules(core__a="x = 1"), {("core.a", "import time"): "a reason"})
    assert "drop it" in found.what


def test_a_seeded_generator_is_allowed_and_the_global_one_is_not() -> None:
    allowed = {("core.a", "import random"): "a reason"}
    head = "import random\n"
    assert banned(_modules(core__a=head + "random.Random(7)"), allowed) == []
    assert len(banned(_modules(core__a=head + "random.Random()"), allowed)) == 1
    assert len(banned(_modules(core__a=head + "random.random()"), allowed)) == 1
    whole = allowed | {("core.a", "random.*"): "binds them"}
    assert banned(_modules(core__a=head + "random.random\nrandom.choice"), whole) == []


# --- prose and dead code ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("What a run owns.", True),
        ("`apply` folds one fact.", True),
        ("Folds facts: nothing else", False),
        ("Two lines that are\none sentence.", True),
        ("Runs.", False),
        ("the run and its gates", False),
        ("", False),
        (None, False),
    ],
)
def test_a_law_is_a_sentence(text: str | None, good: bool) -> None:
    assert is_sentence(text) is good


def test_what_explains_nothing_is_found() -> None:
    text = "def f(): ...\ndef _g(): ...\nclass A: ...\ndef h():\n    'Says it.'\n"
    modules = _modules(core__a=text)
    assert len(unexplained_modules(modules)) == 1
    assert [item.what.split()[0] for item in unexplained_definitions(modules)] == ["`f`", "`A`"]


def test_what_nothing_refers_to_is_dead() -> None:
    text = (
        "__all__ = ['f']\n"
        "def f():\n    return f()\n"
        "def used(): ...\n"
        "LIMIT = 3\nQUOTED: int = 4\nTABLE = {}\nTABLE['x'] = used\n"
        "class A:\n    def me(self) -> 'A': ...\n"
        "def shown(): ...\n"
    )
    modules = _modules(core__a=text)
    other = parse("other", "x: 'list[QUOTED]'", "tests/other.py")
    corpses = dead(modules, references([*modules, other]), {"shown"})
    assert [found.key for found in corpses] == ["core.a:f", "core.a:LIMIT", "core.a:A"]


# --- documentation ----------------------------------------------------------------------


def _write(root: Path, **files: str) -> None:
    for key, text in files.items():
        file = root / key.replace("__", "/").replace("_md", ".md").replace("_py", ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_headings_become_anchors_as_they_do_on_the_web() -> None:
    page = '# One: `two` three!\n## Same\n## Same\n```\n# not me\n```\n<a id="own"></a>\n'
    assert anchors(page) == {"one-two-three", "same", "same-1", "own"}


def test_links_are_found_outside_of_code_only() -> None:
    page = "[a](x.md#y) `[b](no.md)` ![c](p.svg 'title')\n```\n[d](no.md)\n```\n[e]: z.md\n"
    assert links(page) == [("x.md#y", 1), ("p.svg", 1), ("z.md", 5)]
    assert code_in("a `b` c\n```\nd\n```\n").split() == ["d", "b"]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    good = "# Top\n[a](docs/a.md#part-one) [b](#top) [c](https://x.example/) [d](docs)\n"
    _write(tmp_path, README_md=good, docs__a_md="## Part one\n[up](../README.md)\n")
    assert docs.broken_links(tmp_path) == []
    _write(tmp_path, docs__b_md="[a](gone.md)\n\n[b](a.md#gone)\n[c](#gone)\n")
    assert [(item.path, item.line) for item in docs.broken_links(tmp_path)] == [
        ("docs/b.md", 1),
        ("docs/b.md", 3),
        ("docs/b.md", 4),
    ]


def test_paths_and_tests_that_do_not_exist_are_found(tmp_path: Path) -> None:
    _write(
        tmp_path, tests__test_a_py="def test_x(): ...\nclass TestY:\n    def test_z(self): ...\n"
    )
    page = tmp_path / "A.md"
    page.write_text(
        "`tests/test_a.py` `tests/*.py` `tests/` `tests/test_a.py::test_x` `src/gone.py`\n"
        "tests/test_a.py::TestY::test_z tests/test_a.py::test_w `tests/gone.py::test_x`\n"
    )
    missing = [item.what for item in docs.missing_paths(page, tmp_path)]
    assert missing == ["`src/gone.py` does not exist", "`tests/gone.py` does not exist"]
    lost = [item.what for item in docs.missing_tests(page, tmp_path)]
    assert lost == [
        "there is no test tests/test_a.py::test_w",
        "there is no test tests/gone.py::test_x",
    ]


def test_a_decision_that_is_not_listed_is_found(tmp_path: Path) -> None:
    _write(
        tmp_path, docs__adr__README_md="[1](0001.md)", docs__adr__0001_md="", docs__adr__0002_md=""
    )
    assert [item.path for item in docs.unlisted_decisions(tmp_path)] == ["docs/adr/0002.md"]


def test_error_codes_are_present_unique_and_listed() -> None:
    text = (
        "class A(Exception):\n    code: ClassVar[str] = 'E001'\n"
        "class B(A):\n    code = 'E001'\n"
        "class C(A): ...\n"
    )
    (errors,) = _modules(errors=text)
    found = [item.what for item in docs.code_findings(errors)]
    assert found == ["`B` and `A` share the code E001", "`C` has no code of its own"]
    (unlisted,) = docs.unlisted_codes(errors, "| E001 | `A` |")
    assert "E001 with the name `B`" in unlisted
    (unknown,) = docs.unknown_codes([errors], "| E001 | E777 |")
    assert "gives E777" in unknown


# --- leaks and the tree -----------------------------------------------------------------

LEAKING = [
    "cd /ho" + "me/someone/x",
    "'/Us" + "ers/someone'",
    "see /ro" + "ot/x",
    "/wo" + "rk/main",
    "C:" + r"\Users\me",
    "https://py" + "pi.org/simple",
    "pip install --index" + "-url=x y",
]


@pytest.mark.parametrize("line", LEAKING)
def test_a_leak_is_found(line: str) -> None:
    assert len(leaks_in("a.md", "fine\n" + line)) == 1


@pytest.mark.parametrize(
    "line", ["$HOME/work/x", "docs/work/a.md", "GET /home", "~/root/x", "https://x.example/home/a"]
)
def test_what_only_looks_like_a_leak_is_fine(line: str) -> None:
    assert leaks_in("a.md", line) == []


def test_the_tree_has_modules_and_tracked_files_with_and_without_git(tmp_path: Path) -> None:
    assert {"errors", "limits"} <= {module.inner for module in source_modules()}
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "b.txt").write_text("x")
    assert [file.name for file in tracked_files(tmp_path)] == ["a.txt"]


def test_the_finder_of_pythons_believes_only_what_runs(tmp_path: Path) -> None:
    tool = Path(__file__).resolve().parents[2] / "tools" / "pythons.py"
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    where = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(tool), "others"],
        env=os.environ | where,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no Python 3.11, 3.12 or 3.13 runs" in done.stderr
