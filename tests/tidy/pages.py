"""Read Markdown as far as the checks need it: fences with their marks, code spans, headings, links.

A mark is an HTML comment on its own line above a fence, such as `<!-- no-run: needs a server -->`;
several may stand there, and blank lines between them and the fence do not matter.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})\s*(?P<language>[\w+-]*)[^`]*$")
MARK = re.compile(r"^\s*<!--\s*(?P<name>[a-z-]+)(?::\s*(?P<value>.*?))?\s*-->\s*$")
CODE_SPAN = re.compile(r"(`+)(?P<code>.+?)\1", re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*\s*$")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"(?P<name>[^\"]+)\"")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?(?P<inline>[^)\s>]+)[^)]*\)")
REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s+<?(?P<target>\S+?)>?(?:\s|$)")


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, the line where the text begins, and its marks."""

    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def lines(self) -> int:
        """How many lines the text has."""
        return len(self.text.splitlines())


def fences(page: str) -> list[Fence]:
    """Every fenced block of a page, in order."""
    return [fence for fence, _, _ in _fences_with_span(page)]


def _fences_with_span(page: str) -> Iterator[tuple[Fence, int, int]]:
    lines = page.splitlines()
    marks: dict[str, str] = {}
    number = 0
    while number < len(lines):
        opening, mark = FENCE.match(lines[number]), MARK.match(lines[number])
        if opening:
            end = _closing(lines, number, opening["ticks"])
            text = textwrap.dedent("\n".join(lines[number + 1 : end]) + "\n")
            yield Fence(opening["language"], text, number + 2, marks), number, end
            marks, number = {}, end
        elif mark:
            marks = marks | {mark["name"]: mark["value"] or ""}
        elif lines[number].strip():
            marks = {}
        number += 1


def _closing(lines: list[str], opening: int, ticks: str) -> int:
    """The line that closes a fence; the end of the page if nothing does."""
    for number in range(opening + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(ticks) and not line.strip(ticks[0]):
            return number
    return len(lines)


def prose(page: str) -> str:
    """The page with its fenced blocks blanked out, so that lines keep their numbers."""
    lines = page.splitlines()
    for _, first, last in _fences_with_span(page):
        for number in range(first, min(last + 1, len(lines))):
            lines[number] = ""
    return "\n".join(lines)


def code_spans(page: str) -> list[tuple[str, int]]:
    """The text between backticks outside of fences, with the line of each."""
    text = prose(page)
    return [
        (found["code"].strip(), text.count("\n", 0, found.start()) + 1)
        for found in CODE_SPAN.finditer(text)
    ]


def code_in(page: str) -> str:
    """All the code that a page shows, in fences and between backticks."""
    blocks = [fence.text for fence in fences(page)]
    return "\n".join([*blocks, *(code for code, _ in code_spans(page))])


def anchors(page: str) -> set[str]:
    """The names that a link may point to inside of a page."""
    names = {found["name"] for found in ANCHOR.finditer(page)}
    for line in prose(page).splitlines():
        heading = HEADING.match(line)
        if heading:
            names.add(_unused(_slug(heading["title"]), names))
    return names


def _slug(title: str) -> str:
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    kept = re.sub(r"[^\w\- ]", "", shown.lower())
    return kept.replace(" ", "-")


def _unused(slug: str, taken: set[str]) -> str:
    count, name = 0, slug
    while name in taken:
        count += 1
        name = f"{slug}-{count}"
    return name


def links(page: str) -> list[tuple[str, int]]:
    """The targets of all links and images of a page, with the line of each."""
    found: list[tuple[str, int]] = []
    for number, line in enumerate(prose(page).splitlines(), 1):
        bare = CODE_SPAN.sub("", line)
        found += [(link["inline"], number) for link in LINK.finditer(bare)]
        reference = REFERENCE.match(bare)
        if reference:
            found.append((reference["target"], number))
    return found


def table_under(page: str, title: str) -> list[list[str]]:
    """Every row of the table below a heading, without the one that names the columns."""
    below = page.split(f"# {title}\n", 1)[1]
    rows = [line for line in below.split("\n#", 1)[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
