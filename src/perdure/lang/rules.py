"""The rules that inline code has to keep, checked on the tree of a function. Runs nothing.

A rule is an entry in a table by the kind of node; it looks at one node and what names mean.
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Callable, Iterator
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import Any

from perdure.lang.diagnostics import Diagnostic, at
from perdure.lang.outside import ONLY_BARE, OUTSIDE
from perdure.lang.source import ModuleSource

MISSING = object()


class Scope:
    """What the names in one function mean, as far as the module says so."""

    def __init__(
        self,
        node: ast.AST,
        space: dict[str, Any],
        key_of: Callable[[Any], str | None],
        free: tuple[str, ...] = (),
    ) -> None:
        self.space = space
        self.key_of = key_of
        self.local = frozenset((*_bound_names(node), *free))

    def resolve(self, expression: ast.expr) -> Any:
        """Give the object that a name, or a dotted name from a module, stands for."""
        if isinstance(expression, ast.Name):
            if expression.id in self.local:
                return MISSING
            return self.space.get(expression.id, vars(builtins).get(expression.id, MISSING))
        if isinstance(expression, ast.Attribute):
            owner = self.resolve(expression.value)
            if isinstance(owner, ModuleType):
                return vars(owner).get(expression.attr, MISSING)
        return MISSING


def _bound_names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.arg):
            yield each.arg
        elif (
            isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and each is not node
        ):
            yield each.name
        elif isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]
        elif isinstance(each, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and each.name:
            yield each.name


class Checker:
    """Goes through one function and keeps what breaks a rule."""

    def __init__(self, source: ModuleSource, scope: Scope) -> None:
        self.source = source
        self.scope = scope
        self.found: list[Diagnostic] = []

    def say(self, node: ast.AST, code: str, message: str, remedy: str) -> None:
        """Keep a diagnostic."""
        self.found.append(at(node, self.source.file, self.source.lines, code, message, remedy))

    def walk(self, node: ast.AST) -> None:
        """Check a node and what is below it."""
        rule = RULES.get(type(node))
        if rule is not None:
            rule(self, node)
        for child in _below(self, node):
            self.walk(child)


def _below(checker: Checker, node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        called = checker.scope.resolve(node.func)
        if _is(called, "record"):
            return iter([node.func])  # what it is given may reach outside: that is what it is for
        if node.args and called is not MISSING and checker.scope.key_of(called) in ONLY_BARE:
            return iter(node.args)
    if isinstance(node, (ast.AnnAssign, ast.arg)):
        return (each for each in ast.iter_child_nodes(node) if each is not node.annotation)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        skipped = {id(each) for each in (*node.decorator_list, node.returns)}
        return (each for each in ast.iter_child_nodes(node) if id(each) not in skipped)
    return ast.iter_child_nodes(node)


def _is(value: Any, kind: str) -> bool:
    return getattr(value, "__perdure__", None) == kind


def _global(checker: Checker, node: Any) -> None:
    names = ", ".join(node.names)
    checker.say(
        node,
        "L103",
        f"`global {names}` would not reach the module: every run has a namespace of its own",
        "keep it in a variable of the workflow, or return it",
    )


CHANGES = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
    "popleft", "remove", "reverse", "setdefault", "sort", "update",
})  # fmt: skip
"""The methods that change a container."""

_OWN = "keep it in the module, in an object or in a variable: of these a run has its own"


def _attribute(checker: Checker, node: Any) -> None:
    """Refuse `Class.name = …` and `module.name = …`: there is one for all runs."""
    if isinstance(node.ctx, ast.Load):
        _name(checker, node)
        return
    owner = checker.scope.resolve(node.value)
    if isinstance(owner, (type, ModuleType)):
        kind = "class" if isinstance(owner, type) else "module"
        told = f"`{ast.unparse(node)}` is of the {kind}, which all runs of the process share"
        checker.say(node, "L111", told, _OWN)


def _subscript(checker: Checker, node: Any) -> None:
    if not isinstance(node.ctx, ast.Load):
        _held_by_class(checker, node, node.value)


def _call(checker: Checker, node: Any) -> None:
    if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
        _held_by_class(checker, node, node.func.value)


def _held_by_class(checker: Checker, node: ast.AST, changed: ast.expr) -> None:
    """Refuse to change a list, dict or set that a class holds."""
    while isinstance(changed, ast.Subscript):
        changed = changed.value
    if isinstance(changed, ast.Attribute):
        owner = checker.scope.resolve(changed.value)
        held = getattr_static(owner, changed.attr, None) if isinstance(owner, type) else None
        if isinstance(held, (list, dict, set, deque, bytearray)):
            told = f"`{ast.unparse(changed)}` is of the class, which all runs of the process share"
            checker.say(node, "L111", told, _OWN)


def _name(checker: Checker, node: Any) -> None:
    if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load):
        value = checker.scope.resolve(node)
        key = None if value is MISSING else checker.scope.key_of(value)
        if key in OUTSIDE:
            _outside(checker, node, key)


def _outside(checker: Checker, node: ast.AST, key: str) -> None:
    module, _, name = key.partition(":")
    if module == "builtins":
        checker.say(node, "L104", f"`{name}` cannot be used in a workflow", OUTSIDE[key])
    else:
        checker.say(node, "L105", f"`{module}.{name}` lies outside of the run", OUTSIDE[key])


def _statement(checker: Checker, node: Any) -> None:
    if isinstance(node.value, ast.Call):
        value = checker.scope.resolve(node.value.func)
        is_async = isinstance(getattr(value, "__code__", None), object) and _is_async(value)
        if _is(value, "action") or _is(value, "workflow") or is_async:
            called = ast.unparse(node.value.func)
            checker.say(
                node,
                "L201",
                f"`{called}(…)` is never awaited, so it never runs",
                f"write `await {called}(…)`, or `asyncio.create_task({called}(…))`",
            )


def _is_async(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and bool(code.co_flags & 0x80)  # CO_COROUTINE


RULES: dict[type[ast.AST], Callable[[Checker, Any], None]] = {
    ast.Global: _global,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Expr: _statement,
}


def check_function(
    function: FunctionType,
    node: ast.AST,
    source: ModuleSource,
    key_of: Callable[[Any], str | None],
) -> list[Diagnostic]:
    """Check what a function of a workflow does inline."""
    free = function.__code__.co_freevars
    checker = Checker(source, Scope(node, function.__globals__, key_of, free))
    checker.walk(node)
    return checker.found


def check_workflow(node: ast.AST, source: ModuleSource) -> list[Diagnostic]:
    """Check what only holds for the workflow itself, not for its helpers."""
    checker = Checker(source, Scope(node, {}, lambda _: None))
    if not isinstance(node, ast.AsyncFunctionDef):
        checker.say(
            node, "L101", "a workflow is an `async def`", "write `async def`, and await its actions"
        )
    for each in _own(node):
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            checker.say(
                each,
                "L102",
                "a workflow returns one value and does not yield",
                "collect the values in a list and return it",
            )
    return checker.found


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Go through a function without the functions and classes inside of it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own(child)
