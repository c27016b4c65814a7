"""Answer questions about syntax. Pure functions of one tree; no meaning, no graph, no state."""

from __future__ import annotations

import ast
import builtins
import copy
from typing import Final, NamedTuple, TypeVar

from perdure.lang.graph import Span

LABEL_CHARS_MAX: Final = 64
NO_EXCEPTIONS: Final = ("CancelledError",)  # what `except Exception` does not catch, builtins aside

Node = TypeVar("Node", bound=ast.AST)


def text_of(node: ast.AST) -> str:
    """Write an expression or the first line of a statement as people would."""
    lines = ast.unparse(node).strip().split("\n")
    return lines[0]


def short(text: str, chars_max: int = LABEL_CHARS_MAX) -> str:
    """Cut a text that is too long for a label."""
    return text if len(text) <= chars_max else text[: chars_max - 1].rstrip() + "…"


def span_of(first: ast.AST, last: ast.AST | None = None) -> Span:
    """Give the place of one piece of code, or from one piece to another."""
    last = last or first
    line, col = getattr(first, "lineno", 1), getattr(first, "col_offset", 0)
    end_line, end_col = getattr(last, "end_lineno", None), getattr(last, "end_col_offset", None)
    return Span(line, col, end_line or line, col if end_col is None else end_col)


def last_name(node: ast.expr) -> str:
    """Give `timeout` for `asyncio.timeout`, and nothing for what has no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def with_value(stmt: Node, value: ast.expr) -> Node:
    """Copy a statement with another value, to read or write what is around it."""
    other = copy.copy(stmt)
    setattr(other, "value", value)  # noqa: B010 -- a field of some statements only
    return other


def header(node: ast.AST) -> ast.AST:
    """Copy a compound statement without its bodies; anything else stays as it is."""
    if not isinstance(node, (ast.stmt, ast.ExceptHandler)):
        return node
    bare = copy.copy(node)
    for name in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
        if hasattr(node, name):
            setattr(bare, name, [])
    return bare


def silent(stmt: ast.stmt) -> bool:
    """Tell whether a statement does nothing that a reader wants to see."""
    if isinstance(stmt, ast.Expr):
        return isinstance(stmt.value, ast.Constant)
    return isinstance(stmt, (ast.Pass, ast.Global, ast.Nonlocal))


def endless(stmt: ast.While) -> bool:
    """Tell whether the test of a loop is a constant that holds."""
    return isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)


def escapes(node: ast.AST, *, in_loop: bool = False) -> bool:
    """Tell whether a jump leads out of a statement, or nothing does."""
    match node:
        case ast.Return() | ast.Raise():
            return True
        case ast.Break() | ast.Continue():
            return not in_loop
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
            return False
        case ast.While() if endless(node) and not _breaks(node.body):
            return True
        case ast.While() | ast.For() | ast.AsyncFor():
            inner = any(escapes(stmt, in_loop=True) for stmt in node.body)
            return inner or any(escapes(stmt, in_loop=in_loop) for stmt in node.orelse)
        case _:
            return any(escapes(part, in_loop=in_loop) for part in ast.iter_child_nodes(node))


def _breaks(body: list[ast.stmt]) -> bool:
    """Tell whether a break belongs to the loop with this body."""
    for stmt in body:
        inner: list[ast.AST] = [stmt]
        while inner:
            node = inner.pop()
            if isinstance(node, ast.Break):
                return True
            if isinstance(node, (ast.While, ast.For, ast.AsyncFor)):
                inner += node.orelse
            elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner += ast.iter_child_nodes(node)
    return False


def case_text(case: ast.match_case) -> str:
    """Write `case [x] if x > 1` without the body."""
    guard = f" if {ast.unparse(case.guard)}" if case.guard else ""
    return f"case {ast.unparse(case.pattern)}{guard}"


def irrefutable(case: ast.match_case) -> bool:
    """Tell whether a case matches everything."""
    pattern = case.pattern
    while isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        pattern = pattern.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs)


def raised_name(node: ast.expr | None) -> str:
    """Give the class that a raise names, if it names one."""
    target = node.func if isinstance(node, ast.Call) else node
    return last_name(target) if target is not None else ""


def caught_types(node: ast.expr | None) -> tuple[str, ...]:
    """Give the classes that a handler names; none means all."""
    if node is None:
        return ()
    return tuple(text_of(item) for item in (node.elts if isinstance(node, ast.Tuple) else [node]))


class Catchers(NamedTuple):
    """Which handlers a raise may reach, and whether one of them certainly takes it."""

    numbers: tuple[int, ...]
    certain: bool


def catchers(name: str, handlers: tuple[tuple[str, ...], ...]) -> Catchers:
    """Try handlers in order, as far as the names of builtin exceptions tell."""
    numbers: list[int] = []
    for number, types in enumerate(handlers):
        verdicts = {_catches(name, type_) for type_ in types} or {"yes"}
        if verdicts != {"no"}:
            numbers.append(number)
        if "yes" in verdicts:
            return Catchers(tuple(numbers), certain=True)
    return Catchers(tuple(numbers), certain=False)


def _catches(name: str, type_: str) -> str:
    type_ = type_.rpartition(".")[2]
    if type_ in {name, "BaseException"}:
        return "yes"
    if name in NO_EXCEPTIONS and type_ == "Exception":
        return "no"
    raised, caught = getattr(builtins, name, None), getattr(builtins, type_, None)
    if isinstance(raised, type) and isinstance(caught, type):
        return "yes" if issubclass(raised, caught) else "no"
    return "yes" if type_ == "Exception" and name[:1].isupper() else "maybe"
