"""Re-entry: guards that let a restored frame walk back in to the await at which it stood.

In forward execution the hidden local `.pc` is None and every guard lets through. A restored frame
begins with `.pc` set to the number of its await: guards then skip what had been done, compound
statements are entered again on the way there (loops at their kept iterator, handlers by raising
what they handled, `with` without entering anew), and at the await itself `.pc` becomes None.

One template for each compound statement; the statements inside of them stay the user's.
"""

# The tables name private methods of their own class.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from perdure.lang.exits import BREAK, CONTINUE, RAISE, RETURN, Exits, jumps_out
from perdure.lang.shape import HELPERS, SUSPENDING, Made, own_children

Block = list[ast.stmt]
Range = tuple[int, int]


class Site(NamedTuple):
    """One await of a function: where it stands, and which hidden locals it needs to go on."""

    line: int
    kind: str
    """`await`, `yield` or `from`."""
    hidden: tuple[str, ...]
    column: int = 0


_SITES: dict[type[ast.expr], str] = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "from",
}


class Reenter:
    """Puts the guards into one function whose awaits have been hoisted."""

    def __init__(self, body: Block, names: Iterable[str] = (), *, bare: bool = False) -> None:
        self.bare = bare
        """Whether it returns nothing ever, as asynchronous generators have to."""
        self.ranges: dict[int, Range] = {}
        self.count = 0
        self.temps = Lifetimes(names)
        for statement in body:
            self._number(statement)
        self.sites: list[Site | None] = [None] * (self.count + 1)
        self.made = 0
        self.alive: list[str] = []
        self.needs_run = False
        self.hows = self._finals(body)
        Exits(self.hows).block(body)

    def _finals(self, body: Block) -> dict[int, str]:
        found: dict[int, str] = {}
        for statement in body:
            for node in _own_nodes(statement):
                if isinstance(node, (ast.Try, ast.TryStar)) and self.range_of(node.finalbody):
                    found[id(node)] = self.hidden("how")
        return found

    def hidden(self, kind: str) -> str:
        """Give a fresh hidden name."""
        self.made += 1
        return f".{kind}{self.made}"

    # --- numbering the awaits, in document order

    def _number(self, node: ast.AST) -> None:
        first = self.count + 1
        begun = self.temps.position
        for child in own_children(node):
            self._number(child)
        if isinstance(node, SUSPENDING):
            self.count += 1
        self.temps.visit(node, begun, self.count)
        if self.count >= first and isinstance(node, (ast.stmt, ast.ExceptHandler)):
            self.ranges[id(node)] = (first, self.count)

    def range_of(self, nodes: list[Any]) -> Range | None:
        """Give the numbers of the first and the last await of a block, if it has any."""
        found = [self.ranges[id(node)] for node in nodes if id(node) in self.ranges]
        return (found[0][0], found[-1][1]) if found else None

    # --- blocks

    def block(self, statements: Block) -> Block:
        """Guard a block: what stands before an await is skipped on the way back to it."""
        last = max((i for i, each in enumerate(statements) if id(each) in self.ranges), default=-1)
        out: Block = []
        skipped: Block = []
        for i, statement in enumerate(statements):
            awaits = id(statement) in self.ranges
            if not awaits and i < last and not isinstance(statement, ast.Nonlocal):
                skipped.append(statement)
                continue
            if skipped:
                out.append(Made(skipped[0]).branch(_fresh(Made(skipped[0])), skipped))
                skipped = []
            if awaits:
                out += self.statement(statement, is_last=i == last)
            else:
                out.append(statement)
        return out

    def statement(self, node: ast.stmt, *, is_last: bool) -> Block:
        """Guard a statement that awaits; `is_last`: no await follows it in its block."""
        span = self.ranges[id(node)]
        made = Made(node)
        if isinstance(node, (ast.Assign, ast.Expr)):
            return [self.site(node, span[0], is_last=is_last)]
        guarded = _GUARDS[type(node)](self, node, made)
        if is_last:
            return guarded
        test = ast.BoolOp(ast.Or(), [_fresh(made), _within(made, span)], **made.where)
        return [made.branch(test, guarded)]

    def site(self, node: Any, number: int, *, is_last: bool) -> ast.stmt:
        """Guard an await itself."""
        made = Made(node)
        self.sites[number] = Site(
            node.value.lineno,
            _SITES[type(node.value)],
            (*self.alive, *self.temps.alive(number, node)),
            node.value.col_offset,
        )
        forward: Block = [made.assign(".at", made.constant(number)), node]
        waits = made.attribute(made.name(".r"), "wait")
        awaited: ast.expr = type(node.value)(None if isinstance(node.value, ast.Yield) else waits)
        awaited = ast.copy_location(awaited, node.value)
        again: ast.stmt
        if isinstance(node, ast.Assign):
            target: Any = node.targets[0]
            again = ast.copy_location(ast.Assign([made.target(target.id)], awaited), node)
        else:
            again = ast.copy_location(ast.Expr(awaited), node)
        back: Block = [
            made.assign(".pc", made.constant(None)),
            made.assign(".at", made.constant(number)),
            again,
        ]
        here = made.compare(made.name(".pc"), (ast.Eq(), made.constant(number)))
        orelse = back if is_last else [made.branch(here, back)]
        return made.branch(_fresh(made), forward, orelse)

    # --- one template for each compound statement

    def _if(self, node: ast.If, made: Made) -> Block:
        test = _on_the_way(made, self.range_of(node.body), node.test)
        body, orelse = self.block(node.body), self.block(node.orelse)
        return [ast.copy_location(ast.If(test, body, orelse), node)]

    def _while(self, node: ast.While, made: Made) -> Block:
        test = _on_the_way(made, self.range_of(node.body), node.test)
        body, orelse = self.block(node.body), self.block(node.orelse)
        return [ast.copy_location(ast.While(test, body, orelse), node)]

    def _for(self, node: ast.For, made: Made) -> Block:
        iterator, value = self.hidden("i"), self.hidden("v")
        inner = self.range_of(node.body)
        begin = made.assign(iterator, Made(node.iter).helper("iterate", node.iter))
        first = made.branch(_fresh(made), [begin])
        kept = made.name(iterator)
        source: ast.expr = kept
        if inner is not None:
            source = _choose(made, inner, made.helper("again", kept), _nothing(made), kept)
        else:
            source = made.either(_fresh(made), kept, _nothing(made))
        given = [made.put(node.target, made.name(value)), made.clear([value])]
        self.alive.append(iterator)
        body = self.block(node.body)
        self.alive.pop()
        head = [made.branch(_fresh(made), given)] if inner else given
        orelse = self.block(node.orelse)
        loop = ast.For(made.target(value), source, [*head, *body], orelse)
        return [first, made.letting_go(ast.copy_location(loop, node), iterator)]

    def _with(self, node: ast.With, made: Made) -> Block:
        self.needs_run = True
        item = node.items[0]
        manager, value = self.hidden("m"), self.hidden("v")
        at = Made(item.context_expr)
        enter = made.assign(manager, at.helper("guard", item.context_expr, at.name(".run")))
        self.alive.append(manager)
        body = self.block(node.body)
        self.alive.pop()
        if item.optional_vars is not None:
            given = [made.put(item.optional_vars, made.name(value)), made.clear([value])]
            body = [made.branch(_fresh(made), given), *body]
        whole = ast.With([ast.withitem(at.name(manager), made.target(value))], body)
        return [
            made.branch(_fresh(made), [enter]),
            ast.copy_location(whole, node),
            made.clear([manager]),
        ]

    def _try(self, node: ast.Try, made: Made) -> Block:
        how = self.hows.get(id(node))
        if how is not None:
            return self._with_awaiting_final(node, made, how)
        body, handlers = self._attempt(node, made)
        final = self._when_live(made, node.finalbody)
        return [ast.copy_location(type(node)(body, handlers, self.block(node.orelse), final), node)]

    def _attempt(self, node: Any, made: Made) -> tuple[Block, list[ast.ExceptHandler]]:
        """Guard the body and the handlers of a `try`."""
        handled = self.range_of(node.handlers)
        inside = self.range_of(node.body)
        body = self.block(node.body)
        if self.range_of(node.orelse):  # on the way to `else`, the body is over
            goes = _fresh(made)
            if inside:
                goes = ast.BoolOp(ast.Or(), [goes, _within(made, inside)], **made.where)
            skippable: Block = [made.branch(goes, body)]
            body = skippable
        error = self.hidden("x")
        if handled is not None:
            again = ast.Raise(made.name(error), None, **made.where)
            body.insert(0, made.branch(_within_again(made, handled), [again]))
        if isinstance(node, ast.TryStar):
            return body, [self._star_handler(each) for each in node.handlers]
        handlers = [self._handler(each, error, handled) for each in node.handlers]
        if handlers and inside:
            self.needs_run = True
            gone = made.helper("gone", made.name(".run"))
            handlers.insert(0, made.handler(gone, [made.reraise()]))
        return body, handlers

    def _star_handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self.needs_run = True
        made = Made(node)
        assert node.type is not None
        live = made.helper("live", made.name(".run"))
        never = made.attribute(made.constant(HELPERS), "Never")
        kind = made.either(live, node.type, never)
        return ast.copy_location(ast.ExceptHandler(kind, node.name, node.body), node)

    def _handler(
        self, node: ast.ExceptHandler, error: str, handled: Range | None
    ) -> ast.ExceptHandler:
        if handled is None:
            return node
        made = Made(node)
        span = self.ranges.get(id(node))
        everything = made.attribute(made.constant(HELPERS), "Everything")
        kind = everything if node.type is None else node.type
        if span is None:
            kind = made.either(_fresh(made), kind, _nothing(made))
            return ast.copy_location(ast.ExceptHandler(kind, node.name, node.body), node)
        if node.type is not None:
            kind = _choose(made, span, everything, _nothing(made), kind)
        else:
            kind = made.either(
                ast.BoolOp(ast.Or(), [_fresh(made), _within(made, span)], **made.where),
                everything,
                _nothing(made),
            )
        self.alive.append(error)
        caught: Block = [made.assign(error, made.helper("exc"))]
        back = [_put_right(made, error)]
        if node.name is not None:
            back += _rebound(made, node.name)
        # What is kept must not outlive the handler: it leads to this frame, and round again.
        inner = made.attempt(self.block(node.body), [], None, [made.clear([error])])
        self.alive.pop()
        whole: Block = [made.branch(_fresh(made), caught, back), inner]
        return ast.copy_location(ast.ExceptHandler(kind, node.name, whole), node)

    def _when_live(self, made: Made, body: Block, *first: ast.stmt) -> Block:
        """Guard a `finally`: a frame that is dropped runs none of the user's code."""
        if not body:
            return []
        self.needs_run = True
        live = made.helper("live", made.name(".run"))
        return [made.branch(live, [*first, *self.block(body)])]

    def _with_awaiting_final(self, node: Any, made: Made, how: str) -> Block:
        span = self.range_of(node.finalbody)
        assert span is not None
        self.alive.append(how)
        work = self._work(node, made)
        work.append(made.assign(how, made.constant(None)))
        raised = ast.Tuple([made.constant(RAISE), made.helper("exc")], ast.Load(), **made.where)
        everything = made.attribute(made.constant(HELPERS), "Everything")
        noted = made.handler(everything, [made.assign(how, raised), made.reraise()])
        inside = made.attempt(work, [noted])
        again = made.branch(_within_again(made, span), self._issue_again(node, made, how), [inside])
        is_back = made.compare(made.name(".pc"), (ast.IsNot(), made.constant(None)))
        right = made.branch(is_back, [_put_right(made, how)])
        final = self._when_live(made, node.finalbody, right)
        self.alive.pop()
        whole = ast.Try([again], [], [], [made.attempt(final, [], None, [made.clear([how])])])
        begin = made.branch(_fresh(made), [made.assign(how, made.constant(None))])
        return [begin, ast.copy_location(whole, node)]

    def _work(self, node: Any, made: Made) -> Block:
        body, handlers = self._attempt(node, made)
        if not handlers:
            return body
        orelse = self.block(node.orelse)
        return [ast.copy_location(type(node)(body, handlers, orelse, []), node)]

    def _issue_again(self, node: Any, made: Made, how: str) -> Block:
        """Leave the block once more, as it was left before its `finally` was entered."""

        def part(number: int) -> ast.expr:
            return ast.Subscript(made.name(how), made.constant(number), ast.Load(), **made.where)

        handlers = [statement for each in node.handlers for statement in each.body]
        jumps = jumps_out([*node.body, *node.orelse, *handlers])
        issues: list[tuple[str, ast.stmt]] = [
            (RAISE, ast.Raise(part(1), None, **made.where)),
            (RETURN, ast.Return(None if self.bare else part(1), **made.where)),
        ]
        issues += [(BREAK, ast.Break(**made.where))] if BREAK in jumps else []
        issues += [(CONTINUE, ast.Continue(**made.where))] if CONTINUE in jumps else []
        chain: Block = []
        for kind, statement in reversed(issues):
            test = made.compare(part(0), (ast.Eq(), made.constant(kind)))
            chain = [made.branch(test, [statement], chain)]
        is_pending = made.compare(made.name(how), (ast.IsNot(), made.constant(None)))
        return [made.branch(is_pending, chain)]


def _own_nodes(node: ast.AST) -> Any:
    yield node
    for child in own_children(node):
        yield from _own_nodes(child)


# --- expressions over `.pc`


def _fresh(made: Made) -> ast.expr:
    return made.compare(made.name(".pc"), (ast.Is(), made.constant(None)))


def _within(made: Made, span: Range) -> ast.expr:
    """`first <= .pc <= last`; only where `.pc` is not None."""
    first, last = span
    if first == last:
        return made.compare(made.name(".pc"), (ast.Eq(), made.constant(first)))
    return made.compare(
        made.constant(first), (ast.LtE(), made.name(".pc")), (ast.LtE(), made.constant(last))
    )


def _within_again(made: Made, span: Range) -> ast.expr:
    is_back = made.compare(made.name(".pc"), (ast.IsNot(), made.constant(None)))
    return ast.BoolOp(ast.And(), [is_back, _within(made, span)], **made.where)


def _nothing(made: Made) -> ast.expr:
    return ast.Tuple([], ast.Load(), **made.where)


def _choose(
    made: Made, span: Range, within: ast.expr, elsewhere: ast.expr, forward: ast.expr
) -> ast.expr:
    """`forward` as long as nothing is restored; else by whether the await lies in a block."""
    back = made.either(_within(made, span), within, elsewhere)
    return made.either(_fresh(made), forward, back)


def _on_the_way(made: Made, span: Range | None, test: ast.expr) -> ast.expr:
    """The user's test; on the way back, whether the await lies in the block behind it."""
    back = made.constant(value=False) if span is None else _within(made, span)
    return made.either(_fresh(made), test, back)


def _put_right(made: Made, name: str) -> ast.stmt:
    """Give an exception that was raised again the context that it had."""
    call = made.call(made.attribute(made.name(".r"), "put_right"), made.constant(name))
    return ast.Expr(call, **made.where)


def _rebound(made: Made, name: str) -> Block:
    """Give the name of a handler what it stood for; it may have been bound anew, or deleted."""
    kept = made.attribute(made.name(".r"), "locals")
    has = made.compare(made.constant(name), (ast.In(), kept))
    value = ast.Subscript(kept, made.constant(name), ast.Load(), **made.where)
    gone = ast.Delete([ast.Name(name, ast.Del(), **made.where)], **made.where)
    return [made.branch(has, [made.assign(name, value)], [gone])]


_GUARDS: dict[type[ast.stmt], Callable[[Reenter, Any, Made], Block]] = {
    ast.If: Reenter._if,
    ast.While: Reenter._while,
    ast.For: Reenter._for,
    ast.With: Reenter._with,
    ast.Try: Reenter._try,
    ast.TryStar: Reenter._try,
}


# --- how long the temporaries of hoisting are needed


class Lifetimes:
    """From where to where in the text each hidden name is needed."""

    def __init__(self, names: Iterable[str]) -> None:
        self.position = 0
        self.first: dict[str, int] = dict.fromkeys(names, 0)
        """Hidden names; besides, the parameters of a function whose dead locals are left out."""
        self.every = bool(self.first)
        self.last: dict[str, int] = {}
        self.sites: dict[int, int] = {}

    def visit(self, node: ast.AST, begun: int, count: int) -> None:
        """Take note of a node, after its children."""
        self.position += 1
        if isinstance(node, ast.Name) and (self.every or node.id[:1] == "."):
            if isinstance(node.ctx, ast.Store):
                self.first.setdefault(node.id, self.position)
            else:
                self.last[node.id] = self.position
        elif isinstance(node, SUSPENDING):
            self.sites[count] = self.position
        elif isinstance(node, (ast.For, ast.While)):
            self._carry(begun)

    def _carry(self, begun: int) -> None:
        """What was made before a loop and is used in it is used in its next turn, too."""
        for name, last in self.last.items():
            if last > begun and self.first.get(name, begun) <= begun:
                self.last[name] = self.position

    def alive(self, number: int, node: ast.stmt) -> tuple[str, ...]:
        """Give the names that are needed after an await."""
        at = self.sites[number]
        own = {each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)}
        return tuple(
            name
            for name, first in self.first.items()
            if first < at < self.last.get(name, 0) and name not in own
        )
