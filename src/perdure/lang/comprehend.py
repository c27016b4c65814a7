"""Comprehensions that await, written out as the coroutines that they were up to Python 3.11."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from perdure.lang.shape import Made

NAMES = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}

EMPTY: dict[type, Callable[[Made], ast.expr]] = {
    ast.ListComp: lambda made: ast.List([], ast.Load(), **made.where),
    ast.SetComp: lambda made: made.helper("empty_set"),
    ast.DictComp: lambda made: ast.Dict([], [], **made.where),
}


def leaf(node: Any, made: Made) -> list[ast.stmt]:
    """Give what a comprehension does with each member."""
    if isinstance(node, ast.DictComp):
        key, value = Made(node.key), Made(node.value)
        place = ast.Subscript(made.name(".out"), made.name(".k"), ast.Store(), **made.where)
        return [
            key.assign(".k", node.key),
            value.assign(".v", node.value),
            made.put(place, made.name(".v")),
        ]
    method = "append" if isinstance(node, ast.ListComp) else "add"
    call = made.call(made.attribute(made.name(".out"), method), node.elt)
    return [ast.Expr(call, **made.where)]


def loops(node: Any, made: Made, body: list[ast.stmt]) -> list[ast.stmt]:
    """Give the loops of a comprehension around what is done in them."""
    generators: list[ast.comprehension] = node.generators
    for number, each in reversed(list(enumerate(generators))):
        for condition in reversed(each.ifs):
            body = [Made(condition).branch(condition, body)]
        iterable = each.iter if number else made.name(".0")
        loop = ast.AsyncFor if each.is_async else ast.For
        body = [loop(each.target, iterable, body, [], **Made(each.iter).where)]
    return body
