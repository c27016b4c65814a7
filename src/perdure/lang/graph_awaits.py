"""Draw the awaits of an expression in CPython's order. Knows no statement.

An expression is walked as it is evaluated. An await becomes a node; `and`, `or`, `a < b < c`,
`x if c else y` and comprehensions become branches and loops where they contain one. What an awaited
call means is asked of the caller through `Resolve`, and `PERFORM` says how each meaning is drawn.

The value of an await that no statement names gets a key, which whatever uses it then reads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import ClassVar, NamedTuple, TypeAlias

from perdure.lang.graph import Kind
from perdure.lang.graph_flow import NOTHING, Comprehension, Effect, Reader, parts, reading, writing
from perdure.lang.graph_meaning import (
    FANS,
    SHAPES,
    Entry,
    Meaning,
    Meanings,
    Resolve,
    element,
    is_map,
    winners,
)
from perdure.lang.graph_sketch import Exit, Sketch
from perdure.lang.graph_syntax import header, short, text_of

Keys: TypeAlias = tuple[str, ...]


class Sink(NamedTuple):
    """What a statement does with the value of its one await: the text before it, and the effect."""

    text: str = ""
    effect: Effect = NOTHING


class Awaits(Meanings):
    """The sketch, and how expressions are drawn into it."""

    def __init__(self, tree: ast.AsyncFunctionDef, resolve: Resolve) -> None:
        super().__init__(tree, resolve)
        self.sketch = Sketch()
        self.reader = Reader()
        self.prepared: dict[int, Keys] = {}
        self.scopes: list[dict[str, str]] = []  # names that a comprehension keeps to itself
        self.keys = 0

    def effect(self, *nodes: ast.AST | None, keys: Iterable[str] = ()) -> Effect:
        """Give the effect of code together with the unnamed values that it uses."""
        effect = self.reader.block(nodes)
        for scope in reversed(self.scopes):
            effect = effect.renamed(scope)
        return reading(keys).then(effect)

    def key(self, shown: str) -> str:
        """Make a variable for an unnamed value."""
        self.keys += 1
        return f"{self.keys} {shown}"

    # ---------------------------------------------------------------------- branches of any kind

    def branch(self, at: ast.AST, *tests: ast.expr, keys: Keys = ()) -> int:
        """Draw a decision."""
        label, effect = short(text_of(tests[0])), self.effect(*tests, keys=keys)
        return self.sketch.add("branch", label, at, effect=effect, source=text_of(header(at)))

    @contextmanager
    def arm(self, node: int, guard: str, *more: Exit) -> Generator[None, None, None]:
        """Stand in one arm of a decision."""
        with self.sketch.region(node, guard):
            self.sketch.cursor = (Exit(node, guard), *more)
            yield

    def meet(self, at: ast.AST, ends: Iterable[Exit]) -> None:
        """Put the cursor where alternatives end; a join is drawn when something follows."""
        self.sketch.cursor, self.sketch.at = tuple(ends), at

    # ------------------------------------------------------------------------------- expressions

    def visit(self, node: ast.AST | None) -> Keys:
        """Draw the awaits of an expression as CPython meets them; give their unnamed values."""
        if node is None or not self.busy(node):
            return ()
        rule = self.EXPRESSIONS.get(type(node), Awaits._visit_parts)
        return rule(self, node)

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> Keys:
        """Draw the awaits of several expressions in the order given."""
        return tuple(key for node in nodes for key in self.visit(node))

    def _visit_parts(self, node: ast.AST) -> Keys:
        return self.visit_all(parts(node))

    def _visit_await(self, node: ast.Await) -> Keys:
        return (self.draw_await(node, Sink()),)

    def _visit_walrus(self, node: ast.NamedExpr) -> Keys:
        if not isinstance(node.value, ast.Await):
            return self.visit(node.value)
        name = node.target.id
        self.draw_await(node.value, Sink(f"{name} = ", writing(name)))
        return ()

    def _visit_call(self, node: ast.Call) -> Keys:
        return self.start(node) if self.starts(node) else self._visit_parts(node)

    def _visit_conditional(self, node: ast.IfExp) -> Keys:
        keys, ends = self.visit(node.test), list[Exit]()
        branch = self.branch(node, node.test, keys=keys)
        for guard, side in ((text_of(node.test), node.body), ("else", node.orelse)):
            with self.arm(branch, guard):
                keys += self.visit(side)
                ends += self.sketch.take()
        self.meet(node, ends)
        return keys

    def _visit_boolean(self, node: ast.BoolOp) -> Keys:
        keys = self.visit(node.values[0])
        stops = isinstance(node.op, ast.Or)
        return keys + self._circuit(node, node.values, node.values[1:], keys, stops=stops)

    def _visit_compare(self, node: ast.Compare) -> Keys:
        """`a < b < c` looks at c only where a < b."""
        sides = [node.left, *node.comparators]
        keys = self.visit_all(sides[:2])
        tests = [
            ast.copy_location(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return keys + self._circuit(node, tests, sides[2:], keys, stops=False)

    def _circuit(
        self,
        at: ast.expr,
        tests: Sequence[ast.expr],
        rest: Sequence[ast.expr],
        keys: Keys,
        *,
        stops: bool,
    ) -> Keys:
        """Draw what is evaluated only if the first test lets it, and so on."""
        if not any(self.busy(value) for value in rest):
            return ()
        branch, text = self.branch(at, tests[0], keys=keys), text_of(tests[0])
        on, off = ("else", text) if stops else (text, "else")
        with self.arm(branch, on):
            more = self.visit(rest[0])
            more += self._circuit(at, tests[1:], rest[1:], keys + more, stops=stops)
            ends = self.sketch.take()
        self.meet(at, (*ends, Exit(branch, off)))
        return more

    def _visit_comprehension(self, node: Comprehension) -> Keys:
        if self.starts_each(node):
            return (self.start_each(node),)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return self._generators(node, node.generators, made)

    def _generators(
        self, at: ast.expr, generators: Sequence[ast.comprehension], made: Sequence[ast.expr]
    ) -> Keys:
        """Draw a comprehension as a loop around what it awaits."""
        if not generators:
            return self.visit_all(made)
        first, *rest = generators
        effect = self.effect(first.iter, keys=self.visit(first.iter))
        scope, text = self._scope(first), f"{text_of(first.target)} in {text_of(first.iter)}"
        word = "async for" if first.is_async else "for"
        loop = self.sketch.add(
            "loop", short(f"{word} {text}"), at,
            effect=effect.then(writing(*scope.values())), frontier=bool(first.is_async),
        )  # fmt: skip
        self.scopes.append(scope)
        with self.arm(loop, ""):
            self.sketch.cursor = (Exit(loop, text),)
            skipped = [self._filter(test) for test in first.ifs]
            keys = self._generators(at, rest, made)
            ends = self.sketch.take()
        self.scopes.pop()
        self.sketch.link((*ends, *skipped), loop, back=True)
        self.sketch.cursor = (Exit(loop, "else"),)
        return keys

    def _filter(self, test: ast.expr) -> Exit:
        node = self.branch(test, test, keys=self.visit(test))
        self.sketch.cursor = (Exit(node, text_of(test)),)
        return Exit(node, "else")

    def _scope(self, *generators: ast.comprehension) -> dict[str, str]:
        """Give the targets of a comprehension names of their own."""
        names = self.reader.block(generator.target for generator in generators).writes
        return {name: self.key(name) for name in sorted(names)}

    # -------------------------------------------------------------------------- awaited values

    def draw_await(self, node: ast.Await, sink: Sink) -> str:
        """Draw what must be evaluated first, then the awaited thing; give the key of its value."""
        self.prepare(node.value)
        return self.perform(node.value, sink)

    def prepare(self, node: ast.expr) -> None:
        """Draw the awaits among the arguments of an awaitable, in order, before it begins."""
        meaning = self.call_meaning(node)
        if isinstance(node, ast.Call) and meaning and meaning.kind in (*FANS, "timeout", "task"):
            self.visit(node.func)
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                self.prepare(argument)
        elif isinstance(node, ast.Starred):
            self.prepare(node.value)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts:
                self.prepare(item)
        elif isinstance(node, ast.IfExp):
            self.prepared[id(node)] = self.visit(node.test)
        elif not self.starts_each(node):
            around = self._visit_parts(node) if isinstance(node, ast.Call) else self.visit(node)
            self.prepared[id(node)] = around

    def perform(self, node: ast.expr, sink: Sink, read: ast.expr | None = None) -> str:
        """Draw one awaitable. `read` is what stands in the code, where that is only a name."""
        if isinstance(node, ast.Name) and isinstance(self.lazy.get(node.id), ast.Call):
            return self.perform(self.lazy[node.id], sink, node)
        if isinstance(node, ast.IfExp):
            return self._either(node, sink)
        if not isinstance(node, ast.Call):
            return self._value(node, sink)
        meaning = self.call_meaning(node) or Meaning("unknown", text_of(node.func))
        rule = self.PERFORM.get(meaning.kind, Awaits._single)
        return rule(self, node, meaning, sink, read)

    def used(self, node: ast.expr, sink: Sink, key: str) -> Effect:
        """Give the effect of a node: what it takes, what the statement does, and its value."""
        effect = self.effect(node, keys=self.prepared.get(id(node), ()))
        return effect.then(sink.effect).then(writing(key))

    def _single(self, call: ast.Call, meaning: Meaning, sink: Sink, read: ast.expr | None) -> str:
        inner, mode = call, ""
        known = [arg for arg in call.args if isinstance(arg, ast.Call) and self.awaitable(arg)]
        if meaning.kind == "unknown" and len(known) == 1:  # `await asyncio.shield(charge(order))`
            inner, mode = known[0], f"in {meaning.name}"
            meaning = self.call_meaning(inner) or meaning
        kind, frontier = SHAPES.get(meaning.kind, SHAPES["unknown"])
        key = self.key(f"{meaning.name}()")
        self.sketch.add(
            kind, short(sink.text + signature(meaning.name, inner)), read or call,
            effect=self.used(read or call, sink, key), source=f"{sink.text}await {text_of(call)}",
            frontier=frontier, mode=mode, policy=meaning.policy, callee=meaning.name,
        )  # fmt: skip
        return key

    def _value(self, node: ast.expr, sink: Sink, word: str = "await") -> str:
        """Draw `await task`: nothing is begun here, something begun is waited for."""
        text = text_of(node)
        key = self.key(short(text, 24))
        self.sketch.add(
            "join", short(f"{sink.text}{word} {text}"), node, effect=self.used(node, sink, key),
            source=f"{sink.text}await {text}", frontier=True,
        )  # fmt: skip
        return key

    def _either(self, node: ast.IfExp, sink: Sink) -> str:
        """Draw `await (a() if c else b())`."""
        key, ends = self.key("value"), list[Exit]()
        keys = self.prepared.get(id(node), ())
        branch = self.branch(node, node.test, keys=keys)
        for guard, side in ((text_of(node.test), node.body), ("else", node.orelse)):
            with self.arm(branch, guard):
                self.prepare(side)
                self.perform(side, Sink(sink.text, sink.effect.then(writing(key))))
                ends += self.sketch.take()
        self.meet(node, ends)
        return key

    def _timeout(self, call: ast.Call, meaning: Meaning, sink: Sink, read: ast.expr | None) -> str:
        """Draw `await wait_for(charge(order), 5)`: a limit around an awaitable."""
        if not call.args:
            return self._single(call, meaning, sink, read)
        keys = [key for arg in call.args[1:] for key in self.prepared.get(id(arg), ())]
        limits = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        label = f"{meaning.name}(…, {', '.join(map(text_of, limits))})"
        effect = self.effect(*limits, keys=keys)
        node = self.sketch.add("timer", short(label), call, effect=effect, policy=meaning.policy)
        with self.sketch.region(node):
            return self.perform(call.args[0], sink)

    def _task(self, call: ast.Call, meaning: Meaning, sink: Sink, read: ast.expr | None) -> str:
        if not call.args:
            return self._single(call, meaning, sink, read)
        return self.perform(call.args[0], sink)

    # ------------------------------------------------------------------------- several at a time

    def _fan(self, call: ast.Call, meaning: Meaning, sink: Sink, _read: ast.expr | None) -> str:
        """Draw several awaitables between an opening node and the barrier where they meet."""
        entries = self.entries(call, meaning)
        race = meaning.kind == "race" or any("FIRST_" in text_of(k) for k in call.keywords)
        if len(entries) == 1 and entries[0].each and not race:
            keys = [self._each(entries[0].node, call, meaning)]
        else:
            keys = self._together(call, meaning, entries, race=race)
        count: int | str = "N" if any(entry.each for entry in entries) else max(1, len(entries))
        required = f"{winners(call)} of {count}" if race else count
        key = self.key(f"{meaning.name}()")
        effect = reading(keys).then(sink.effect).then(writing(key))
        self.sketch.add(
            "barrier", short(f"{sink.text}{meaning.name}(…)"), call, effect=effect,
            source=f"{sink.text}await {text_of(call)}", required=required, frontier=True,
        )  # fmt: skip
        return key

    def _together(
        self, call: ast.Call, meaning: Meaning, entries: Sequence[Entry], *, race: bool
    ) -> list[str]:
        kind: Kind = "race" if race else "parallel"
        node = self.sketch.add(kind, meaning.name, call, policy=meaning.policy)
        keys: list[str] = []
        ends: list[Exit] = []
        with self.sketch.region(node):
            for entry in entries:
                self.sketch.cursor = (Exit(node),)
                keys.append(self._entry_of(entry, call))
                ends += self.sketch.take()
        self.sketch.cursor = tuple(ends) or (Exit(node),)
        return keys

    def _each(self, node: ast.expr, call: ast.Call, meaning: Meaning | None) -> str:
        """Draw one awaitable for each item of a collection."""
        keys = self.prepared.get(id(node), ())
        policy = meaning.policy if meaning else ""
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and not keys:
            with self._spread(node, call, policy):
                return self.perform(node.elt, Sink())
        act = self.meaning(node.args[0]) if is_map(node) else None
        if not is_map(node) or act is None:
            return self._value(node, Sink(), "each of")
        effect = self.effect(*node.args[1:], keys=keys)
        spread = self.sketch.add("spread", short(text_of(node)), call, effect=effect, policy=policy)
        with self.sketch.region(spread):
            kind, frontier = SHAPES.get(act.kind, SHAPES["unknown"])
            key = self.key(f"{act.name}()")
            self.sketch.add(
                kind,
                act.name,
                node,
                effect=writing(key),
                frontier=frontier,
                policy=act.policy,
                callee=act.name,
            )
        return key

    @contextmanager
    def _spread(
        self, node: Comprehension, at: ast.AST, policy: str = ""
    ) -> Generator[int, None, None]:
        """Stand inside a comprehension whose items all begin at once."""
        ranges = [f"for {text_of(g.target)} in {text_of(g.iter)}" for g in node.generators]
        tests = [f"if {text_of(test)}" for g in node.generators for test in g.ifs]
        scope = self._scope(*node.generators)
        inner = self.effect(*(part for g in node.generators for part in (g.iter, *g.ifs)))
        effect = inner.without(frozenset(scope)).then(writing(*scope.values()))
        text = short(" ".join([*ranges, *tests]))
        spread = self.sketch.add("spread", text, at, effect=effect, policy=policy)
        self.scopes.append(scope)
        with self.sketch.region(spread):
            yield spread
        self.scopes.pop()

    # ---------------------------------------------------------------------------- started tasks

    def start(self, call: ast.Call, target: str = "") -> Keys:
        """Draw `task = create_task(act(x))`: a node that hangs off the flow, which goes on."""
        if self.completes(call):
            return self._start_all(call)
        made = call.args[0] if call.args else call
        if made is not call:
            self.prepare(made)
        sink = Sink(f"{target} = " if target else "")
        with self._hanging(call, made, target):
            if made is not call:
                return (self.perform(made, sink),)
            return (self._single(call, Meaning("unknown", text_of(call.func)), sink, None),)

    def _start_all(self, call: ast.Call) -> Keys:
        """Draw `as_completed([act(1), act(2)])`: whatever it is given begins, nothing waits."""
        self.prepare(call)
        meaning, keys = self.call_meaning(call), list[str]()
        for entry in self.entries(call, meaning) if meaning else ():
            if self.awaitable(entry.node):
                keys.append(self.key("begun"))
                with self._hanging(call, entry.node, keys[-1]):
                    self._entry_of(entry, call)
        return tuple(keys)

    def _entry_of(self, entry: Entry, call: ast.Call) -> str:
        if entry.each:
            return self._each(entry.node, call, None)
        return self.perform(entry.node, Sink())

    @contextmanager
    def _hanging(self, call: ast.Call, made: ast.expr, target: str) -> Generator[None, None, None]:
        """Draw beside the flow; afterwards the flow goes on from where it was."""
        anchor = self.sketch.anchor(call, short(f"start {text_of(made)}"))
        plain = self.sketch.drafts[anchor].kind in ("parallel", "spread")
        self.sketch.cursor = (Exit(anchor, "" if plain else "start"),)
        first = len(self.sketch.drafts)
        yield
        self.sketch.started(first, anchor, self._owner(call), target)
        self.sketch.cursor = (Exit(anchor),)

    def _owner(self, call: ast.Call) -> str:
        """Give the group that a task belongs to: tg for `tg.create_task(…)`."""
        func = call.func
        inside = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
        return text_of(func.value) if inside and isinstance(func, ast.Attribute) else ""

    def start_each(self, node: Comprehension, target: str = "") -> str:
        """Draw `tasks = [create_task(act(x)) for x in xs]`."""
        made = element(node)
        assert isinstance(made, ast.Call), node
        with self._spread(node, node) as spread:
            key = self.start(made)[0]
            self.sketch.cursor = ()
        if target:
            self.sketch.drafts[spread].late[target] = self.sketch.drafts[spread].late[key]
        self.sketch.cursor = (Exit(spread),)
        return key

    EXPRESSIONS: ClassVar[dict[type[ast.AST], Callable[..., Keys]]] = {
        ast.Await: _visit_await,
        ast.BoolOp: _visit_boolean,
        ast.Call: _visit_call,
        ast.Compare: _visit_compare,
        ast.DictComp: _visit_comprehension,
        ast.GeneratorExp: _visit_comprehension,
        ast.IfExp: _visit_conditional,
        ast.ListComp: _visit_comprehension,
        ast.NamedExpr: _visit_walrus,
        ast.SetComp: _visit_comprehension,
    }

    PERFORM: ClassVar[dict[str, Callable[..., str]]] = {
        **dict.fromkeys(SHAPES, _single),
        "gather": _fan,
        "group": _single,
        "race": _fan,
        "task": _task,
        "timeout": _timeout,
    }


def signature(name: str, call: ast.Call) -> str:
    """Write a call under the name that its meaning has."""
    words = [f"{word.arg}=" if word.arg else "**" for word in call.keywords]
    named = (word + text_of(k.value) for word, k in zip(words, call.keywords, strict=True))
    return f"{name}({', '.join([*map(text_of, call.args), *named])})"
