"""Rows under headings, as wide as they must be and no wider than the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence

from perdure.cli.terminal import cells, clean, clip, paint, wants_colour

WIDTH_MIN = 8
"""No column is made narrower than this."""
GAP = "  "


def show(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Mapping[str, str] | None = None,
    right: Sequence[str] = (),
) -> None:
    """Print a table; a cell that is a key of `colours` is coloured, those of `right` end flush."""
    cleaned = [[clean(cell) for cell in row] for row in rows]
    widths = _widths(headings, cleaned, _room())
    on = wants_colour()
    print(paint(_line(headings, headings, widths, right).rstrip(), "dim", on=on))
    for row in cleaned:
        line = _line(headings, row, widths, right, colours or {}, on=on)
        print(line.rstrip())


def _line(
    headings: Sequence[str],
    row: Sequence[str],
    widths: Sequence[int],
    right: Sequence[str],
    colours: Mapping[str, str] | None = None,
    *,
    on: bool = False,
) -> str:
    parts: list[str] = []
    for name, cell, width in zip(headings, row, widths, strict=True):
        shown = clip(cell, width)
        blanks = " " * (width - cells(shown))
        painted = paint(shown, (colours or {}).get(cell, ""), on=on)
        parts.append(blanks + painted if name in right else painted + blanks)
    return GAP.join(parts)


def _room() -> int | None:
    """Give how wide a table may be; what no terminal shows may be as wide as it likes."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int]:
    widths = [
        max([cells(heading), *(cells(row[at]) for row in rows)])
        for at, heading in enumerate(headings)
    ]
    if room is None:
        return widths
    too_wide = sum(widths) + len(GAP) * (len(widths) - 1) - room
    while too_wide > 0 and max(widths) > WIDTH_MIN:
        # The last column is a remark; what stands before it is wanted whole, to be copied.
        at = -1 if widths[-1] > WIDTH_MIN else widths.index(max(widths))
        widths[at] -= 1
        too_wide -= 1
    return widths
