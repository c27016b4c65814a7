"""Say what a workflow graph is and when it is sound. Knows no source code and no run.

A graph is for reading. Nothing executes it: the run follows CPython, and the graph is drawn beside
it from the same tree. Two kinds of edges connect the nodes.

* A **flow** edge says who can run after whom. It may carry a guard, exception types, a back mark (a
  loop's next round, which never counts toward readiness) or a join mark (the target awaits what the
  source had started).
* A **data** edge says which node may have written the variable that another node reads.

Invariants, each checked by `validate`:

* ids are unique, and both ends of every edge exist;
* there is one input, nothing leads into it, and nothing leads out of an output;
* some output can be reached, or the workflow loops for ever;
* a node is marked dead iff no way leads to it, and only a started or an output node leads nowhere;
* arrivals that are neither back nor join edges fit the gate: see `ARRIVALS`;
* without back edges the graph has no cycle, and every back edge that can be gone closes one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "input",
    "inline",
    "action",
    "spread",
    "parallel",
    "barrier",
    "join",
    "branch",
    "loop",
    "try",
    "handler",
    "finally",
    "timer",
    "signal",
    "child",
    "call",
    "record",
    "race",
    "output",
]

# How many flow edges may arrive, back and join edges aside: none at all, exactly one, any number
# of alternatives of which one happens, or as many as the gate asks for.
ARRIVALS: Final[dict[Kind, Literal["none", "one", "any", "gate"]]] = {
    "input": "none",
    "inline": "one",
    "action": "one",
    "spread": "one",
    "parallel": "one",
    "barrier": "gate",
    "join": "any",
    "branch": "one",
    "loop": "one",
    "try": "one",
    "handler": "any",
    "finally": "any",
    "timer": "one",
    "signal": "one",
    "child": "one",
    "call": "one",
    "record": "one",
    "race": "one",
    "output": "any",
}


class Span(msgspec.Struct, frozen=True):
    """Where in the file: lines count from 1, columns from 0, as in `ast`."""

    line: int
    col: int
    end_line: int
    end_col: int


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One place in the workflow."""

    id: str  # kind and counter in source order: `action_3`
    kind: Kind
    label: str  # what a reader sees: `receipt = charge(order)`
    span: Span
    source: str  # the first line of the code it stands for
    callee: str = ""  # what it calls, as the code names it: `charge`
    policy: str = ""  # "retry 5, timeout 30s"
    region: str = ""  # id of the loop, branch, try, group that it stands in
    arm: str = ""  # which way through the region: a guard, "else", "case …"
    depth: int = 0  # how many regions are around it
    required: int | str = 1  # arrivals that open its gate: 1, 3, "N", "1 of 3", "1 of N"
    frontier: bool = False  # execution stops here and durability happens
    mode: str = ""  # "started": not awaited where it stands; "in asyncio.shield": wrapped
    dead: bool = False  # no way leads here: code after a return


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """One arrow. `raises` is None on ordinary flow; an empty tuple means any exception."""

    source: str
    target: str
    kind: Literal["flow", "data"] = "flow"
    guard: str = ""
    raises: tuple[str, ...] | None = None
    back: bool = False
    join: bool = False
    variable: str = ""  # data and join edges: what goes along


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow for reading. Nodes stand in outline order, edges in order of their ends."""

    name: str
    file: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def to_data(graph: Graph) -> dict[str, object]:
    """Give the graph as plain dicts, lists, strings and numbers."""
    data: dict[str, object] = msgspec.to_builtins(graph)
    return data


def validate(graph: Graph) -> list[str]:
    """Name every broken invariant in words; an empty list means that the graph is sound."""
    broken = [*_ids(graph), *_ends(graph)]
    if broken:
        return broken
    view = _View(graph)
    return [sentence for check in CHECKS for sentence in check(view)]


class _View:
    """The graph indexed for the checks. Only flow edges are kept."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.by_id = {node.id: node for node in graph.nodes}
        self.flow = [edge for edge in graph.edges if edge.kind == "flow"]
        self.arriving: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
        self.leaving: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
        for edge in self.flow:
            self.arriving[edge.target].append(edge)
            self.leaving[edge.source].append(edge)

    def reach(self, start: Iterable[str], *, back: bool) -> set[str]:
        """Give every node that can be reached, with or without the help of back edges."""
        seen = set(start)
        queue = deque(seen)
        while queue:
            for edge in self.leaving[queue.popleft()]:
                if edge.target not in seen and (back or not edge.back):
                    seen.add(edge.target)
                    queue.append(edge.target)
        return seen


def _ids(graph: Graph) -> Iterator[str]:
    counts = Counter(node.id for node in graph.nodes)
    return (f"{id_} names {count} nodes" for id_, count in counts.items() if count > 1)


def _ends(graph: Graph) -> Iterator[str]:
    known = {node.id for node in graph.nodes}
    for edge in graph.edges:
        for end in (edge.source, edge.target):
            if end not in known:
                yield f"{edge.source} -> {edge.target}: there is no {end}"


def _ports(view: _View) -> Iterator[str]:
    inputs = [node.id for node in view.graph.nodes if node.kind == "input"]
    if len(inputs) != 1:
        yield f"there are {len(inputs)} inputs instead of one"
    for edge in view.graph.edges:
        if view.by_id[edge.target].kind == "input":
            yield f"{edge.source} -> {edge.target}: an edge leads into the input"
        if view.by_id[edge.source].kind == "output":
            yield f"{edge.source} -> {edge.target}: an edge leads out of an output"


def _ways(view: _View) -> Iterator[str]:
    inputs = [node.id for node in view.graph.nodes if node.kind == "input"]
    reached = view.reach(inputs, back=True)
    for node in view.graph.nodes:
        if node.dead == (node.id in reached):
            yield f"{node.id} is {'reachable but' if node.dead else 'unreachable and not'} dead"
    finished = any(view.by_id[id_].kind == "output" for id_ in reached)
    endless = any(edge.back and edge.source in reached for edge in view.flow)
    if not finished and not endless:
        yield "no output can be reached, and nothing loops for ever"


def _stops(view: _View) -> Iterator[str]:
    for node in view.graph.nodes:
        final = node.kind == "output" or node.mode == "started" or node.dead
        if not final and not view.leaving[node.id]:
            yield f"{node.id} leads nowhere"


def _gates(view: _View) -> Iterator[str]:
    for node in view.graph.nodes:
        counted = [e for e in view.arriving[node.id] if not e.back and not e.join]
        if not _fits(node, len(counted)):
            yield f"{node.id} ({node.kind}, required {node.required}) has {len(counted)} arrivals"


def _fits(node: Node, arrivals: int) -> bool:
    if node.dead and arrivals == 0:
        return True  # the first dead node after a return
    match ARRIVALS[node.kind]:
        case "none":
            return arrivals == 0
        case "one":
            return arrivals == 1 and node.required == 1
        case "any":
            return arrivals >= 1 and node.required == 1
        case "gate":
            return _gate_fits(node.required, arrivals)


def _gate_fits(required: int | str, arrivals: int) -> bool:
    """Compare a barrier with its branches: 3, "N", "2 of 3" or "1 of N"."""
    if isinstance(required, int):
        return arrivals == required
    branches = required.rpartition(" of ")[2]
    return arrivals >= 1 if branches == "N" else arrivals == int(branches)


def _cycles(view: _View) -> Iterator[str]:
    waiting = Counter(edge.target for edge in view.flow if not edge.back)
    queue = deque(node.id for node in view.graph.nodes if not waiting[node.id])
    done = len(queue)
    while queue:
        for edge in view.leaving[queue.popleft()]:
            if not edge.back:
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    queue.append(edge.target)
                    done += 1
    if done < len(view.graph.nodes):
        stuck = sorted(id_ for id_, count in waiting.items() if count > 0)
        yield f"a cycle without a back edge runs through {', '.join(stuck)}"


def _backs(view: _View) -> Iterator[str]:
    """A loop's back edge closes a forward way; a join's may close one that needs a loop."""
    for edge in view.flow:
        if not edge.back or view.by_id[edge.source].dead:
            continue
        if edge.source not in view.reach([edge.target], back=edge.join):
            yield f"{edge.source} -> {edge.target}: a back edge that closes no cycle"


CHECKS: Final[tuple[Callable[[_View], Iterator[str]], ...]] = (
    _ports,
    _ways,
    _stops,
    _gates,
    _cycles,
    _backs,
)
