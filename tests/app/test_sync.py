"""The engine for code without an event loop does what the other one does."""

from __future__ import annotations

import threading

import pytest

from perdure.errors import Closed, NoSuchRun
from perdure.sync import Perdure
from tests.app import flows


def test_a_run_is_started_and_waited_for(tmp_path, world):
    with Perdure(tmp_path / "runs.db") as app:
        handle = app.start(flows.straight, "a", "b", id="one")
        assert handle.result(timeout="20s") == ["A", "B"]
        assert handle.status() == "completed"
        assert [info.id for info in app.list()] == ["one"]
        assert app.get("one").info().facts == 3
        assert [row.seq for row in handle.watch()] == [1, 2, 3]


def test_threads_may_share_it(tmp_path, world):
    with Perdure(tmp_path / "runs.db") as app:
        got = {}

        def start(name):
            got[name] = app.start(flows.straight, name, id=name).result()

        threads = [threading.Thread(target=start, args=(f"t{i}",)) for i in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert got == {f"t{i}": [f"T{i}"] for i in range(8)}


def test_a_failure_is_raised_as_it_was(tmp_path, world):
    world.broken.add("a")
    with Perdure(tmp_path / "runs.db") as app:
        handle = app.start(flows.straight, "a")
        with pytest.raises(ConnectionError, match="a is down"):
            handle.result()
        world.broken.clear()
        handle.retry()
        assert handle.result() == ["A"]


def test_before_and_after_it_says_that_it_is_closed(tmp_path, world):
    app = Perdure(tmp_path / "runs.db")
    with pytest.raises(Closed):
        app.list()
    with app, pytest.raises(NoSuchRun):
        app.get("nobody")
    with pytest.raises(Closed):
        app.list()


def test_what_keeps_house(tmp_path, world):
    with Perdure(tmp_path / "runs.db") as app:
        app.start(flows.straight, "a", id="a").result()
        app.backup(tmp_path / "copy.db")
        assert app.prune("1d") == 0
        assert app.prune(0) == 1
        assert app.examine(thorough=True).problems == []
        assert app.get("a").info().facts == 0
        assert app.get("a").result() == ["A"]
    (tmp_path / "copy.db.key").write_bytes((tmp_path / "runs.db.key").read_bytes())
    (tmp_path / "copy.db.key").chmod(0o600)
    with Perdure(tmp_path / "copy.db") as copy:
        assert copy.get("a").info().facts == 2
