"""Hoisting: every await of an expression becomes a statement of its own, in evaluation order.

`f(x, await g())` becomes `.t1 = f; .t2 = x; .t3 = await g(); .t1(.t2, .t3)`: what comes before an
await is evaluated, and kept, before it. Only expressions and statements that await are touched.
`async with`, `async for`, `match` and comprehensions that await are written out on the way.

A construct is an entry in one of two tables; what is missing there is left to run as it is.
"""

# The tables name private methods of their own class.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from perdure.lang.comprehend import EMPTY, NAMES, leaf, loops
from perdure.lang.shape import (
    Awaiting,
    CannotLower,
    Made,
    walrus_names,
)

Out = list[ast.stmt]


class Expressions:
    """Hoists the awaits of expressions."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.awaits = Awaiting(body)
        self.temps = 0
        self.leaked: dict[str, None] = {}
        """What comprehensions bind in this function by `:=`."""

    def temp(self) -> str:
        """Give a fresh hidden name."""
        self.temps += 1
        return f".t{self.temps}"

    def keep(self, value: ast.expr, out: Out) -> ast.expr:
        """Evaluate now what is used after an await."""
        if isinstance(value, ast.Constant) or is_temp(value):
            return value
        made, name = Made(value), self.temp()
        out.append(made.assign(name, value))
        return made.name(name)

    # --- expressions

    def value(self, node: ast.expr, out: Out) -> ast.expr:
        """Give an expression without awaits; what has to come first goes to `out`."""
        if not self.awaits(node):
            return node
        hoist = _EXPRESSIONS.get(type(node))
        if hoist is None:
            raise CannotLower(node, f"await inside of {called(node)}")
        return hoist(self, node, out)

    def maybe(self, node: ast.expr | None, out: Out) -> ast.expr | None:
        """Do the same for what may be missing."""
        return None if node is None else self.value(node, out)

    def several(self, nodes: Sequence[ast.expr | None], out: Out) -> list[Any]:
        """Evaluate from left to right; what stands before the last await is kept."""
        last = max((i for i, node in enumerate(nodes) if self.awaits(node)), default=-1)
        found: list[ast.expr | None] = []
        for i, node in enumerate(nodes):
            if node is None:
                found.append(None)
            elif isinstance(node, ast.Starred):
                found.append(self._starred(node, out, keep=i < last))
            else:
                value = self.value(node, out)
                found.append(self.keep(value, out) if i < last else value)
        return found

    def _starred(self, node: ast.Starred, out: Out, *, keep: bool) -> ast.expr:
        value = self.value(node.value, out)
        if keep:
            listed = ast.copy_location(ast.Starred(value, ast.Load()), node)
            value = self.keep(ast.copy_location(ast.List([listed], ast.Load()), node), out)
        return ast.copy_location(ast.Starred(value, ast.Load()), node)

    def _suspended(self, node: Any, out: Out) -> ast.expr:
        name = self.temp()
        out.append(Made(node).assign(name, self._alone(node, out)))
        return Made(node).name(name)

    def _alone(self, node: Any, out: Out) -> ast.expr:
        """Give an await or a `yield` that is a whole statement, or all that a name is given."""
        made: ast.expr = type(node)(self.maybe(node.value, out))
        return ast.copy_location(made, node)

    def _call(self, node: ast.Call, out: Out) -> ast.expr:
        values = [word.value for word in node.keywords]
        awaiting = self.awaits.any((*node.args, *values))
        function = node.func
        if isinstance(function, ast.Attribute) and self.awaits(function):
            owner = self.value(function.value, out)
            function = ast.copy_location(ast.Attribute(owner, function.attr, ast.Load()), function)
        else:
            function = self.value(function, out)
        if awaiting:
            function = self.keep(function, out)
        spread = any(word.arg is None for word in node.keywords)
        if spread and self.awaits.any(values) and len(values) > 1:
            return self._call_with_spread(node, function, out)
        found = self.several([*node.args, *values], out)
        args, values = found[: len(node.args)], found[len(node.args) :]
        words = [
            ast.copy_location(ast.keyword(word.arg, value), word)
            for word, value in zip(node.keywords, values, strict=True)
        ]
        return ast.copy_location(ast.Call(function, args, words), node)

    def _call_with_spread(self, node: ast.Call, function: ast.expr, out: Out) -> ast.expr:
        """Put keywords and `**` together one after the other: a clash shows before later awaits."""
        made, words = Made(node), self.temp()
        args = self._before(node.args, out)
        out.append(made.assign(words, ast.Dict([], [], **made.where)))
        rest = list(node.keywords)
        while rest:
            if rest[0].arg is None:
                more = self.value(rest.pop(0).value, out)
            else:
                end = next((i for i, word in enumerate(rest) if word.arg is None), len(rest))
                group, rest = rest[:end], rest[end:]
                given = self.several([word.value for word in group], out)
                more = ast.Dict([made.constant(word.arg) for word in group], given, **made.where)
            merged = made.helper("merged", function, made.name(words), more)
            out.append(made.assign(words, merged))
        word = ast.keyword(None, made.name(words), **made.where)
        return ast.copy_location(ast.Call(function, args, [word]), node)

    def _before(self, nodes: list[ast.expr], out: Out) -> list[ast.expr]:
        """Evaluate arguments, all of which stand before an await that is still to come."""
        found: list[ast.expr] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.append(self._starred(node, out, keep=True))
            else:
                found.append(self.keep(self.value(node, out), out))
        return found

    def _lambda(self, node: ast.Lambda, out: Out) -> ast.expr:
        return ast.copy_location(ast.Lambda(self.defaults(node.args, out), node.body), node)

    def defaults(self, args: ast.arguments, out: Out) -> ast.arguments:
        """Give the arguments of a function, whose defaults are evaluated where it is made."""
        found = self.several([*args.defaults, *args.kw_defaults], out)
        split = len(args.defaults)
        parts = (args.posonlyargs, args.args, args.vararg, args.kwonlyargs)
        return ast.arguments(*parts, found[split:], args.kwarg, found[:split])

    def _binary(self, node: ast.BinOp, out: Out) -> ast.expr:
        left, right = self.several([node.left, node.right], out)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def _unary(self, node: ast.UnaryOp, out: Out) -> ast.expr:
        return ast.copy_location(ast.UnaryOp(node.op, self.value(node.operand, out)), node)

    def _attribute(self, node: ast.Attribute, out: Out) -> ast.expr:
        owner = self.value(node.value, out)
        return ast.copy_location(ast.Attribute(owner, node.attr, node.ctx), node)

    def _subscript(self, node: ast.Subscript, out: Out) -> ast.expr:
        owner, key = self.several([node.value, node.slice], out)
        return ast.copy_location(ast.Subscript(owner, key, node.ctx), node)

    def _slice(self, node: ast.Slice, out: Out) -> ast.expr:
        lower, upper, step = self.several([node.lower, node.upper, node.step], out)
        return ast.copy_location(ast.Slice(lower, upper, step), node)

    def _members(self, node: Any, out: Out) -> ast.expr:
        more = {} if isinstance(node, ast.Set) else {"ctx": node.ctx}
        made: ast.expr = type(node)(elts=self.several(node.elts, out), **more)
        return ast.copy_location(made, node)

    def _dict(self, node: ast.Dict, out: Out) -> ast.expr:
        flat = [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
        last = max(i for i, part in enumerate(flat) if self.awaits(part))
        found: list[Any] = []
        for i, part in enumerate(flat):
            if part is None:
                found.append(None)
                continue
            value = self.value(part, out)
            if i < last:
                if i % 2 and flat[i - 1] is None:  # `**part`: what is in it now
                    value = ast.copy_location(ast.Dict([None], [value]), part)
                value = self.keep(value, out)
            found.append(value)
        return ast.copy_location(ast.Dict(found[::2], found[1::2]), node)

    def _joined(self, node: ast.JoinedStr, out: Out) -> ast.expr:
        last = max(i for i, part in enumerate(node.values) if self.awaits(part))
        parts: list[ast.expr] = []
        for i, part in enumerate(node.values):
            shown = self.value(part, out)
            if i < last and isinstance(part, ast.FormattedValue):
                whole = ast.copy_location(ast.JoinedStr([shown]), part)
                kept = self.keep(whole, out)
                shown = ast.copy_location(ast.FormattedValue(kept, -1, None), part)
            parts.append(shown)
        return ast.copy_location(ast.JoinedStr(parts), node)

    def _formatted(self, node: ast.FormattedValue, out: Out) -> ast.expr:
        value = self.value(node.value, out)
        if self.awaits(node.format_spec):
            value = self.keep(value, out)
        spec = self.maybe(node.format_spec, out)
        return ast.copy_location(ast.FormattedValue(value, node.conversion, spec), node)

    def _named(self, node: ast.NamedExpr, out: Out) -> ast.expr:
        value = self.keep(self.value(node.value, out), out)
        out.append(Made(node).assign(node.target.id, value))
        return value

    def _choice(self, node: ast.IfExp, out: Out) -> ast.expr:
        made, name = Made(node), self.temp()
        test = self.value(node.test, out)
        body: Out = []
        body.append(made.assign(name, self.value(node.body, body)))
        orelse: Out = []
        orelse.append(made.assign(name, self.value(node.orelse, orelse)))
        out.append(made.branch(test, body, orelse))
        return made.name(name)

    def _boolean(self, node: ast.BoolOp, out: Out) -> ast.expr:
        name = self.temp()
        self._links(node, node.values, name, out)
        return Made(node).name(name)

    def _links(self, node: ast.BoolOp, values: list[ast.expr], name: str, out: Out) -> None:
        made = Made(node)
        out.append(made.assign(name, self.value(values[0], out)))
        if len(values) > 1:
            inner: Out = []
            self._links(node, values[1:], name, inner)
            shown = made.name(name)
            test = shown if isinstance(node.op, ast.And) else made.negated(shown)
            out.append(made.branch(test, inner))

    def _compare(self, node: ast.Compare, out: Out) -> ast.expr:
        if len(node.ops) == 1:
            left, right = self.several([node.left, node.comparators[0]], out)
            return ast.copy_location(ast.Compare(left, node.ops, [right]), node)
        name = self.temp()
        left = self.keep(self.value(node.left, out), out)
        self._chain(node, left, list(zip(node.ops, node.comparators, strict=True)), name, out)
        return Made(node).name(name)

    def _chain(
        self,
        node: ast.Compare,
        left: ast.expr,
        links: list[tuple[ast.cmpop, ast.expr]],
        name: str,
        out: Out,
    ) -> None:
        made, (op, comparator) = Made(node), links[0]
        right = self.keep(self.value(comparator, out), out)
        out.append(made.assign(name, made.compare(left, (op, right))))
        if len(links) > 1:
            inner: Out = []
            self._chain(node, right, links[1:], name, inner)
            out.append(made.branch(made.name(name), inner))

    def _generator(self, node: ast.GeneratorExp, out: Out) -> ast.expr:
        first = node.generators[0]
        iterable = self.value(first.iter, out)
        # Until it is first asked, a generator has only called `iter` on what it goes through.
        head = ast.comprehension(first.target, iterable, first.ifs, first.is_async)
        made = ast.GeneratorExp(node.elt, [head, *node.generators[1:]])
        return ast.copy_location(made, node)

    def _comprehension(self, node: Any, out: Out) -> ast.expr:
        made = Made(node)
        if not self._awaits_inside(node):
            return self._plain_comprehension(node, out)
        names = walrus_names(node)
        self.leaked.update(dict.fromkeys(names))
        iterable = self.value(node.generators[0].iter, out)
        body: list[ast.stmt] = [ast.Nonlocal(names, **made.where)] if names else []
        body.append(made.assign(".out", EMPTY[type(node)](made)))
        body += loops(node, made, leaf(node, made))
        body.append(ast.Return(made.name(".out"), **made.where))
        name = NAMES[type(node)]
        out.append(made.function(ast.AsyncFunctionDef, name, ".0", body))
        result = self.temp()
        out.append(made.assign(result, made.awaited(made.call(made.name(name), iterable))))
        return made.name(result)

    def _awaits_inside(self, node: Any) -> bool:
        """Whether a comprehension awaits in more than its first iterable."""
        first, *more = node.generators
        parts = [getattr(node, name, None) for name in ("elt", "key", "value")]
        return first.is_async or self.awaits.any((*parts, *first.ifs, first.target, *more))

    def _plain_comprehension(self, node: Any, out: Out) -> ast.expr:
        first, *more = node.generators
        head = ast.comprehension(first.target, self.value(first.iter, out), first.ifs, 0)
        parts = {
            name: getattr(node, name) for name in ("elt", "key", "value") if name in node._fields
        }
        made: ast.expr = type(node)(**parts, generators=[head, *more])
        return ast.copy_location(made, node)


def is_temp(node: ast.expr) -> bool:
    """Whether an expression is a name that hoisting made."""
    return isinstance(node, ast.Name) and node.id.startswith(".t")


def called(node: ast.AST) -> str:
    """Give what a construct is called."""
    return f"`{type(node).__name__}`"


_EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any, Out], ast.expr]] = {
    ast.Await: Expressions._suspended,
    ast.Yield: Expressions._suspended,
    ast.YieldFrom: Expressions._suspended,
    ast.Call: Expressions._call,
    ast.Lambda: Expressions._lambda,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Tuple: Expressions._members,
    ast.List: Expressions._members,
    ast.Set: Expressions._members,
    ast.Dict: Expressions._dict,
    ast.JoinedStr: Expressions._joined,
    ast.FormattedValue: Expressions._formatted,
    ast.NamedExpr: Expressions._named,
    ast.IfExp: Expressions._choice,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.GeneratorExp: Expressions._generator,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
}
