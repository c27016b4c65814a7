"""How text is shown in a terminal: colours where they can be seen, nothing that moves the cursor.

What is shown may come from anybody: a control character in it is shown as its number.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import TextIO

COLOURS = {
    "dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip
CONTROLS = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether to colour what is written to a stream, standard output unless given."""
    if os.environ.get("NO_COLOR"):
        return False
    is_seen = (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"
    return is_seen or bool(re.match("1|yes|true", os.environ.get("FORCE_COLOR", "")))


def paint(text: str, colour: str, *, on: bool) -> str:
    """Colour a text, if colours are on."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if on and text and colour else text


def clean(text: str) -> str:
    """Show characters that have no shape, or that order others about, as their numbers."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _number(each) for each in text)


def _number(character: str) -> str:
    code = ord(character)
    if character in CONTROLS:
        return CONTROLS[character]
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def cells(text: str) -> int:
    """Give how many columns a text takes: a wide character takes two, a mark on another none."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, width: int) -> str:
    """Shorten a text to so many columns; where something is missing, there is `…`."""
    if cells(text) <= width:
        return text
    taken = 0
    for at, character in enumerate(text):
        taken += _cells_of(character)
        if taken > width - 1:
            return text[:at] + "…"
    return text


def pad(text: str, width: int) -> str:
    """Fill a text up with blanks to so many columns."""
    return text + " " * (width - cells(text))
