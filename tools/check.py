"""Run the steps of `make check` and `make test`, and say in one line each how they went.

    python tools/check.py check [3.X ...]    every step; stops at the first red
    python tools/check.py test [3.X ...]     all tests, then the suites on each other Python

The output of a quick step is shown only when it is red; tests are shown as they run.
Knows the tools by name and nothing of Perdure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

JOBS = os.environ.get("JOBS", "2")
PYTEST = ("-m", "pytest", "-n", JOBS, "--dist", "worksteal")
PROGRAMS_ELSEWHERE = "500"
ABOUT_THE_TREE = ("tests/test_tidy.py", "tests/tidy", "tests/test_docs.py")
SUITES = ("tests", *(f"--ignore={path}" for path in ABOUT_THE_TREE))
THE_SAME_EVERYWHERE = ("tests/real", "tests/sim", "tests/crash")
"""What asks the store and the system, not Python, and takes long."""
ELSEWHERE = (*SUITES, *(f"--ignore={path}" for path in THE_SAME_EVERYWHERE))


@dataclass(frozen=True)
class Step:
    """One thing that must hold: its name, the command, and whether its output is shown live."""

    name: str
    command: tuple[str, ...]
    live: bool = False
    fresh: Path | None = None
    """The environment that must be made or renewed first, if any."""
    programs: str = ""
    """How many programs the differential suite generates, unless PERDURE_PROGRAMS says so."""


STATIC = (
    Step("format", (sys.executable, "-m", "ruff", "format", "--check", ".")),
    Step("lint", (sys.executable, "-m", "ruff", "check", ".")),
    Step("mypy", (sys.executable, "-m", "mypy")),
    Step("pyright", (sys.executable, "-m", "pyright", "--project", "pyproject.toml")),
    Step("tidy", (sys.executable, "-m", "pytest", "-q", "-rN", "tests/test_tidy.py", "tests/tidy")),
)
TESTS = (
    Step("tests", (sys.executable, *PYTEST, *SUITES), live=True),
    Step("docs", (sys.executable, *PYTEST, "tests/test_docs.py"), live=True),
)
ALL_TESTS = (Step("tests", (sys.executable, *PYTEST, "tests"), live=True),)


def suites_on(minor: str) -> Step:
    """The suites of the layers on another Python, in an environment of its own."""
    folder = Path(f".venv-{minor}")
    python = str(folder / "bin" / "python")
    command = (python, *PYTEST, "-p", "no:cacheprovider", *ELSEWHERE)
    return Step(f"tests on {minor}", command, live=True, fresh=folder, programs=PROGRAMS_ELSEWHERE)


def _is_stale(folder: Path) -> bool:
    stamp = folder / ".stamp"
    return not stamp.exists() or stamp.stat().st_mtime < Path("pyproject.toml").stat().st_mtime


def _prepare(folder: Path) -> int:
    if not _is_stale(folder):
        return 0
    minor = folder.name.removeprefix(".venv-")
    command = [sys.executable, "tools/pythons.py", "venv", str(folder), "test", minor]
    return subprocess.run(command, check=False).returncode


def run(step: Step) -> bool:
    """Run one step and print its line; its whole output too, if it is live or red."""
    started = time.monotonic()
    if step.live:
        print(f"---- {step.name}", flush=True)
    code = _prepare(step.fresh) if step.fresh else 0
    output = ""
    if code == 0:
        done = subprocess.run(
            step.command,
            env=({"PERDURE_PROGRAMS": step.programs} if step.programs else {}) | os.environ,
            stdin=subprocess.DEVNULL,
            stdout=None if step.live else subprocess.PIPE,
            stderr=None if step.live else subprocess.STDOUT,
            text=True,
            check=False,
        )
        code, output = done.returncode, done.stdout or ""
    if code and output:
        print(output, end="" if output.endswith("\n") else "\n")
    print(f"{'FAIL' if code else 'ok  '} {step.name:14} {time.monotonic() - started:7.1f} s")
    sys.stdout.flush()
    return code == 0


def main(arguments: list[str]) -> None:
    """Run the steps that the command line asks for, up to the first red."""
    if arguments[:1] not in (["check"], ["test"]):
        sys.exit(__doc__)
    steps: list[Step] = [*(ALL_TESTS if arguments[0] == "test" else STATIC + TESTS)]
    steps += (suites_on(minor) for minor in arguments[1:])
    started = time.monotonic()
    for step in steps:
        if not run(step):
            again = " ".join(step.command).replace(sys.executable, ".venv/bin/python")
            sys.exit(f"red at `{step.name}`; to repeat it: {again}")
    noun = "step" if len(steps) == 1 else "steps"
    print(f"all green: {len(steps)} {noun} in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
