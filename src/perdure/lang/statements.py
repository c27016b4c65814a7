"""Hoisting in statements; `async with`, `async for` and `match` are written out on the way.

A construct is an entry in a table; what is missing there is left to run as it is.
"""

# The table names private methods of its own class.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, cast

from perdure.lang.hoist import Expressions, Out, called, is_temp
from perdure.lang.shape import HELPERS, SUSPENDING, CannotLower, Made, outer_parts


class Hoist(Expressions):
    """Hoists the awaits of one function."""

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
            raise CannotLower(node, f"await inside of {called(node)}")
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
        if not is_temp(value):
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
        out.append(made.letting_go(ast.copy_location(loop, node), iterator))

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

    def _s_definition(self, node: Any, out: Out) -> None:
        made = copy.copy(node)
        decorators = node.decorator_list
        if isinstance(node, ast.ClassDef):
            words = [word.value for word in node.keywords]
            found = self.several([*decorators, *node.bases, *words], out)
            first, last = len(decorators), len(decorators) + len(node.bases)
            made.bases = found[first:last]
            made.keywords = [
                ast.copy_location(ast.keyword(word.arg, value), word)
                for word, value in zip(node.keywords, found[last:], strict=True)
            ]
            made.decorator_list = found[:first]
        else:
            made.decorator_list = self.several(decorators, out)
            if self.awaits.any(each for each in outer_parts(node) if each not in decorators):
                made.decorator_list = [self.keep(each, out) for each in made.decorator_list]
                made.args = self.defaults(node.args, out)
        out.append(made)


_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Assert)
"""Statements after which what was kept for them is let go."""


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
