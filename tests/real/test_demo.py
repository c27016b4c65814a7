"""The demo keeps its word, and would say so if the engine did not keep its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_well_and_says_what_ran_where(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/demo.py"), "--keep", str(kept)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kill -9" in done.stdout
    assert "failed, then done" in done.stdout
    assert "cut off" in done.stdout
    assert "shipped" in done.stdout
    assert "\x1b" not in done.stdout
    assert (kept / "orders.db").exists()


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("demo")


LOG = """\
1 begun order-42:1 charge 42
1 done order-42:1 charge 42
1 begun order-42:2 ship lamp
2 begun order-42:2 ship lamp
2 done order-42:2 ship lamp
"""


def problems(demo: Any, more: str = "", durable: set[int] | None = None) -> list[str]:
    found: list[str] = demo.Journal(LOG + more, [1, 2]).problems(
        {1} if durable is None else durable
    )
    return found


def test_what_was_in_flight_may_run_again(demo: Any) -> None:
    assert problems(demo) == []


def test_what_was_in_the_file_may_not(demo: Any) -> None:
    assert problems(demo, durable={1, 2}) == [
        "ship lamp was in the file as done, and yet was done again"
    ]


def test_nothing_is_done_twice_by_one_process(demo: Any) -> None:
    more = "2 begun order-42:3 notify\n2 done order-42:3 notify\n2 done order-42:3 notify\n"
    assert problems(demo, more) == ["notify was done 2 times"]


def test_nothing_is_left_undone(demo: Any) -> None:
    assert problems(demo, "2 begun order-42:3 notify\n") == ["notify was done 0 times"]


def test_the_demo_shows_nothing_unless_something_was_in_flight(demo: Any) -> None:
    calm = "".join(LOG.splitlines(keepends=True)[:2])
    found = demo.Journal(calm, [1, 2]).problems({1})
    assert found == ["nothing was in flight when the worker was killed"]
