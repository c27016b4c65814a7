"""Pairing: which definition of a module as it was is which one of the module as it is now.

By qualified name; of several of a name, those that say the same come first. A function that goes by
another name and says the same is the same function. Pure.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from perdure.lang.aligning import Position, position
from perdure.lang.shape import SCOPES, bound_names


class Pair(NamedTuple):
    """A definition as it was, and as it is."""

    old: Any
    new: Any


def paired(old: ast.Module, new: ast.Module) -> dict[Position, Pair]:
    """Pair the definitions of two versions of a module, by where they stood in the old one."""
    found: dict[Position, Pair] = {}
    _pair_inside(old, new, found)
    return found


def _pair_inside(old: ast.AST, new: ast.AST, found: dict[Position, Pair]) -> None:
    for pair in _pairs(list(definitions_in(old)), list(definitions_in(new))):
        found[position(pair.old)] = pair
        _pair_inside(pair.old, pair.new, found)


def definitions_in(node: ast.AST) -> Iterator[Any]:
    """Give the definitions of a scope, not those inside of them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            yield child
        else:
            yield from definitions_in(child)


def _pairs(old: list[Any], new: list[Any]) -> Iterator[Pair]:
    rest_old: list[Any] = []
    rest_new = list(new)
    for each in old:
        same = next((it for it in rest_new if ast.dump(it) == ast.dump(each)), None)
        if same is None:
            rest_old.append(each)
        else:
            rest_new.remove(same)
            yield Pair(each, same)
    for each in list(rest_old):
        named = [it for it in rest_new if _name(it) == _name(each)]
        if len(named) == 1 == sum(_name(it) == _name(each) for it in rest_old):
            rest_old.remove(each)
            rest_new.remove(named[0])
            yield Pair(each, named[0])
    for each in rest_old:
        renamed = [it for it in rest_new if _inside(it) == _inside(each)]
        if len(renamed) == 1 and not isinstance(each, ast.Lambda):
            rest_new.remove(renamed[0])
            yield Pair(each, renamed[0])


def _name(node: ast.AST) -> tuple[type, str]:
    return type(node), getattr(node, "name", "<lambda>")


def _inside(node: Any) -> tuple[str, str]:
    """Give what a function says besides its name and its decorators."""
    if isinstance(node, ast.ClassDef):
        return "class", node.name
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    return node.__class__.__name__, ast.dump(node.args) + "".join(map(ast.dump, body))


# --- variables that go by another name


def renamed_in(pair: Pair) -> dict[str, str]:
    """Give the variables that go by another name now, if that is all that was changed."""
    old, new = list(bound_names(pair.old)), list(bound_names(pair.new))
    gone, come = [n for n in old if n not in new], [n for n in new if n not in old]
    if not gone or len(gone) != len(come):
        return {}
    names = dict(zip(gone, come, strict=True))
    return names if _inside(with_names(pair.old, names)) == _inside(pair.new) else {}


def with_names(function: Any, names: dict[str, str]) -> Any:
    """Give a function with other names for its variables, in the same places."""
    if not names:
        return function
    made = copy.deepcopy(function)
    for node in ast.walk(made):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            node.name = names.get(node.name, node.name)
        elif isinstance(node, ast.Nonlocal):
            node.names = [names.get(each, each) for each in node.names]
    return made
