"""A run as its graph shows it: what was reached, what is under way, what waits, what went wrong.

Derived by folding the log of a run again, beside the run and without changing it. Knows no store,
no clock and no terminal: a picture is plain data.
"""

from __future__ import annotations

from perdure.core.picture.painting import Move, Painter
from perdure.core.picture.shown import NodeView, Part, Picture, Place, Trouble, to_data
from perdure.core.picture.troubles import trouble_of

__all__ = [
    "Move",
    "NodeView",
    "Painter",
    "Part",
    "Picture",
    "Place",
    "Trouble",
    "to_data",
    "trouble_of",
]
