"""The tree that tidy reads: modules as text and syntax, and findings that point into them.

Knows how to read files and nothing about any rule.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "perdure"


@dataclass(frozen=True, order=True)
class Finding:
    """One breach of one rule, at one place."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Module:
    """One Python file: its dotted name, its path from the root, its text and its syntax tree."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def inner(self) -> str:
        """The name inside of the package: `lang.lower`; `__init__` for the package itself."""
        return self.name.removeprefix(PACKAGE).lstrip(".") or "__init__"

    @property
    def top(self) -> str:
        """The first part of the inner name: what the table of layers speaks about."""
        return self.inner.split(".")[0]

    @property
    def is_package(self) -> bool:
        """Whether this is the `__init__` of a folder."""
        return self.path.endswith("__init__.py")


def parse(name: str, text: str, path: str | None = None) -> Module:
    """A module from text; without a path it gets the one that its name spells."""
    where = path or "src/" + name.replace(".", "/") + ".py"
    return Module(name, where, text, ast.parse(text, where))


def source_modules(root: Path = ROOT) -> list[Module]:
    """Every module of the package, in the order of their paths."""
    return list(_modules_under(root, root / "src" / PACKAGE))


def _modules_under(root: Path, folder: Path) -> Iterator[Module]:
    for file in sorted(folder.rglob("*.py")):
        parts = list(file.relative_to(root / "src").with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        path = file.relative_to(root).as_posix()
        yield parse(name, file.read_text(encoding="utf-8"), path)


def tracked_files(root: Path = ROOT) -> list[Path]:
    """What git tracks or would track; every file outside of hidden folders if there is no git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return [file for file in sorted(root.rglob("*")) if file.is_file() and _is_ours(root, file)]
    files = (root / name for name in done.stdout.split("\0") if name)
    return [file for file in files if file.is_file()]


def _is_ours(root: Path, file: Path) -> bool:
    parts = file.relative_to(root).parts
    return not any(part.startswith(".") or part == "__pycache__" for part in parts[:-1])
