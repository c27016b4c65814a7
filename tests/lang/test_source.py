"""The text of a module is proved, never trusted."""

from __future__ import annotations

import importlib
import os
import py_compile
import subprocess
import sys
import types
from pathlib import Path

import pytest

from perdure.errors import PerdureError, Refused, SourceUnproved
from perdure.testing import run_in_memory

FLOW = """
from perdure import action, workflow

@action
async def act(x):
    return x

{before}

@workflow
async def flow(x):
    return {expression}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, text: str) -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        importlib.invalidate_caches()
        return path

    return write


def text(expression: str = "await act(x)", before: str = "") -> str:
    return FLOW.format(expression=expression, before=before)


def test_a_helper_may_stand_below(write) -> None:
    write(
        "below", text("await helper(x)") + "\nasync def helper(x):\n    return await act(x + 1)\n"
    )
    assert run_in_memory(importlib.import_module("below").flow, 1).result() == 2


def test_a_file_that_was_edited_after_the_import_is_refused(write) -> None:
    path = write("edited", text())
    module = importlib.import_module("edited")
    path.write_text(text("await act(x + 1)"))
    with pytest.raises(Refused, match="edited after the import") as refused:
        module.flow.program()
    assert refused.value.diagnostics[0].code == "L108"


def test_a_helper_that_was_edited_after_the_import_is_refused(write) -> None:
    write("main_of", "import helper_of\n" + text("await helper_of.go(x)"))
    path = write("helper_of", "async def go(x):\n    return x\n")
    module = importlib.import_module("main_of")
    path.write_text("async def go(x):\n    return x + 1\n")
    with pytest.raises(Refused, match="L108"):
        module.flow.program()


def test_an_edit_that_changes_no_code_object_is_no_edit(write) -> None:
    path = write("comment", text())
    module = importlib.import_module("comment")
    path.write_text(text() + "\n# a comment below\n")
    assert run_in_memory(module.flow, 1).result() == 1


def test_code_without_a_file_is_refused() -> None:
    module = types.ModuleType("no_file_at_all")
    sys.modules[module.__name__] = module
    exec(compile(text(), "<text>", "exec"), module.__dict__)
    with pytest.raises(PerdureError, match=r"no readable source|edited after"):
        module.flow.program()


def test_bare_bytecode_is_refused(tmp_path, monkeypatch) -> None:
    source = tmp_path / "bare_code.py"
    source.write_text(text())
    py_compile.compile(str(source), cfile=str(tmp_path / "bare_code.pyc"))
    source.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises((SourceUnproved, Refused), match=r"no readable source|E101|L108"):
        importlib.import_module("bare_code").flow.program()


@pytest.mark.parametrize("flag", ["-O", "-OO", "-B"])
def test_asserts_run_whatever_the_interpreter_was_told(write, tmp_path, flag: str) -> None:
    write(
        "asserting",
        text("await helper(x)", "async def helper(x):\n    assert x > 1, 'small'\n    return x"),
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import asserting\nfrom perdure.testing import run_in_memory\n"
        "run = run_in_memory(asserting.flow, 1)\nprint(run.status)\n"
    )
    done = subprocess.run(
        [sys.executable, flag, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    assert done.stdout.strip() == "failed", done.stderr


def test_a_script_is_known_by_the_name_of_its_file(write, tmp_path) -> None:
    script = write(
        "my_orders",
        text() + "\nfrom perdure.testing import run_in_memory\n"
        "print(flow.name, act.name, run_in_memory(flow, 3).result())\n",
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "my_orders:flow my_orders:act 3", done.stderr


def test_the_same_text_gives_the_same_program_in_another_process(write, tmp_path) -> None:
    write(
        "hashed",
        text(
            "await helper(x)",
            "LIMITS = {'a': [1], 'b': {'x', 'y', 'z', 'w'}}\n"
            "async def helper(x, y=LIMITS):\n    return y",
        ),
    )
    here = importlib.import_module("hashed").flow.program().hash
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", "import hashed; print(hashed.flow.program().hash)"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
            },
        )
        assert done.stdout.strip() == here, done.stderr


def test_a_changed_constant_or_helper_gives_another_program(write) -> None:
    hashes = set()
    for number, before in enumerate(("K = 1", "K = 2", "K = [1]", "async def k(): return 1")):
        write(f"variant{number}", text("x, K" if before.startswith("K") else "await k()", before))
        hashes.add(importlib.import_module(f"variant{number}").flow.program().hash)
    assert len(hashes) == 4


def test_replacing_a_global_gives_another_program(write, monkeypatch) -> None:
    write("patched", text("await helper(x)", "async def helper(x):\n    return 1"))
    write("patches", "async def other(x):\n    return 2\n")
    module = importlib.import_module("patched")
    first = module.flow.program()
    assert module.flow.program() is first
    monkeypatch.setattr(module, "helper", importlib.import_module("patches").other)
    assert module.flow.program().hash != first.hash
    assert run_in_memory(module.flow, 0).result() == 2
