"""Alignment: which awaits of a function as it was are awaits of the function as it is now.

Two awaits are the same if what is awaited is written the same, and below the same compound
statements: a loop over the same, a `with` of the same, the same handler of a `try`. Tests of
`if` and `while` may have changed, for they are over or are made anew. Statements are matched block
by block, so that the most awaits, and then the most statements, find their own. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from perdure.lang.graph_syntax import header, short, text_of
from perdure.lang.shape import COMPREHENSIONS, SUSPENDING, Awaiting, own_children

Position = tuple[int, int]
"""Line and column."""
Block = list[ast.stmt]
Pairs = list[tuple[Any, Any]]

_AWAIT = 1_000
"""What an await weighs against a statement that merely stands around it."""


class Aligned(NamedTuple):
    """What became of the awaits of one function."""

    places: dict[Position, Position]
    """From where something stood to where it stands."""
    reasons: dict[Position, str]
    """Why what stood there stands nowhere now."""


def aligned(old: Any, new: Any) -> Aligned:
    """Align two versions of a function."""
    alignment = Alignment(old.body, new.body)
    alignment.block(old.body, new.body)
    return Aligned(alignment.places, alignment.reasons)


def position(node: Any) -> Position:
    """Say where a node stands."""
    return node.lineno, node.col_offset


class Alignment:
    """Aligns the blocks of two versions of one function."""

    def __init__(self, old: Block, new: Block) -> None:
        self.awaiting = Awaiting(old).found | Awaiting(new).found
        self.places: dict[Position, Position] = {}
        self.reasons: dict[Position, str] = {}
        self.texts: dict[int, str] = {}
        self.weights: dict[tuple[int, int], int] = {}

    def text(self, node: ast.AST) -> str:
        """Give what a node says, without its place."""
        found = self.texts.get(id(node))
        if found is None:
            found = self.texts[id(node)] = ast.dump(node)
        return found

    def same(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether two nodes say the same."""
        return self.text(old) == self.text(new)

    # --- how well two statements match

    def weight(self, old: ast.stmt, new: ast.stmt) -> int:
        """Say how much of a statement is in another one; 0 is nothing."""
        key = id(old), id(new)
        if key not in self.weights:
            self.weights[key] = self._weight(old, new)
        return self.weights[key]

    def _weight(self, old: ast.stmt, new: ast.stmt) -> int:
        if self.same(old, new):
            return 2 + _AWAIT * _awaits_in(old)
        if id(old) not in self.awaiting or id(new) not in self.awaiting:
            return 0
        if _awaited(old) is not None:
            return 1 + _AWAIT * _awaits_in(old) if self._same_awaited(old, new) else 0
        if not self._same_header(old, new):
            return 0
        return self._inner_weight(old, new) + _AWAIT * self._awaits_around(old, new)

    def _awaits_around(self, old: ast.stmt, new: ast.stmt) -> int:
        """Count the awaits of two compound statements themselves that are the same."""
        pairs = zip(_headers(old), _headers(new), strict=False)
        own = sum(_awaits_in(one) for one, other in pairs if self.same(one, other))
        return own + isinstance(old, (ast.AsyncFor, ast.AsyncWith))

    def _inner_weight(self, old: ast.stmt, new: ast.stmt) -> int:
        return sum(self.best(each, other)[0] for each, other in self._blocks(old, new))

    def _same_awaited(self, old: ast.stmt, new: ast.stmt) -> bool:
        """Whether two statements await the same, whatever they then do with it."""
        one, other = _awaited(old), _awaited(new)
        return one is not None and other is not None and self.same(one, other)

    def _same_header(self, old: ast.stmt, new: ast.stmt) -> bool:
        """Whether two compound statements go on with the same."""
        if type(old) is not type(new) or not _blocks(old):
            return False
        return all(map(self.same, _kept(old), _kept(new))) and len(_kept(old)) == len(_kept(new))

    def _blocks(self, old: Any, new: Any) -> list[tuple[Block, Block]]:
        """Give the blocks of two compound statements that belong together."""
        found: list[tuple[Block, Block]] = []
        rest = _blocks(new) if type(old) is type(new) else []
        for key, block in _blocks(old):
            at = next((i for i, (other, _) in enumerate(rest) if other == key), None)
            if at is not None:
                found.append((block, rest[at][1]))
                rest = rest[at + 1 :]
        return found

    def best(self, old: Block, new: Block) -> tuple[int, Pairs]:
        """Match the statements of two blocks, in order; give what that weighs, and the pairs."""
        rows = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
        for i in range(len(old) - 1, -1, -1):
            for j in range(len(new) - 1, -1, -1):
                both = self.weight(old[i], new[j])
                matched = rows[i + 1][j + 1] + both if both else 0
                rows[i][j] = max(matched, rows[i + 1][j], rows[i][j + 1])
        return rows[0][0], list(self._pairs(rows, old, new))

    def _pairs(self, rows: list[list[int]], old: Block, new: Block) -> Iterator[tuple[Any, Any]]:
        i = j = 0
        while i < len(old) and j < len(new):
            both = self.weight(old[i], new[j])
            if both and rows[i][j] == rows[i + 1][j + 1] + both:
                yield old[i], new[j]
                i, j = i + 1, j + 1
            elif rows[i][j] == rows[i + 1][j]:
                i += 1
            else:
                j += 1

    # --- what that says of places

    def block(self, old: Block, new: Block) -> None:
        """Align two blocks."""
        _, pairs = self.best(old, new)
        for one, other in pairs:
            self._statement(one, other)
        matched = {id(one) for one, _ in pairs}
        for each in old:
            if id(each) in self.awaiting and id(each) not in matched:
                self._explain(each, new)

    def _statement(self, old: Any, new: Any) -> None:
        self.places[position(old)] = position(new)
        if self.same(old, new):
            self._equal(old, new)
        elif self._same_awaited(old, new):
            self._equal(_awaited(old), _awaited(new))
        else:
            for one, other in zip(_headers(old), _headers(new), strict=False):
                if self.same(one, other):
                    self._equal(one, other)
            matched = self._blocks(old, new)
            for block, counterpart in matched:
                self.block(block, counterpart)
            self._explain_blocks(old, [block for block, _ in matched])

    def _equal(self, old: Any, new: Any) -> None:
        for one, other in zip(ast.walk(old), ast.walk(new), strict=True):
            if hasattr(one, "lineno"):
                self.places[position(one)] = position(other)

    def _explain_blocks(self, old: Any, matched: list[Block]) -> None:
        for _, block in _blocks(old):
            if not any(block is each for each in matched):
                self._give(block, f"its block of `{_shown(old)}` is not in the new code")

    def _explain(self, old: ast.stmt, new: Block) -> None:
        """Say why an awaiting statement found none of its own."""
        if not _blocks(old):
            self._give([old], f"`{_shown(old)}` is not in the new code, or not in this place of it")
            return
        why = f"`{_shown(old)}` around it is not in the new code"
        for each in new:
            if type(each) is type(old) and self._inner_weight(old, each) >= _AWAIT:
                why = f"`{_shown(old)}` around it has become `{_shown(each)}`"
        self._give([old], why)

    def _give(self, nodes: Sequence[ast.AST], why: str) -> None:
        for node in nodes:
            for each in ast.walk(node):
                if hasattr(each, "lineno"):
                    self.reasons.setdefault(position(each), why)


def _shown(node: ast.stmt) -> str:
    bare: Any = header(node)
    if bare is node:
        return short(text_of(node))
    return short(text_of(bare).removesuffix(":"))


def _awaits_in(node: ast.AST) -> int:
    own = isinstance(node, (*SUSPENDING, ast.AsyncFor, ast.AsyncWith))
    return own + sum(map(_awaits_in, own_children(node)))


def _awaited(node: Any) -> Any:
    """Give the await that is all that a statement works out, before it does anything with it."""
    value = getattr(node, "value", None)
    if not isinstance(node, (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign)):
        return None
    targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
    if any(each is not None and _awaits_in(each) for each in targets):
        return None
    return value if isinstance(value, SUSPENDING) else None


def _headers(node: Any) -> list[ast.AST]:
    """Give what a compound statement evaluates before it enters a block."""
    names = ("test", "subject", "target", "iter")
    found = [getattr(node, name) for name in names if hasattr(node, name)]
    return [*found, *getattr(node, "items", ())]


def _kept(node: Any) -> list[ast.AST]:
    """Give that of it which is still in use inside of its blocks."""
    return [] if isinstance(node, (ast.If, ast.While)) else _headers(node)


def _blocks(node: Any) -> list[tuple[str, Block]]:
    """Give the blocks of a compound statement, each with what tells it from others."""
    if node.__class__ not in _COMPOUND:
        return []
    found: list[tuple[str, Block]] = []
    if not isinstance(node, ast.Match):
        found.append(("body", node.body))
    for each in getattr(node, "handlers", ()):
        kind = "" if each.type is None else ast.dump(each.type)
        found.append((f"except {kind} as {each.name}", each.body))
    for each in getattr(node, "cases", ()):
        guard = "" if each.guard is None else ast.dump(each.guard)
        found.append((f"case {ast.dump(each.pattern)} {guard}", each.body))
    found += [(name, getattr(node, name, [])) for name in ("orelse", "finalbody")]
    return found


_COMPOUND = (
    ast.If, ast.While, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match,
)  # fmt: skip

AWAITING = (*SUSPENDING, *COMPREHENSIONS)
"""Expressions at which a frame may stand."""
