"""Commands in processes of their own: a worker and its clients, signals, and kill -9."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.kit import LATEST_S, ROOT, begun, perdure

SHOP = "tests.cli.shop"


@contextmanager
def running(*args: str, cwd: Path = ROOT) -> Iterator[subprocess.Popen[str]]:
    process = begun(*args, cwd=cwd)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def worker(store: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    with running("worker", SHOP, "--store", str(store), "--json", *more) as process:
        yield process


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the next event of a worker."""
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_a_worker_carries_out_what_clients_leave(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    on = ("--store", str(store))
    with worker(store) as process:
        told = heard(process)
        assert (told["event"], told["role"]) == ("ready", "owner")
        assert f"{SHOP}:approve" in told["workflows"]
        done = perdure("start", f"{SHOP}:approve", "--arg", "total=3", "--id", "a", *on)
        assert (done.returncode, done.stdout, done.stderr) == (0, "a\n", "")
        assert perdure("signal", "a", "approval", '"yes"', *on).returncode == 0
        done = perdure("result", "a", "--wait", *on)
        assert (done.returncode, done.stdout, done.stderr) == (0, "yes 3\n", "")
        done = perdure("run", f"{SHOP}:fulfil", "--arg", "total=4", *on)
        assert (done.returncode, done.stdout) == (0, "receipt 4, 0 lines\n")  # beside the worker
        process.terminate()
        assert process.wait(LATEST_S) == 0
        assert line_of(process) == "charged 4"
        assert heard(process) == {"event": "stopped"}
    done = perdure("start", f"{SHOP}:approve", "--arg", "total=3", *on)
    assert done.stderr == "nobody serves this store now; `perdure worker MODULE` does\n"


def test_an_action_under_way_may_end_before_the_worker_does(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    on = ("--store", str(store))
    with worker(store) as process:
        heard(process)
        perdure("start", f"{SHOP}:patient", "--arg", "seconds=0.5", "--id", "a", *on)
        assert line_of(process) == "slow begun"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LATEST_S) == 0
    done = perdure("run", f"{SHOP}:patient", "--id", "a", *on)
    assert (done.returncode, done.stdout) == (0, "1\n")  # the first attempt was the only one


def test_a_stand_by_goes_on_when_the_owner_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    on = ("--store", str(store))
    with worker(store) as first, worker(store) as second:
        roles = {heard(first)["role"]: first, heard(second)["role"]: second}
        owner, stand_by = roles["owner"], roles["stand-by"]
        perdure("start", f"{SHOP}:approve", "--arg", "total=3", "--id", "a", *on)
        owner.kill()
        assert heard(stand_by) == {"event": "owner"}
        perdure("signal", "a", "approval", '"still"', *on)
        assert perdure("result", "a", "--wait", *on).stdout == "still 3\n"


def test_a_run_that_is_killed_goes_on_under_its_id(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    given = ("run", f"{SHOP}:patient", "--store", str(store), "--id", "a")
    with running(*given, "--arg", "seconds=600") as process:
        assert line_of(process) == "slow begun"
        told = json.loads(perdure("doctor", "--json", "--store", str(store)).stdout)
        assert told["facts"]["owner"] == f"process {process.pid}"
        process.kill()
        process.wait(LATEST_S)
    told = json.loads(perdure("doctor", "--json", "--store", str(store)).stdout)
    assert told["facts"]["owner"] == f"nobody; process {process.pid} ended without a word"
    with running(*given) as process:
        assert line_of(process) == "slow begun"
        perdure("cancel", "a", "--store", str(store), "--reason", "enough")
        assert process.wait(LATEST_S) == 3
    kinds = [
        json.loads(line)["fact"]["fact"]
        for line in perdure("log", "a", "--json", "--store", str(store)).stdout.splitlines()
    ]
    assert kinds == ["started.1", "lost.1", "cancelled.1"]


def test_a_run_that_is_told_to_stop_says_how_to_go_on(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    given = ("run", f"{SHOP}:approve", "--store", str(store), "--id", "a", "--arg", "total=1")
    with running(*given) as process:
        while not perdure("list", "--store", str(store), "--json").stdout:
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(LATEST_S) == 130
        assert process.stderr is not None
        said = process.stderr.read()
    again = f"perdure run {SHOP}:approve --id a --store {store}"
    # Before it there may be a word of the watchdog: a slow machine takes long to link a workflow.
    assert said.endswith(f"run a is not over; `{again}` goes on\n")


def test_a_run_that_was_moved_to_other_code_is_told_to_its_end(tmp_path: Path) -> None:
    code = """
from perdure import signal, workflow

@workflow
async def ask() -> str:
    answer = await signal("answer", str)
    return "{} " + answer
"""
    module = tmp_path / "moving.py"
    on = ("--store", "runs.db")
    for word in ("old", "new"):
        module.write_text(code.format(word))
        with running("worker", "moving", "--json", *on, cwd=tmp_path) as process:
            heard(process)
            if word == "old":
                perdure("start", "moving:ask", "--id", "a", *on, cwd=tmp_path)
                while not perdure(
                    "list", "--status", "running", "--json", *on, cwd=tmp_path
                ).stdout:
                    pass
            else:
                assert perdure("upgrade", "a", *on, cwd=tmp_path).returncode == 0
                perdure("signal", "a", "answer", '"it is"', *on, cwd=tmp_path)
                assert perdure("result", "a", "--wait", *on, cwd=tmp_path).stdout == "new it is\n"
            process.terminate()
            assert process.wait(LATEST_S) == 0
    done = perdure("log", "a", "--json", *on, cwd=tmp_path)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["fact"]["fact"] for each in told] == ["started.1", "upgraded.1", "signalled.1"]
    assert told[-1]["effects"][-1]["value"] == "new it is"
    assert done.stderr == ""


def test_a_reader_that_goes_away_ends_the_command_in_peace(tmp_path: Path) -> None:
    with running("graph", "examples/orders.py:fulfil") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(LATEST_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
