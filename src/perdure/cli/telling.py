"""What a fact says, in a line: which call, which value; and what it caused, in lines below it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from perdure.cli import shown
from perdure.cli.terminal import clean, clip, paint, wants_colour
from perdure.core.effects import AnyEffect, Dispatch, Finished, outline
from perdure.core.facts import (
    AnyFact,
    Cancelled,
    Completed,
    Failed,
    Fired,
    Lost,
    Progressed,
    Retried,
    Row,
    Signalled,
    Started,
    Stopped,
    Upgraded,
)

COLOURS: dict[type[AnyFact], str] = {
    Started: "blue",
    Completed: "green",
    Failed: "red",
    Lost: "red",
    Signalled: "cyan",
    Cancelled: "yellow",
    Stopped: "magenta",
    Retried: "magenta",
    Upgraded: "magenta",
}
PIPED_MAX = 500
"""How long a line may be that no terminal shows; `--json` shortens nothing."""
EFFECTS_SHOWN = 20


class Teller:
    """Tells one log from its beginning, and so knows calls by their names."""

    def __init__(self, workflow: str) -> None:
        self.workflow = workflow.rpartition(":")[2]
        self.names: dict[int, str] = {}
        self.day = ""
        self.colour = wants_colour()
        is_seen = sys.stdout.isatty()
        self.width = shutil.get_terminal_size().columns if is_seen else PIPED_MAX

    def lines(self, row: Row, caused: Sequence[AnyEffect]) -> str:
        """Give the lines for one row."""
        for effect in caused:
            if isinstance(effect, Dispatch):
                self.names[effect.call] = effect.target.rpartition(":")[2]
        day, _, time = shown.clock(row.fact.at_us).partition(" ")
        kind = type(row.fact).__name__.lower()
        about = clean(_ABOUT.get(type(row.fact), _fields)(self, row.fact))
        head = f"{row.seq:>5}  {time}  "
        said = clip(f"{head}{kind:<10} {about}", self.width)[len(head) :]
        painted = paint(said[:10], COLOURS.get(type(row.fact), ""), on=self.colour)
        found = [paint(head, "dim", on=self.colour) + (painted + said[10:]).rstrip()]
        if day != self.day:
            self.day = day
            found.insert(0, paint(f"       {day}", "dim", on=self.colour))
        return "\n".join([*found, *self._caused(caused)])

    def _caused(self, caused: Sequence[AnyEffect]) -> list[str]:
        told = list(map(_effect, caused[:EFFECTS_SHOWN]))
        if len(caused) > EFFECTS_SHOWN:
            told.append(f"and {len(caused) - EFFECTS_SHOWN} more")
        shown_ = (clip(f"{' ' * 21}→ {clean(line)}", self.width) for line in told)
        return [paint(line, "dim", on=self.colour) for line in shown_]

    def call(self, number: int) -> str:
        """Give a call by its number, and its name if that is known."""
        name = self.names.get(number)
        return f"call {number}" + (f" {name}" if name else "")


def _effect(effect: AnyEffect) -> str:
    if not isinstance(effect, Finished):
        return outline((effect,))[0].rpartition("  #")[0]
    show = shown.value if effect.status == "completed" else shown.error
    return f"{effect.status}: {show(bytes(effect.value))}"


def _started(tell: Teller, fact: Started) -> str:
    return f"{tell.workflow}({_arguments(fact.args)})"


def _arguments(raw: Raw) -> str:
    given: list[Any] = json.loads(bytes(raw))
    named: dict[str, Any] = given[1] if len(given) > 1 else {}
    items = [json.dumps(each, ensure_ascii=False) for each in given[0]]
    return ", ".join(
        [*items, *(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in named.items())]
    )


def _cancelled(_: Teller, fact: Cancelled) -> str:
    return f"{fact.reason!r}{_by(fact.actor)}" if fact.reason else _by(fact.actor).strip()


def _signalled(_: Teller, fact: Signalled) -> str:
    key = "" if fact.key is None else f"  key {fact.key}"
    return f"{fact.name} {shown.value(bytes(fact.value))}{key}"


def _retried(tell: Teller, fact: Retried) -> str:
    again = f", {tell.call(fact.call)} again" if fact.call else ""
    return f"from fact {fact.back_to}{again}{_by(fact.actor)}"


def _upgraded(_: Teller, fact: Upgraded) -> str:
    return f"to program {fact.program[:12]} from {fact.before[:12]}{_by(fact.actor)}"


def _by(actor: str) -> str:
    return f" by {actor}" if actor else ""


def _fields(_: Teller, fact: AnyFact) -> str:
    """Tell a fact of a kind that has no words of its own."""
    fields = msgspec.to_builtins(fact)
    return " ".join(f"{k}={v}" for k, v in fields.items() if k not in {"at_us", "fact"})


_ABOUT: dict[type[AnyFact], Callable[[Teller, Any], str]] = {
    Started: _started,
    Completed: lambda tell, fact: f"{tell.call(fact.call)} = {shown.value(bytes(fact.value))}",
    Failed: lambda tell, fact: f"{tell.call(fact.call)}: {shown.error(bytes(fact.error))}",
    Lost: lambda tell, fact: (
        f"{tell.call(fact.call)}: its holder {'died' if fact.counted else 'left'}"
    ),
    Progressed: lambda tell, fact: f"{tell.call(fact.call)}: {shown.value(bytes(fact.details))}",
    Fired: lambda _, fact: f"timer {fact.timer}",
    Signalled: _signalled,
    Cancelled: _cancelled,
    Stopped: lambda _, fact: f"{fact.code} {fact.reason}",
    Retried: _retried,
    Upgraded: _upgraded,
}
