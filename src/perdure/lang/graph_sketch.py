"""Draw a graph node by node. Knows effects and edges; knows no statement and no meaning.

A `Sketch` is a graph being drawn; its cursor is the set of ways that lead to the next node. It
keeps the graph sound while it grows: alternatives meet in a join, dead code never leads to living
code, neighbouring plain statements become one inline node. `reaching` then solves the data flow,
and `finish` numbers the nodes in source order.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from perdure.lang.graph import ARRIVALS, Edge, Graph, Kind, Node, Span
from perdure.lang.graph_flow import NOTHING, Effect
from perdure.lang.graph_syntax import LABEL_CHARS_MAX, catchers, short, span_of


class Exit(NamedTuple):
    """A way out of a node that still looks for the node that it leads to."""

    node: int
    guard: str = ""
    raises: tuple[str, ...] | None = None


class Arrow(NamedTuple):
    """A drawn flow edge."""

    source: int
    target: int
    guard: str
    raises: tuple[str, ...] | None
    back: bool


Jump: TypeAlias = Literal["return", "raise", "break", "continue"]


class Way(msgspec.Struct, frozen=True):
    """A jump on its way outward: it stops at a loop, or passes through finally and group exits."""

    kind: Jump
    exits: tuple[Exit, ...]
    at: ast.AST
    name: str = ""  # of the exception class, where a raise says it
    key: str = ""  # of the returned value


@dataclass(slots=True)
class Frame:
    """A construct around the cursor that catches jumps."""

    kind: Literal["loop", "try", "finally", "group"]
    depth: int = 0
    handlers: tuple[tuple[str, ...], ...] = ()
    breaks: list[Exit] = field(default_factory=list[Exit])
    continues: list[Exit] = field(default_factory=list[Exit])
    raised: list[Way] = field(default_factory=list[Way])
    ways: list[Way] = field(default_factory=list[Way])
    started: list[Exit] = field(default_factory=list[Exit])
    name: str = ""
    dynamic: bool = False

    def takes(self, way: Way) -> bool:
        """Keep a jump that ends or pauses here; tell whether it goes no further for now."""
        match self.kind, way.kind:
            case (("finally" | "group"), _):
                self.ways.append(way)
                return True
            case "loop", ("break" | "continue"):
                (self.breaks if way.kind == "break" else self.continues).extend(way.exits)
                return True
            case "try", "raise":
                self.raised.append(way)
                return catchers(way.name, self.handlers).certain
            case _:
                return False


@dataclass(slots=True)
class Draft:
    """A node being drawn."""

    kind: Kind
    label: str
    span: Span
    source: str
    effect: Effect
    region: int
    arm: str
    depth: int
    required: int | str
    frontier: bool
    mode: str
    policy: str
    callee: str
    dead: bool
    late: dict[str, int] = field(default_factory=dict[str, int])  # written by what starts here


class Piece(NamedTuple):
    """A plain statement that waits to be merged with its neighbours."""

    node: ast.AST
    text: str
    effect: Effect


class Sketch:
    """A graph being drawn, and the cursor. What arrives twice gets a join of its own."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.arrows: list[Arrow] = []
        self.leaks: list[tuple[int, int]] = []  # from inside a try to where exceptions go
        self.cursor: tuple[Exit, ...] = ()
        self.pieces: list[Piece] = []
        self.frames: list[Frame] = []
        self.regions: list[tuple[int, str]] = []
        self.at: ast.AST = ast.Pass()  # the compound statement that ended last: where joins stand

    def add(
        self,
        kind: Kind,
        label: str,
        at: ast.AST | Span,
        *,
        effect: Effect = NOTHING,
        source: str = "",
        required: int | str = 1,
        frontier: bool = False,
        mode: str = "",
        policy: str = "",
        callee: str = "",
    ) -> int:
        """Draw a node where the cursor is, and put the cursor behind it."""
        self.flush()
        if ARRIVALS[kind] == "one":
            self.settle()
        span = at if isinstance(at, Span) else span_of(at)
        region, arm = self.regions[-1] if self.regions else (-1, "")
        dead = bool(self.drafts) and not any(self.alive(way) for way in self.cursor)
        depth = len(self.regions)
        draft = Draft(
            kind, label, span, source or label, effect, region, arm, depth,
            required, frontier, mode, policy, callee, dead,
        )  # fmt: skip
        self.drafts.append(draft)
        index = len(self.drafts) - 1
        self.link(self.cursor, index)
        self.cursor = (Exit(index),)
        return index

    def alive(self, way: Exit) -> bool:
        """Tell whether a way can be reached from the input."""
        return not self.drafts[way.node].dead

    def living(self, ways: Iterable[Exit]) -> tuple[Exit, ...]:
        """Drop repeated ways, and dead ones where living ones arrive as well."""
        every = tuple(dict.fromkeys(ways))
        return tuple(way for way in every if self.alive(way)) or every

    def link(self, ways: Iterable[Exit], target: int, *, back: bool = False) -> None:
        """Draw edges. Nothing leads from dead code to living code."""
        for way in ways:
            if self.alive(way) or self.drafts[target].dead:
                self.arrows.append(Arrow(way.node, target, way.guard, way.raises, back))

    def settle(self) -> None:
        """Let the cursor be one way: alternatives meet in a join."""
        self.flush()
        self.cursor = self.living(self.cursor)
        if len(self.cursor) > 1:
            end = span_of(self.at)
            spot = Span(end.end_line, end.end_col, end.end_line, end.end_col)
            self.add("join", "join", spot)

    def take(self) -> tuple[Exit, ...]:
        """Give the ways that lead on from here, and leave none."""
        self.flush()
        ways, self.cursor = self.living(self.cursor), ()
        return ways

    def flush(self) -> None:
        """Draw the plain statements seen so far as one inline node."""
        if not self.pieces:
            return
        pieces, self.pieces = self.pieces, []
        effect = NOTHING
        for piece in pieces:
            effect = effect.then(piece.effect)
        span = span_of(pieces[0].node, pieces[-1].node)
        self.add("inline", _summary(pieces), span, effect=effect, source=pieces[0].text)

    @contextmanager
    def region(self, node: int, arm: str = "") -> Generator[None, None, None]:
        """Stand inside a construct while the body is drawn."""
        self.flush()
        self.regions.append((node, arm))
        yield
        self.flush()
        self.regions.pop()

    @contextmanager
    def inside(self, frame: Frame) -> Generator[Frame, None, None]:
        """Let a frame catch the jumps of the body."""
        self.frames.append(frame)
        yield frame
        self.flush()
        self.frames.pop()

    def caught(self, *kinds: str) -> bool:
        """Tell whether a frame of one of these kinds is around the cursor."""
        return any(frame.kind in kinds for frame in self.frames)

    def anchor(self, at: ast.AST, label: str) -> int:
        """Give a node off which a started task can hang; a guarded way first needs one."""
        self.flush()
        ways = self.living(self.cursor)
        plain = len(ways) == 1 and ways[0] == Exit(ways[0].node)
        if plain and self.drafts[ways[0].node].kind not in ("branch", "loop"):
            return ways[0].node
        return self.add("inline", label, at)

    def started(self, first: int, anchor: int, owner: str, target: str) -> None:
        """Mark the nodes from first on as started; their value is written where they hang."""
        for draft in self.drafts[first:]:
            draft.mode = "started"
        last = len(self.drafts) - 1
        keys = {name for name in self.drafts[last].effect.writes if " " in name}
        self.drafts[anchor].late.update({name: last for name in (*keys, target) if name})
        for frame in reversed(self.frames):
            if frame.kind == "group" and frame.name == owner:
                frame.started += self.take()
                frame.dynamic = frame.dynamic or len(self.regions) != frame.depth
                return

    def leak(self, first: int, last: int, target: int) -> None:
        """Let whatever nodes first to last have written be seen where an exception goes."""
        self.leaks += [(node, target) for node in range(first, last)]


def _summary(pieces: Sequence[Piece]) -> str:
    """Name as many statements as fit, and count the others."""
    text, *rest = (piece.text for piece in pieces)
    while rest and len(text) + len(rest[0]) + 2 <= LABEL_CHARS_MAX:
        text = f"{text}; {rest.pop(0)}"
    return short(text) + (f"  (+{len(rest)} more)" if rest else "")


Definition = tuple[str, int]  # a variable, and the node that wrote it


def reaching(sketch: Sketch) -> list[frozenset[Definition]]:
    """Give for every node the definitions that may be in force when it begins."""
    drafts = sketch.drafts
    before: list[frozenset[Definition]] = [frozenset() for _ in drafts]
    leaving: list[list[tuple[int, str]]] = [[] for _ in drafts]
    beside = {a.target for a in sketch.arrows if drafts[a.source].mode != "started"}
    for arrow in sketch.arrows:
        carry = _carry(drafts[arrow.source], arrow, beside=arrow.target in beside)
        leaving[arrow.source].append((arrow.target, carry))
    for source, target in sketch.leaks:
        leaving[source].append((target, "both"))
    queue = deque(range(len(drafts)))
    while queue:
        source = queue.popleft()
        carried = _carried(drafts[source], source, before[source])
        for target, what in leaving[source]:
            union = before[target] | carried[what]
            if union != before[target]:
                before[target] = union
                queue.append(target)
    return before


def _carry(source: Draft, arrow: Arrow, *, beside: bool) -> str:
    """Say what an edge carries: an ended for writes no more, nor does a task beside the flow."""
    if source.kind == "loop" and arrow.guard == "else":
        return "before"
    return "own" if source.mode == "started" and beside else "after"


def _carried(
    draft: Draft, index: int, before: frozenset[Definition]
) -> dict[str, frozenset[Definition]]:
    late = draft.late
    own = {(name, index) for name in draft.effect.writes if name not in late}
    own |= {(name, origin) for name, origin in late.items()}
    kills = draft.effect.kills | late.keys()
    after = frozenset(own) | {found for found in before if found[0] not in kills}
    return {"own": frozenset(own), "before": before, "after": after, "both": before | after}


def finish(sketch: Sketch, name: str, file: str) -> Graph:
    """Number the nodes in source order and draw the data and join edges."""
    ids = _numbered(sketch.drafts)
    drafts = sketch.drafts
    nodes = tuple(
        Node(
            id=ids[i],
            kind=d.kind,
            label=d.label,
            span=d.span,
            source=d.source,
            callee=d.callee,
            policy=d.policy,
            region=ids[d.region] if d.region >= 0 else "",
            arm=d.arm,
            depth=d.depth,
            required=d.required,
            frontier=d.frontier,
            mode=d.mode,
            dead=d.dead,
        )
        for i, d in enumerate(drafts)
    )
    flow = [
        Edge(
            source=ids[a.source], target=ids[a.target], guard=a.guard, raises=a.raises, back=a.back
        )
        for a in dict.fromkeys(sketch.arrows)
    ]
    used = sorted(
        (origin, index, variable.partition(" ")[2] or variable)
        for index, (draft, found) in enumerate(zip(drafts, reaching(sketch), strict=True))
        for variable, origin in found
        if variable in draft.effect.reads and draft.dead == drafts[origin].dead
    )
    used = list(dict.fromkeys(used))
    forward = [(arrow.source, arrow.target) for arrow in sketch.arrows if not arrow.back]
    joins: list[Edge] = []
    for s, t, v in _joins(drafts, used):
        back = _leads(forward, t, s)  # awaited in the next round of a loop
        forward += [] if back else [(s, t)]
        joins.append(Edge(source=ids[s], target=ids[t], join=True, variable=v, back=back))
    data = [Edge(source=ids[s], target=ids[t], kind="data", variable=v) for s, t, v in used]
    return Graph(name=name, file=file, nodes=nodes, edges=(*flow, *joins, *data))


def _joins(
    drafts: Sequence[Draft], used: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Find what is awaited later: `await t`, where t was started, or holds what was started."""
    started = {index for index, draft in enumerate(drafts) if draft.mode == "started"}
    holding: dict[int, set[int]] = {index: {index} for index in started}
    for source, target, _ in used:
        if source in started and drafts[target].kind in ("inline", "loop"):
            holding.setdefault(target, set()).add(source)
    found = [
        (source, target, variable)
        for holder, target, variable in used
        if drafts[target].kind == "join" and drafts[target].frontier
        for source in sorted(holding.get(holder, ()))
    ]
    return list(dict.fromkeys(found))


def _numbered(drafts: Sequence[Draft]) -> list[str]:
    places = sorted(range(len(drafts)), key=lambda i: (drafts[i].span.line, drafts[i].span.col, i))
    counts: dict[str, int] = {}
    ids = [""] * len(drafts)
    for index in places:
        kind = drafts[index].kind
        counts[kind] = counts.get(kind, 0) + 1
        ids[index] = f"{kind}_{counts[kind]}"
    return ids


def _leads(edges: Iterable[tuple[int, int]], source: int, target: int) -> bool:
    """Tell whether a way along the edges leads from one node to the other."""
    leaving: dict[int, list[int]] = {}
    for start, end in edges:
        leaving.setdefault(start, []).append(end)
    seen, queue = {source}, deque([source])
    while queue:
        ends = set(leaving.get(queue.popleft(), ())) - seen
        seen |= ends
        queue += ends
    return target in seen
