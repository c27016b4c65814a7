"""`crash_everywhere`: sound workflows pass, and each hidden difference is found and shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.errors import CrashDiffers
from perdure.testing import crash_everywhere, signal_at
from tests.core.elsewhere import ROOT
from tests.surface import crash_flows as flows


def test_a_sound_workflow_crashes_after_every_fact_and_comes_back_from_its_images() -> None:
    seen = crash_everywhere(flows.sound, 3, events=[signal_at("2m", "go", 7)])
    assert seen.run.result() == [0, 1, 4, "a", "b", 7]
    assert seen.points == len(seen.run.rows) == 8
    assert seen.restored == seen.points - 1  # after the last fact it has ended
    assert seen.tails == {}


def test_where_no_image_can_be_taken_the_facts_bring_the_run_back() -> None:
    seen = crash_everywhere(flows.with_a_tail)
    assert seen.restored == 0
    assert list(seen.tails) == [1]
    assert "is not restorable" in seen.tails[1]


def test_a_difference_by_hash_seed_is_found_and_shown_as_a_diff() -> None:
    with pytest.raises(CrashDiffers) as caught:
        crash_everywhere(flows.ordered_by_hashes)
    shown = str(caught.value).splitlines()
    assert "all images deleted" in shown[0]
    assert shown[1] == "fact 2 causes something else"
    assert shown[2:4] == ["--- uncrashed", "+++ crashed"]
    assert [line for line in shown if line.startswith(("-call 2", "+call 2"))], shown


def test_what_an_image_does_not_hold_is_found_in_the_result() -> None:
    with pytest.raises(CrashDiffers, match=r"something else|other effects"):
        crash_everywhere(flows.counted_in_the_process)


def test_a_script_may_crash_its_own_workflows(tmp_path: Path) -> None:
    script = tmp_path / "orders.py"
    script.write_text(
        "from perdure import action, workflow\n"
        "from perdure.testing import crash_everywhere\n\n\n"
        "@action\nasync def step(n: int) -> int:\n    return n\n\n\n"
        "@workflow\nasync def both() -> int:\n    return await step(1) + await step(2)\n\n\n"
        "if __name__ == '__main__':\n    print(crash_everywhere(both).points)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr
