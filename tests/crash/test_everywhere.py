"""Crashes at every boundary and faults at every call, as far as there is time; `make crash` is all.

What is counted is asserted: a boundary that is no longer there has proved nothing.
"""

from __future__ import annotations

import pytest

from tests.crash import everywhere
from tests.crash.everywhere import FAULTS
from tests.crash.scenarios import SCENARIOS


def test_there_are_scenarios_enough():
    assert len(SCENARIOS) >= 40


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_crash_at_any_boundary_changes_nothing(name, tmp_path):
    counts = everywhere.crash(name, tmp_path)
    assert counts["killed"] == counts["boundaries"] > 8
    assert counts["power failed"] > 1
    for kind in ("write", "sync", "committed", "acknowledged"):
        assert counts[f"at: {kind}"], kind


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_crash_inside_of_a_recovery_changes_nothing(name, tmp_path):
    assert everywhere.crash_twice(name, tmp_path, step=12)["pairs"] > 0


@pytest.mark.parametrize("name", list(SCENARIOS)[::4])
def test_a_fault_at_any_call_loses_nothing_and_the_engine_goes_on_by_itself(name, tmp_path):
    counts = everywhere.fault(name, tmp_path, step=23)
    assert {kind for kind in FAULTS if counts[kind]} >= {"write fails", "read fails", "disk full"}
