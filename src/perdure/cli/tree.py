"""The graph of a run as lines of text: each node with its mark, its label, and how it stands.

Pure: a `Picture` in, lines out. For whoever draws live, `lines` takes a height and keeps what is
under way in sight; for whoever cannot, `changes` says in a line each what is new since before.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final, NamedTuple

from perdure.cli.terminal import cells, clean, clip, paint
from perdure.core.picture import NodeView, Part, Picture, Place, Trouble
from perdure.lang.graph_text import LOOKS

MARKS: Final = {
    "pending": ("·", "dim"),
    "running": ("▶", "cyan"),
    "waiting": ("…", "yellow"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("⊘", "yellow"),
    "skipped": ("-", "dim"),
    "stopped": ("■", "magenta"),
}
"""How each status is marked, and in which colour."""

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PARTS_SHOWN: Final = 5
_NARROW: Final = 48
"""Below so many columns the numbers of the lines are left out."""
_ACTIVE: Final = ("running", "waiting", "failed")
_TIMED: Final = ("action", "child", "call", "timer", "signal", "barrier", "join", "record", "loop")


class Line(NamedTuple):
    """One line before it is fitted: where it stands, what it says, and what it says behind that."""

    status: str
    lead: str
    label: str
    info: str = ""
    trouble: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is what somebody who watches wants to see."""
        return self.status in _ACTIVE


def lines(
    picture: Picture,
    *,
    width: int = 100,
    height: int | None = None,
    colour: bool = False,
    now: dt.datetime | None = None,
    tick: int | None = None,
) -> list[str]:
    """Draw a picture, at most `width` columns wide and `height` lines high.

    `now` is the time from which what is under way is counted; `tick` turns the marks of what runs.
    """
    if picture.holder.startswith("nobody"):
        tick = None  # nothing moves
    body = list(_body(picture, now or picture.at))
    below = [*_said(picture), *ending(picture)]
    if height is not None:
        below = below[: max(0, height // 3)]
        room = max(1, height - 1 - len(below))
        if len(body) > room:
            body = [line for line in body if line.status != "skipped"]
        body = list(_window(body, room))
    drawn = [_title(picture, width, now, colour=colour)]
    drawn += [_fitted(each, width, colour=colour, tick=tick) for each in body]
    drawn += [paint(clip(text, width), shade, on=colour) for text, shade in below]
    return drawn


def _title(picture: Picture, width: int, now: dt.datetime | None, *, colour: bool) -> str:
    mark, shade = MARKS.get(picture.status, MARKS["pending"])
    until = picture.ended or now or picture.at
    spent = took(picture.began, until)
    facts = f"fact {picture.seq:,}" if picture.seq else ""
    is_held = not picture.holder.startswith("nobody")
    held = clean(picture.holder) if is_held else ""
    rest = "  ".join(each for each in (clean(picture.workflow), spent, facts, held) if each)
    name = clip(clean(picture.id), max(8, width // 2))
    room = width - cells(name) - len(picture.status) - 6
    alone = "" if is_held else clip(f"{clean(picture.holder)}  ", max(1, room))
    shown = (
        paint(name, "bold", on=colour),
        paint(f"{mark} {picture.status}", shade, on=colour),
        paint(alone, "red", on=colour)
        + paint(_clipped(rest, room - cells(alone)), "dim", on=colour),
    )
    return "  ".join(shown).rstrip()


# --- the tree


def _body(picture: Picture, now: dt.datetime | None) -> Iterator[Line]:
    arms: dict[str, str] = {}
    by_id = {node.id: node for node in picture.nodes}
    for node in picture.nodes:
        if node.kind == "join" and node.label == "join":
            continue  # where alternatives meet again: the indentation shows it
        if node.region and node.arm != arms.get(node.region, ""):
            arms[node.region] = node.arm
            yield _arm(by_id[node.region], node)
        yield _node(node, now)
        yield from _parts(node, now)


def _arm(region: NodeView, first: NodeView) -> Line:
    text = first.arm
    if not text.startswith("case ") and text != "else":
        text = "then" if region.label == text else f"when {text}"
    status = "skipped" if first.status == "skipped" else "pending"
    return Line(status, f"{'':6}  {'│ ' * (first.depth - 1)}├─ ", clean(text))


def _node(node: NodeView, now: dt.datetime | None) -> Line:
    glyph = LOOKS[node.kind].glyph if node.kind in LOOKS else "·"
    label = clean(node.label)
    lead = f"{node.line:5}  {{mark}} {'│ ' * node.depth}{glyph} "
    return Line(node.status, lead, label, _info(node, now), _trouble_line(node.trouble))


def _info(node: NodeView, now: dt.datetime | None) -> str:
    said: list[str] = []
    if node.gate is not None and node.gate[1] > 1:
        said.append(f"{node.gate[0]:,} of {node.gate[1]:,}")
    elif node.rounds:
        is_on = node.status == "running"
        said.append(f"round {node.rounds:,}" if is_on else f"{node.rounds:,} rounds")
    elif node.begun > 1 and not node.parts:
        said.append(f"{node.begun:,} times")
    said += _attempts(node.attempts, node.status)
    said += [clean(node.note)] if node.note else []
    if node.status in ("running", "waiting") and node.kind in _TIMED and node.ended is None:
        said.append(took(node.began, now))
    elif node.kind in _TIMED and node.begun == 1 and node.ended not in (None, node.began):
        said.append(took(node.began, node.ended))
    return ", ".join(each for each in said if each)


def _attempts(attempts: int, status: str) -> list[str]:
    if attempts < 2:
        return []
    return [f"attempt {attempts}" if status in ("running", "waiting") else f"{attempts} attempts"]


def _parts(node: NodeView, now: dt.datetime | None) -> Iterator[Line]:
    bare = f"{'':5}  {{mark}} {'│ ' * node.depth}  "
    for part in _chosen(node.parts):
        yield _part(part, bare, now)
    more = node.more + len(node.parts) - len(_chosen(node.parts))
    if more > 0:
        yield Line("pending", bare.replace("{mark}", " "), f"… {more:,} more")


def _chosen(parts: list[Part]) -> list[Part]:
    """Name what went wrong, then what is under way; in the order in which they began."""
    if len(parts) <= PARTS_SHOWN + 1:
        return parts
    order = {"failed": 0, "cancelled": 1, "running": 2, "waiting": 2}
    ranked = sorted(range(len(parts)), key=lambda at: (order.get(parts[at].status, 3), at))
    return [parts[at] for at in sorted(ranked[:PARTS_SHOWN])]


def _part(part: Part, bare: str, now: dt.datetime | None) -> Line:
    said = [part.place] if part.place else []
    said += [f"{part.begun:,} times"] if part.begun > 1 else []
    said += _attempts(part.attempts, part.status)
    said += [clean(part.note)] if part.note else []
    said.append(took(part.began, part.ended or now))
    info = ", ".join(each for each in said if each)
    return Line(part.status, bare, clean(part.what), info, _trouble_line(part.trouble))


def _trouble_line(trouble: Trouble | None) -> str:
    return "" if trouble is None else clean(f"{trouble.kind}: {trouble.text}".rstrip(": "))


# --- below the tree


def _said(picture: Picture) -> list[tuple[str, str]]:
    return [(f"       » {clean(text)}", "") for text in picture.said[-3:]]


def ending(picture: Picture) -> list[tuple[str, str]]:
    """Say below the tree what went wrong, each line with its colour."""
    found: list[tuple[str, str]] = []
    if picture.why:
        found += [("", "")] if picture.nodes else []
        found += [(f"{_word(picture)}: {clean(each)}", "magenta") for each in _first(picture.why)]
    if picture.facts and not picture.nodes:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in picture.facts.items())
        found.append((f"facts: {counts}", ""))
        found += [(f"  {clean(text)}", "dim") for text in picture.recent]
    if picture.trouble is not None:
        found += [("", ""), *_trouble(picture.trouble, picture.status)]
    return found


def _word(picture: Picture) -> str:
    return "stopped" if picture.status == "stopped" else "not all can be shown"


def _first(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()][:4]


def _trouble(trouble: Trouble, word: str) -> Iterator[tuple[str, str]]:
    """Tell an exception and what led to it, the last first, each with the line of the user's."""
    link: Trouble | None = trouble
    while link is not None:
        first, *more = _clean_lines(f"{link.kind}: {link.text}".rstrip(": "))
        yield f"{word}: {first}", "red"
        yield from ((f"    {each}", "red") for each in [*more[:5], *link.notes])
        if link.place is not None:
            yield from _place(link.place)
        word = "because of" if link.is_direct else "while handling"
        link = link.cause


def _place(place: Place) -> Iterator[tuple[str, str]]:
    yield f"    {clean(place.file)}:{place.line}, in {clean(place.function)}", "dim"
    if place.source:
        yield f"        {clean(place.source)}", ""


def _clean_lines(text: str) -> list[str]:
    """Split a text into lines that order no terminal about."""
    return [clean(line) for line in text.split("\n")] or [""]


# --- fitting


def _fitted(line: Line, width: int, *, colour: bool, tick: int | None) -> str:
    mark, shade = MARKS[line.status]
    if tick is not None and line.status == "running":
        mark = SPINNER[tick % len(SPINNER)]
    lead, marked, rest = (line.lead[6:] if width < _NARROW else line.lead).partition("{mark}")
    if cells(lead + rest) + 2 > width:
        return clip(f"{lead}{mark}{rest}{line.label}", width)
    spent = cells(lead) + len(mark) * bool(marked) + cells(rest)
    tail = f"  {line.info}" if line.info else ""
    room = max(1, width - spent)
    label = clip(line.label, max(min(12, room), room - cells(tail)))
    tail = _clipped(tail, room - cells(label))
    trouble = _clipped(f"  {line.trouble}", room - cells(label + tail)) if line.trouble else ""
    tone = "dim" if line.status in ("pending", "skipped") else "bold" if line.is_active else ""
    return "".join(
        (
            paint(lead, "dim", on=colour),
            paint(mark, shade, on=colour) if marked else "",
            paint(rest, "dim", on=colour),
            paint(label, tone, on=colour),
            paint(tail, "dim", on=colour),
            paint(trouble, "red", on=colour),
        )
    ).rstrip()


def _clipped(text: str, width: int) -> str:
    """Shorten a text, to nothing where next to nothing could be read."""
    return clip(text, width) if width > 4 else ""


def _window(body: list[Line], room: int) -> Iterator[Line]:
    """Keep the lines around what is under way, and say how many there are above and below."""
    if len(body) <= room:
        yield from body
        return
    runs = [at for at, line in enumerate(body) if line.status == "running"]
    active = runs or [at for at, line in enumerate(body) if line.is_active]
    middle = active[-1] if active else 0
    first = min(max(0, middle - room // 2), len(body) - room)
    shown = body[first : first + room]
    below = len(body) - first - room
    if first and room > 2:
        shown[0] = Line("pending", "       ", f"… {first + 1} lines above")
    if below and room > 2:
        shown[-1] = Line("pending", "       ", f"… {below + 1} lines below")
    yield from shown


# --- what is new


def changes(before: Picture | None, after: Picture) -> Iterator[NodeView]:
    """Give the nodes that stand otherwise than before: for output that cannot be redrawn."""
    known = {} if before is None else {node.id: _standing(node) for node in before.nodes}
    for node in after.nodes:
        if known.get(node.id, ("pending", 0, 0, None)) != _standing(node):
            yield node


def _standing(node: NodeView) -> tuple[str, int, int, tuple[int, int] | None]:
    return node.status, node.attempts, node.done, node.gate


def is_worth_a_line(node: NodeView) -> bool:
    """Whether that a node changed says something by itself, without the tree around it."""
    return node.status != "skipped" and node.kind not in _STRUCTURE


_STRUCTURE: Final = ("branch", "inline", "join", "parallel", "race", "spread", "try")


def change_line(node: NodeView, when: dt.datetime | None, width: int = 100) -> str:
    """Say in one line that a node stands otherwise than before."""
    clock = f"{when.astimezone():%H:%M:%S}" if when is not None else ""
    info = _info(node, when)
    trouble = _trouble_line(node.trouble)
    label = "  ".join(each for each in (clean(node.label), info, trouble) if each)
    return clip(f"{clock}  {node.status:9}  {node.line:>4}  {label}", width)


def took(began: dt.datetime | None, ended: dt.datetime | None) -> str:
    """Say how long something took; nothing if that is not known."""
    if began is None or ended is None:
        return ""
    seconds = max(0.0, (ended - began).total_seconds())
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
