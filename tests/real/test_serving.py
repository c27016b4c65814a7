"""A process that is told to stop: it drains, hands over, and what it did is not done again."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.real.kit import child

SERVING = "tests.real.serving_child"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_action_under_way_may_end_before_the_process_does(file: Path, number) -> None:
    with child(SERVING, file, 20, "one_quick", 0.3) as first:
        first.until("begun")
        first.tell(number)
        assert first.ends() == 128 + number
        assert first.errors() == ""
    with child(SERVING, file, 20, "one_quick", 0.3) as second:
        assert second.until("result") == ["ready", "result attempt 1"]
        assert second.ends() == 7


def test_an_action_that_does_not_end_in_time_is_done_again_by_the_next(file: Path) -> None:
    with child(SERVING, file, 0.1, "one_quick", 30) as first:
        first.until("begun")
        first.tell(signal.SIGTERM)
        assert first.ends() == 128 + signal.SIGTERM
    with child(SERVING, file, 0.1, "one_quick", 30) as second:
        second.until("begun")


def test_what_may_run_once_only_and_was_stopped_is_interrupted(file: Path) -> None:
    with child(SERVING, file, 0.1, "one_once", 30) as first:
        first.until("begun")
        first.tell(signal.SIGTERM)
        first.ends()
    with child(SERVING, file, 0.1, "one_once", 30) as second:
        assert second.ends() == 1
        assert "E403" in second.errors()


@pytest.mark.parametrize("flow", ["one_stubborn", "one_deaf"])
def test_actions_that_will_not_end_do_not_keep_the_process(file: Path, flow) -> None:
    with child(SERVING, file, 0.2, flow) as first:
        first.until("begun")
        begun = time.monotonic()
        first.tell(signal.SIGTERM)
        assert first.ends() == 128 + signal.SIGTERM
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize("flow", ["one_stubborn", "one_deaf", "one_blocking"])
def test_the_second_signal_aborts_at_once(file: Path, flow) -> None:
    with child(SERVING, file, 60, flow) as first:
        first.until("begun")
        first.tell(signal.SIGTERM)
        time.sleep(0.2)  # two signals that come together may be one
        begun = time.monotonic()
        first.tell(signal.SIGINT)
        assert first.ends() == 128 + signal.SIGINT
        assert time.monotonic() - begun < 2
    with child(SERVING, file, 60, flow) as second:
        second.until("begun")
