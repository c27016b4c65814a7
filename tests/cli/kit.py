"""The command line as a test uses it: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perdure.cli import main

ROOT = Path(__file__).parents[2]
LATEST_S = 60.0


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **more}


def perdure(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "perdure", *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=LATEST_S,
        env=environment(**env),
    )


def begun(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.Popen[str]:
    """Begin a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "perdure", *args],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**env),
    )


@dataclass
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        [found] = self.objects
        return found


class Shell:
    """The commands on one store, in this process."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = store
        self.capsys = capsys

    def __call__(self, *args: str, on_store: bool = True) -> Said:
        where = ["--store", str(self.store)] if on_store else []
        self.capsys.readouterr()
        code = main([*args, *where])
        return Said(code, *self.capsys.readouterr())
