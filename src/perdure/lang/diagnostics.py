"""What is wrong with a program, for a person: what, where with a caret, what to write instead.

Knows how a diagnostic looks, not how it is found.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

import msgspec

ERROR, WARNING, NOTE = "error", "warning", "note"

CODES: dict[str, str] = {
    "L101": "a workflow is an `async def`",
    "L102": "a workflow returns one value and does not yield",
    "L103": "a run has a namespace of its own: `global` would not reach the module",
    "L104": "a builtin that reaches outside of the run",
    "L105": "something of the outside, in inline code",
    "L106": "a lock, queue or event of asyncio that belongs to the module",
    "L107": "a module-level object that cannot be copied for each run",
    "L108": "the text of a module is not what was imported",
    "L109": "a workflow is defined at the top level of a module",
    "L110": "module data that a class and the run would change in two places",
    "L111": "what a class or a module holds for all runs is changed",
    "L201": "an action or helper is called and never awaited",
    "L202": "a class draws fresh values whenever it is built",
    "L203": "a class has a `__del__`, which may run early, late or twice",
    "L204": "a name that is defined nowhere",
    "L301": "a function that cannot be put into an image while it waits",
}
"""Every code of a diagnostic. L1 are errors, L2 are warnings, L3 are notes."""


class Diagnostic(msgspec.Struct, frozen=True, order=True):
    """One thing that is wrong, and where."""

    file: str
    line: int
    column: int
    end_column: int
    code: str
    message: str
    remedy: str
    source: str = ""

    @property
    def severity(self) -> str:
        """`error` keeps a workflow from starting; `warning` and `note` do not."""
        return _SEVERITIES[self.code[:2]]


_SEVERITIES = {"L1": ERROR, "L2": WARNING, "L3": NOTE}
_STYLES = {ERROR: "31;1", WARNING: "33;1", NOTE: "36;1"}


def at(
    node: ast.AST, file: str, lines: Sequence[str], code: str, message: str, remedy: str
) -> Diagnostic:
    """Make a diagnostic that points at a piece of source."""
    assert code in CODES, code
    line: int = getattr(node, "lineno", 1)
    column: int = getattr(node, "col_offset", 0)
    source = lines[line - 1].rstrip("\n") if 0 < line <= len(lines) else ""
    one_line = getattr(node, "end_lineno", line) == line
    end: int = getattr(node, "end_col_offset", column + 1) if one_line else len(source.encode())
    start_chars = len(source.encode()[:column].decode(errors="replace"))
    end_chars = len(source.encode()[:end].decode(errors="replace"))
    return Diagnostic(file, line, start_chars, end_chars, code, message, remedy, source)


def render(diagnostic: Diagnostic, *, colour: bool = False) -> str:
    """Write a diagnostic as a good compiler would."""
    paint = _paint if colour else _plain
    strong = _STYLES[diagnostic.severity]
    head = paint(f"{diagnostic.severity} {diagnostic.code}", strong)
    place = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column + 1}"
    number = str(diagnostic.line)
    gap = " " * len(number)
    width = max(1, diagnostic.end_column - diagnostic.column)
    marks = paint("^" * width, strong)
    tabs = "".join("\t" if c == "\t" else " " for c in diagnostic.source[: diagnostic.column])
    lines = [
        f"{head}: {diagnostic.message}",
        f"{gap}--> {place}",
        f"{number} | {diagnostic.source}",
        f"{gap} | {tabs}{marks}",
    ]
    if diagnostic.remedy:
        lines.append(f"{gap} = {paint('instead', '36')}: {diagnostic.remedy}")
    return "\n".join(lines)


def render_all(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """Write all of them, and how many there are."""
    found = Counter(each.severity for each in diagnostics)
    blocks = [render(each, colour=colour) for each in diagnostics]
    counts = [_count(found[ERROR], "error"), _count(found[WARNING], "warning")]
    counts += [_count(found[NOTE], "note")] if found[NOTE] else []
    blocks.append(", ".join(counts))
    return "\n\n".join(blocks)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _plain(text: str, _: str) -> str:
    return text
