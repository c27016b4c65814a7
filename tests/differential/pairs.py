"""Which constructs stand inside of which, in a program, around an await that is restorable.

Owns the list of pairs that a long enough run of generated programs has to have seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from typing import Any

KINDS = (
    "if", "for", "while", "try", "except", "try-else", "finally", "with", "async with",
    "async for", "match", "comprehension",
)  # fmt: skip
"""Every construct that an await may stand in and be restored."""

INNERMOST = "comprehension"
"""No statement stands inside of it."""

PAIRS = {f"{a} > {b}" for a, b in product(KINDS, KINDS) if a != INNERMOST}

_PARTS: dict[type[ast.AST], dict[str, str]] = {
    ast.If: {"body": "if", "orelse": "if"},
    ast.For: {"body": "for", "orelse": "for"},
    ast.While: {"test": "while", "body": "while", "orelse": "while"},
    ast.Try: {"body": "try", "orelse": "try-else", "finalbody": "finally"},
    ast.ExceptHandler: {"body": "except"},
    ast.With: {"body": "with"},
    ast.AsyncWith: {"body": "async with"},
    ast.AsyncFor: {"body": "async for"},
    ast.match_case: {"body": "match"},
    ast.ListComp: {"elt": "comprehension", "generators": "comprehension"},
    ast.SetComp: {"elt": "comprehension", "generators": "comprehension"},
    ast.DictComp: {"key": "comprehension", "value": "comprehension"},
}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def pairs(text: str) -> set[str]:
    """Say which construct has which other inside, with an await in that."""
    found: set[str] = set()
    for around in _around(ast.parse(text), ()):
        found.update(f"{a} > {b}" for i, b in enumerate(around) for a in around[:i])
    return found


def _around(node: Any, around: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Give the constructs around each await, from the outermost inwards."""
    if isinstance(node, _SCOPES):
        around = ()
    elif isinstance(node, ast.Await):
        yield around
    parts = _PARTS.get(type(node), {})
    for name, value in ast.iter_fields(node):
        inside = (*around, parts[name]) if name in parts else around
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _around(child, inside)
