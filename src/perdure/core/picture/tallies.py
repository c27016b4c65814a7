"""What is counted at one node, or at one line of a helper: begun, ended, how, when.

Bounded: a node through which a million items went keeps the last few, and those that failed.
"""

from __future__ import annotations

import weakref
from collections import deque
from itertools import islice
from typing import Any, Final

from perdure.core.calls import Call
from perdure.core.effects import shown_arguments
from perdure.core.picture.shown import PARTS_MAX, Part, Status, Trouble, time_of
from perdure.core.picture.troubles import trouble_of
from perdure.core.picture.watching import outcome
from perdure.lang.graph import Span

_LOOKED_AT: Final = 1_000
"""How many of what is under way are looked at, to say whether any of it runs."""


class Stay:
    """Something that has begun at a place, and has not ended."""

    __slots__ = ("_awaited", "began_us", "future", "inner", "is_plain", "span", "what")

    def __init__(self, awaited: Any, what: str, began_us: int, *, is_plain: bool) -> None:
        self._awaited = weakref.ref(awaited)
        """What is awaited; not held, for it has to die when it did before."""
        self.what = what
        self.began_us = began_us
        self.is_plain = is_plain
        """Whether it comes out as the future does: nothing of the user's is in between."""
        self.span: Span | None = None
        self.future: Any = None
        """What had to settle before it could go on, when it was last seen."""
        self.inner: tuple[Tally, Stay] | None = None
        """In a helper: what stands there now."""

    def is_at(self, awaited: Any) -> bool:
        """Whether this is what is awaited, still."""
        return self._awaited() is awaited

    @property
    def raised(self) -> bool | None:
        """Whether it ended with an exception, if that can be known."""
        return outcome(self.future)[0] != "completed" if self.is_plain else None

    def end(self, *, raised: bool) -> tuple[Status, BaseException | None]:
        """Say how it came out, now that it is over."""
        how, error = outcome(self.future)
        if self.is_plain or (raised and how != "completed"):
            return how, error
        return ("failed" if raised else "completed"), None

    def now(self, now_us: int) -> tuple[Status, str]:
        """Say whether somebody works for it or it waits, and for what."""
        call = self.future
        if not isinstance(call, Call):
            return "waiting", ""
        if call.not_before_us > now_us:
            return "waiting", f"again at {_clock(call.not_before_us)}"
        return "running", ""

    def part(self, now_us: int) -> Part:
        """Tell it as one of many."""
        status, note = self.now(now_us)
        return self.told(status, note, None, None)

    def told(
        self, status: Status, note: str, ended_us: int | None, trouble: Trouble | None
    ) -> Part:
        """Tell it in a way that was found out already."""
        call = self.future if isinstance(self.future, Call) else None
        return Part(
            what=self.what if call is None or self.inner is not None else called(call),
            status=status,
            done=int(ended_us is not None),
            attempts=0 if call is None else attempts_of(call),
            call=None if call is None else call.call,
            began=time_of(self.began_us),
            ended=time_of(ended_us),
            note=note,
            trouble=trouble,
        )


class Tally:
    """What happened at one place."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended: dict[Status, int] = {}
        self.open: dict[int, Stay] = {}
        self.last: Status = "pending"
        self.began_us: int | None = None
        self.ended_us: int | None = None
        self.attempts = 0
        self.trouble: Trouble | None = None
        self.fan = [0, 0]
        """Begun and ended since the fan-out that it is one of was last entered."""
        self.rounds = 0
        self.over: deque[Part] = deque(maxlen=PARTS_MAX)
        self.bad: deque[Part] = deque(maxlen=PARTS_MAX)
        self.inner: dict[tuple[str, str], Tally] = {}

    @property
    def done(self) -> int:
        """How often it came to an end."""
        return sum(self.ended.values())

    def forget_open(self) -> None:
        """Take back what is under way: it begins again at another place."""
        self.begun -= len(self.open)
        self.fan[0] -= len(self.open)
        self.open.clear()
        for inner in self.inner.values():
            inner.forget_open()

    def begin(self, number: int, stay: Stay) -> None:
        """Something begins here; `number` says for which task."""
        self.open[number] = stay
        self.begun += 1
        self.fan[0] += 1
        self.began_us, self.ended_us = stay.began_us, None

    def finish(self, number: int, now_us: int, *, raised: bool, keep: bool) -> None:
        """It has ended. `keep` says whether it is one of many, to be told by itself."""
        stay = self.open.pop(number)
        status, error = stay.end(raised=raised)
        self.count(status, now_us)
        self.attempts = attempts_of(stay.future) if isinstance(stay.future, Call) else 0
        self.trouble = trouble_of(error)
        if keep:
            kept = self.over if status == "completed" else self.bad
            kept.append(stay.told(status, "", now_us, self.trouble))

    def count(self, status: Status, now_us: int) -> None:
        """Count an end."""
        self.ended[status] = self.ended.get(status, 0) + 1
        self.fan[1] += 1
        self.last = status
        self.ended_us = None if self.open else now_us

    def passed(self, now_us: int) -> None:
        """A run came through without stopping."""
        self.begun += 1
        self.began_us = now_us
        self.trouble = None
        self.count("completed", now_us)

    def status(self, now_us: int) -> tuple[Status, str]:
        """Say how the place stands: what is under way counts before what is over."""
        note = ""
        for stay in islice(self.open.values(), _LOOKED_AT):
            status, said = stay.now(now_us)
            if status == "running":
                return "running", ""
            note = note or said
        if self.open:
            return "waiting", note
        bad: tuple[Status, ...] = ("failed", "cancelled")
        many = self.begun > 1 and self.fan[0] > 1
        for each in bad:
            if many and self.ended.get(each):
                return each, ""
        return self.last, ""

    def attempts_now(self) -> int:
        """Give the attempts of what is under way, or of what ended last."""
        for stay in islice(self.open.values(), _LOOKED_AT):
            if isinstance(stay.future, Call):
                return attempts_of(stay.future)
        return self.attempts

    def parts(self, now_us: int) -> tuple[list[Part], int]:
        """Name a few of many: failed ones, then those under way, then the last that ended."""
        found = list(self.bad)[-PARTS_MAX // 2 :]
        under_way = list(islice(self.open.values(), PARTS_MAX - len(found)))
        found += [stay.part(now_us) for stay in under_way]
        room = PARTS_MAX - len(found)
        found += list(self.over)[-room:] if room else []
        found.sort(key=lambda part: (part.began is None, part.began, part.call or 0))
        return found, self.begun - len(found)

    def as_part(self, what: str, place: str, now_us: int) -> Part:
        """Tell the place as one line below another."""
        status, note = self.status(now_us)
        return Part(
            what=what,
            status=status,
            place=place,
            begun=self.begun,
            done=self.done,
            attempts=self.attempts_now(),
            began=time_of(self.began_us),
            ended=time_of(self.ended_us),
            note=note,
            trouble=self.trouble,
        )


def attempts_of(call: Call) -> int:
    """Give the number of the attempt that a call is at, or ended with."""
    return call.failures + (call.state == 0 or call.error is None)


def called(call: Call) -> str:
    """Write a call for people: the name, and what it was given."""
    return f"{short_name(call.target.name)}({shown_arguments(call.args, 48)})"


def short_name(name: str) -> str:
    """Give `charge` of `orders:charge`."""
    return name.rpartition(":")[2].rpartition(".")[2]


def _clock(us: int) -> str:
    found = time_of(us)
    return "" if found is None else f"{found.astimezone():%H:%M:%S}"
