"""Whether the documentation points at things that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from tests.tidy.pages import anchors, code_spans, links
from tests.tidy.tree import ROOT, Finding, Module

README_LINES_MAX = 150
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
OUR_PATH = re.compile(r"^(?:src|tests|docs|examples|bench|tools)/[\w./*-]+$")
TEST_ID = re.compile(r"\b(tests/[\w./-]+\.py)((?:::\w+)+)")
CODE = re.compile(r"\bE\d{3}\b")


def pages(root: Path = ROOT) -> list[Path]:
    """The pages that we answer for: those at the top, and those in docs/."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _finding(root: Path, file: Path, line: int, what: str) -> Finding:
    return Finding(file.relative_to(root).as_posix(), line, what)


def broken_links(root: Path = ROOT) -> list[Finding]:
    """Relative links that lead to no file, or to no heading in it."""
    found: list[Finding] = []
    for page in pages(root):
        for target, line in links(_read(page)):
            if not ELSEWHERE.match(target):
                trouble = _trouble(page, target)
                if trouble:
                    found.append(_finding(root, page, line, f"`{target}` {trouble}"))
    return found


def _trouble(page: Path, target: str) -> str:
    path, _, anchor = target.partition("#")
    file = (page.parent / path) if path else page
    if not file.exists():
        return "leads to no file"
    if anchor and file.suffix == ".md" and anchor not in anchors(_read(file)):
        return "leads to no heading"
    return ""


def missing_paths(page: Path, root: Path = ROOT) -> list[Finding]:
    """Paths of this tree that a page names between backticks and that are not there."""
    found: list[Finding] = []
    for span, line in code_spans(_read(page)):
        path = span.partition("::")[0]
        if OUR_PATH.match(path) and not any(root.glob(path.rstrip("/"))):
            found.append(_finding(root, page, line, f"`{path}` does not exist"))
    return found


def missing_tests(page: Path, root: Path = ROOT) -> list[Finding]:
    """Test ids that a page names and that no test bears."""
    found: list[Finding] = []
    for number, text in enumerate(_read(page).splitlines(), 1):
        for path, names in TEST_ID.findall(text):
            if not _has_test(root / path, names.split("::")[1:]):
                found.append(_finding(root, page, number, f"there is no test {path}{names}"))
    return found


def _has_test(file: Path, names: list[str]) -> bool:
    if not file.exists():
        return False
    body: Iterable[ast.AST] = ast.parse(_read(file)).body
    for name in names:
        node = next((node for node in body if getattr(node, "name", None) == name), None)
        if node is None:
            return False
        body = ast.iter_child_nodes(node)
    return True


def unlisted_decisions(root: Path = ROOT) -> list[Finding]:
    """Decision records that docs/adr/README.md does not link to."""
    index = root / "docs" / "adr" / "README.md"
    listed = {target.partition("#")[0].removeprefix("./") for target, _ in links(_read(index))}
    return [
        _finding(root, record, 1, "is not linked from docs/adr/README.md")
        for record in sorted(index.parent.glob("*.md"))
        if record != index and record.name not in listed
    ]


def error_codes(errors: Module) -> dict[str, tuple[str | None, int]]:
    """The error classes of a module: name to code and line; None where a class has no own code."""
    return {
        node.name: (_own_code(node), node.lineno)
        for node in errors.tree.body
        if isinstance(node, ast.ClassDef)
    }


def _own_code(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        match statement:
            case (
                ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code)))
                | ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code)))
            ):
                return code
    return None


def code_findings(errors: Module) -> list[Finding]:
    """Error classes without a code of their own, and codes that two classes share."""
    found: list[Finding] = []
    owners: dict[str, str] = {}
    for name, (code, line) in error_codes(errors).items():
        if code is None:
            found.append(Finding(errors.path, line, f"`{name}` has no code of its own"))
        elif code in owners:
            what = f"`{name}` and `{owners[code]}` share the code {code}"
            found.append(Finding(errors.path, line, what))
        else:
            owners[code] = name
    return found


def unlisted_codes(errors: Module, page: str) -> list[str]:
    """Error classes whose code, or whose name, the reference does not give."""
    shown = set(re.findall(r"\w+", page))
    return [
        f"docs/reference/errors.md does not give {code} with the name `{name}`"
        for name, (code, _) in error_codes(errors).items()
        if code and not {code, name} <= shown
    ]


def unknown_codes(modules: Iterable[Module], page: str) -> list[str]:
    """Codes that the reference gives and that occur nowhere in the package."""
    known = {code for module in modules for code in CODE.findall(module.text)}
    return [
        f"docs/reference/errors.md gives {code}, which nothing in src/ knows"
        for code in sorted(set(CODE.findall(page)) - known)
    ]
