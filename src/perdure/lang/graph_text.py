"""Render a graph for people: an outline for the terminal, Mermaid for a page. Only reads the graph.

The outline is the control structure: one line for each node, with its line in the source, a
glyph, its kind and its label. What stands inside a region is indented behind a guide, an arm of a
branch has a heading, and plain joins are left out, since the indentation shows them. Data edges
stand beneath.

In Mermaid every label is quoted, and every character that Mermaid could read as its own is
written as an entity, so no source text can break the diagram.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from perdure.lang.graph import Edge, Graph, Kind, Node
from perdure.lang.graph_syntax import short


class Look(NamedTuple):
    """How a kind is shown: a glyph in the outline, an opening and a closing in Mermaid."""

    glyph: str
    opening: str
    closing: str


LOOKS: Final[dict[Kind, Look]] = {
    "input": Look("▷", "([", "])"),
    "inline": Look("·", "[", "]"),
    "action": Look("●", "[[", "]]"),
    "spread": Look("⋔", "[/", "\\]"),
    "parallel": Look("∥", "[/", "\\]"),
    "barrier": Look("◼", "[\\", "/]"),
    "join": Look("⋈", "(", ")"),
    "branch": Look("◆", "{", "}"),
    "loop": Look("↻", "{{", "}}"),
    "try": Look("▽", "[/", "/]"),
    "handler": Look("△", ">", "]"),
    "finally": Look("▣", ">", "]"),
    "timer": Look("◷", "(", ")"),
    "signal": Look("✉", ">", "]"),
    "child": Look("◎", "[[", "]]"),
    "call": Look("○", "[", "]"),
    "record": Look("▤", "[(", ")]"),
    "race": Look("⚑", "[/", "\\]"),
    "output": Look("◁", "([", "])"),
}
KIND_CHARS: Final = max(map(len, LOOKS))


# ----------------------------------------------------------------------------------------- outline


def to_text(graph: Graph) -> str:
    """Write the graph as an indented outline, followed by its data edges."""
    lines = [*_heading(graph), "", *_outline(graph)]
    data = _data_lines(graph)
    if data:
        lines += ["", "data", *data]
    return "\n".join(_one_line(line).rstrip() for line in lines) + "\n"


def _heading(graph: Graph) -> list[str]:
    first = graph.nodes[0].span.line if graph.nodes else 0
    stops = sum(node.frontier for node in graph.nodes)
    gates = sum(node.kind == "barrier" for node in graph.nodes)
    loops = sum(node.kind == "loop" for node in graph.nodes)
    counts = [_count(len(graph.nodes), "node"), _count(stops, "stop")]
    counts += [_count(gates, "barrier")] if gates else []
    counts += [_count(loops, "loop")] if loops else []
    return [f"{graph.name}  {graph.file}:{first}", ", ".join(counts)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _outline(graph: Graph) -> list[str]:
    lines: list[str] = []
    by_id = {node.id: node for node in graph.nodes}
    notes = _notes(graph)
    arms: dict[str, str] = {}  # the arm that each region stands in, as far as shown
    for node in graph.nodes:
        if node.kind == "join" and not node.frontier:
            continue
        if node.region and node.arm != arms.get(node.region, ""):
            arms[node.region] = node.arm
            heading = _arm_heading(by_id[node.region], node.arm)
            lines.append(f"{'':5}  {'│ ' * (node.depth - 1)}├─ {heading}")
        lines.append(_node_line(node, notes.get(node.id, [])))
    return lines


def _arm_heading(region: Node, arm: str) -> str:
    if arm.startswith("case ") or arm == "else":
        return arm
    return "then" if region.label == arm else f"when {arm}"


def _node_line(node: Node, notes: list[str]) -> str:
    look = LOOKS[node.kind]
    word = node.label if node.label != node.kind else ""
    said = [*([f"[{node.policy}]"] if node.policy else []), *notes]
    text = f"{'│ ' * node.depth}{look.glyph} {node.kind:{KIND_CHARS}} {word}"
    return f"{node.span.line:5}  {text}" + "".join(f"  {part}" for part in said)


def _notes(graph: Graph) -> dict[str, list[str]]:
    """Give what stands behind the labels: gates, modes, tasks awaited, jumps that end here."""
    by_id = {node.id: node for node in graph.nodes}
    notes: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for node in graph.nodes:
        notes[node.id] += [_gate(node.required)] if node.kind == "barrier" else []
        notes[node.id] += [node.mode] if node.mode else []
        notes[node.id] += ["never reached"] if node.dead else []
    joined: dict[str, list[int]] = {}
    jumps: dict[str, set[str]] = {}
    for edge in graph.edges:
        if edge.join:
            joined.setdefault(edge.target, []).append(by_id[edge.source].span.line)
        elif edge.kind == "flow" and by_id[edge.target].kind == "output":
            jumps.setdefault(edge.target, set()).add(edge.guard)
    for id_, lines in joined.items():
        notes[id_].append(f"joins line {_either(lines)}")
    for id_, guards in jumps.items():
        notes[id_] += [f"({text})" for text in guards if " from line " in text and len(guards) == 1]
    return notes


def _either(lines: list[int]) -> str:
    return " or ".join(str(line) for line in sorted(set(lines)))


def _gate(required: int | str) -> str:
    """Write a gate as "joins 3 of 3", "joins N of N", "joins 1 of 3"."""
    text = str(required)
    return f"joins {text}" if " of " in text else f"joins {text} of {text}"


def _data_lines(graph: Graph) -> list[str]:
    by_id = {node.id: node for node in graph.nodes}
    uses: dict[str, dict[str, list[int]]] = {}
    for edge in graph.edges:
        if edge.kind == "data":
            lines = uses.setdefault(edge.target, {}).setdefault(edge.variable, [])
            lines.append(by_id[edge.source].span.line)
    return [_uses_line(node, uses[node.id]) for node in graph.nodes if node.id in uses]


def _uses_line(node: Node, used: dict[str, list[int]]) -> str:
    said = ", ".join(f"{name} from line {_either(lines)}" for name, lines in sorted(used.items()))
    return f"{node.span.line:5}  {LOOKS[node.kind].glyph} {node.label}  uses {said}"


def _one_line(text: str) -> str:
    """Keep control characters out of the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


# ----------------------------------------------------------------------------------------- mermaid

# Everything that Mermaid, or the browser behind it, could take for its own.
ENTITIES: Final = {ord(char): f"#{ord(char)};" for char in "\"#&;<>[]{}()|`\\%:*_~^$'"}
HEAVY: Final = "stroke-width:3px"
DEAD: Final = "stroke-dasharray:4,opacity:0.5"


def to_mermaid(graph: Graph, *, data: bool = True) -> str:
    """Write the graph as a Mermaid flowchart; `data=False` leaves the dotted lines out."""
    lines = ["flowchart TD"]
    lines += [f"    {_mermaid_node(node)}" for node in graph.nodes]
    lines += [f"    {_mermaid_edge(e)}" for e in graph.edges if e.kind == "flow"]
    if data:
        lines += [f"    {_mermaid_edge(edge)}" for edge in _merged_data(graph)]
    for name, style, members in (
        ("stop", HEAVY, [node.id for node in graph.nodes if node.frontier]),
        ("dead", DEAD, [node.id for node in graph.nodes if node.dead]),
    ):
        if members:
            lines += [f"    classDef {name} {style}", f"    class {','.join(members)} {name}"]
    return "\n".join(lines) + "\n"


def _mermaid_node(node: Node) -> str:
    look = LOOKS[node.kind]
    said = [node.label, node.policy, node.mode]
    said += [_gate(node.required)] if node.kind == "barrier" else []
    text = "<br/>".join(_quoted(part) for part in said if part)
    return f'{node.id}{look.opening}"{text}"{look.closing}'


def _mermaid_edge(edge: Edge) -> str:
    if edge.kind == "data":
        arrow, text = "-.->", edge.variable
    elif edge.join:
        arrow, text = "==>", f"joins {edge.variable}"
    elif edge.raises is not None:
        arrow, text = "-->", f"on {', '.join(edge.raises) or 'any exception'}"
    else:
        arrow, text = "-->", short(edge.guard)
    text = f"↺ {text}".strip() if edge.back else text
    label = f'|"{_quoted(text)}"|' if text else ""
    return f"{edge.source} {arrow}{label} {edge.target}"


def _merged_data(graph: Graph) -> list[Edge]:
    """Draw one dotted line between two nodes, whatever number of variables goes along."""
    names: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        if edge.kind == "data":
            names.setdefault((edge.source, edge.target), []).append(edge.variable)
    return [
        Edge(source=source, target=target, kind="data", variable=", ".join(variables))
        for (source, target), variables in names.items()
    ]


def _quoted(text: str) -> str:
    """Write text so that it stands in quotes and means itself."""
    return _one_line(text.replace("\n", " ")).translate(ENTITIES)
