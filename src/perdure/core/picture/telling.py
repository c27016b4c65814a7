"""From what was counted to what is shown: the status of every node of a picture.

Reads a painter and changes nothing. Costs what the graph is long, not what the log is.
"""

from __future__ import annotations

from itertools import islice
from typing import Protocol

from perdure.core.calls import Call
from perdure.core.picture.places import FANS, Places
from perdure.core.picture.shown import PARTS_MAX, NodeView, Part, Status, time_of
from perdure.core.picture.tallies import Tally
from perdure.core.run import Run


class Painted(Protocol):
    """What of a painter is read."""

    places: Places
    tallies: list[Tally]
    at: int
    run: Run


REGIONS = ("try", "loop", "timer", "branch", "handler", "finally", "call", "inline", *FANS)


def nodes_of(painted: Painted) -> list[NodeView]:
    """Tell every node."""
    run, places = painted.run, painted.places
    is_over = run.outcome is not None
    ahead = set[int]() if is_over else places.reach(painted.at)
    statuses = [_status(tally, run.now_us) for tally in painted.tallies]
    for at in range(len(statuses)):
        if not painted.tallies[at].begun:
            statuses[at] = ("pending" if at in ahead else "skipped"), ""
    _enliven(painted, statuses)
    return [_node(painted, at, *statuses[at]) for at in range(len(statuses))]


def _status(tally: Tally, now_us: int) -> tuple[Status, str]:
    return tally.status(now_us)


def _enliven(painted: Painted, statuses: list[tuple[Status, str]]) -> None:
    """A region is under way while anything in it is; what fans out has failed if a part has."""
    places = painted.places
    for at in reversed(range(len(statuses))):
        status = statuses[at][0]
        is_here = at == painted.at and painted.run.outcome is None
        if status not in ("running", "waiting") and not is_here:
            continue
        for region in places.around(at):
            if places.nodes[region].kind in REGIONS and painted.tallies[region].begun:
                statuses[region] = "running", ""


def _node(painted: Painted, at: int, status: Status, note: str) -> NodeView:
    node, tally = painted.places.nodes[at], painted.tallies[at]
    now_us = painted.run.now_us
    parts, more = _parts(painted, at)
    return NodeView(
        id=node.id,
        kind=node.kind,
        label=node.label,
        line=node.span.line,
        depth=node.depth,
        region=node.region,
        arm=node.arm,
        status=status,
        begun=tally.begun,
        done=tally.done,
        failed=tally.ended.get("failed", 0),
        gate=_gate(painted, at),
        rounds=tally.rounds,
        attempts=tally.attempts_now(),
        began=time_of(tally.began_us),
        ended=None if tally.open else time_of(tally.ended_us),
        note=note or _note(painted, at, status, now_us),
        trouble=tally.trouble if status in ("failed", "cancelled") else None,
        parts=parts,
        more=more,
    )


def _parts(painted: Painted, at: int) -> tuple[list[Part], int]:
    tally, now_us = painted.tallies[at], painted.run.now_us
    found: list[Part] = []
    more = 0
    if painted.places.fan[at] >= 0 and tally.begun > 1:
        found, more = tally.parts(now_us)
    inner = islice(tally.inner.items(), PARTS_MAX)
    found += [each.as_part(what, place, now_us) for (what, place), each in inner]
    return found, more + max(0, len(tally.inner) - PARTS_MAX)


def _gate(painted: Painted, at: int) -> tuple[int, int] | None:
    """Give how many of how many have arrived, of what was begun when it was last come by."""
    places = painted.places
    fan = at if places.nodes[at].kind in FANS else places.fan_at(at)
    if fan < 0 or not painted.tallies[fan].begun:
        return None
    members = [m for m, above in enumerate(places.fan) if above == fan and _is_task(places, m)]
    begun = sum(painted.tallies[m].fan[0] for m in members)
    done = sum(painted.tallies[m].fan[1] for m in members)
    return (done, begun) if begun else None


def _is_task(places: Places, at: int) -> bool:
    return places.nodes[at].kind not in FANS


def _note(painted: Painted, at: int, status: Status, now_us: int) -> str:
    """Say until when it waits, if it waits for a time."""
    tally = painted.tallies[at]
    for stay in islice(tally.open.values(), 1):
        call = stay.future
        if isinstance(call, Call) and call.target.kind == "workflow" and stay.inner is None:
            return f"run {painted.run.run_id}/{call.call}"
    return ""
