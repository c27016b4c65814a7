"""Draw the graph of an `async def`, statement by statement. Runs nothing, reads no files.

* **Plain code merges.** A statement without an await, without a started task, and without a jump
  out of itself is plain, however many lines it has. Neighbours become one inline node.
* **Every statement type is in `STATEMENTS`**, and expressions follow the order of evaluation that
  `graph_flow.EVALUATED` writes down, so nothing is dropped in silence. Bodies of nested functions,
  lambdas and classes are not entered; `yield` is plain; a generator expression is drawn where it
  is written.
* **Exceptions leave a `try` as a whole**: one edge from the try node to each handler, not one from
  each node inside. A `raise` is compared with the handlers as far as builtin classes tell.
* **A `finally` is drawn once.** The ways through it part again behind it, guarded by what they
  were: "return from line 12". So do the ways through the exit of a task group.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final

import msgspec

from perdure.lang.graph import Graph, Kind, Span
from perdure.lang.graph_awaits import Awaits, Keys, Sink
from perdure.lang.graph_flow import NOTHING, Comprehension, Effect, parts, reading, writing
from perdure.lang.graph_meaning import Meaning, Resolve
from perdure.lang.graph_sketch import Exit, Frame, Jump, Piece, Way, finish
from perdure.lang.graph_syntax import (
    case_text,
    catchers,
    caught_types,
    endless,
    escapes,
    header,
    irrefutable,
    last_name,
    raised_name,
    short,
    silent,
    span_of,
    text_of,
    with_value,
)

__all__ = ["Builder", "Meaning", "Resolve", "graph_of"]

# Contexts that swallow an exception: what is inside may be left at any point.
SUPPRESSORS: Final = ("suppress", "move_on_after", "move_on_at", "raises", "assertRaises")


def graph_of(tree: ast.AsyncFunctionDef, *, name: str, file: str, resolve: Resolve) -> Graph:
    """Draw the graph of one workflow. Never fails on code that CPython compiles."""
    builder = Builder(tree, resolve)
    builder.function(name)
    return finish(builder.sketch, name, file)


class Builder(Awaits):
    """Walks the statements and draws. `STATEMENTS` says what handles what."""

    def function(self, name: str) -> None:
        """Draw input, body, and the output at the end of the body."""
        tree = self.tree
        names = [arg.arg for arg in ast.walk(tree.args) if isinstance(arg, ast.arg)]
        start = spot(tree.lineno, tree.col_offset)
        label = short(f"{name}({ast.unparse(tree.args)})")
        self.sketch.add("input", label, start, effect=writing(*names))
        self.block(tree.body)
        self.sketch.flush()
        if any(map(self.sketch.alive, self.sketch.cursor)):
            end = spot(tree.end_lineno or 1, tree.end_col_offset or 0)
            self._output("return None", end, NOTHING)

    def block(self, body: Iterable[ast.stmt]) -> None:
        """Draw statements one after the other."""
        for stmt in body:
            if self.busy(stmt) or escapes(stmt):
                self.STATEMENTS[type(stmt)](self, stmt)
            elif not silent(stmt):
                self.piece(stmt)

    def piece(self, stmt: ast.AST, keys: Keys = (), text: str = "", writes: str = "") -> None:
        """Put a plain statement into the inline node that is being collected."""
        effect = self.effect(stmt, keys=keys)
        if writes:
            effect = effect.then(writing(writes))
        text = text or text_of(header(stmt)) + (" …" if hasattr(stmt, "body") else "")
        self.sketch.pieces.append(Piece(stmt, text, effect))

    def _plain(self, stmt: ast.stmt) -> None:
        """Draw the awaits of a simple statement, then what is left of it."""
        keys = [key for part in parts(stmt) for key in self.visit(part)]
        self.piece(stmt, tuple(keys))

    def _assign(self, stmt: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        """Let the node of `receipt = await charge(order)` write receipt itself."""
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        value = stmt.value
        name = targets[0].id if isinstance(targets[0], ast.Name) and len(targets) == 1 else ""
        if value is None or any(self.busy(target) for target in targets):
            self._plain(stmt)
        elif isinstance(value, ast.Await):
            prefix = text_of(with_value(stmt, ast.Name("_"))).removesuffix("_")
            self.draw_await(value, Sink(prefix, self.effect(with_value(stmt, ast.Constant(None)))))
        elif name and isinstance(value, ast.Call) and self.starts(value):
            self.start(value, name)
        elif name and isinstance(value, Comprehension) and self.starts_each(value):
            self.start_each(value, name)
        else:
            self._plain(stmt)

    def _expression(self, stmt: ast.Expr) -> None:
        if isinstance(stmt.value, ast.Await):
            self.draw_await(stmt.value, Sink())
        elif isinstance(stmt.value, ast.Call) and self.starts(stmt.value):
            self.start(stmt.value)
        else:
            self._plain(stmt)

    def _return(self, stmt: ast.Return) -> None:
        keys = self.visit(stmt.value)
        if self.sketch.caught("finally", "group"):
            result = self.key("result")
            self.piece(stmt, keys, writes=result)
            self._jump("return", stmt, key=result)
        else:
            effect = self.effect(stmt.value, keys=keys)
            self._output(short(text_of(stmt)), stmt, effect)

    def _raise(self, stmt: ast.Raise) -> None:
        keys = (*self.visit(stmt.exc), *self.visit(stmt.cause))
        self._throw(stmt, stmt, keys, text_of(stmt), raised_name(stmt.exc))

    def _throw(self, stmt: ast.stmt, code: ast.AST, keys: Keys, text: str, name: str) -> None:
        if self.sketch.caught("try", "finally", "group"):
            self.piece(code, keys, text)
            self._jump("raise", stmt, name=name)
        else:
            self._output(short(text), stmt, self.effect(code, keys=keys))

    def _loop_jump(self, stmt: ast.Break | ast.Continue) -> None:
        self.piece(stmt)
        self._jump("break" if isinstance(stmt, ast.Break) else "continue", stmt)

    def _output(self, label: str, at: ast.AST | Span, effect: Effect) -> None:
        self.sketch.add("output", label, at, effect=effect, frontier=True)
        self.sketch.cursor = ()

    def _jump(self, kind: Jump, at: ast.AST, *, name: str = "", key: str = "") -> None:
        self._leave(Way(kind, self.sketch.take(), at, name, key))

    def _leave(self, way: Way) -> None:
        """Carry a jump outward to the frame that takes it, or out of the function."""
        for frame in reversed(self.sketch.frames):
            if frame.takes(way):
                return
        self.sketch.cursor = way.exits
        self._output(short(text_of(way.at)), way.at, reading([way.key] if way.key else ()))

    def _assert(self, stmt: ast.Assert) -> None:
        """Only a message that awaits makes an assertion a branch."""
        if stmt.msg is None or not self.busy(stmt.msg):
            self._plain(stmt)
            return
        node = self.branch(stmt.test, stmt.test, keys=self.visit(stmt.test))
        with self.arm(node, "else"):
            text = f"raise AssertionError({text_of(stmt.msg)})"
            self._throw(stmt, stmt.msg, self.visit(stmt.msg), text, "AssertionError")
        self.sketch.cursor = (Exit(node, text_of(stmt.test)),)

    def _if(self, stmt: ast.If) -> None:
        keys = self.visit(stmt.test)
        arms, orelse = [(stmt.test, stmt.body)], stmt.orelse
        while len(orelse) == 1 and isinstance(orelse[0], ast.If) and not self.busy(orelse[0].test):
            arms.append((orelse[0].test, orelse[0].body))
            orelse = orelse[0].orelse
        node = self.branch(stmt, *(test for test, _ in arms), keys=keys)
        ends: list[Exit] = []
        for guard, body in [*((text_of(test), body) for test, body in arms), ("else", orelse)]:
            with self.arm(node, guard):
                self.block(body)
                ends += self.sketch.take()
        self.meet(stmt, ends)

    def _match(self, stmt: ast.Match) -> None:
        keys = self.visit(stmt.subject)
        patterns = [part for case in stmt.cases for part in (case.pattern, case.guard)]
        effect = self.effect(stmt.subject, keys=keys).then(self.effect(*patterns).maybe())
        text = text_of(header(stmt))
        node = self.sketch.add("branch", text.rstrip(":"), stmt, effect=effect, source=text)
        ends: list[Exit] = []
        skipped: tuple[Exit, ...] = ()
        for case in stmt.cases:
            self.sketch.at = case.pattern
            with self.arm(node, case_text(case), *skipped):
                skipped += self._case_guard(case)
                self.block(case.body)
                ends += self.sketch.take()
        missed = () if irrefutable(stmt.cases[-1]) else (Exit(node, "else"), *skipped)
        self.meet(stmt, [*ends, *missed])

    def _case_guard(self, case: ast.match_case) -> tuple[Exit, ...]:
        """Draw a guard that awaits; where it is false, the later cases are tried."""
        if case.guard is None or not self.busy(case.guard):
            return ()
        node = self.branch(case.guard, case.guard, keys=self.visit(case.guard))
        self.sketch.cursor = (Exit(node, text_of(case.guard)),)
        return (Exit(node, "else"),)

    def _while(self, stmt: ast.While) -> None:
        text, effect = text_of(header(stmt)), self.effect(stmt.test)
        head = loop = self.sketch.add(
            "loop", short(text.rstrip(":")), stmt, effect=effect, source=text
        )
        if self.busy(stmt.test):
            self.sketch.drafts[loop].effect = NOTHING
            with self.sketch.region(loop):
                head = self.branch(stmt.test, stmt.test, keys=self.visit(stmt.test))
        breaks = self._rounds(loop, Exit(head, text_of(stmt.test)), stmt.body)
        done = () if endless(stmt) else (Exit(head, "else"),)
        self._loop_end(stmt, loop, done, breaks)

    def _for(self, stmt: ast.For | ast.AsyncFor) -> None:
        keys, text = self.visit(stmt.iter), text_of(header(stmt))
        effect = self.effect(stmt.iter, keys=keys).then(self.effect(stmt.target))
        waits = isinstance(stmt, ast.AsyncFor)
        loop = self.sketch.add(
            "loop", short(text.rstrip(":")), stmt, effect=effect, source=text, frontier=waits
        )
        guard = f"{text_of(stmt.target)} in {text_of(stmt.iter)}"
        breaks = self._rounds(loop, Exit(loop, guard), stmt.body, stmt.target)
        self._loop_end(stmt, loop, (Exit(loop, "else"),), breaks)

    def _rounds(
        self, loop: int, entry: Exit, body: Sequence[ast.stmt], target: ast.expr | None = None
    ) -> list[Exit]:
        """Draw the body with its back edges; give the ways that break out of it."""
        frame = Frame("loop")
        with self.sketch.inside(frame), self.sketch.region(loop):
            self.sketch.cursor = (entry,)
            self.visit(target)
            self.block(body)
            ends = self.sketch.take()
        self.sketch.link((*ends, *frame.continues), loop, back=True)
        return frame.breaks

    def _loop_end(
        self,
        stmt: ast.For | ast.AsyncFor | ast.While,
        loop: int,
        done: tuple[Exit, ...],
        breaks: list[Exit],
    ) -> None:
        self.sketch.cursor = done
        if stmt.orelse:
            with self.sketch.region(loop, "else"):
                self.block(stmt.orelse)
                done = self.sketch.take()
        self.meet(stmt, (*done, *breaks))

    # -------------------------------------------------------------------------------- try and with

    def _try(self, stmt: ast.Try | ast.TryStar) -> None:
        node = self.sketch.add("try", "try", stmt, source="try:")
        if not stmt.finalbody:
            self.meet(stmt, self._handled(stmt, node))
            return
        frame, first = Frame("finally"), len(self.sketch.drafts)
        with self.sketch.inside(frame):
            ends = self._handled(stmt, node)
        arriving = (*ends, *(way for jump in frame.ways for way in jump.exits))
        self.sketch.cursor = (*arriving, Exit(node, raises=()))
        last = self.sketch.add("finally", "finally", stmt.finalbody[0], source="finally:")
        self.sketch.leak(first, last, last)
        with self.sketch.region(last):
            self.block(stmt.finalbody)
            self.meet(stmt, self.sketch.take())
        self._part(stmt, node, ends, frame.ways)

    def _handled(self, stmt: ast.Try | ast.TryStar, node: int) -> tuple[Exit, ...]:
        """Draw body, handlers and else; give the ways that end well."""
        frame = Frame("try", handlers=tuple(caught_types(h.type) for h in stmt.handlers))
        first = len(self.sketch.drafts)
        with self.sketch.inside(frame), self.sketch.region(node):
            self.sketch.cursor = (Exit(node),)
            self.block(stmt.body)
            ends = self.sketch.take()
        caught = self._handlers(stmt, node, frame, first)
        if stmt.orelse:
            with self.sketch.region(node, "else"):
                self.sketch.cursor = ends
                self.block(stmt.orelse)
                ends = self.sketch.take()
        return (*ends, *caught)

    def _handlers(
        self, stmt: ast.Try | ast.TryStar, node: int, frame: Frame, first: int
    ) -> list[Exit]:
        ends: list[Exit] = []
        last = len(self.sketch.drafts)
        for number, (handler, types) in enumerate(zip(stmt.handlers, frame.handlers, strict=True)):
            jumps = [
                jump
                for jump in frame.raised
                if number in catchers(jump.name, frame.handlers).numbers
            ]
            thrown = [way._replace(raises=types) for jump in jumps for way in jump.exits]
            more = ends if isinstance(stmt, ast.TryStar) else []  # each handler takes its share
            thrown += [way._replace(raises=types) for way in more]
            self.sketch.cursor = (Exit(node, raises=types), *thrown)
            effect = self.effect(handler.type)
            effect = effect.then(writing(handler.name)) if handler.name else effect
            label = text_of(header(handler)).rstrip(":")
            if more or isinstance(stmt, ast.TryStar):
                label = label.replace("except", "except*", 1)
            here = self.sketch.add("handler", short(label), handler, effect=effect)
            self.sketch.leak(first, last, here)
            with self.sketch.region(here):
                self.visit(handler.type)
                self.block(handler.body)
                ends += self.sketch.take()
        return ends

    def _part(self, stmt: ast.stmt, entry: int, ends: Sequence[Exit], jumps: Sequence[Way]) -> None:
        """Let the ways that met at a finally or a group's exit part again."""
        sketch = self.sketch
        here = sketch.drafts[entry].dead
        jumps = [jump for jump in jumps if here or any(map(sketch.alive, jump.exits))]
        goes_on = any(here or sketch.alive(way) for way in ends)
        if not any(here or sketch.alive(way) for way in sketch.cursor):
            return
        if jumps and any(way.guard or len(sketch.cursor) > 1 for way in sketch.cursor):
            sketch.add("join", "join", stmt.finalbody[-1] if isinstance(stmt, ast.Try) else stmt)
        done = sketch.cursor
        for jump in jumps:
            guard = f"{jump.kind} from line {span_of(jump.at).line}"
            ways = tuple(way._replace(guard=guard) for way in done)
            self._leave(msgspec.structs.replace(jump, exits=ways))
        sketch.cursor = done
        if not goes_on and not jumps:
            self._output("raise  (the exception goes on)", stmt, NOTHING)
        elif not goes_on:
            sketch.cursor = ()

    def _with(self, stmt: ast.With | ast.AsyncWith) -> None:
        self._items(stmt, stmt.items)

    def _items(self, stmt: ast.With | ast.AsyncWith, items: Sequence[ast.withitem]) -> None:
        """Enter one context after the other, then draw the body."""
        if not items:
            self.block(stmt.body)
            return
        meaning = self.context_meaning(items[0])
        kind = meaning.kind if meaning else ""
        keys = self.visit(items[0].context_expr)
        draw = self._group if kind == "group" else self._context
        draw(stmt, items, meaning, self.effect(items[0], keys=keys))

    def _context(
        self,
        stmt: ast.With | ast.AsyncWith,
        items: Sequence[ast.withitem],
        meaning: Meaning | None,
        effect: Effect,
    ) -> None:
        timed = meaning is not None and meaning.kind == "timeout"
        waits = isinstance(stmt, ast.AsyncWith)
        kind: Kind = "timer" if timed else "call" if waits else "inline"
        word = "" if timed else "async with " if waits else "with "
        node = self.sketch.add(
            kind, short(word + text_of(items[0])), items[0].context_expr, effect=effect,
            source=text_of(header(stmt)), frontier=waits and not timed,
            policy=meaning.policy if meaning else "",
        )  # fmt: skip
        with self.sketch.region(node):
            self.visit(items[0].optional_vars)
            self._items(stmt, items[1:])
            ends = self.sketch.take()
        last, suppressed = len(self.sketch.drafts), self._suppressed(items[0], node)
        self.meet(stmt, (*ends, *suppressed))
        if suppressed:
            self.sketch.settle()
            self.sketch.leak(node, last, self.sketch.cursor[0].node)

    def _suppressed(self, item: ast.withitem, node: int) -> tuple[Exit, ...]:
        """`with suppress(KeyError)`: an exception inside leads to what follows."""
        call = item.context_expr
        if not isinstance(call, ast.Call) or last_name(call.func) not in SUPPRESSORS:
            return ()
        return (Exit(node, raises=tuple(text_of(arg) for arg in call.args)),)

    def _group(
        self,
        stmt: ast.With | ast.AsyncWith,
        items: Sequence[ast.withitem],
        meaning: Meaning | None,
        effect: Effect,
    ) -> None:
        """Draw a task group: what it starts, and what goes on beside it, meet at its exit."""
        sketch, name = self.sketch, items[0].optional_vars
        policy = meaning.policy if meaning else ""
        node = sketch.add(
            "parallel", short(text_of(items[0])), items[0].context_expr, effect=effect,
            source=text_of(header(stmt)), policy=policy,
        )  # fmt: skip
        frame = Frame(
            "group", len(sketch.regions) + 1, name=name.id if isinstance(name, ast.Name) else ""
        )
        with sketch.inside(frame), sketch.region(node):
            self.visit(items[0].optional_vars)
            self._items(stmt, items[1:])
            ends = sketch.take()
        self.meet(stmt, (*ends, *(way for jump in frame.ways for way in jump.exits)))
        sketch.settle()
        if not sketch.cursor:
            return  # it never ends by itself
        alone = sketch.cursor == (Exit(node),) and bool(frame.started)
        sketch.cursor = sketch.living((*(() if alone else sketch.cursor), *frame.started))
        required = "N" if frame.dynamic else len(sketch.cursor)
        end = spot(stmt.end_lineno or 1, stmt.end_col_offset or 0)
        sketch.add("barrier", "end of the group", end, required=required, frontier=True)
        self._part(stmt, node, ends, frame.ways)

    def _nothing(self, stmt: ast.stmt) -> None:
        """Pass, global and nonlocal change nothing that a reader could see."""

    STATEMENTS: ClassVar[dict[type[ast.stmt], Callable[..., None]]] = {
        ast.AnnAssign: _assign,
        ast.Assert: _assert,
        ast.Assign: _assign,
        ast.AsyncFor: _for,
        ast.AsyncFunctionDef: _plain,
        ast.AsyncWith: _with,
        ast.AugAssign: _assign,
        ast.Break: _loop_jump,
        ast.ClassDef: _plain,
        ast.Continue: _loop_jump,
        ast.Delete: _plain,
        ast.Expr: _expression,
        ast.For: _for,
        ast.FunctionDef: _plain,
        ast.Global: _nothing,
        ast.If: _if,
        ast.Import: _plain,
        ast.ImportFrom: _plain,
        ast.Match: _match,
        ast.Nonlocal: _nothing,
        ast.Pass: _nothing,
        ast.Raise: _raise,
        ast.Return: _return,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.While: _while,
        ast.With: _with,
    }
    if sys.version_info >= (3, 12):
        STATEMENTS[ast.TypeAlias] = _plain


def spot(line: int, col: int) -> Span:
    """Give a place without length."""
    return Span(line, col, line, col)
