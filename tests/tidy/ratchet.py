"""The ratchet: what is too long today may shrink, must not grow, and nothing may join it.

    python -m tests.tidy.ratchet --write                write lowered and dropped entries down
    python -m tests.tidy.ratchet --write --accept-new   take new and grown entries in as well

The second form is an admission: the reviewer sees it in the difference of ratchet.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.tidy.sizes import FILE_LINES_MAX, FUNCTION_LINES_AIM, excess
from tests.tidy.tree import source_modules

FILE = Path(__file__).with_name("ratchet.json")
LOWER_IT = "run `python -m tests.tidy.ratchet --write`"


def recorded() -> dict[str, int]:
    """The excess that is on record."""
    content: dict[str, int] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def breaches(record: Mapping[str, int], present: Mapping[str, int]) -> list[str]:
    """Every way in which the present differs from the record, with the remedy."""
    found: list[str] = []
    for key in sorted(record.keys() | present.keys()):
        was, now = record.get(key), present.get(key)
        if was is None:
            limit = FUNCTION_LINES_AIM if "::" in key else FILE_LINES_MAX
            found.append(f"{key} has {now} lines and may have {limit}: split it")
        elif now is None:
            found.append(f"{key} is no longer too long, well done: {LOWER_IT}")
        elif now > was:
            found.append(f"{key} grew from {was} to {now} lines: split it")
        elif now < was:
            found.append(f"{key} shrank from {was} to {now} lines: {LOWER_IT}")
    return found


def lowered(
    record: Mapping[str, int], present: Mapping[str, int], *, accept_new: bool
) -> dict[str, int]:
    """The record to write: never higher than before, unless new excess is accepted."""
    if accept_new:
        return dict(present)
    return {key: min(was, present[key]) for key, was in record.items() if key in present}


def main(arguments: list[str]) -> None:
    """Show the breaches, or write the record."""
    accept_new = "--accept-new" in arguments
    present = excess(source_modules())
    if "--write" in arguments:
        record = lowered(recorded(), present, accept_new=accept_new)
        FILE.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    left = breaches(recorded(), present)
    sys.exit("\n".join(left) if left else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
