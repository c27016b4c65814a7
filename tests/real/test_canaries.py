"""Secrets that runs carry are in the store, and in no log, warning, command line or told text."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from pathlib import Path

from tests.real import canary_flows
from tests.real.kit import LATEST_S, ROOT

CHILD = "tests.real.canary_flows"


class CommandLines(threading.Thread):
    """Collects the command lines of all processes of this machine, again and again."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(place.read_text(errors="replace"))
                except OSError:
                    continue


def test_no_secret_of_a_run_is_told(tmp_path: Path) -> None:
    canaries = {name: f"canary-{name}-{secrets.token_hex(8)}" for name in canary_flows.NAMES}
    lines = CommandLines()
    lines.start()
    process = subprocess.Popen(
        [sys.executable, "-m", CHILD, str(tmp_path / "runs.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    said, told = process.communicate(json.dumps(canaries) + "\n\n", timeout=2 * LATEST_S)
    lines.over.set()
    lines.join()
    assert "done" in said.split(), told[-3000:]
    assert outcomes(said) == {
        "pays": "completed",
        "denied": "Denied",
        "late": "ValueError",
        "tried": "ConnectionError",
        "left": "SystemExit",
        "half": "NotEncodable",
        "failed_apart": "Denied",
        "died_apart": "HolderLost",
        "number": "WrongType",
        "waits": "CancelledError",
    }
    assert "DEBUG:" in told
    assert "run `stopped` is stopped" in told
    assert any("perdure.node.child" in each for each in lines.seen)
    leaked = [
        f"{name}: {line[:300]}"
        for name, canary in canaries.items()
        for line in (*said.splitlines(), *told.splitlines(), *lines.seen)
        if canary in line
    ]
    assert leaked == []
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [name for name, canary in canaries.items() if canary.encode() not in stored] == []


def outcomes(said: str) -> dict[str, str]:
    words = [line.split() for line in said.splitlines()]
    return {each[0]: each[1] for each in words if len(each) == 2}
