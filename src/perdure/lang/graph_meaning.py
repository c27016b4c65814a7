"""Find what code means to a graph: what it calls, starts and awaits. Asks `Resolve`, draws nothing.

`Meanings` holds what is known of one function: which names are task groups, which hold awaitables
that nothing has awaited yet, and which code is busy, so that it cannot merge into plain code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias, TypeGuard

import msgspec

from perdure.lang.graph import Kind
from perdure.lang.graph_flow import Comprehension, parameters, parts
from perdure.lang.graph_syntax import last_name, text_of

COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


class Meaning(msgspec.Struct, frozen=True):
    """What a called or awaited expression is. Kinds: `SHAPES`, `FANS`, `REGIONS` and "task"."""

    kind: str
    name: str  # shown: "charge", "asyncio.sleep"
    policy: str = ""  # "retry 5, timeout 30s"


Resolve: TypeAlias = Callable[[ast.expr], Meaning | None]

# One awaited call, one node: its kind, and whether the run stops there to be durable.
SHAPES: Final[dict[str, tuple[Kind, bool]]] = {
    "action": ("action", True),
    "child": ("child", True),
    "helper": ("call", False),
    "record": ("record", True),
    "signal": ("signal", True),
    "timer": ("timer", True),
    "unknown": ("call", True),
}

FANS: Final = ("gather", "race")  # several awaitables, one gate
REGIONS: Final = ("timeout", "group")  # what `async with` makes of these is drawn as a region
COLLECTION_TAKERS: Final = ("wait", "as_completed")  # their one argument holds the awaitables


class Entry(NamedTuple):
    """One argument of a gather or race: one awaitable, or each of a collection."""

    node: ast.expr
    each: bool = False


class Meanings:
    """What is known about the names and calls of one function."""

    def __init__(self, tree: ast.AsyncFunctionDef, resolve: Resolve) -> None:
        self.tree = tree  # also keeps alive what the tables by id() below speak of
        self.resolve = resolve
        self.meanings: dict[int, Meaning | None] = {}
        self.busy_memo: dict[int, bool] = {}
        self.groups: frozenset[str] = frozenset()
        self.groups = frozenset(self._group_names())
        self.lazy = self._lazy_names()

    def meaning(self, func: ast.expr) -> Meaning | None:
        """Ask once what an expression means; `create_task` of a known group starts a task."""
        if id(func) not in self.meanings:
            found = self.resolve(func)
            if isinstance(func, ast.Attribute) and func.attr == "create_task":
                known = isinstance(func.value, ast.Name) and func.value.id in self.groups
                found = Meaning("task", text_of(func)) if known else found
            self.meanings[id(func)] = found
        return self.meanings[id(func)]

    def call_meaning(self, node: ast.AST | None) -> Meaning | None:
        """Give the meaning of a call, None for anything else."""
        return self.meaning(node.func) if isinstance(node, ast.Call) else None

    def context_meaning(self, item: ast.withitem) -> Meaning | None:
        """Give the meaning of what a `with` enters."""
        context = item.context_expr
        return self.meaning(context.func if isinstance(context, ast.Call) else context)

    def busy(self, node: ast.AST) -> bool:
        """Tell whether code awaits, starts a task or opens a region of ours."""
        key = id(node)
        if key not in self.busy_memo:
            own = isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith))
            own = own or (isinstance(node, ast.comprehension) and bool(node.is_async))
            own = own or self.starts(node) or self._opens(node)
            self.busy_memo[key] = own or any(self.busy(part) for part in parts(node))
        return self.busy_memo[key]

    def starts(self, node: ast.AST | None) -> bool:
        """Tell whether code is a call that starts tasks."""
        meaning = self.call_meaning(node)
        return meaning is not None and (meaning.kind == "task" or self.completes(node))

    def completes(self, node: ast.AST | None) -> bool:
        """Tell whether code is `as_completed(…)` over what we know."""
        meaning = self.call_meaning(node)
        if meaning is None or not isinstance(node, ast.Call) or meaning.kind not in FANS:
            return False
        named = meaning.name.rpartition(".")[2] == "as_completed"
        return named and len(node.args) > 0 and self.awaitable(node.args[0])

    def starts_each(self, node: ast.AST | None) -> bool:
        """Tell whether code is a comprehension that does nothing but start tasks."""
        if not isinstance(node, Comprehension) or len(node.generators) > 1:
            return False
        made = element(node)
        around = [*parts(node.generators[0]), *(part for part in parts(made))]
        key = node.key if isinstance(node, ast.DictComp) else None
        return (
            self.starts(made)
            and not self.completes(made)
            and not any(self.busy(part) for part in (*around, key) if part)
        )

    def _opens(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.withitem):
            return False
        meaning = self.context_meaning(node)
        return meaning is not None and meaning.kind in REGIONS

    def _group_names(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                meaning = self.context_meaning(node)
                if meaning is not None and meaning.kind == "group":
                    yield node.optional_vars.id

    def _lazy_names(self) -> dict[str, ast.expr]:
        """Find `coro = act(x)` and `coros = [act(x) for x in xs]` of names assigned once."""
        stores: dict[str, int] = {}
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stores[node.id] = stores.get(node.id, 0) + 1
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node.value
        bound = parameters(self.tree.args)
        once = {n: value for n, value in found.items() if stores[n] == 1 and n not in bound}
        return {name: value for name, value in once.items() if self.awaitable(value)}

    def awaitable(self, node: ast.expr) -> bool:
        """Tell whether an expression makes awaitables that we know, without awaiting them."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return bool(node.elts) and all(self.awaitable(item) for item in node.elts)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.awaitable(node.elt) and not self.busy(node)
        meaning = self.call_meaning(node)
        return meaning is not None and (meaning.kind in SHAPES or meaning.kind in FANS)

    def entries(self, call: ast.Call, meaning: Meaning) -> list[Entry]:
        """Give what a gather or race waits for."""
        args = list(call.args)
        if last_name(call.func) == "first" and len(args) > 1 and isinstance(args[0], ast.Constant):
            args = args[1:]
        if len(args) == 1 and meaning.name.rpartition(".")[2] in COLLECTION_TAKERS:
            return self._spread_out(args[0])
        named = [Entry(word.value) for word in call.keywords if self.awaitable(word.value)]
        return [entry for arg in args for entry in self._entry(arg)] + named

    def _entry(self, arg: ast.expr) -> list[Entry]:
        if isinstance(arg, ast.Starred):
            return self._spread_out(arg.value)
        collection = isinstance(arg, (ast.List, ast.Tuple, ast.Set, *COMPREHENSIONS))
        return self._spread_out(arg) if collection else [Entry(arg)]

    def _spread_out(self, node: ast.expr) -> list[Entry]:
        lazy = self.lazy.get(node.id) if isinstance(node, ast.Name) else None
        known = node if lazy is None or isinstance(lazy, ast.Call) else lazy
        if isinstance(known, (ast.List, ast.Tuple, ast.Set)):
            return [entry for item in known.elts for entry in self._entry(item)]
        return [Entry(known, each=True)]


def element(node: Comprehension) -> ast.expr:
    """Give what a comprehension makes for each item."""
    return node.value if isinstance(node, ast.DictComp) else node.elt


def is_map(node: ast.expr) -> TypeGuard[ast.Call]:
    """Tell whether code is `map(act, items)`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "map" and len(node.args) > 1


def winners(call: ast.Call) -> str:
    """Give how many a race waits for: `first(2, …)`, else one."""
    leading = call.args[0] if call.args and last_name(call.func) == "first" else None
    return str(leading.value) if isinstance(leading, ast.Constant) else "1"
