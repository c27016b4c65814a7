"""Engines that are killed at random instants: nothing acknowledged is lost, nothing doubled."""

from __future__ import annotations

import pytest

from tests.real.kill_loop import kill_loop

CYCLES = 16
SHARE_MIN = 0.5
"""Of sixteen kills, chance alone may put a few between two batches: `make kill-loop` asks more."""


@pytest.mark.slow
def test_kills_at_random_instants_lose_nothing_and_double_nothing(tmp_path) -> None:
    seen = kill_loop(tmp_path, CYCLES, seed=1)
    assert seen.problems == []
    assert seen.kills == CYCLES
    assert seen.share >= SHARE_MIN, seen.report()
    assert seen.losses > 0
    assert seen.reads > 100
    assert sorted(seen.took_ms)[len(seen.took_ms) // 2] < 100, seen.report()
