"""How a block is left, written down for `finally` clauses that await.

Where such a clause is entered again after a restore, the exit that it interrupted (a return, a
break, an exception) is pending no more: it has to be issued again. So every statement that
leaves the block first says so in a hidden local.
"""

from __future__ import annotations

import ast
from typing import Any

from perdure.lang.shape import SCOPES, Made

RETURN, BREAK, CONTINUE, RAISE = "return", "break", "continue", "raise"

Block = list[ast.stmt]


class Exits(ast.NodeTransformer):
    """Makes every exit out of a protected block say how it leaves, block by block."""

    def __init__(self, awaiting_finals: dict[int, str]) -> None:
        self.finals = awaiting_finals
        """The hidden local of each `try` whose `finally` awaits, by the identity of its node."""
        self.around: list[str | None] = []
        """The hidden locals of the blocks around, innermost last; `None` stands for a loop."""

    def block(self, body: Block) -> Block:
        """Rewrite a block."""
        found: Block = []
        for statement in body:
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    def generic_visit(self, node: ast.AST) -> Any:
        """Leave definitions alone: their exits are their own."""
        return node if isinstance(node, SCOPES) else super().generic_visit(node)

    def visit_Try(self, node: Any) -> Any:
        """Go into a `try`; exits out of one whose `finally` awaits are marked."""
        how = self.finals.get(id(node))
        if how is None:
            return self.generic_visit(node)
        self.around.append(how)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        for handler in node.handlers:
            handler.body = self.block(handler.body)
        self.around.pop()
        node.finalbody = self.block(node.finalbody)
        return node

    def visit_TryStar(self, node: Any) -> Any:
        """As with `try`."""
        return self.visit_Try(node)

    def _loop(self, node: Any) -> Any:
        self.around.append(None)
        node.body = self.block(node.body)
        self.around.pop()
        node.orelse = self.block(node.orelse)
        return node

    def visit_For(self, node: Any) -> Any:
        """Go into a loop, which its own jumps do not leave."""
        return self._loop(node)

    def visit_While(self, node: Any) -> Any:
        """As with `for`."""
        return self._loop(node)

    def visit_Return(self, node: ast.Return) -> Any:
        """Keep what is returned, and say so."""
        hows = [how for how in self.around if how is not None]
        if not hows:
            return node
        made = Made(node)
        if node.value is None:
            parts: list[ast.expr] = [made.constant(RETURN), made.constant(None)]
            nothing = ast.Tuple(parts, ast.Load(), **made.where)
            return [*(made.assign(how, nothing) for how in hows), node]
        value = node.value
        keep = made.assign(".ret", value)
        given = ast.Tuple([made.constant(RETURN), made.name(".ret")], ast.Load(), **made.where)
        marks = [made.assign(how, given) for how in hows]
        return [keep, *marks, ast.Return(made.name(".ret"), **made.where)]

    def _jump(self, node: ast.stmt, kind: str) -> Any:
        hows: list[str] = []
        for how in reversed(self.around):
            if how is None:
                break
            hows.append(how)
        if not hows:
            return node
        made = Made(node)
        given = ast.Tuple([made.constant(kind), made.constant(None)], ast.Load(), **made.where)
        return [*(made.assign(how, given) for how in hows), node]

    def visit_Break(self, node: ast.Break) -> Any:
        """Say that the block is left by `break`."""
        return self._jump(node, BREAK)

    def visit_Continue(self, node: ast.Continue) -> Any:
        """Say that the block is left by `continue`."""
        return self._jump(node, CONTINUE)


def jumps_out(body: Block) -> set[str]:
    """Say which of `break` and `continue` leave a block, for the loop around it."""
    found: set[str] = set()
    for statement in body:
        _jumps(statement, found)
    return found


def _jumps(node: ast.AST, found: set[str]) -> None:
    if isinstance(node, ast.Break):
        found.add(BREAK)
    elif isinstance(node, ast.Continue):
        found.add(CONTINUE)
    elif isinstance(node, SCOPES):
        return
    elif isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
        for each in node.orelse:
            _jumps(each, found)
    else:
        for child in ast.iter_child_nodes(node):
            _jumps(child, found)
