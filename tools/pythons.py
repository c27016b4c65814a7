"""Find the Pythons of this machine, and make an environment for one of them.

    python3 tools/pythons.py others               the minors to test on besides the main one
    python3 tools/pythons.py venv DIR EXTRA [3.X] make DIR with `-e .[EXTRA]`, and stamp it

Knows nothing of Perdure and needs nothing but an old `python3`: it is what makes the rest run.
A candidate counts only if it runs: a shim on the path may point at nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TESTED = ((3, 11), (3, 12), (3, 13))
"""The minors that every suite must pass on; the newest of them is the main one."""

TOLERATED = ((3, 14),)
"""Minors that an environment is made with only when no tested one is there."""

PROBE = """\
import importlib.util, sys
print("%d.%d" % sys.version_info[:2])
print("whole" if importlib.util.find_spec("ensurepip") else "poor")
print(getattr(sys, "_base_executable", sys.executable))
"""
NO_ENSUREPIP = """\
{python} cannot make an environment: it lacks `ensurepip`.
On Debian and Ubuntu: apt install python{minor}-venv. Elsewhere: install a whole Python {minor},
then run `make setup` again.
"""
NO_PYTHON = "no Python 3.11, 3.12 or 3.13 runs on this machine: install one, then try again\n"


def dotted(minor: tuple[int, int]) -> str:
    """A minor as people write it."""
    return f"{minor[0]}.{minor[1]}"


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, check=False).returncode == 0


class Interpreter(NamedTuple):
    """A Python that runs: its minor, whether it can make an environment, and its true path."""

    minor: tuple[int, int]
    is_whole: bool
    path: str


def _probe(command: str) -> Interpreter | None:
    """What a command is; None if it is no Python that runs."""
    try:
        done = subprocess.run(
            [command, "-c", PROBE], capture_output=True, text=True, timeout=20, check=True
        )
        version, state, executable = done.stdout.split("\n")[:3]
        major, minor = version.split(".")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter((int(major), int(minor)), state == "whole", executable)


def _candidates() -> list[str]:
    """Commands that may be interpreters: the path first, then what pyenv has built."""
    names = ["python3", *(f"python{dotted(minor)}" for minor in TESTED + TOLERATED)]
    on_path = [
        str(Path(folder) / name)
        for name in names
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder and os.access(str(Path(folder) / name), os.X_OK)
    ]
    built = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))
    return on_path + [str(path) for path in built]


def interpreters() -> dict[tuple[int, int], Interpreter]:
    """One interpreter for each suitable minor; one that can make environments, if there is any."""
    found: dict[tuple[int, int], Interpreter] = {}
    for command in dict.fromkeys(_candidates()):
        probed = _probe(command)
        if probed is not None and probed.minor in TESTED + TOLERATED:
            known = found.setdefault(probed.minor, probed)
            if probed.is_whole and not known.is_whole:
                found[probed.minor] = probed
    return found


def main_minor(found: dict[tuple[int, int], Interpreter]) -> tuple[int, int]:
    """The newest tested minor, else the newest tolerated one."""
    for minor in sorted(TESTED, reverse=True) + sorted(TOLERATED, reverse=True):
        if minor in found:
            return minor
    sys.stderr.write(NO_PYTHON)
    raise SystemExit(1)


def others() -> list[str]:
    """The tested minors of this machine, without the one that `.venv` is made of."""
    found = interpreters()
    here = _probe(".venv/bin/python")
    main = here.minor if here else main_minor(found)
    return [dotted(minor) for minor in TESTED if minor in found and minor != main]


def _runs(python: Path) -> bool:
    return python.exists() and _probe(str(python)) is not None


def make_environment(folder: Path, extra: str, wanted: str | None) -> None:
    """Make `folder`, install this tree with `extra` into it, and leave a stamp."""
    found = interpreters()
    minor = wanted or dotted(main_minor(found))
    source = next((python for key, python in found.items() if dotted(key) == minor), None)
    if source is None:
        sys.stderr.write(f"no Python {minor} runs on this machine\n")
        raise SystemExit(1)
    python = folder / "bin" / "python"
    if not source.is_whole:
        sys.stderr.write(NO_ENSUREPIP.format(python=source.path, minor=minor))
        raise SystemExit(1)
    if not _runs(python):
        print(f"making {folder} with {source.path}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([source.path, "-m", "venv", str(folder)], check=True)
    print(f"installing Perdure and its tools into {folder}", flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not _succeeds([*install, "--editable", f".[{extra}]"]):
        sys.stderr.write(f"the installation into {folder} failed, see above\n")
        raise SystemExit(1)
    (folder / ".stamp").touch()


def main(arguments: list[str]) -> None:
    """Do what the command line asks for."""
    if arguments == ["others"]:
        print(" ".join(others()))
    elif arguments[:1] == ["venv"] and len(arguments) in (3, 4):
        wanted = arguments[3] if len(arguments) == 4 else None
        make_environment(Path(arguments[1]), arguments[2], wanted)
    else:
        sys.stderr.write(__doc__ or "")
        raise SystemExit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
