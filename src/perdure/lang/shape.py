"""What a function looks like to lowering: where it awaits, what it binds, and how nodes are made.

Knows Python's tree and scopes; nothing of what lowering makes of them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
SUSPENDING = (ast.Await, ast.Yield, ast.YieldFrom)
"""Expressions at which a frame may be left and entered again."""

_AWAITING = (*SUSPENDING, ast.AsyncFor, ast.AsyncWith)


class CannotLower(Exception):
    """There is no template for a construct: the function runs as it is, and cannot be imaged."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.Pass)


def children(node: ast.AST) -> list[ast.AST]:
    """Give what is directly below a node, in order; faster than `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    if isinstance(node, _LEAVES):
        return found
    for name in node._fields:
        value: Any = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


def inner_statements(node: ast.AST) -> list[ast.AST]:
    """Give the statements, handlers and cases directly below a node, in order."""
    found: list[ast.AST] = []
    for name in _BLOCKS:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            found += value
    return found


def own_children(node: ast.AST) -> Iterator[ast.AST]:
    """Give the children that are evaluated in the scope of `node` itself.

    Comprehensions count: their awaits suspend the function. Generator expressions do not, but
    for their first iterable.
    """
    if isinstance(node, SCOPES):
        yield from outer_parts(node)
    elif isinstance(node, ast.GeneratorExp):
        yield node.generators[0].iter
    else:
        yield from children(node)


def outer_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Give what a definition evaluates where it stands: decorators, defaults, bases."""
    yield from getattr(node, "decorator_list", ())
    yield from getattr(node, "bases", ())
    yield from getattr(node, "keywords", ())
    arguments: Any = getattr(node, "args", None)
    if arguments is not None:
        yield from arguments.defaults
        yield from (each for each in arguments.kw_defaults if each is not None)


class Awaiting:
    """Which nodes of a function hold an await of the function's own."""

    def __init__(self, body: Sequence[ast.AST]) -> None:
        self.found: set[int] = set()
        for statement in body:
            self._mark(statement)

    def _mark(self, node: ast.AST) -> bool:
        awaits = isinstance(node, _AWAITING)
        if isinstance(node, ast.comprehension) and node.is_async:
            awaits = True
        for child in own_children(node):
            if self._mark(child):
                awaits = True
        if awaits:
            self.found.add(id(node))
        return awaits

    def __call__(self, node: ast.AST | None) -> bool:
        """Whether a node holds an await."""
        return id(node) in self.found

    def any(self, nodes: Any) -> bool:
        """Whether one of several nodes holds an await."""
        return any(id(node) in self.found for node in nodes)


def is_generator(function: ast.AST) -> bool:
    """Whether a function yields."""
    return any(_yields(child) for child in getattr(function, "body", ()))


def _yields(node: ast.AST) -> bool:
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    if isinstance(node, SCOPES):
        return False
    return any(_yields(child) for child in children(node))


# --- names that a function binds


def bound_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, None]:
    """Give the names that are local to a function, whether or not inner functions share them."""
    names: dict[str, None] = {}
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    names.update((each.arg, None) for each in every)
    elsewhere: set[str] = set()
    for statement in function.body:
        _bind(statement, names, elsewhere)
    return {name: None for name in names if name not in elsewhere}


def _bind(node: ast.AST, names: dict[str, None], elsewhere: set[str]) -> None:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            names[node.id] = None
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        elsewhere.update(node.names)
    elif isinstance(node, ast.alias):
        names[(node.asname or node.name).partition(".")[0]] = None
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        if node.name:
            names[node.name] = None
    elif isinstance(node, ast.MatchMapping) and node.rest:
        names[node.rest] = None
    if isinstance(node, (*COMPREHENSIONS, ast.GeneratorExp)):
        for each in _walrus(node):
            names[each] = None
        _bind(node.generators[0].iter, names, elsewhere)
        return
    if isinstance(node, SCOPES):
        if not isinstance(node, ast.Lambda):
            names[node.name] = None
        for part in outer_parts(node):
            _bind(part, names, elsewhere)
        return
    for child in children(node):
        _bind(child, names, elsewhere)


def _walrus(node: ast.AST) -> Iterator[str]:
    for child in children(node):
        if isinstance(child, FUNCTIONS):
            continue
        if isinstance(child, ast.NamedExpr):
            yield child.target.id
        yield from _walrus(child)


def walrus_names(comprehension: ast.AST) -> list[str]:
    """Give the names that a comprehension binds in the function around it."""
    return list(dict.fromkeys(_walrus(comprehension)))


# --- making nodes

_LOAD, _STORE = ast.Load(), ast.Store()

HELPERS = "\0perdure"
"""A constant that stands for a function's unit until its code is compiled; no source has it."""


class Made:
    """Makes nodes that stand where another stands, so that tracebacks name the user's line."""

    __slots__ = ("where",)

    def __init__(self, node: Any) -> None:
        self.where: dict[str, Any] = {
            "lineno": node.lineno,
            "col_offset": node.col_offset,
            "end_lineno": node.end_lineno,
            "end_col_offset": node.end_col_offset,
        }

    def name(self, name: str) -> ast.Name:
        """`name`, read."""
        return ast.Name(name, _LOAD, **self.where)

    def target(self, name: str) -> ast.Name:
        """`name`, written."""
        return ast.Name(name, _STORE, **self.where)

    def constant(self, value: Any) -> ast.Constant:
        """A constant."""
        return ast.Constant(value, **self.where)

    def attribute(self, owner: ast.expr, name: str) -> ast.Attribute:
        """`owner.name`."""
        return ast.Attribute(owner, name, _LOAD, **self.where)

    def helper(self, name: str, *args: ast.expr) -> ast.Call:
        """A call of one of the helpers of lowered code."""
        return self.call(self.attribute(self.constant(HELPERS), name), *args)

    def call(self, function: ast.expr, *args: ast.expr) -> ast.Call:
        """`function(*args)`."""
        return ast.Call(function, list(args), [], **self.where)

    def assign(self, name: str, value: ast.expr) -> ast.Assign:
        """`name = value`."""
        return ast.Assign([self.target(name)], value, **self.where)

    def clear(self, names: list[str]) -> ast.Assign:
        """`a = b = None`."""
        return ast.Assign([self.target(name) for name in names], self.constant(None), **self.where)

    def letting_go(self, loop: ast.stmt, iterator: str) -> ast.Try:
        """`try: loop finally: iterator = None`: a generator is closed wherever its loop is left."""
        return self.attempt([loop], [], None, [self.clear([iterator])])

    def put(self, target: ast.expr, value: ast.expr) -> ast.Assign:
        """`target = value`."""
        return ast.Assign([target], value, **self.where)

    def branch(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt] = ()
    ) -> ast.If:
        """`if test: body else: orelse`."""
        return ast.If(test, list(body) or [self.nothing()], list(orelse), **self.where)

    def nothing(self) -> ast.Pass:
        """`pass`."""
        return ast.Pass(**self.where)

    def negated(self, value: ast.expr) -> ast.UnaryOp:
        """`not value`."""
        return ast.UnaryOp(ast.Not(), value, **self.where)

    def compare(self, left: ast.expr, *parts: tuple[ast.cmpop, ast.expr]) -> ast.Compare:
        """`left op right …`."""
        return ast.Compare(
            left, [op for op, _ in parts], [right for _, right in parts], **self.where
        )

    def either(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
        """`body if test else orelse`."""
        return ast.IfExp(test, body, orelse, **self.where)

    def awaited(self, value: ast.expr) -> ast.Await:
        """`await value`."""
        return ast.Await(value, **self.where)

    def forever(self, body: list[ast.stmt]) -> ast.While:
        """`while True: body`."""
        return ast.While(self.constant(value=True), body, [], **self.where)

    def attempt(
        self,
        body: list[ast.stmt],
        handlers: list[ast.ExceptHandler],
        orelse: list[ast.stmt] | None = None,
        final: list[ast.stmt] | None = None,
    ) -> ast.Try:
        """`try: body …`."""
        return ast.Try(body, handlers, orelse or [], final or [], **self.where)

    def handler(
        self, kind: ast.expr | None, body: list[ast.stmt], name: str | None = None
    ) -> ast.ExceptHandler:
        """`except kind as name: body`."""
        return ast.ExceptHandler(kind, name, body, **self.where)

    def reraise(self) -> ast.Raise:
        """`raise`."""
        return ast.Raise(None, None, **self.where)

    def function(self, kind: Any, name: str, arg: str, body: list[ast.stmt]) -> ast.stmt:
        """`def name(arg): body`, or `async def`."""
        arguments = ast.arguments([], [ast.arg(arg, **self.where)], None, [], [], None, [])
        more: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}
        made: ast.stmt = kind(name, arguments, body, [], None, **more, **self.where)
        return made
