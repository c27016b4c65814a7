"""Lowering: makes the `async def`s of a module restorable, in place, in their own nest.

Each gets a prologue (`.r` is None unless the frame is being restored), hoisted awaits and guards
for re-entry. Names, lines and nesting stay the user's; every hidden name begins with a dot,
which no source can spell. What has no template stays as it is, and its reason is kept.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from perdure.lang.genexp import GeneratorExpressions
from perdure.lang.reenter import Reenter, Site
from perdure.lang.shape import (
    FUNCTIONS,
    HELPERS,
    Awaiting,
    CannotLower,
    Made,
    bound_names,
    children,
    inner_statements,
    is_generator,
)
from perdure.lang.statements import Hoist


class Outline(NamedTuple):
    """What is known of one restorable function: its locals that are saved, and its awaits."""

    locals: tuple[str, ...]
    cells: tuple[str, ...]
    sites: tuple[Site | None, ...]
    place: tuple[int, int]
    """Line and column of the definition, or of the comprehension, that it was made from."""


class Tail(NamedTuple):
    """A function that cannot be imaged while it waits: what stands in the way, and why."""

    node: ast.AST
    name: str
    why: str


class Lowered(NamedTuple):
    """A module's tree after lowering: the functions in order, and those that stay as they are."""

    tree: ast.Module
    functions: list[Lowering]
    tails: list[Tail]


class Lowering:
    """One function on its way; its cells are known after a first compilation only."""

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, index: int, *, lean: bool
    ) -> None:
        self.node = node
        self.lean = lean
        self.index = index
        self.names = bound_names(node)
        self.yields = is_generator(node)
        self.sites: tuple[Site | None, ...] = ()
        self.cells: tuple[str, ...] = ()
        self.prologue: list[ast.stmt] = []

    @property
    def hidden(self) -> list[str]:
        """The hidden locals that any await needs."""
        return list(dict.fromkeys(name for site in self.sites if site for name in site.hidden))

    @property
    def outline(self) -> Outline:
        """What an image has to know."""
        own = () if self.lean else [name for name in self.names if name not in self.cells]
        place = (self.node.lineno, self.node.col_offset)
        return Outline(tuple(own), self.cells, self.sites, place)

    def write_out(self) -> None:
        """Have the generator expressions be generators of their own, to be lowered in turn."""
        generators = GeneratorExpressions(self.names)
        self.node.body = generators.block(self.node.body)
        if generators.leaked:
            self.node.body.append(_bound_here(self.node, list(generators.leaked)))

    def lower(self) -> None:
        """Rewrite the body; the prologue is filled in by `finish`."""
        node = self.node
        doc, body = _split_docstring(node.body)
        outer = [each for each in body if isinstance(each, (ast.Nonlocal, ast.Global))]
        body = [each for each in body if each not in outer]
        hoist = Hoist(body)
        hoisted = hoist.body(body)
        bare = isinstance(node, ast.AsyncFunctionDef) and self.yields
        reenter = Reenter(hoisted, (*self.names, "") if self.lean else (), bare=bare)
        guarded = reenter.block(hoisted)
        made = Made(node)
        elsewhere = {name for each in outer for name in each.names}
        leaked = [name for name in hoist.leaked if name not in elsewhere]
        if leaked:
            guarded.insert(0, _bound_here(node, leaked))
        self.sites = tuple(reenter.sites)
        self.prologue = [
            made.assign(".r", made.attribute(made.constant(self.constant), "entering")),
            made.assign(".pc", made.constant(None)),
        ]
        if reenter.needs_run:
            self.prologue.append(made.assign(".run", made.helper("current")))
        node.body = [*doc, *outer, *self.prologue, made.nothing(), *guarded]

    @property
    def constant(self) -> str:
        """The constant that stands for the function's unit."""
        return f"{HELPERS}:{self.index}"

    def finish(self) -> None:
        """Put the rest of the prologue in, now that the cells are known."""
        made = Made(self.node)
        at = next(i for i, each in enumerate(self.node.body) if each is self.prologue[-1]) + 1
        enter = made.helper("enter")
        inner: list[ast.stmt] = []
        rest: list[ast.stmt] = []
        if self.cells:
            pair = ast.Tuple([made.name(name) for name in self.cells], ast.Load(), **made.where)
            arguments = ast.arguments([], [], None, [], [], None, [])
            rest.append(made.assign(".c", ast.Lambda(arguments, pair, **made.where)))
            cells = ast.Attribute(made.name(".r"), "cells", ast.Store(), **made.where)
            inner.append(made.put(cells, made.name(".c")))
        inner.append(self._stop(made))
        inner.append(made.assign(".pc", made.attribute(made.name(".r"), "pc")))
        inner.append(made.assign(".l", made.attribute(made.name(".r"), "locals")))
        inner += [_restored(made, name) for name in (*self.outline.locals, *self.hidden)]
        inner.append(made.clear([".l"]))
        is_back = made.compare(made.name(".r"), (ast.IsNot(), made.constant(None)))
        entered = [made.assign(".r", enter), made.branch(is_back, inner)]
        rest.append(made.branch(is_back, entered))
        self.node.body[at : at + 1] = rest
        _name_helpers(self.node, self.constant)

    def _stop(self, made: Made) -> ast.stmt:
        """Stop in the prologue; one that was being closed is closed there again, and goes on."""
        yields = ast.Expr(ast.Yield(made.name(".r"), **made.where), **made.where)
        if isinstance(self.node, ast.FunctionDef):
            return yields
        if not self.yields:
            return ast.Expr(made.awaited(made.name(".r")), **made.where)
        ends = made.attribute(made.name(".r"), "ends")
        return made.attempt([yields], [made.handler(ends, [made.nothing()])])


def _bound_here(node: ast.AST, names: list[str]) -> ast.stmt:
    """Have names be local, and do nothing: what binds them is written as a function by now."""
    made = Made(node)
    return made.branch(made.constant(value=False), [made.clear(names)])


def _restored(made: Made, name: str) -> ast.stmt:
    kept = made.name(".l")
    value = ast.Subscript(kept, made.constant(name), ast.Load(), **made.where)
    has = made.compare(made.constant(name), (ast.In(), kept))
    return made.branch(has, [made.assign(name, value)])


def _split_docstring(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    first = body[0]
    is_doc = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return (body[:1], body[1:]) if is_doc else ([], body)


def _name_helpers(function: ast.AST, constant: str) -> None:
    """Have the helpers of a function lead to its own unit; those of inner ones are done."""
    left: list[ast.AST] = [function]
    while left:
        node = left.pop()
        if isinstance(node, ast.Constant):
            if node.value == HELPERS:
                node.value = constant
        else:
            left += children(node)


def lower(tree: ast.Module, *, lean: bool = False) -> Lowered:
    """Lower every function of a module that awaits.

    With `lean`, locals that are not read any more are left out of images: nobody looks at them.
    """
    lowered = Lowered(tree, [], [])
    _lower_in(tree, lowered, lean=lean)
    return lowered


def _lower_in(node: ast.AST, lowered: Lowered, *, lean: bool) -> None:
    """Lower what is below a node, outermost first: hoisting makes new functions inside."""
    for child in inner_statements(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _lower_one(child, lowered, lean=lean)
        _lower_in(child, lowered, lean=lean)


def _lower_one(
    node: ast.FunctionDef | ast.AsyncFunctionDef, lowered: Lowered, *, lean: bool
) -> None:
    if not Awaiting(node.body).found:
        return
    made = Lowering(node, len(lowered.functions), lean=lean)
    made.write_out()
    before = list(node.body)
    try:
        made.lower()
    except CannotLower as cannot:
        node.body = before
        lowered.tails.append(Tail(cannot.node, node.name, cannot.why))
        return
    lowered.functions.append(made)


Compile = Callable[[ast.Module], CodeType]


def compiled(lowered: Lowered, compile_: Compile) -> CodeType:
    """Compile a lowered module: once to learn its cells, if it may have any, and once for good."""
    tops = {id(each) for each in lowered.tree.body}
    if any(id(each.node) not in tops or _has_inner(each.node) for each in lowered.functions):
        first = compile_(lowered.tree)
        for code, index in _numbered(first):
            function = lowered.functions[index]
            own = [name for name in code.co_cellvars if name in function.names]
            function.cells = (*own, *code.co_freevars)
    for function in reversed(lowered.functions):  # inner ones first
        function.finish()
    return compile_(lowered.tree)


def _has_inner(function: ast.AST) -> bool:
    inner = (*FUNCTIONS, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.ClassDef)
    return any(isinstance(node, inner) for node in ast.walk(function) if node is not function)


def _numbered(code: CodeType) -> Iterator[tuple[CodeType, int]]:
    """Give the code objects of the lowered functions below `code`, with their numbers."""
    for constant in code.co_consts:
        if isinstance(constant, str) and constant.startswith(HELPERS + ":"):
            yield code, int(constant.rpartition(":")[2])
            break
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _numbered(constant)


def with_units(code: CodeType, units: list[Any]) -> CodeType:
    """Put the units of the lowered functions in the place of the constants that stand for them."""
    constants: list[Any] = []
    own = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(with_units(constant, units))
        elif isinstance(constant, str) and constant.startswith(HELPERS + ":"):
            own = units[int(constant.rpartition(":")[2])]
            constants.append(own)
        else:
            constants.append(constant)
    if all(a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    made = code.replace(co_consts=tuple(constants))
    if own is not None:
        own.code = made
    return made


__all__ = ["Lowered", "Lowering", "Outline", "Tail", "compiled", "lower", "with_units"]

assert sys.version_info >= (3, 11)
