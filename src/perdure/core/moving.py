"""Moving: the image of a run read on other code than it was taken on.

Nothing runs. Every frame begins in the new code at the await that is its own there, with the
variables that it had; what the run shares with its program, by number, is what the new program has
in its place. What the run changed stays as the run left it. Whatever has no place in the new code
is a reason not to move, and a run that is not moved has not been touched.
"""

from __future__ import annotations

import warnings
from types import CodeType
from typing import Any, NamedTuple

from perdure.core import image
from perdure.core.contents import state_of
from perdure.core.facts import Row, Upgraded
from perdure.core.frames import UNSET
from perdure.core.image import (
    FIRST_CODE,
    Frames,
    Reader,
    Shared,
    Told,
    Way,
    shared_of,
)
from perdure.core.loop import Host
from perdure.core.reentry import Unit, unit_of
from perdure.core.remade import Gone, Reading
from perdure.core.run import Run
from perdure.errors import BadImage, NotNow, NotUpgraded, PerdureError
from perdure.kinds import kind_of
from perdure.lang.counterparts import counterparts
from perdure.lang.diff import Difference, Landing, Stays
from perdure.lang.recipes import Builder, Function, Same

_REMEDY = "put that back in the new code, or try again when the run stands elsewhere"


def upgrade(
    taken: bytes, difference: Difference, fact: Upgraded, key: bytes, host: Host | None = None
) -> tuple[Run, Row, bytes]:
    """Give the run on its new code, the row that says so, and the image that goes into that row."""
    run = moved(taken, difference, key, host)
    row = run.apply(fact).row
    try:
        made = image.take(run, key)
        image.restore(run.program, made, key, host).drop()  # what cannot be read is not written
    except (NotNow, BadImage) as error:
        run.drop()
        raise NotUpgraded(
            f"the run has no place in the new code: {error}", remedy=_REMEDY
        ) from None
    return run, row, made


def moved(taken: bytes, difference: Difference, key: bytes, host: Host | None = None) -> Run:
    """Give the run of an image of the old program as a run of the new one."""
    way = Moving(Run(difference.new.program, host), difference)
    try:
        return image.read(way, taken, key)
    except NotUpgraded as error:
        refused = error.with_traceback(None)
    except PerdureError as error:
        refused = NotUpgraded(f"the run has no place in the new code: {error}", remedy=_REMEDY)
    finally:
        way.reading = None  # what it has read leads back to it: nothing is to be kept by that
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # calls that had not begun never will
        way.run.drop()
        del way
    raise refused


class _Frame(NamedTuple):
    """A frame on its way from one program to the other."""

    old: Unit
    old_at: int
    new: Unit
    new_at: int
    code: CodeType
    landing: Landing | None
    """`None` for code that both have."""
    old_cells: tuple[int, ...]
    new_cells: tuple[int, ...]


class Moving(Way):
    """Reads the image of one program for a run of another."""

    def __init__(self, run: Run, difference: Difference) -> None:
        super().__init__(run)
        self.old = self.program = difference.old.program
        self.difference = difference
        self.frames: list[_Frame] = []
        self.cells = 0
        self.built: list[Any] = []
        self.pairs = counterparts(difference)
        self.reading: Any = None

    # --- frames

    def begin(self, told: Told, cells: int) -> tuple[Reading, Frames]:
        """Find where every frame goes on, or say of all that cannot why."""
        self.cells = cells
        self.reading = Reading(self.run, self._shared())
        self.reading.held = self._held
        self.built = self.reading.things = self._things()
        stays: list[Stays] = []
        for ref, at, _, numbers in told:
            frame = self._frame(ref, at, numbers)
            if isinstance(frame, Stays):
                stays.append(frame)
            else:
                self.frames.append(frame)
        _refuse(stays)
        stood = zip(self.frames, told, strict=True)
        return self.reading, [
            (each.code, each.new_at, child, each.new_cells) for each, (_, _, child, _) in stood
        ]

    def _frame(self, ref: int | str, at: int, numbers: tuple[int, ...]) -> _Frame | Stays:
        new = shared_of(self.run.program)
        code = new.named.get(ref) if isinstance(ref, str) else None
        if code is not None:  # the engine's, or a method that was not touched
            unit = _unit(code)
            return _Frame(unit, at, unit, at, code, None, tuple(numbers), tuple(numbers))
        code = self._code(ref)
        if code is None:
            return Stays(
                str(ref).partition("#")[0], "", 0, "its text was not kept, and has changed"
            )
        landing = self.difference.landing(code, at)
        if isinstance(landing, Stays):
            return landing
        return self._landed(code, at, landing, tuple(numbers))

    def _landed(
        self, code: CodeType, at: int, landing: Landing, numbers: tuple[int, ...]
    ) -> _Frame | Stays:
        old, new = _unit(code), _unit(landing.code)
        had = {landing.names[name]: number for name, number in zip(old.cells, numbers, strict=True)}
        free = {landing.names[name] for name in code.co_freevars}
        made: list[int] = []
        for name in new.cells:
            if (name in landing.code.co_freevars) != (name in free):
                why = f"`{name}` is not the variable any more that it was when this function began"
                return self.difference.stays(code, at, why)
            if name not in had:
                had[name] = self.cells
                self.cells += 1
            made.append(had[name])
        return _Frame(old, at, new, landing.at, landing.code, landing, numbers, tuple(made))

    def values(self, values: list[Any]) -> list[Any]:
        """Give every frame the variables that it had, by the names that they have now."""
        given: list[Any] = []
        stays: list[Stays] = []
        first = 0
        for frame in self.frames:
            names = frame.old.saved[frame.old_at]
            last = first + len(names)
            own, wait = values[first:last], values[last]
            first = last + 1
            if frame.landing is not None:
                own = self._own(frame, frame.landing, dict(zip(names, own, strict=True)), stays)
            given += [*own, wait]
        _refuse(stays)
        return given

    def _own(
        self, frame: _Frame, landing: Landing, held: dict[str, Any], stays: list[Stays]
    ) -> list[Any]:
        held |= {
            name: self._content(number)
            for name, number in zip(frame.old.cells, frame.old_cells, strict=True)
        }
        new = {landing.names[name]: value for name, value in held.items() if name in landing.names}
        for name, number in zip(frame.new.cells, frame.new_cells, strict=True):
            if number not in frame.old_cells and new.get(name, UNSET) is not UNSET:
                self.reading.cell(number).cell_contents = new[name]
        for name, line in landing.needed.items():
            if new.get(name, UNSET) is UNSET:
                why = f"the new code uses `{name}` at line {line}, and it has no value here"
                stays.append(self.difference.stays(frame.old.code, frame.old_at, why))
        return [new.get(name, UNSET) for name in frame.new.saved[frame.new_at]]

    def _content(self, number: int) -> Any:
        try:
            return self.reading.cell(number).cell_contents
        except ValueError:
            return UNSET

    # --- code

    def _code(self, ref: int | str) -> CodeType | None:
        if isinstance(ref, str):
            return self.difference.old.method(ref)
        code: CodeType = shared_of(self.program).anchors[ref]
        return code

    def _shared(self) -> Shared:
        """Give what the image has by number, as the new program has it."""
        shared = shared_of(self.program)
        anchors = list(shared.anchors)
        for at, code in enumerate(self.program.codes, FIRST_CODE):
            anchors[at] = self.function(code)
        return shared._replace(anchors=anchors, named=_Named(self))

    def function(self, code: CodeType) -> Any:
        """Give the code of functions that the run made, or why they can have none."""
        found = self.difference.code(code)
        if isinstance(found, Stays):
            return Gone(str(found))
        if _signature(found) != _signature(code):
            why = "the run holds it, and its parameters are not the same any more"
            return Gone(str(self.difference.stays(code, None, why)))
        return found if found.co_freevars == code.co_freevars else _Other(found, code)

    @staticmethod
    def _held(code: Any, cells: tuple[Any, ...]) -> tuple[CodeType, tuple[Any, ...]]:
        if type(code) is Gone:
            raise NotUpgraded(code.why, remedy=_REMEDY)
        if type(code) is not _Other:
            return code, cells
        had = dict(zip(code.old.co_freevars, cells, strict=True))
        missing = [name for name in code.new.co_freevars if name not in had]
        if missing:
            raise NotUpgraded(
                f"`{code.old.co_qualname}`, which the run holds, uses `{missing[0]}` of the "
                "function around it in the new code, and did not when it was made",
                remedy=_REMEDY,
            )
        return code.new, tuple([had[name] for name in code.new.co_freevars])

    def _unstarted(self, function: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        """Give a call that has not begun, if its arguments still are what they were given for."""
        code: CodeType = function.__code__
        for old in self.program.codes:
            count = old.co_argcount
            if self.difference.code(old) is code and (
                old.co_varnames[:count] != code.co_varnames[:count] or count > code.co_argcount
            ):
                why = "the run holds a call of it, and its parameters are not the same any more"
                _refuse([self.difference.stays(old, None, why)])
        return Reading.unstarted(function, args, words)

    # --- what the programs build

    def reader(self, body: bytes, reading: Reading) -> Reader:
        """Give what reads the body, and knows by number what the new program has instead."""
        known = [reading, self.run, *image.containers(self.program, self.built)]
        instead: dict[int, Any] = {id(Reading.unstarted): self._unstarted}
        for at, recipe in enumerate(self.old.recipes):
            if isinstance(recipe, Same):
                instead[id(recipe.value)] = self.built[at]
        shared = [instead.get(id(each), each) for each in reading.shared.anchors]
        return Reader(body, None, 0, [*shared, *known])

    def _builder(self, built: dict[int, Any]) -> Builder:
        builder = Builder(self.run, self.old.world, self.old.recipes)
        builder.spaces = self.run.space.modules
        builder.built = built
        return builder

    def _things(self) -> list[Any]:
        """Give what stands for everything that the old program built."""
        known = {at: self.run.space.built[to] for at, to in self.pairs.items()}
        for at, recipe in enumerate(self.old.recipes):
            if isinstance(recipe, Function) and at not in known:
                known[at] = Gone(f"`{recipe.qualname}` is not in the new code")
        builder = self._builder(known)
        for at in range(len(self.old.recipes)):
            try:
                builder.get(at)
            except Exception:  # noqa: BLE001 — it is made of something that is gone
                known[at] = Gone("something that the run may hold is not in the new code")
        return [known[at] for at in range(len(self.old.recipes))]

    def contents(self, changed: Any) -> list[tuple[Any, Any]]:
        """Give what the run changed of what its program built; the rest is as it is today."""
        found: list[tuple[Any, Any]] = []
        for at, content in changed:
            if _same(self._first(at), content):
                continue
            if at not in self.pairs:
                raise NotUpgraded(
                    "the run changed something of its modules that is not in the new code: "
                    f"{_short(content)}",
                    remedy=_REMEDY,
                )
            found.append((self.built[at], content))
        return found

    def _first(self, at: int) -> Any:
        """Give the content that something had when the old program built it."""
        known = {number: thing for number, thing in enumerate(self.built) if number != at}
        return state_of(self._builder(known).get(at))


class _Other(NamedTuple):
    """Code of functions whose cells are not the same in the new code."""

    new: CodeType
    old: CodeType


class _Named(dict[str, CodeType]):
    """Code by the names that an image has for it, as it is today."""

    def __init__(self, moving: Moving) -> None:
        super().__init__(shared_of(moving.run.program).named)
        self.moving = moving

    def get(self, name: Any, _: Any = None) -> Any:
        """Give code of the engine or of a class; that of a method which was changed is found."""
        if name in self:
            return self[name]
        code = self.moving.difference.old.method(name)
        return None if code is None else self.moving.function(code)


def _unit(code: CodeType) -> Unit:
    unit = unit_of(code)
    assert unit is not None, code
    return unit


def _signature(code: CodeType) -> tuple[Any, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    more = code.co_flags & 0x0C
    return code.co_varnames[:count], code.co_argcount, code.co_posonlyargcount, more


def _refuse(stays: list[Stays]) -> None:
    if stays:
        raise NotUpgraded("; ".join(dict.fromkeys(map(str, stays))), remedy=_REMEDY)


def _same(one: Any, other: Any) -> bool:
    """Whether two contents are the same: of the same members, or of equal plain values."""
    if one is other:
        return True
    kind: Any = kind_of(one)
    if kind is not kind_of(other):
        return False
    if kind in (list, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if kind is dict:
        return list(one) == list(other) and all(map(_same, one.values(), other.values()))
    return kind in _ATOMS and bool(one == other)


_ATOMS = (bool, int, float, str, bytes)


def _short(content: Any) -> str:
    text = repr(content)
    return text if len(text) <= 80 else text[:79] + "…"
