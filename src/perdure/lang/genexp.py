"""Generator expressions, written out as the generators that they are, so that they can be stored.

`(f(x) for x in xs)` becomes `def <genexpr>(.0): for x in .0: yield f(x)`, made just before the
statement in which it stands, and called there with the iterator of `xs`. What is used up at once,
as by `sum(…)`, stays as it is: no await can find it half-way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from perdure.lang.comprehend import loops
from perdure.lang.shape import COMPREHENSIONS, SCOPES, Awaiting, Made, outer_parts, walrus_names

_NAME = "<genexpr>"

_USED_UP = frozenset(
    {
        "all", "any", "bytearray", "bytes", "dict", "extend", "frozenset", "fsum", "join", "list",
        "max", "min", "prod", "set", "sorted", "sum", "tuple", "update", "Counter", "OrderedDict",
        "deque",
    }
)  # fmt: skip
"""Names of what goes through all of its argument; where one means something else, little is lost:
the generator cannot be stored while it waits."""


class GeneratorExpressions:
    """Writes out the generator expressions of one function."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = names
        """What is local to the function."""
        self.made = 0
        self.leaked: dict[str, None] = {}
        """What they bind in the function by `:=`."""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Give a block with the generators in front of the statements that make them."""
        out: list[ast.stmt] = []
        for statement in statements:
            found: list[ast.stmt] = []
            self._statement(statement, found)
            out += [*found, statement]
        return out

    def _statement(self, node: Any, out: list[ast.stmt]) -> None:
        if isinstance(node, SCOPES):
            for part in outer_parts(node):
                self._inside(part, out)
            return
        for name, value in _fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.value(value, out))
            elif _is_list(value):
                setattr(node, name, self._list(value, out))

    def _list(self, nodes: list[Any], out: list[ast.stmt]) -> list[Any]:
        if nodes and isinstance(nodes[0], ast.stmt):
            return self.block(nodes)
        for i, each in enumerate(nodes):
            if isinstance(each, ast.expr):
                nodes[i] = self.value(each, out)
            elif isinstance(each, (ast.ExceptHandler, ast.match_case, ast.withitem)):
                self._statement(each, out)
        return nodes

    def value(self, node: Any, out: list[ast.stmt]) -> Any:
        """Give an expression in which generators are called; `out` gets what makes them."""
        if isinstance(node, ast.GeneratorExp):
            return self._written(node, out)
        self._inside(node, out)
        return node

    def _inside(self, node: Any, out: list[ast.stmt]) -> None:
        if isinstance(node, (ast.Lambda, *COMPREHENSIONS, ast.Starred)):
            return
        used_up = isinstance(node, ast.Call) and _named(node.func) in _USED_UP
        for name, value in _fields(node):
            if used_up and name == "args":
                continue
            if isinstance(value, ast.expr):
                setattr(node, name, self.value(value, out))
            elif _is_list(value):
                value[:] = [self.value(e, out) if isinstance(e, ast.AST) else e for e in value]

    def _written(self, node: ast.GeneratorExp, out: list[ast.stmt]) -> ast.expr:
        first = node.generators[0]
        first.iter = self.value(first.iter, out)
        made, names = Made(node), walrus_names(node)
        if first.is_async or any(name not in self.names for name in names):
            return node
        self.leaked.update(dict.fromkeys(names))
        each = ast.Expr(ast.Yield(node.elt, **Made(node.elt).where), **Made(node.elt).where)
        body: list[ast.stmt] = [ast.Nonlocal(names, **made.where)] if names else []
        body += loops(node, made, [each])
        kind = ast.AsyncFunctionDef if _awaits(node) else ast.FunctionDef
        self.made += 1
        out.append(made.function(kind, _NAME, ".0", body))
        out.append(made.assign(f".g{self.made}", made.name(_NAME)))
        begun = Made(first.iter).helper("iterate", first.iter)
        return made.call(made.name(f".g{self.made}"), begun)


def _fields(node: ast.AST) -> list[tuple[str, Any]]:
    return list(ast.iter_fields(node))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _named(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _awaits(node: ast.GeneratorExp) -> bool:
    """Whether a generator expression is an asynchronous one."""
    first, *more = node.generators
    parts = [node.elt, first.target, *first.ifs, *more]
    return bool(Awaiting(parts).found)
