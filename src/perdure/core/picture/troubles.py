"""An exception for people: what it says, the line of the user's, and what led to it."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from types import TracebackType
from typing import Final

from perdure import values
from perdure.core.picture.shown import Place, Trouble
from perdure.core.picture.watching import OWN

_CAUSES_MAX: Final = 8
_TEXT_MAX: Final = 2_000
_LINE: Final = re.compile(r'^  File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>.+)$')


def trouble_of(error: BaseException | None, left: int = _CAUSES_MAX) -> Trouble | None:
    """Tell an exception and what led to it."""
    if error is None or left == 0:
        return None
    direct = error.__cause__
    led = direct if direct is not None or error.__suppress_context__ else error.__context__
    return Trouble(
        kind=type(error).__name__,
        text=_text(error),
        notes=[str(each)[:_TEXT_MAX] for each in getattr(error, "__notes__", ())],
        place=place_of(error),
        cause=trouble_of(led, left - 1),
        is_direct=direct is not None,
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_TEXT_MAX]
    except Exception as failed:  # noqa: BLE001 — its `__str__` is the user's
        return f"(its text cannot be shown: {type(failed).__name__})"


def place_of(error: BaseException) -> Place | None:
    """Give the innermost line of the user's that an exception went through, here or remotely."""
    remote = values.remote_traceback(error)
    if remote is not None:
        found = [each for each in _remote(remote) if not each.file.startswith(OWN)]
        if found:
            return found[-1]
    here = [each for each in _local(error.__traceback__) if not each.file.startswith(OWN)]
    return here[-1] if here else None


def _remote(text: str) -> Iterator[Place]:
    lines = text.splitlines()
    for at, line in enumerate(lines):
        found = _LINE.match(line)
        if found:
            after = lines[at + 1] if at + 1 < len(lines) else ""
            source = after.strip() if after.startswith("    ") else ""
            yield Place(found["file"], int(found["line"]), found["name"], source)


def _local(trace: TracebackType | None) -> Iterator[Place]:
    while trace is not None:
        code = trace.tb_frame.f_code
        source = linecache.getline(code.co_filename, trace.tb_lineno).strip()
        yield Place(code.co_filename, trace.tb_lineno, code.co_qualname, source)
        trace = trace.tb_next
