"""The engine for code without a loop is the other one, method by method, written by a tool."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from perdure import Perdure, sync
from perdure.client import Handle
from perdure.errors import WaitedTooLong
from tests.app import flows
from tests.app import memory_flows as waiting

ROOT = Path(__file__).parents[2]
PLUMBING = {"leave", "changes"}
"""What only the engine's own parts ask of it."""


@pytest.mark.skipif(find_spec("ruff") is None, reason="the tool formats what it writes with ruff")
def test_it_is_what_the_tool_writes():
    tool = ROOT / "tools" / "make_sync.py"
    done = subprocess.run([sys.executable, tool, "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run tools/make_sync.py"


def methods(cls):
    return {
        name: method
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in PLUMBING
    }


@pytest.mark.parametrize(("plain", "twin"), [(Perdure, sync.Perdure), (Handle, sync.Handle)])
def test_every_method_has_its_twin_with_the_same_arguments_and_words(plain, twin):
    ours, theirs = methods(plain), methods(twin)
    assert set(theirs) == set(ours)
    for name, method in ours.items():
        mine, other = inspect.signature(method), inspect.signature(theirs[name])
        assert list(mine.parameters.values()) == list(other.parameters.values()), name
        if name != "close":
            assert inspect.getdoc(method) == inspect.getdoc(theirs[name])


def test_signals_watching_and_cancelling_from_threads(tmp_path, world):
    with sync.Perdure(tmp_path / "runs.db") as app:
        handle = app.start(waiting.wants_list, id="one")
        with pytest.raises(WaitedTooLong):
            handle.result(timeout="20ms")
        seen = []
        watching = threading.Thread(target=lambda: seen.extend(row.seq for row in handle.watch()))
        watching.start()
        handle.signal("item", [1, 2])
        assert handle.result(timeout="20s") == [1, 2]
        watching.join()
        assert seen == [1, 2]
        assert [each.id for each in app.iterate()] == ["one"]
        assert handle.at(1).waits == ["signal `item`"]
        other = app.start(flows.asks, "word")
        other.cancel("enough")
        with pytest.raises(BaseException, match="enough"):
            other.result(timeout="20s")
        assert other.info().status == "cancelled"
