"""Engines in processes of their own: what a test starts, listens to, and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LATEST_S = 30.0


class Child:
    """A process that runs a function of a module: `tests.real.engines`, say."""

    def __init__(self, module: str, *args: object, env: dict[str, str] | None = None) -> None:
        paths = [str(ROOT / "src"), str(ROOT)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(env or {})},
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """Wait for the next line that the process says; none when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def until(self, wanted: str) -> list[str]:
        """Wait until it says a line that begins so; give all that it said."""
        said: list[str] = []
        while not said or not said[-1].startswith(wanted):
            line = self.line()
            if not line and self.process.poll() is not None:
                raise AssertionError(f"never said {wanted!r}: {said}\n{self.errors()}")
            said.append(line)
        return said

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LATEST_S)

    def ends(self, within_s: float = LATEST_S) -> int:
        """Wait for the end; give the exit code."""
        return self.process.wait(within_s)

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def child(module: str, *args: object, env: dict[str, str] | None = None) -> Iterator[Child]:
    made = Child(module, *args, env=env)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def is_gone(pid: int) -> bool:
    """Whether a process is no more, or is but a corpse that nobody has buried yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def gone_within(pid: int, limit_s: float) -> bool:
    """Watch a process that is no child of ours until it is gone."""
    end = time.monotonic() + limit_s
    while not is_gone(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.005)  # there is no signal for the end of somebody else's child
    return True


def say(*words: Any) -> None:
    """Say a line to the test that started this process."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()
