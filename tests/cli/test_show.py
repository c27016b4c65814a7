"""`show` and `watch`: the graph of a run from a real file, as it stands and as it stood."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.kit import LATEST_S, ROOT, Shell, environment

SHOP = "tests.cli.shop"


@pytest.fixture
def shell(tmp_path: Path, capsys) -> Shell:
    made = Shell(tmp_path / "runs.db", capsys)
    made("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a")
    return made


def test_a_run_is_shown_as_its_graph(shell: Shell) -> None:
    said = shell("show", "a")
    assert (said.code, said.err) == (0, "")
    assert "a  ✓ completed" in said.out.splitlines()[0]
    assert "✓ ● " in said.out
    assert "\x1b" not in said.out


def test_for_programs_a_picture_is_one_object(shell: Shell) -> None:
    shown = shell("show", "a", "--json").object
    assert (shown["id"], shown["status"], shown["why"]) == ("a", "completed", "")
    assert {"id", "kind", "label", "line", "status", "attempts", "gate"} <= set(shown["nodes"][0])


def test_a_run_as_it_was_comes_with_its_variables(shell: Shell) -> None:
    said = shell("show", "a", "--at", "1")
    assert "▶ running" in said.out.splitlines()[0]
    assert "total = 5" in said.out
    shown = shell("show", "a", "--at", "1", "--json").object
    assert shown["tasks"][0]["frames"][0]["variables"]["total"] == "5"


def test_there_is_no_fact_that_has_not_happened(shell: Shell) -> None:
    said = shell("show", "a", "--at", "99")
    assert said.code == 2
    assert "its facts are 1 to 2" in said.err


def test_a_run_that_is_over_is_watched_at_once(shell: Shell) -> None:
    said = shell("watch", "a")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "a  completed"
    events = [json.loads(line) for line in shell("watch", "a", "--json").out.splitlines()]
    assert events[-1]["status"] == "completed"


@pytest.mark.parametrize("command", ["show", "watch"])
def test_a_run_that_is_not_there_is_one_clear_line(shell: Shell, command: str) -> None:
    said = shell(command, "nobody")
    assert (said.code, said.out) == (2, "")
    assert "there is no run `nobody`" in said.err


def on_terminal(*args: str) -> tuple[int, str, str]:
    """Run a command whose standard error is a terminal; give its code, its output, its terminal."""
    ours, theirs = pty.openpty()
    told: list[bytes] = []

    def listen() -> None:
        with contextlib.suppress(OSError):  # so ends a terminal that nobody holds any more
            while data := os.read(ours, 4096):
                told.append(data)

    listening = threading.Thread(target=listen)
    listening.start()
    done = subprocess.run(
        [sys.executable, "-m", "perdure", *args],
        cwd=ROOT,
        env=environment(TERM="xterm", NO_COLOR="1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        timeout=LATEST_S,
        check=False,
    )
    os.close(theirs)
    listening.join()
    os.close(ours)
    return done.returncode, done.stdout, b"".join(told).decode()


def test_on_a_terminal_a_run_is_drawn_beside_its_result(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    code, out, seen = on_terminal("run", f"{SHOP}:fulfil", "--arg", "total=5", "--store", store)
    assert (code, out) == (0, "charged 5\nreceipt 5, 0 lines\n")
    assert "✓ completed" in seen
    assert "✓ ● " in seen
    assert seen.rstrip().endswith("\x1b[?25h")
