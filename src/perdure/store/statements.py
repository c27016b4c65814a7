"""Named SQL: reads the `.sql` files of this package. Knows no database.

A statement begins with a line `-- name: its_name -- its promise`, and ends where the next begins.
"""

from __future__ import annotations

import re
from importlib.resources import files

_HEAD = re.compile(r"^-- name: (\w+) -- (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d{4})_\w+\.sql$")


def statements(file: str) -> dict[str, str]:
    """Give the statements of one file, by name."""
    parts = _HEAD.split(_text(file))
    names, bodies = parts[1::3], parts[3::3]
    assert len(set(names)) == len(names), file
    return {name: body.strip() for name, body in zip(names, bodies, strict=True)}


def migrations() -> dict[int, str]:
    """Give the scripts that lead from each generation to the next, by the one they lead to."""
    folder = files("perdure.store").joinpath("sql/migrations")
    found = {_NUMBERED.match(entry.name): entry for entry in folder.iterdir()}
    return {
        int(match[1]): entry.read_text(encoding="utf-8")
        for match, entry in sorted(found.items(), key=lambda it: it[1].name)
        if match is not None
    }


def _text(file: str) -> str:
    return files("perdure.store").joinpath("sql", file).read_text(encoding="utf-8")
