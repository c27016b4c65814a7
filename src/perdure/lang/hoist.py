"""Hoisting: every await of a function becomes a statement of its own, in exact evaluation order.

`f(x, await g())` becomes `.t1 = f; .t2 = x; .t3 = await g(); .t1(.t2, .t3)`: what comes before an
await is evaluated, and kept, before it. Only expressions and statements that await are touched.
`async with`, `async for`, `match` and comprehensions that await are written out on the way.

A construct is an entry in one of two tables; what is missing there is left to run as it is.
"""

# pyright: reportPrivateUsage=false  -- the tables name methods of their own class

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from perdure.lang.comprehend import EMPTY, NAMES, leaf, loops
from perdure.lang.shape import (
    HELPERS,
    SUSPENDING,
    Awaiting,
    CannotLower,
    Made,
    outer_parts,
    walrus_names,
)

Out = list[ast.stmt]


class Hoist:
    """Hoists the awaits of one function."""

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
        if isinstance(value, ast.Constant) or _is_temp(value):
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
            raise CannotLower(node, f"await inside of {_called(node)}")
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
        out.append(made.coroutine(name, ".0", body))
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

    # --- statements

    def body(self, statements: list[ast.stmt]) -> Out:
        """Hoist a block."""
        out: Out = []
        for statement in statements:
            self.statement(statement, out)
        return out

    def statement(self, node: ast.stmt, out: Out) -> None:
        """Hoist one statement."""
        if not self.awaits(node):
            out.append(node)
            return
        hoist = _STATEMENTS.get(type(node))
        if hoist is None:
            raise CannotLower(node, f"await inside of {_called(node)}")
        before = self.temps
        hoist(self, node, out)
        if isinstance(node, _SIMPLE) and self.temps > before:
            names = [f".t{number}" for number in range(before + 1, self.temps + 1)]
            out.append(Made(node).clear(names))

    def _s_expr(self, node: ast.Expr, out: Out) -> None:
        if isinstance(node.value, SUSPENDING):
            out.append(ast.copy_location(ast.Expr(self._alone(node.value, out)), node))
            return
        value = self.value(node.value, out)
        if not _is_temp(value):
            out.append(ast.copy_location(ast.Expr(value), node))

    def _s_return(self, node: ast.Return, out: Out) -> None:
        out.append(ast.copy_location(ast.Return(self.maybe(node.value, out)), node))

    def _s_raise(self, node: ast.Raise, out: Out) -> None:
        error, cause = self.several([node.exc, node.cause], out)
        out.append(ast.copy_location(ast.Raise(error, cause), node))

    def _s_assert(self, node: ast.Assert, out: Out) -> None:
        made = Made(node)
        test = self.value(node.test, out)
        body: Out = []
        words = [] if node.msg is None else [self.value(node.msg, body)]
        body.append(ast.Raise(made.helper("Refuted", *words), None, **made.where))
        out.append(made.branch(made.negated(test), body))

    def _s_assign(self, node: ast.Assign, out: Out) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assign_name(node.targets[0], node, out)
            return
        value = self.value(node.value, out)
        if len(node.targets) > 1 or self.awaits.any(node.targets):
            value = self.keep(value, out)
        for target in node.targets:
            self.store(target, value, node, out)

    def _assign_name(self, target: ast.Name, node: Any, out: Out) -> None:
        value = node.value
        hoist = self._alone if isinstance(value, SUSPENDING) else self.value
        whole = hoist(value, out)
        out.append(ast.copy_location(ast.Assign([target], whole), node))

    def _s_annotated(self, node: ast.AnnAssign, out: Out) -> None:
        if node.value is None:  # nothing is stored, but what the target names is evaluated
            parts = [getattr(node.target, name, None) for name in ("value", "slice")]
            for part in self.several([each for each in parts if each is not None], out):
                out.append(ast.copy_location(ast.Expr(part), node))
            return
        if isinstance(node.target, ast.Name):
            self._assign_name(node.target, node, out)
            return
        value = self.value(node.value, out)
        if self.awaits(node.target):
            value = self.keep(value, out)
        self.store(node.target, value, node, out)

    def store(self, target: Any, value: ast.expr, node: ast.AST, out: Out) -> None:
        """Put a value where a target says; unpacking comes first, then one target after another."""
        if not self.awaits(target):
            out.append(ast.copy_location(ast.Assign([target], value), node))
        elif isinstance(target, (ast.Tuple, ast.List)):
            made, names = Made(target), [self.temp() for _ in target.elts]
            parts: list[ast.expr] = []
            for each, name in zip(target.elts, names, strict=True):
                part: ast.expr = made.target(name)
                if isinstance(each, ast.Starred):
                    part = ast.copy_location(ast.Starred(part, ast.Store()), each)
                parts.append(part)
            whole = ast.copy_location(ast.Tuple(parts, ast.Store()), target)
            out.append(ast.copy_location(ast.Assign([whole], value), node))
            for each, name in zip(target.elts, names, strict=True):
                inner = each.value if isinstance(each, ast.Starred) else each
                self.store(inner, made.name(name), node, out)
        else:
            out.append(ast.copy_location(ast.Assign([self.value(target, out)], value), node))

    def received(self, target: ast.expr, node: ast.AST) -> tuple[ast.expr, Out]:
        """Give a target that does not await, and what then puts its value into the user's."""
        if not self.awaits(target):
            return target, []
        made, name = Made(target), self.temp()
        out: Out = []
        self.store(target, made.name(name), node, out)
        return made.target(name), out

    def _s_augmented(self, node: ast.AugAssign, out: Out) -> None:
        made, target = Made(node), node.target
        if isinstance(target, ast.Name):
            read: Any = made.name(target.id)
            write: Any = made.target(target.id)
        elif isinstance(target, ast.Attribute):
            owner = self.keep(self.value(target.value, out), out)
            read = ast.copy_location(ast.Attribute(owner, target.attr, ast.Load()), target)
            write = ast.copy_location(ast.Attribute(owner, target.attr, ast.Store()), target)
        else:
            owner, key = self.several([target.value, target.slice], out)
            owner, key = self.keep(owner, out), self.keep(key, out)
            read = ast.copy_location(ast.Subscript(owner, key, ast.Load()), target)
            write = ast.copy_location(ast.Subscript(owner, key, ast.Store()), target)
        name = self.temp()
        out.append(made.assign(name, read))
        value = self.value(node.value, out)
        change = ast.AugAssign(made.target(name), node.op, value)
        out.append(ast.copy_location(change, node))
        out.append(ast.copy_location(ast.Assign([write], made.name(name)), node))

    def _s_delete(self, node: ast.Delete, out: Out) -> None:
        for target in node.targets:
            out.append(ast.copy_location(ast.Delete([self._deleted(target, out)]), node))

    def _deleted(self, target: Any, out: Out) -> Any:
        if self.awaits(target) and isinstance(target, (ast.Tuple, ast.List)):
            raise CannotLower(target, "await inside of a `del` of several things at once")
        return self.value(target, out)

    def _s_if(self, node: ast.If, out: Out) -> None:
        test = self.value(node.test, out)
        body, orelse = self.body(node.body), self.body(node.orelse)
        out.append(ast.copy_location(ast.If(test, body, orelse), node))

    def _s_while(self, node: ast.While, out: Out) -> None:
        made = Made(node)
        if not self.awaits(node.test):
            body, orelse = self.body(node.body), self.body(node.orelse)
            out.append(ast.copy_location(ast.While(node.test, body, orelse), node))
            return
        head: Out = []
        stop: Out = [ast.Break(**made.where)]
        test = self.value(node.test, head)
        ended = self.temp()
        if node.orelse:
            out.append(made.assign(ended, made.constant(value=False)))
            stop.insert(0, made.assign(ended, made.constant(value=True)))
        head.append(made.branch(made.negated(test), stop))
        out.append(made.forever(head + self.body(node.body)))
        if node.orelse:
            out.append(made.branch(made.name(ended), self.body(node.orelse)))

    def _s_for(self, node: ast.For, out: Out) -> None:
        iterable = self.value(node.iter, out)
        target, stored = self.received(node.target, node)
        body, orelse = self.body(node.body), self.body(node.orelse)
        loop = ast.For(target, iterable, [*stored, *body], orelse)
        out.append(ast.copy_location(loop, node))

    def _s_async_for(self, node: ast.AsyncFor, out: Out) -> None:
        made = Made(node.iter)
        iterator, goes_on, value = self.temp(), self.temp(), self.temp()
        out.append(made.assign(iterator, made.helper("aiter", self.value(node.iter, out))))
        out.append(made.assign(goes_on, made.constant(value=True)))
        step = made.assign(value, made.awaited(made.helper("anext", made.name(iterator))))
        ended = made.attribute(made.constant(HELPERS), "Ended")
        over: Out = [made.assign(goes_on, made.constant(value=False))]
        suite: Out = []
        self.store(node.target, made.name(value), node.iter, suite)
        suite += [made.clear([value]), *self.body(node.body)]
        turn = made.attempt([step], [made.handler(ended, over)], suite)
        loop = ast.While(made.name(goes_on), [turn], self.body(node.orelse))
        out.append(ast.copy_location(loop, node))
        out.append(made.clear([iterator]))

    def _s_with(self, node: ast.With, out: Out) -> None:
        first, rest = node.items[0], node.items[1:]
        body = [self._rest(node, rest)] if rest else node.body
        manager = self.value(first.context_expr, out)
        target = first.optional_vars
        stored: Out = []
        if target is not None:
            target, stored = self.received(target, node)
        inner = [*stored, *self.body(body)]
        out.append(ast.copy_location(ast.With([ast.withitem(manager, target)], inner), node))

    def _rest(self, node: ast.With | ast.AsyncWith, rest: list[ast.withitem]) -> ast.stmt:
        inner = cast("ast.stmt", ast.copy_location(type(node)(rest, node.body), node))
        if isinstance(node, ast.AsyncWith) or self.awaits.any((*rest, *node.body)):
            self.awaits.found.add(id(inner))
        return inner

    def _s_async_with(self, node: ast.AsyncWith, out: Out) -> None:
        first, rest = node.items[0], node.items[1:]
        made = Made(first.context_expr)
        manager, value, is_whole = self.temp(), self.temp(), self.temp()
        out.append(made.assign(manager, self.value(first.context_expr, out)))
        enter = made.helper("aenter", made.name(manager))
        out.append(made.assign(value, made.awaited(enter)))
        out.append(made.assign(is_whole, made.constant(value=True)))
        suite: Out = []
        if first.optional_vars is not None:
            self.store(first.optional_vars, made.name(value), first.context_expr, suite)
        suite.append(made.clear([value]))
        suite += self.body([self._rest(node, rest)] if rest else node.body)
        whole = self._guarded_by_manager(made, manager, is_whole, suite)
        out += [whole, made.clear([manager])]

    def _guarded_by_manager(self, made: Made, manager: str, is_whole: str, suite: Out) -> ast.Try:
        taken = self.temp()
        leave = made.helper("aexit", made.name(manager), made.helper("exc"))
        caught: Out = [
            made.assign(is_whole, made.constant(value=False)),
            made.assign(taken, made.awaited(leave)),
            made.branch(made.negated(made.name(taken)), [made.reraise()]),
        ]
        done = made.helper("aexit", made.name(manager), made.constant(None))
        ended = ast.Expr(made.awaited(done), **made.where)
        inner = made.attempt(suite, [made.handler(None, caught)])
        return made.attempt([inner], [], None, [made.branch(made.name(is_whole), [ended])])

    def _s_try(self, node: ast.Try, out: Out) -> None:
        handlers = [self._handler(each) for each in node.handlers]
        body, orelse, final = map(self.body, (node.body, node.orelse, node.finalbody))
        out.append(ast.copy_location(ast.Try(body, handlers, orelse, final), node))

    def _handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        if self.awaits(node.type):
            raise CannotLower(node, "await inside of the class of an `except`")
        body = self.body(node.body)
        return ast.copy_location(ast.ExceptHandler(node.type, node.name, body), node)

    def _s_try_star(self, node: Any, out: Out) -> None:
        if self.awaits.any(node.handlers):
            raise CannotLower(node, "await inside of an `except*`")
        body, orelse, final = map(self.body, (node.body, node.orelse, node.finalbody))
        whole = ast.TryStar(body, node.handlers, orelse, final)
        out.append(ast.copy_location(whole, node))

    def _s_match(self, node: ast.Match, out: Out) -> None:
        if any(self.awaits(case.guard) or self.awaits(case.pattern) for case in node.cases):
            raise CannotLower(node, "await inside of a guard or pattern of `match`")
        made, which = Made(node), self.temp()
        subject = self.keep(self.value(node.subject, out), out)
        out.append(made.assign(which, made.constant(-1)))
        cases: list[ast.match_case] = []
        chain: Out = []
        for number, case in reversed(list(enumerate(node.cases))):
            mark = Made(case.body[0]).assign(which, made.constant(number))
            cases.insert(0, ast.match_case(case.pattern, case.guard, [mark]))
            test = made.compare(made.name(which), (ast.Eq(), made.constant(number)))
            chain = [Made(case.body[0]).branch(test, self.body(case.body), chain)]
        out.append(ast.copy_location(ast.Match(subject, cases), node))
        out += chain

    def _s_definition(self, node: Any, _: Out) -> None:
        assert self.awaits.any(outer_parts(node))
        raise CannotLower(node, "await inside of a decorator, a default or a base")


def _is_temp(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.startswith(".t")


def _called(node: ast.AST) -> str:
    return f"`{type(node).__name__}`"


_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Assert)
"""Statements after which what was kept for them is let go."""


_EXPRESSIONS: dict[type[ast.expr], Callable[[Hoist, Any, Out], ast.expr]] = {
    ast.Await: Hoist._suspended,
    ast.Yield: Hoist._suspended,
    ast.YieldFrom: Hoist._suspended,
    ast.Call: Hoist._call,
    ast.BinOp: Hoist._binary,
    ast.UnaryOp: Hoist._unary,
    ast.Attribute: Hoist._attribute,
    ast.Subscript: Hoist._subscript,
    ast.Slice: Hoist._slice,
    ast.Tuple: Hoist._members,
    ast.List: Hoist._members,
    ast.Set: Hoist._members,
    ast.Dict: Hoist._dict,
    ast.JoinedStr: Hoist._joined,
    ast.FormattedValue: Hoist._formatted,
    ast.NamedExpr: Hoist._named,
    ast.IfExp: Hoist._choice,
    ast.BoolOp: Hoist._boolean,
    ast.Compare: Hoist._compare,
    ast.GeneratorExp: Hoist._generator,
    ast.ListComp: Hoist._comprehension,
    ast.SetComp: Hoist._comprehension,
    ast.DictComp: Hoist._comprehension,
}

_STATEMENTS: dict[type[ast.stmt], Callable[[Hoist, Any, Out], None]] = {
    ast.Expr: Hoist._s_expr,
    ast.Return: Hoist._s_return,
    ast.Raise: Hoist._s_raise,
    ast.Assert: Hoist._s_assert,
    ast.Assign: Hoist._s_assign,
    ast.AnnAssign: Hoist._s_annotated,
    ast.AugAssign: Hoist._s_augmented,
    ast.Delete: Hoist._s_delete,
    ast.If: Hoist._s_if,
    ast.While: Hoist._s_while,
    ast.For: Hoist._s_for,
    ast.AsyncFor: Hoist._s_async_for,
    ast.With: Hoist._s_with,
    ast.AsyncWith: Hoist._s_async_with,
    ast.Try: Hoist._s_try,
    ast.TryStar: Hoist._s_try_star,
    ast.Match: Hoist._s_match,
    ast.FunctionDef: Hoist._s_definition,
    ast.AsyncFunctionDef: Hoist._s_definition,
    ast.ClassDef: Hoist._s_definition,
}
