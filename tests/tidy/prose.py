"""Whether modules, public functions and public classes say what they are."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tests.tidy.tree import Finding, Module

WORDS_MIN = 3


def is_sentence(text: str | None) -> bool:
    """Whether the first paragraph of a text has at least three words and ends as sentences do."""
    paragraph = (text or "").strip().split("\n\n")[0].rstrip('`") \n')
    return len(paragraph.split()) >= WORDS_MIN and paragraph.endswith((".", ":", "!", "?"))


def unexplained_modules(modules: Sequence[Module]) -> list[Finding]:
    """Modules whose docstring is missing, or is no sentence."""
    return [
        Finding(module.path, 1, "the module does not say, in a sentence, what it is for")
        for module in modules
        if not is_sentence(ast.get_docstring(module.tree))
    ]


def unexplained_definitions(modules: Sequence[Module]) -> list[Finding]:
    """Public functions and classes at the top of a module that have no docstring."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        Finding(module.path, node.lineno, f"`{node.name}` is public and has no docstring")
        for module in modules
        for node in module.tree.body
        if isinstance(node, kinds)
        and not node.name.startswith("_")
        and not _is_overload(node)
        and not ast.get_docstring(node)
    ]


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(
        getattr(mark, "attr", getattr(mark, "id", "")) == "overload" for mark in node.decorator_list
    )
