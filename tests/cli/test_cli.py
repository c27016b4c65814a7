"""The command line: what it prints, for people and for programs, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.cli.terminal import cells, clean, clip, pad
from perdure.sync import Perdure

ROOT = Path(__file__).parents[2]


def perdure(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "perdure", *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **env},
    )


def test_graph_draws_an_example() -> None:
    done = perdure("graph", "examples/orders.py:fulfil")
    assert done.returncode == 0, done.stderr
    assert "receipt = charge(order)" in done.stdout
    assert "joins N of N" in done.stdout


def test_graph_of_the_only_workflow_needs_no_name() -> None:
    assert (
        perdure("graph", "examples/orders.py").stdout
        == perdure("graph", "examples/orders.py:fulfil").stdout
    )


def test_graph_as_json_has_nodes_and_edges() -> None:
    graph = json.loads(perdure("graph", "examples.orders:fulfil", "--json").stdout)
    kinds = {node["kind"] for node in graph["nodes"]}
    assert {"input", "action", "branch", "spread", "barrier", "timer", "output"} <= kinds
    assert {edge["kind"] for edge in graph["edges"]} == {"flow", "data"}


def test_graph_as_mermaid_is_a_flowchart() -> None:
    done = perdure("graph", "examples.orders:fulfil", "--mermaid")
    assert done.stdout.startswith("flowchart TD")
    assert len(perdure("graph", "examples.orders:fulfil", "--mermaid", "--no-data").stdout) < len(
        done.stdout
    )


def test_check_of_good_code_says_so() -> None:
    done = perdure("check", "examples.orders")
    assert (done.returncode, done.stdout) == (
        0,
        "1 workflow checked, nothing to say\nexamples.orders:fulfil is restorable\n",
    )


def test_check_tells_everything_at_once_and_ends_with_one() -> None:
    done = perdure("check", "L105.py", "L104.py", cwd=ROOT / "tests/golden/diag")
    assert done.returncode == 1
    assert "error L104" in done.stdout
    assert "error L105" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_check_as_json_is_for_programs() -> None:
    done = perdure("check", "L105.py", "--json", cwd=ROOT / "tests/golden/diag")
    rows = json.loads(done.stdout)
    assert {row["code"] for row in rows} == {"L105"}
    assert {"file", "line", "column", "message", "remedy", "severity"} <= set(rows[0])


def test_warnings_fail_only_when_strict() -> None:
    folder = ROOT / "tests/golden/diag"
    assert perdure("check", "L201.py", cwd=folder).returncode == 0
    assert perdure("check", "L201.py", "--strict", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("graph", "nowhere:flow"), "there is no module `nowhere`"),
        (("graph", "examples.orders:nothing"), "workflows there: examples.orders:fulfil"),
        (("graph", "examples.orders:charge"), "is not a workflow"),
        (("check", "json"), "defines no workflow"),
        (("graph", "nowhere.py:flow"), "there is no file `nowhere.py`"),
    ],
)
def test_a_wrong_name_is_one_clear_line(args: tuple[str, ...], said: str) -> None:
    done = perdure(*args)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_module_that_fails_to_import_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\n1 / 0\n")
    done = perdure("check", "broken", cwd=tmp_path)
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr
    assert "broken.py:2" in done.stderr
    (tmp_path / "typo.py").write_text("def f(:\n")
    done = perdure("check", "typo", cwd=tmp_path)
    assert (done.returncode, "SyntaxError" in done.stderr) == (2, True)


def test_colour_only_where_it_can_be_seen() -> None:
    folder = ROOT / "tests/golden/diag"
    assert "\x1b[" not in perdure("check", "L105.py", cwd=folder).stdout
    assert "\x1b[" in perdure("check", "L105.py", cwd=folder, FORCE_COLOR="1").stdout
    assert (
        "\x1b[" not in perdure("check", "L105.py", cwd=folder, FORCE_COLOR="1", NO_COLOR="1").stdout
    )


def test_version_and_help() -> None:
    assert perdure("--version").stdout.startswith("perdure ")
    assert "graph" in perdure("--help").stdout
    assert perdure().returncode == 2


def test_what_the_parser_refuses_is_one_line_with_a_code() -> None:
    for wrong in (["graph"], ["graph", "a:b", "--colour"], ["no-such"], ["bench", "nothing"]):
        done = perdure(*wrong)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith("perdure: E701 ")


def test_a_command_is_imported_when_it_is_asked_for() -> None:
    script = "import sys; from perdure.cli import parser; parser({command!r}); print(*sys.modules)"
    for command, bench in ((["graph"], False), (["bench"], True)):
        done = subprocess.run(
            [sys.executable, "-c", script.format(command=command)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ("perdure.bench.command" in done.stdout.split()) is bench


def test_nothing_that_is_shown_moves_the_cursor() -> None:
    assert clean("plain, wie früher") == "plain, wie früher"
    assert clean("a\x1b[2Jb\n\u202ec\U000e0001\x9b") == "a\\x1b[2Jb\\n\\u202ec\\U000e0001\\x9b"


def test_widths_are_those_that_a_terminal_gives() -> None:
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
    assert clip("日本語", 5) == "日本…"
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"
    assert cells(pad("日本", 6)) == 6


def test_who_only_asks_makes_no_store(tmp_path: Path) -> None:
    done = perdure("doctor", "--store", "nothing.db", cwd=tmp_path)
    assert (done.returncode, done.stderr[:14]) == (2, "perdure: E501 ")
    assert list(tmp_path.iterdir()) == []


def test_doctor_looks_at_the_store_that_the_environment_names(tmp_path: Path) -> None:
    with Perdure(tmp_path / "orders.db", environment="trial"):
        pass
    done = perdure("doctor", "--thorough", cwd=tmp_path, PERDURE_STORE="orders.db")
    assert (done.returncode, done.stderr) == (0, "")
    assert "trial" in done.stdout
    assert done.stdout.endswith("nothing is wrong\n")
    told = json.loads(perdure("doctor", "--json", "--store", "orders.db", cwd=tmp_path).stdout)
    assert (told["environment"], told["problems"]) == ("trial", [])
