"""The difference of two programs as people read it: function by function, await by await. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from perdure.lang.aligning import position
from perdure.lang.diff import Difference, FunctionDiff
from perdure.lang.graph_syntax import short, text_of
from perdure.lang.pairing import Pair, definitions_in
from perdure.lang.shape import SUSPENDING, own_children


def text(difference: Difference) -> str:
    """Tell what lies between two programs, as far as a run that waits is concerned."""
    lines: list[str] = []
    for module in difference.old.sources:
        lines += _module(difference, module)
    return "\n".join(lines) or "no function is different"


def _module(difference: Difference, module: str) -> Iterator[str]:
    pairs = difference.pairs(module)
    for place, pair in sorted(pairs.items()):
        if ast.dump(pair.old) != ast.dump(pair.new) and hasattr(pair.old, "args"):
            yield from _function(module, difference.function_at(module, place), pair)
    old, new = difference.old.sources.get(module), difference.new.sources.get(module)
    if old is not None and new is not None:
        kept = {id(each.old) for each in pairs.values()} | {id(each.new) for each in pairs.values()}
        yield from _alone(module, "gone", old.tree, kept)
        yield from _alone(module, "new", new.tree, kept)


def _function(module: str, found: FunctionDiff, pair: Pair) -> Iterator[str]:
    new_name = getattr(pair.new, "name", "lambda")
    name = getattr(pair.old, "name", "lambda")
    shown = name if name == new_name else f"{name} → {new_name}"
    yield f"{module}:{shown}  line {pair.old.lineno} → {pair.new.lineno}"
    if isinstance(pair.old, ast.Lambda):
        return
    yield from (f"  variable {was} → {now}" for was, now in found.names.items())
    added, removed = found.variables
    yield from (f"  variable {each} is new" for each in added)
    yield from (f"  variable {each} is gone" for each in removed)
    for node in _awaits(pair.old):
        place = position(node)
        target = found.aligned.places.get(place)
        said = f"  {node.lineno:>5}  {short(text_of(node))}"
        yield f"{said}  → {target[0]}" if target else f"{said}  ✗ {_why(found, place)}"


def _why(found: FunctionDiff, place: tuple[int, int]) -> str:
    return found.aligned.reasons.get(place, "the statement around it was changed")


def _awaits(node: Any) -> Iterator[Any]:
    """Give what a function awaits, in the order of its lines."""
    found = [each for statement in node.body for each in _own(statement)]
    return iter(sorted(found, key=position))


def _own(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, SUSPENDING):
        yield node
    elif isinstance(node, ast.AsyncFor):
        yield node.iter
    elif isinstance(node, ast.AsyncWith):
        yield from (each.context_expr for each in node.items)
    for child in own_children(node):
        yield from _own(child)


def _alone(module: str, how: str, tree: ast.AST, kept: set[int]) -> Iterator[str]:
    for each in definitions_in(tree):
        if id(each) not in kept and hasattr(each, "name"):
            yield f"{module}:{each.name}  line {each.lineno} is {how}"
