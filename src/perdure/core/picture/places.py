"""Which node of a graph a place in the code belongs to, and which way leads from one to another.

Knows the graph alone. A place is a span of the text: what an await covers, or a call.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from perdure.lang.graph import Edge, Graph, Node, Span

SEEN: Final = ("action", "child")
"""Kinds at which a run always stops when it comes by."""
FANS: Final = ("parallel", "race", "spread")

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "action": ("action", "child"),
    "workflow": ("child", "action"),
    "helper": ("call",),
    "timer": ("timer",),
    "signal": ("signal",),
    "gate": ("barrier", "join", "call", "loop", "timer", "signal", "action", "child"),
}
"""What stops somewhere, and which kinds of nodes it may be, the likeliest first."""

_COSTS: Final[dict[str, int]] = {
    "action": 1_000, "child": 1_000, "timer": 20, "signal": 20, "call": 20, "barrier": 20,
}  # fmt: skip
"""How unlikely it is that a run came through a node and did not stop there."""
_UNUSUAL: Final = 50
"""And how unlikely that it left by an exception where there was none, or the other way round."""


class Way(NamedTuple):
    """From one stop to the next."""

    nodes: tuple[int, ...]
    """What lies between them."""
    by_exception: bool
    """Whether the first stop was left by an exception."""


class Places:
    """A graph, indexed by where its nodes stand and by what leads where."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = graph.nodes
        self.number = {node.id: at for at, node in enumerate(graph.nodes)}
        self.above = [self.number.get(node.region, -1) for node in graph.nodes]
        self.fan = [self._fan_of(at) for at in range(len(graph.nodes))]
        """The fan-out that a node is one of many in, or -1: it stands in the flow itself."""
        self.gates = dict(self._gates())
        self._found: dict[tuple[Span, str, str], list[int]] = {}
        self.known_ways: dict[tuple[int, int, bool | None], Way] = {}
        self._leaving = self._edges(graph.edges)

    def _fan_of(self, at: int) -> int:
        """Give the outermost fan-out around a node whose text holds the node's, or started it."""
        found, node = -1, self.nodes[at]
        above = self.above[at]
        while above >= 0:
            fan = self.nodes[above]
            holds = node.mode == "started" or _within(node.span, fan.span)
            if fan.kind in FANS and holds:
                found = above
            above = self.above[above]
        return found

    def _gates(self) -> Iterator[tuple[int, int]]:
        """Give every fan-out with the barrier at which what it starts arrives."""
        open_fans: list[int] = []
        for at, node in enumerate(self.nodes):
            if node.kind in FANS:
                open_fans.append(at)
            elif node.kind == "barrier":
                same = [fan for fan in open_fans if self.above[fan] == self.above[at]]
                for fan in same[-1:]:
                    open_fans.remove(fan)
                    yield fan, at

    def fan_at(self, at: int) -> int:
        """Give the fan-out that arrives at a barrier, or -1."""
        return next((fan for fan, gate in self.gates.items() if gate == at), -1)

    def same_as(self, other: Places) -> dict[int, int]:
        """Give, by the numbers of the nodes of another graph, those that are the same here."""
        mine = {key: at for at, key in enumerate(_keys(self.nodes))}
        return {at: mine[key] for at, key in enumerate(_keys(other.nodes)) if key in mine}

    def around(self, at: int) -> Iterator[int]:
        """Give the regions that a node stands in, innermost first."""
        above = self.above[at]
        while above >= 0:
            yield above
            above = self.above[above]

    # --- from a place to a node

    def at(self, span: Span, what: str, name: str) -> list[int]:
        """Give the nodes that something which stops at a place may belong to, the outermost first.

        `what` is a key of `KINDS`; `name` is that of what is called there, if anything is.
        """
        key = (span, what, name)
        if key not in self._found:
            found = self._named(self._by_kind(span, KINDS[what]), name)
            # `async with TaskGroup()` stops at its end, and its place is where it begins.
            self._found[key] = [self.gates.get(at, at) for at in found]
        return self._found[key]

    def _by_kind(self, span: Span, kinds: tuple[str, ...]) -> list[int]:
        inside = [at for at, node in enumerate(self.nodes) if _within(node.span, span)]
        for kind in kinds:
            found = [at for at in inside if self.nodes[at].kind == kind]
            if found:
                return sorted(found, key=lambda at: -_size(self.nodes[at].span))
        waits = [at for at in inside if self.nodes[at].frontier and self.nodes[at].kind != "output"]
        return waits or self._near(span, kinds)

    def _near(self, span: Span, kinds: tuple[str, ...]) -> list[int]:
        """Give the smallest node around a place, or one on its line."""
        holders = [
            at
            for at, node in enumerate(self.nodes)
            if _within(span, node.span) and node.kind not in ("input", "output", "try")
        ]
        if holders:
            return [min(holders, key=lambda at: _size(self.nodes[at].span))]
        lines = [at for at, node in enumerate(self.nodes) if node.span.line == span.line]
        return [at for at in lines if self.nodes[at].kind in kinds] or lines[:1]

    def _named(self, found: list[int], name: str) -> list[int]:
        named = [at for at in found if self.nodes[at].callee.rpartition(".")[2] == name]
        return named or found

    def plain(self, span: Span, kinds: tuple[str, ...]) -> int:
        """Give the node of some kinds that a place lies in, holds, or shares a line with; or -1.

        Holds: CPython gives the code at the end of a handler the place of the whole handler.
        """
        nodes = [(at, node) for at, node in enumerate(self.nodes) if node.kind in kinds]
        holders = [at for at, node in nodes if _within(span, node.span)]
        if holders:
            return min(holders, key=lambda at: _size(self.nodes[at].span))
        inside = [at for at, node in nodes if _within(node.span, span)]
        lines = [at for at, node in nodes if node.span.line <= span.line <= node.span.end_line]
        return inside[-1] if inside else lines[0] if lines else -1

    # --- from a node to a node

    def _edges(self, edges: Iterable[Edge]) -> list[list[tuple[int, bool]]]:
        """Give for every node where a run may go from it, and whether by an exception."""
        leaving: list[list[tuple[int, bool]]] = [[] for _ in self.nodes]
        raising: list[list[int]] = [[] for _ in self.nodes]
        for edge in edges:
            if edge.kind == "flow" and not edge.join:
                source, target = self.number[edge.source], self.number[edge.target]
                leaving[source].append((target, edge.raises is not None))
                if edge.raises is not None:
                    raising[source].append(target)
        for at in range(len(self.nodes)):
            for region in self._bodies(at):
                leaving[at] += [(target, True) for target in raising[region]]
        return leaving

    def _bodies(self, at: int) -> Iterator[int]:
        """Give the regions out of which an exception in a node leads: not from an `else`."""
        node = self.nodes[at]
        while node.region:
            region = self.number[node.region]
            if self.nodes[region].kind != "try" or node.arm != "else":
                yield region
            node = self.nodes[region]

    def between(self, start: int, end: int, raised: bool | None) -> Way:  # noqa: FBT001
        """Give the way that a run most likely took from one stop to the next.

        `raised` says whether the stop ended with an exception; `None` if nobody knows.
        """
        key = (start, end, raised)
        if key not in self.known_ways:
            self.known_ways[key] = self._way(start, end, raised)
        return self.known_ways[key]

    def _way(self, start: int, end: int, raised: bool | None) -> Way:  # noqa: FBT001
        queue: list[tuple[int, int, int]] = []
        came: dict[int, tuple[int, bool]] = {}
        costs: dict[int, int] = {}

        def go_on(source: int, cost: int, usual: bool) -> None:  # noqa: FBT001
            for target, by_exception in self._leaving[source]:
                more = cost + 1 + (_UNUSUAL if by_exception != usual else 0)
                if target != end:
                    more += _COSTS.get(self.nodes[target].kind, 0)
                if more < costs.get(target, 1 << 30):
                    costs[target], came[target] = more, (source, by_exception)
                    heapq.heappush(queue, (more, target, source))

        go_on(start, 0, bool(raised))
        while queue:
            cost, at, _ = heapq.heappop(queue)
            if at == end:
                return _traced(came, start, end)
            if cost == costs[at]:
                go_on(at, cost, False)  # noqa: FBT003
        return Way((), bool(raised))

    def reach(self, start: int) -> set[int]:
        """Give all nodes that a run may still come to."""
        seen: set[int] = set()
        queue = deque([start])
        while queue:
            for target, _ in self._leaving[queue.popleft()]:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return seen


def _traced(came: dict[int, tuple[int, bool]], start: int, end: int) -> Way:
    found: list[int] = []
    at, by_exception = came[end]
    while at != start:
        found.append(at)
        at, by_exception = came[at]
    return Way(tuple(reversed(found)), by_exception)


def _keys(nodes: tuple[Node, ...]) -> Iterator[tuple[str, str, int]]:
    """Give what nodes are known by in another version: kind, label, which of those it is."""
    seen: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        key = (node.kind, node.label)
        yield *key, seen[key]
        seen[key] += 1


def _within(inner: Span, outer: Span) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    return starts and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)


def _size(span: Span) -> int:
    return (span.end_line - span.line) * 10_000 + span.end_col - span.col
