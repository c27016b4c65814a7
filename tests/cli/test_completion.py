"""Completion: each shell's script knows every command and option that the parser knows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from perdure.cli import COMMANDS, completing, parser
from tests.cli.kit import ROOT, perdure

KNOWN = completing.known(parser())
BASH = shutil.which("bash")


@pytest.mark.parametrize("shell", completing.SHELLS)
def test_every_command_and_option_is_in_the_script(shell: str) -> None:
    script = completing.SHELLS[shell](KNOWN)
    assert {each.name for each in KNOWN} == set(COMMANDS)
    for command in KNOWN:
        assert command.name in script
        for option in command.options:
            assert (option.flag[2:] if shell == "fish" else option.flag) in script


def test_every_command_and_option_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    missing = [
        f"{command.name} {option.flag}"
        for command in KNOWN
        for option in command.options
        if f"`{command.name}" not in page or (option.flag not in page and option.flag != "--help")
    ]
    assert missing == []


@pytest.mark.parametrize("shell", completing.SHELLS)
def test_a_shell_that_is_here_takes_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    file = tmp_path / "script"
    file.write_text(perdure("completion", shell).stdout)
    done = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(BASH is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("perdure wor", ["worker"]),
        ("perdure li", ["list"]),
        ("perdure list --st", ["--status", "--store"]),
        ("perdure list --status fa", ["failed"]),
        ("perdure run --id ", []),
        ("perdure completion ", ["bash", "zsh", "fish", "--help"]),
        ("perdure prune --old", ["--older-than"]),
        ("perdure programs sh", ["show"]),
    ],
)
def test_bash_offers_what_may_follow(line: str, offered: list[str], tmp_path: Path) -> None:
    words = line.split(" ")
    script = "\n".join([
        completing.bash(KNOWN),
        f"COMP_WORDS=({' '.join(repr(word) for word in words)})",
        f"COMP_CWORD={len(words) - 1}",
        "_perdure",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ])  # fmt: skip
    assert BASH is not None
    done = subprocess.run([BASH, "-c", script], capture_output=True, text=True, check=True)
    assert (sorted(done.stdout.split()), done.stderr) == (sorted(offered), "")
