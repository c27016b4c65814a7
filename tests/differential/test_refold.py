"""Every log refolds to the same digests: in another process, hash seed, zone, folder and time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.core.facts import encode_row
from tests.differential import harness

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SOURCES = [pytest.param(source, id=source.name) for source in harness.sources()]


@pytest.mark.parametrize("source", SOURCES)
def test_logs_refold_in_another_process(source: harness.Source, tmp_path: Path) -> None:
    logs = tmp_path / "logs.jsonl"
    written = 0
    with logs.open("w") as lines:
        for name in source.names:
            _, memory = harness.perdure(source, name)
            if memory is not None:
                rows = [encode_row(row).decode() for row in memory.rows]
                lines.write(
                    json.dumps({"name": name, "rows": rows, "status": memory.status}) + "\n"
                )
                written += 1
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "4711",
        "TZ": "Pacific/Chatham",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    child = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.differential.refold_child",
            source.file,
            str(logs),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    assert child.stdout.splitlines()[-1] == f"refolded {written}", child.stdout
