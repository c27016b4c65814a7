"""Find what code reads and writes. Knows `ast` only: no meaning, no nodes, no order of a run.

`Reader` turns code into an `Effect`, by a small algebra: `then` for sequence, `either` for
alternatives, `maybe` for code that need not run. What is not certain counts as read and as
written, never as overwritten: the data flow built on it names every definition that may reach.

A variable is a name; for an unnamed value it is a key: a number, a space, and what people see.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

import msgspec

NO_NAMES: Final[frozenset[str]] = frozenset()

# Methods that change the object they are called on: `results.append(x)` counts as a write.
MUTATORS: Final = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "difference_update",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "intersection_update",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "symmetric_difference_update",
        "update",
    }
)

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Effect(msgspec.Struct, frozen=True):
    """What a piece of code may read from outside, may write, and certainly overwrites."""

    reads: frozenset[str] = NO_NAMES
    writes: frozenset[str] = NO_NAMES
    kills: frozenset[str] = NO_NAMES

    def then(self, after: Effect) -> Effect:
        """Run one after the other."""
        return Effect(
            self.reads | (after.reads - self.kills),
            self.writes | after.writes,
            self.kills | after.kills,
        )

    def either(self, other: Effect) -> Effect:
        """Run exactly one of the two."""
        return Effect(
            self.reads | other.reads, self.writes | other.writes, self.kills & other.kills
        )

    def maybe(self) -> Effect:
        """Run it, or not, or half of it."""
        return Effect(self.reads, self.writes)

    def without(self, names: frozenset[str]) -> Effect:
        """Forget names that live only inside."""
        return Effect(self.reads - names, self.writes - names, self.kills - names)

    def renamed(self, names: dict[str, str]) -> Effect:
        """Give names another key, as inside a comprehension."""
        sets = (self.reads, self.writes, self.kills)
        return Effect(*(frozenset(names.get(name, name) for name in found) for found in sets))


NOTHING: Final = Effect()


def reading(names: Iterable[str]) -> Effect:
    """Give the effect of code that only reads."""
    return Effect(reads=frozenset(names))


def writing(*names: str) -> Effect:
    """Give the effect of code that only writes."""
    return Effect(writes=frozenset(names), kills=frozenset(names))


# Children that are evaluated, in CPython's order where it is not the order of the fields. What is
# not evaluated here (bodies of functions, annotations of locals) is left out.
EVALUATED: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.AnnAssign: ("value", "target"),
    ast.Assign: ("value", "targets"),
    ast.AsyncFunctionDef: ("decorator_list", "args"),
    ast.ClassDef: ("decorator_list", "bases", "keywords"),
    ast.DictComp: ("generators", "key", "value"),
    ast.FunctionDef: ("decorator_list", "args"),
    ast.GeneratorExp: ("generators", "elt"),
    ast.Lambda: ("args",),
    ast.ListComp: ("generators", "elt"),
    ast.NamedExpr: ("value", "target"),
    ast.SetComp: ("generators", "elt"),
    ast.arguments: ("defaults", "kw_defaults"),
    ast.comprehension: ("iter", "target", "ifs"),
}


def parts(node: ast.AST) -> list[ast.AST]:
    """Give the children of a node that are evaluated with it, in CPython's order."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [part for pair in pairs for part in pair if part is not None]
    values: list[list[ast.AST] | ast.AST | None] = [
        getattr(node, name, None) for name in _evaluated(node)
    ]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, ast.AST)]


def _evaluated(node: ast.AST) -> tuple[str, ...]:
    return EVALUATED.get(type(node), node._fields)


def root_name(node: ast.AST) -> str:
    """Give the variable at the root of `order.lines[0].price`, or an empty string."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def parameters(args: ast.arguments) -> frozenset[str]:
    """Give the names that a call of the function binds."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return frozenset(arg.arg for arg in every if arg)


class Reader:
    """Find the effect of code. Awaits are skipped, since they are nodes of their own."""

    def __init__(self, *, through_awaits: bool = False) -> None:
        self.through_awaits = through_awaits
        self.closures: dict[str, Effect] = {}

    def block(self, nodes: Iterable[ast.AST | None]) -> Effect:
        """Give the effect of pieces of code that run one after the other."""
        effect = NOTHING
        for node in nodes:
            effect = effect.then(self.of(node))
        return effect

    def of(self, node: ast.AST | None) -> Effect:
        """Give the effect of one piece of code; by default that of its parts in order."""
        if node is None:
            return NOTHING
        rule = self.EFFECTS.get(type(node))
        return rule(self, node) if rule else self.block(parts(node))

    def _name(self, node: ast.Name) -> Effect:
        if isinstance(node.ctx, ast.Load):
            return Effect(reads=frozenset({node.id})).then(self.closures.get(node.id, NOTHING))
        if isinstance(node.ctx, ast.Del):
            return Effect(kills=frozenset({node.id}))
        return writing(node.id)

    def _place(self, node: ast.Attribute | ast.Subscript) -> Effect:
        """`order.total = 5` changes order: a write that overwrites nothing."""
        inside = self.block(parts(node))
        if isinstance(node.ctx, ast.Load) or not (root := root_name(node)):
            return inside
        return inside.then(Effect(writes=frozenset({root})))

    def _call(self, node: ast.Call) -> Effect:
        inside = self.block(parts(node))
        changes = isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS
        root = root_name(node.func) if changes else ""
        return inside.then(Effect(writes=frozenset({root}))) if root else inside

    def _await(self, node: ast.Await) -> Effect:
        return self.of(node.value) if self.through_awaits else NOTHING

    def _walrus(self, node: ast.NamedExpr) -> Effect:
        if isinstance(node.value, ast.Await) and not self.through_awaits:
            return reading([node.target.id])  # the node of the await has written it
        return self.block(parts(node))

    def _update(self, node: ast.AugAssign) -> Effect:
        target, root = self.of(node.target), root_name(node.target)
        return reading([root] if root else []).then(self.of(node.value)).then(target)

    def _annotated(self, node: ast.AnnAssign) -> Effect:
        return self.block(parts(node)) if node.value else NOTHING

    def _boolean(self, node: ast.BoolOp) -> Effect:
        return self.of(node.values[0]).then(self.block(node.values[1:]).maybe())

    def _conditional(self, node: ast.IfExp) -> Effect:
        return self.of(node.test).then(self.of(node.body).either(self.of(node.orelse)))

    def _comprehension(self, node: Comprehension) -> Effect:
        first, *_ = node.generators
        targets = frozenset[str]().union(*(self.of(g.target).writes for g in node.generators))
        inside = self.block(parts(node)).maybe()
        return self.of(first.iter).then(inside.without(targets))

    def _lambda(self, node: ast.Lambda) -> Effect:
        body = self.of(node.body).without(parameters(node.args))
        return self.of(node.args).then(reading(body.reads))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Effect:
        """Remember what the body touches outside: whoever names the function may call it."""
        inner = Reader(through_awaits=True)
        body = inner.block(node.body)
        outer = frozenset(
            name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names
        )
        local = parameters(node.args) | (body.writes - outer)
        self.closures[node.name] = body.without(local).maybe()
        return self.block(parts(node)).then(writing(node.name))

    def _class(self, node: ast.ClassDef) -> Effect:
        inside = Reader(through_awaits=True).block(node.body)
        body = reading(inside.reads - inside.writes)
        return self.block(parts(node)).then(body).then(writing(node.name))

    def _if(self, node: ast.If) -> Effect:
        return self.of(node.test).then(self.block(node.body).either(self.block(node.orelse)))

    def _for(self, node: ast.For | ast.AsyncFor) -> Effect:
        once = self.of(node.target).then(self.block(node.body)).maybe()
        return self.of(node.iter).then(once).then(self.block(node.orelse).maybe())

    def _while(self, node: ast.While) -> Effect:
        return self.of(node.test).then(self.block([*node.body, *node.orelse]).maybe())

    def _try(self, node: ast.Try | ast.TryStar) -> Effect:
        body = self.block([*node.body, *node.orelse]).maybe()
        for handler in node.handlers:
            body = body.either(self.of(handler))
        return body.then(self.block(node.finalbody))

    def _handler(self, node: ast.ExceptHandler) -> Effect:
        caught = writing(node.name) if node.name else NOTHING
        return self.of(node.type).then(caught).then(self.block(node.body))

    def _match(self, node: ast.Match) -> Effect:
        cases = [self.block(parts(case)).maybe() for case in node.cases]
        effect = self.of(node.subject)
        for case in cases:
            effect = effect.then(case)
        return effect

    def _capture(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> Effect:
        """A pattern may bind its name before a later part fails: a write that may not happen."""
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        return self.block(parts(node)).then(Effect(writes=frozenset({name} if name else ())))

    def _import(self, node: ast.Import | ast.ImportFrom) -> Effect:
        return writing(*(a.asname or a.name.partition(".")[0] for a in node.names))

    def _nothing(self, _node: ast.AST) -> Effect:
        return NOTHING

    # Everything else has the effect of its parts in CPython's order.
    EFFECTS: ClassVar[dict[type[ast.AST], Callable[..., Effect]]] = {
        ast.AnnAssign: _annotated,
        ast.AsyncFor: _for,
        ast.AsyncFunctionDef: _function,
        ast.Attribute: _place,
        ast.AugAssign: _update,
        ast.Await: _await,
        ast.BoolOp: _boolean,
        ast.Call: _call,
        ast.ClassDef: _class,
        ast.DictComp: _comprehension,
        ast.ExceptHandler: _handler,
        ast.For: _for,
        ast.FunctionDef: _function,
        ast.GeneratorExp: _comprehension,
        ast.Global: _nothing,
        ast.If: _if,
        ast.IfExp: _conditional,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Lambda: _lambda,
        ast.ListComp: _comprehension,
        ast.Match: _match,
        ast.MatchAs: _capture,
        ast.MatchMapping: _capture,
        ast.MatchStar: _capture,
        ast.Name: _name,
        ast.NamedExpr: _walrus,
        ast.Nonlocal: _nothing,
        ast.SetComp: _comprehension,
        ast.Subscript: _place,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.While: _while,
    }
