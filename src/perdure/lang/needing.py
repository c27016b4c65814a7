"""What a function needs when it goes on from one of its awaits: names that it may read unset.

A run that is moved to other code brings the variables that it has. A name that the new code may
read before it gives it a value has to be among them. Backward over the statements of one function;
where that is not exact, a name too many is needed, never one too few. Pure.
"""

# The table names private methods of its own class.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from perdure.lang.aligning import AWAITING, Position, position
from perdure.lang.shape import COMPREHENSIONS, SCOPES, bound_names, outer_parts

Names = frozenset[str]
_NONE: Names = frozenset()


class _Where(NamedTuple):
    """What is needed where a statement may lead to but to the next one."""

    raised: Names = _NONE
    left: Names = _NONE
    """By `break`."""
    again: Names = _NONE
    """By `continue`."""
    returned: Names = _NONE


class Needs:
    """The names that one function needs after each of its awaits, by where these stand."""

    def __init__(self, function: Any) -> None:
        self.own: Names = frozenset(bound_names(function))
        self.after: dict[Position, Names] = {}
        self.function = function
        self.block(function.body, _NONE, _Where())

    def line_of(self, name: str, after: int) -> int:
        """Say where a name is read, from a line on if it is read there."""
        lines = [
            each.lineno
            for each in ast.walk(self.function)
            if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        ]
        return min((each for each in lines if each > after), default=min(lines, default=after))

    def block(self, statements: list[ast.stmt], out: Names, where: _Where) -> Names:
        """Give what is needed before a block, of what is needed after it."""
        for each in reversed(statements):
            statement: Any = each
            out = _STATEMENTS.get(type(statement), _SIMPLE)(self, statement, out, where)
        return out

    def _reads(self, *nodes: ast.AST | None) -> Names:
        found = {name for each in nodes if each is not None for name in _read(each)}
        return frozenset(found) & self.own

    def _note(self, nodes: Iterable[ast.AST | None], needed: Names) -> None:
        """Note what is needed after the awaits in expressions."""
        for node in nodes:
            for each in ast.walk(node) if node is not None else ():
                if isinstance(each, AWAITING):
                    self._at(each, needed)

    def _at(self, node: ast.AST, needed: Names) -> None:
        place = position(node)
        self.after[place] = self.after.get(place, _NONE) | needed

    # --- statements, one method a kind

    def _simple(self, node: Any, out: Names, where: _Where) -> Names:
        leaving = _LEAVING.get(type(node))
        out = (out if leaving is None else leaving(where)) | where.raised
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)):
            targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
            rest = out - (_stored(targets) if node.value is not None else _NONE)
            rest |= self._reads(*targets)
            if isinstance(node.value, (ast.Await, ast.Yield, ast.YieldFrom)):
                self._note([node.value.value], rest | self._reads(node.value))
                self._at(node.value, rest | where.raised)
            else:
                self._note([node.value], rest | self._reads(node.value) | where.raised)
            self._note(targets, out | self._reads(*targets))
            return rest | self._reads(node.value) | where.raised
        before = (out - _stored([node])) | self._reads(node) | where.raised
        self._note([node], out | before)
        return before

    def _augmented(self, node: ast.AugAssign, out: Names, where: _Where) -> Names:
        own = {node.target.id} if isinstance(node.target, ast.Name) else set[str]()
        needed = out | self._reads(node.target, node.value) | (own & self.own) | where.raised
        self._note([node], needed)
        return needed

    def _if(self, node: ast.If, out: Names, where: _Where) -> Names:
        needed = self.block(node.body, out, where) | self.block(node.orelse, out, where)
        needed |= self._reads(node.test) | where.raised
        self._note([node.test], needed)
        return needed

    def _while(self, node: ast.While, out: Names, where: _Where) -> Names:
        over = self.block(node.orelse, out, where)

        def turn(again: Names) -> Names:
            inner = where._replace(left=out, again=again)
            return self._reads(node.test) | over | self.block(node.body, again, inner)

        needed = _until_steady(turn) | where.raised
        self._note([node.test], needed)
        return needed

    def _for(self, node: Any, out: Names, where: _Where) -> Names:
        over = self.block(node.orelse, out, where)

        def turn(again: Names) -> Names:
            inner = where._replace(left=out, again=again)
            body = self.block(node.body, again, inner) - _stored([node.target])
            return over | body | self._reads(node.target)

        needed = _until_steady(turn) | where.raised
        self._at(node.iter, needed)
        needed |= self._reads(node.iter)
        self._note([node.iter, node.target], needed)
        return needed

    def _with(self, node: Any, out: Names, where: _Where) -> Names:
        inside = where._replace(raised=where.raised | out)  # it may let an error pass
        body = self.block(node.body, out, inside)
        targets = [each.optional_vars for each in node.items]
        contexts = [each.context_expr for each in node.items]
        needed = (body - _stored(targets)) | self._reads(*contexts, *targets) | inside.raised
        for each in contexts:
            self._at(each, needed | body | out)
        self._note([*contexts, *targets], needed)
        return needed

    def _try(self, node: Any, out: Names, where: _Where) -> Names:
        final = out
        if node.finalbody:
            everywhere = out | where.raised | where.left | where.again | where.returned
            final = self.block(node.finalbody, everywhere, where)
            where = _Where(final, final, final, final)
        caught: Names = where.raised
        for each in node.handlers:
            name = frozenset([each.name] if each.name else [])
            caught |= self.block(each.body, final, where) - name
            caught |= self._reads(each.type)
        over = self.block(node.orelse, final, where)
        return self.block(node.body, over, where._replace(raised=caught)) | caught

    def _match(self, node: ast.Match, out: Names, where: _Where) -> Names:
        needed = out | self._reads(node.subject) | where.raised
        for case in node.cases:
            body = self.block(case.body, out, where) | self._reads(case.guard)
            needed |= (body - _stored([case.pattern])) | self._reads(case.pattern)
        self._note([node.subject], needed)
        return needed

    def _definition(self, node: Any, out: Names, where: _Where) -> Names:
        return (out - {node.name}) | self._reads(node) | where.raised


def _until_steady(turn: Callable[[Names], Names]) -> Names:
    """Go round a loop until another turn needs no more."""
    needed = turn(_NONE)
    while (more := turn(needed)) != needed:
        needed = more
    return needed


def _read(node: ast.AST) -> Iterator[str]:
    """Give the names that an expression, or a definition and what is inside of it, may read."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Store):
            yield node.id
        return
    if isinstance(node, SCOPES):
        for part in outer_parts(node):
            yield from _read(part)
        yield from _read_inside(node)
        return
    bound: set[str] = set()
    if isinstance(node, (*COMPREHENSIONS, ast.GeneratorExp)):
        bound = set(_stored([each.target for each in node.generators]))
    for child in ast.iter_child_nodes(node):
        yield from (name for name in _read(child) if name not in bound)


def _read_inside(node: Any) -> Iterator[str]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    own: set[str] = set()
    if isinstance(node, ast.Lambda):
        own = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    elif not isinstance(node, ast.ClassDef):
        own = set(bound_names(node))
    for each in body:
        yield from (name for name in _read(each) if name not in own)
        yield from (  # `nonlocal x; x += 1` reads it without saying so
            name
            for inner in ast.walk(each)
            if isinstance(inner, ast.Nonlocal)
            for name in inner.names
        )


def _stored(nodes: Iterable[ast.AST | None]) -> Names:
    """Give the names that are given a value for sure."""
    return frozenset(name for each in nodes if each is not None for name in _stores(each))


def _stores(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    if isinstance(node, (ast.NamedExpr, *SCOPES, *COMPREHENSIONS, ast.GeneratorExp)):
        return  # it may be skipped, or belongs to another scope
    for child in ast.iter_child_nodes(node):
        yield from _stores(child)


_LEAVING: dict[Any, Callable[[_Where], Names]] = {
    ast.Return: lambda where: where.returned,
    ast.Raise: lambda where: where.raised,
    ast.Break: lambda where: where.left,
    ast.Continue: lambda where: where.again,
}

_SIMPLE: Callable[[Needs, Any, Names, _Where], Names] = Needs._simple
_STATEMENTS: dict[Any, Callable[[Needs, Any, Names, _Where], Names]] = {
    ast.AugAssign: Needs._augmented,
    ast.If: Needs._if,
    ast.While: Needs._while,
    ast.For: Needs._for,
    ast.AsyncFor: Needs._for,
    ast.With: Needs._with,
    ast.AsyncWith: Needs._with,
    ast.Try: Needs._try,
    ast.TryStar: Needs._try,
    ast.Match: Needs._match,
    ast.FunctionDef: Needs._definition,
    ast.AsyncFunctionDef: Needs._definition,
    ast.ClassDef: Needs._definition,
}
