"""Images: a whole run at quiescence as bytes, and the run again from them.

The one module that may use the pickler: for images only, which carry a keyed checksum that is
verified before a byte of them is read, and which name nothing outside of an allow-list. What a
run shares with its program or the engine is written as a number, never by value.

An image that is bad, foreign or missing is no image: the run is refolded from its facts.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import io
import operator
import pickle
import struct
import sys
import weakref
from hashlib import blake2b
from types import CellType, CodeType
from typing import Any, NamedTuple

import msgspec

from perdure.core.allowed import FUNCTIONS, is_allowed
from perdure.core.ambient import CURRENT
from perdure.core.contents import put_state, state_of
from perdure.core.forms import ENGINE, FORMS, Writing, form_of
from perdure.core.frames import (
    CLOSES,
    UNSET,
    Child,
    Stood,
    Units,
    begin_again,
    chain,
    give_back,
    standing,
)
from perdure.core.futures import Task
from perdure.core.loop import Host
from perdure.core.reentry import Unit, engine_codes, unit_of
from perdure.core.remade import READING, RUN, Reading
from perdure.core.run import Program, Run
from perdure.errors import BadImage, NotNow, PerdureError
from perdure.kinds import kind_of
from perdure.limits import LIMITS

_PROTOCOL = 3
"""The newest that numbers what it keeps in so many words: the numbers of anchors come first."""

MAGIC = b"PDI"
VERSION = 1
_MAC_BYTES = 16
_HEAD = struct.Struct(">3sBBB16sI")
"""Magic, version, minor of Python, version of lowering, hash of the program, length of what is
told of the frames."""

LOWERING = 2
"""Raised whenever lowered code or an engine's class changes shape."""


def take(run: Run, key: bytes) -> bytes:
    """Write a run down, or raise `NotNow` with the reason."""
    if run.broken is not None or run.ready or run.seq == 0:
        raise NotNow("the run is not at rest")
    payload = _payload(run, anchors_of(run))
    if len(payload) > LIMITS.image_bytes_max:
        raise NotNow(f"the image takes {len(payload):,} bytes")
    return _mac(key, payload) + payload


def restore(program: Program, image: bytes, key: bytes, host: Host | None = None) -> Run:
    """Give the run that an image was taken of, or raise `BadImage`; nothing has happened then."""
    return read(Way(Run(program, host)), image, key)


def read(way: Way, image: bytes, key: bytes) -> Run:
    """Read an image in some way, into a run that has not begun."""
    payload = image[_MAC_BYTES:]
    if not hmac.compare_digest(_mac(key, payload), image[:_MAC_BYTES]):
        raise BadImage("the image was not written under this key, or has been changed since")
    try:
        return _restored(way, payload)
    except PerdureError:
        raise
    except Exception as error:
        raise BadImage(f"the image cannot be read: {type(error).__name__}: {error}") from error


def _mac(key: bytes, payload: bytes) -> bytes:
    mac = _keyed(key).copy()
    mac.update(payload)
    return mac.digest()


@functools.lru_cache(maxsize=4)
def _keyed(key: bytes) -> blake2b:
    return blake2b(key=key, digest_size=_MAC_BYTES)


# --- anchors: what is written as a number


class Shared(NamedTuple):
    """What all runs of a program refer to by number."""

    anchors: list[Any]
    table: dict[int, tuple[int, Any]]
    """By the identity of an anchor: its number, and what it is."""
    refs: dict[int, int | str]
    """By the identity of a code object: its number, or its name."""
    named: dict[str, CodeType]
    """Code of the engine's and of the user's classes, which stays where it is, by name."""
    units: Units
    own: bytes
    """The hash of the program, as images begin with it."""
    writer: pickle.Pickler
    """Knows the anchors: those who write begin with what it knows."""
    reader: Reader
    forms: dict[type, Any]
    """How each kind of thing is written; lives as long as the program, for its classes do."""


class Anchors:
    """What one run refers to by number besides: what its program built for it.

    The pickler asks how things are written, but not of plain containers: those it has to know.
    """

    def __init__(self, run: Run) -> None:
        built, mutable = run.space.built, run.program.mutable
        self.shared = shared_of(run.program)
        self.stateful = [(at, built[at]) for at in mutable]
        # One that stands there twice is known by its first number.
        self.places = {id(built[at]): at for at in range(len(built) - 1, -1, -1)}
        plain = containers(run.program, built)
        self.writer = self.shared.writer if not plain else _knowing(self.shared, plain)


_NOWHERE = io.BytesIO()
_UNASKED = (dict, list, set, frozenset, tuple, str, bytes, bytearray)
"""What the pickler writes without asking."""


def containers(program: Program, built: list[Any]) -> list[Any]:
    """Give the plain containers among what a program built for a run."""
    return [built[at] for at in program.mutable if type(built[at]) in _UNASKED]


def _knowing(shared: Shared, plain: list[Any]) -> pickle.Pickler:
    table = shared.table.copy()
    _number(table, plain)
    return _primed(table)


def _primed(table: dict[int, tuple[int, Any]]) -> pickle.Pickler:
    writer = pickle.Pickler(_NOWHERE, _PROTOCOL)
    writer.memo = table
    return writer


def _number(table: dict[int, tuple[int, Any]], more: list[Any]) -> None:
    """Give each of `more` the next number."""
    for each in more:
        # One that stands there twice is known by its first number; the other one is taken up.
        once = object() if id(each) in table else each
        table[id(once)] = (len(table), once)


def shared_of(program: Any) -> Shared:
    """Give the anchors of a program; made once."""
    known: Shared | None = getattr(program, "shared_anchors", None)
    if known is not None:
        return known
    anchors = [UNSET, *ENGINE]
    assert len(anchors) <= FIRST_CODE
    anchors += [None] * (FIRST_CODE - len(anchors)) + program.codes
    anchors += _asked(program.referred) + program.referred
    table: dict[int, tuple[int, Any]] = {}
    _number(table, [*anchors, READING, RUN])
    named = engine_codes() | program.class_codes
    refs: dict[int, int | str] = {id(code): name for name, code in named.items()}
    refs.update({id(code): FIRST_CODE + i for i, code in enumerate(program.codes)})
    units = {
        id(code): (refs[id(code)], unit)
        for code in (*named.values(), *program.codes)
        if (unit := unit_of(code)) is not None
    }
    made = program.shared_anchors = Shared(
        anchors,
        table,
        refs,
        named,
        units,
        bytes.fromhex(program.hash[:32]),
        _primed(table),
        Reader(b"", None, 0, anchors),
        dict(FORMS),
    )
    return made


def _asked(referred: list[Any]) -> list[Any]:
    """Give what calls of the actions and workflows of a program are made of."""
    asked = [each for each in referred if hasattr(kind_of(each), "__perdure__")]
    return [part for each in asked for part in (each.target, each.policy)]


FIRST_CODE = 128
"""The number of the first code of the program: what the engine is made of may grow up to here."""


def anchors_of(run: Run) -> Anchors:
    """Give the anchors of a run; made when its first image is taken."""
    if run.anchors is None:
        run.anchors = Anchors(run)
    anchors: Anchors = run.anchors
    return anchors


# --- writing


class _Writer(pickle.Pickler):
    """The C pickler, which asks here how everything but the plainest values is written."""

    writing: Writing
    forms: dict[type, Any]
    places: dict[int, int]

    def reducer_override(self, value: Any) -> Any:
        """Say how a value is written."""
        at = self.places.get(id(value))
        if at is not None:
            return Reading.built, (READING, at)
        kind = kind_of(value)
        try:
            form = self.forms[kind]
        except KeyError:
            form = self.forms[kind] = form_of(kind)
        return NotImplemented if form is None else form(self.writing, value)


def _payload(run: Run, anchors: Anchors) -> bytes:
    shared = anchors.shared
    tasks = list(run.tasks.values())
    stood = standing(tasks, shared.units)
    while True:
        writing = Writing(run, {id(each.coro): i for i, each in enumerate(stood)})
        payload = _written(run, anchors, tasks, stood, writing)
        if not writing.found:
            return payload
        for generator in writing.found:  # met on the way: their frames come along, next time
            if all(each.coro is not generator for each in stood):
                chain(generator, None, shared.units, stood)


def _written(
    run: Run, anchors: Anchors, tasks: list[Task], stood: list[Stood], writing: Writing
) -> bytes:
    told: list[Any] = []
    frames: list[Any] = []
    for each in stood:
        cells = [_cell_number(anchors, writing, cell) for cell in each.cells] if each.cells else ()
        told.append((each.code, each.at, each.child, cells))
        frames += each.values
        frames.append(each.wait)
    file = io.BytesIO()
    try:
        writer = _Writer(file, _PROTOCOL)
        writer.writing = writing
        writer.forms = anchors.shared.forms
        writer.places = anchors.places
        writer.memo = anchors.writer.memo
        writer.dump((tasks, frames, _state_of(run, anchors)))
        for cell in writing.cells:  # grows while it is gone through
            writer.dump(_content(cell))
        return _joined(run, anchors, writing, told, file)
    except NotNow:
        raise
    except Exception as error:  # what a library's pickling raises can be anything
        raise NotNow(f"the run holds what cannot be written down: {error}") from error


def _cell_number(anchors: Anchors, writing: Writing, cell: CellType) -> int:
    """Give the number of a cell of a frame: below 0, it is one that the program built."""
    at = anchors.places.get(id(cell))
    return writing.cell_number(cell) if at is None else -1 - at


def _joined(
    run: Run, anchors: Anchors, writing: Writing, told: list[Any], file: io.BytesIO
) -> bytes:
    """Put what is told of the frames in front: it says how many cells there were after all."""
    head = _encode_head((len(writing.cells), told, *_counts_of(run), run.timers.last))
    begin = _HEAD.pack(MAGIC, VERSION, _MINOR, LOWERING, anchors.shared.own, len(head))
    return b"".join((begin, head, file.getbuffer()))


_MINOR = sys.version_info[1]
_encode_head = msgspec.msgpack.Encoder().encode
Told = list[tuple[int | str, int, int, tuple[int, ...]]]
"""Of each frame: its code, at which await it stands, how it awaits the next one, its cells."""
Frames = list[tuple[CodeType, int, int, tuple[int, ...]]]
"""The same, with the code itself."""
_decode_head = msgspec.msgpack.Decoder(
    tuple[int, Told, int, int, int, int, int, int, bool, int]
).decode


def _content(cell: CellType) -> tuple[bool, Any]:
    try:
        return True, cell.cell_contents
    except ValueError:
        return False, None


_COUNTS = ("seq", "now_us", "origin_us", "calls_made", "_numbers", "_names", "closed")
"""Attributes of a run that are told at the beginning, beside its frames."""

_PLAIN = ("seed", "zone", "run_id", "status", "main", "outcome", "error", "last_words")
"""Attributes of a run that are written as they are."""

_counts_of = operator.attrgetter(*_COUNTS)
_plain_of = operator.attrgetter(*_PLAIN)


def _state_of(run: Run, anchors: Anchors) -> tuple[Any, ...]:
    """Give what there is of a run besides its tasks; what is empty takes no room."""
    timers, mailbox = run.timers, run.mailbox
    changed: Any = ()
    if anchors.stateful:
        states = [(at, state_of(value)) for at, value in anchors.stateful]
        changed = tuple([each for each in states if each[1] is not None])
    asyncgens: tuple[Any, ...] = ()
    if run.asyncgens:
        living: list[Any] = [ref() for ref in run.asyncgens.values()]
        asyncgens = tuple([each for each in living if each is not None])
    return (
        *_plain_of(run),
        tuple(run.calls.values()),
        tuple(timers.armed.values()) if timers.armed else (),
        mailbox.messages or None,
        mailbox.waiting or None,
        mailbox.keys or None,
        tuple(run.unseen.futures) if run.unseen.futures else (),
        asyncgens,
        changed,
        None if run.drawn is None else run.drawn.getstate(),
    )


# --- reading


class Reader(pickle.Unpickler):
    """The C unpickler, which finds nothing by name but what an image may name."""

    def __init__(self, body: bytes, known: Any, first: int, more: list[Any]) -> None:
        # Buffered: what can be peeked into, the unpickler reads in one go, not bit by bit.
        super().__init__(io.BufferedReader(io.BytesIO(_primer(first, len(more)) + body)))
        self.given = iter(more)
        if known is not None:
            self.memo = known.memo
        self.load()

    def persistent_load(self, _: Any) -> Any:
        """Give the next of what is to be known by number; images themselves hold no such."""
        try:
            return next(self.given)
        except StopIteration:
            raise BadImage("the image asks for what it may not") from None

    def find_class(self, module: str, name: str) -> Any:
        """Give a class, or one of a few functions, of a module that is imported."""
        owner = sys.modules.get(module)
        found: Any = owner
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and is_allowed(found):
            return found
        if found is not None and f"{module}.{name}" in FUNCTIONS:
            return found
        raise BadImage(f"the image names `{module}.{name}`")


@functools.lru_cache(maxsize=256)
def _primer(first: int, count: int) -> bytes:
    """Give a pickle that asks for so many things, one after the other, and keeps them by number."""
    asked = [b"NQr" + number.to_bytes(4, "little") + b"0" for number in range(first, first + count)]
    return b"\x80\x03" + b"".join(asked) + b"N."


class Way:
    """How an image is read: straight, by the program that it was taken of."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.program = run.program
        """What the image was taken of."""

    def begin(self, told: Told, cells: int) -> tuple[Reading, Frames]:
        """Begin to read; give the frames as they will stand. There are so many cells."""
        reading = Reading(self.run, shared_of(self.program))
        frames = [(reading.code(ref), at, child, numbers) for ref, at, child, numbers in told]
        return reading, frames

    def reader(self, body: bytes, reading: Reading) -> Reader:
        """Give what reads the body, and knows what was written as a number."""
        shared = shared_of(self.program)
        known = [reading, self.run, *containers(self.run.program, self.run.space.built)]
        return Reader(body, shared.reader, len(shared.anchors), known)

    def values(self, values: list[Any]) -> list[Any]:
        """Give the locals of all frames, and what each awaits, as the frames will have them."""
        return values

    def contents(self, changed: Any) -> list[tuple[Any, Any]]:
        """Give what is to be put into things that the program built."""
        return [(self.run.space.built[at], content) for at, content in changed]


def _restored(way: Way, payload: bytes) -> Run:
    run = way.run
    run.context.run(CURRENT.set, run)
    run.context.run(run.program.prepare)
    end = _HEAD.size + _check_head(way.program, payload)
    cells, head, *counts = _decode_head(payload[_HEAD.size : end])
    run.space = run.program.instantiate(run)
    reading, stood = way.begin(head, cells)
    entered = None if run.host is None else run.host.enter(run)
    try:
        made = _begin_frames(run, reading, stood)
    finally:
        if run.host is not None:
            run.host.leave(run, entered)
    reader = way.reader(payload[end:], reading)
    tasks, frames, state = reader.load()
    for number in range(cells):
        has, value = reader.load()
        if has:
            reading.cell(number).cell_contents = value
    frames = way.values(frames)
    for walk, taken, length in reading.walks:
        walk.go_on(taken, length)
    for task in tasks:
        if type(task.coro) is int:
            task.coro = reading.coroutines[task.coro]
    run.tasks = {task.number: task for task in tasks}
    _fill_run(way, counts, state)
    _walk_in(run, stood, made, frames)
    return run


def _check_head(program: Program, payload: bytes) -> int:
    magic, version, minor, lowering, own, length = _HEAD.unpack_from(payload)
    if magic != MAGIC or version != VERSION or lowering != LOWERING:
        raise BadImage("the image is of another version of Perdure")
    if minor != _MINOR:
        raise BadImage(f"the image is of Python 3.{minor}")
    if own != bytes.fromhex(program.hash[:32]):
        raise BadImage("the image is of another program")
    return int(length)


def _begin_frames(run: Run, reading: Reading, stood: Frames) -> list[tuple[Any, Any, Unit]]:
    """Begin all frames, those of outer functions first: inner ones share their cells."""
    made: list[Any] = [None] * len(stood)
    for number in {each for _, _, _, numbers in stood for each in numbers if each < 0}:
        reading.cells[number] = reading.built(-1 - number)
    for i in sorted(range(len(stood)), key=lambda i: _depth(stood[i][0])):
        code, at, _, numbers = stood[i]
        unit = unit_of(code)
        assert unit is not None
        space = reading.space(unit.module, own=unit.own)
        closes = i > 0 and stood[i - 1][2] == CLOSES
        run_in = run.context.copy().run
        coro, reentry = begin_again(unit, at, numbers, reading.cells, space, run_in, closes=closes)
        made[i] = (coro, reentry, unit)
    reading.coroutines = [coro for coro, _, _ in made]
    return made


def _depth(code: CodeType) -> int:
    return code.co_qualname.count("<locals>")


def _fill_run(way: Way, counts: list[Any], state: tuple[Any, ...]) -> None:
    run = way.run
    *counts, run.timers.last = counts
    plain = state[: len(_PLAIN)]
    for name, value in zip((*_COUNTS, *_PLAIN), (*counts, *plain), strict=True):
        setattr(run, name, value)
    calls, armed, messages, waiting, keys, unseen, asyncgens, changed, drawn = state[len(_PLAIN) :]
    run.asyncgens = {id(each): weakref.ref(each) for each in asyncgens}
    run.calls = {call.call: call for call in calls}
    for timer in armed:
        run.timers.restore(timer)
    mailbox = run.mailbox
    mailbox.messages, mailbox.waiting, mailbox.keys = messages or {}, waiting or {}, keys or {}
    run.unseen.futures = dict.fromkeys(unseen)
    for thing, content in way.contents(changed):
        put_state(thing, content)
    if drawn is not None:
        run.random.setstate(drawn)


def _walk_in(run: Run, stood: Frames, made: list[Any], frames: list[Any]) -> None:
    """Let every frame walk back in to its await: outer ones reach the inner through their own."""
    first = 0
    for i, (_, reentry, unit) in enumerate(made):
        last = first + len(unit.saved[reentry.pc])
        wait = Child(made[i + 1][1].step) if stood[i][2] else frames[last]
        give_back(reentry, unit, frames[first:last], wait)
        first = last + 1
    roots = {id(task.coro) for task in run.tasks.values()}
    for task in run.tasks.values():
        stopped = task.context.run(task.coro.send, None)
        assert stopped is task.waits_on, "a restored task has to wait on what it waited on"
    for i, (coro, reentry, _) in enumerate(made):
        if id(coro) not in roots and not (i and stood[i - 1][2]):
            with contextlib.suppress(StopIteration):  # a step of an asynchronous one ends so
                run.context.copy().run(reentry.step.send, None)
    for _, reentry, _ in made:
        reentry.locals = {}
        reentry.contexts = {}
        reentry.wait = reentry.step = None
