"""Nothing in the tree may speak of the machine on which it was written."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tidy.tree import ROOT, Finding, tracked_files

LEAKS = {
    "a path of a home": re.compile(r"(?<![\w.$}~-])/(?:home|Users|root)/\w"),
    "a path of one machine": re.compile(r"(?<![\w.$}~)\]/-])/(?:work|opt)/\w"),
    "a home on Windows": re.compile(r"\b[A-Z]:\\Users\\"),
    "the host of a registry": re.compile(
        r"\bpypi\.org|pythonhosted\.org|registry\.npmjs|\bnpmjs\.(?:com|org)", re.IGNORECASE
    ),
    "the choice of a registry": re.compile(
        r"--(?:extra-)?index-url|\bPIP_INDEX|\bUV_INDEX|\bfind-links|artifact[o]ry", re.IGNORECASE
    ),
}


def leaks_in(path: str, text: str) -> list[Finding]:
    """The leaks of one text."""
    return [
        Finding(path, number, f"{what}: {line.strip()[:80]}")
        for number, line in enumerate(text.splitlines(), 1)
        for what, pattern in LEAKS.items()
        if pattern.search(line)
    ]


def leaks(root: Path = ROOT) -> list[Finding]:
    """The leaks of every file that is, or would be, tracked."""
    found: list[Finding] = []
    for file in tracked_files(root):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        found += leaks_in(file.relative_to(root).as_posix(), text)
    return found
