"""Where in the user's code a call is made: qualified name and line, the same in every process."""

from __future__ import annotations

import sys
from types import CodeType

_known: dict[tuple[int, int], tuple[CodeType, str]] = {}
"""By the identity of code, which lives as long as its entry: its hash costs more than all else."""
_KNOWN_MAX = 50_000


def site(depth: int = 2) -> str:
    """Give the place of the caller's caller, as `fulfil:41`."""
    frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    found = _known.get(key)
    if found is None:
        if len(_known) >= _KNOWN_MAX:
            _known.clear()
        found = _known[key] = (code, f"{code.co_qualname}:{frame.f_lineno}")
    return found[1]
