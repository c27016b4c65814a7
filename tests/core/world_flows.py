"""Workflows that ask for the time, for chance, for the console, and for what lies outside."""

# ruff: noqa: DTZ001, DTZ002, DTZ003, DTZ005, DTZ006, DTZ007, DTZ011, DTZ901, ICN001, N812, E721, LOG015, PLW0108, PTH109, TRY301  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
import builtins
import datetime
import importlib
import io
import logging
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import date
from datetime import datetime as Moment
from pathlib import Path
from typing import Any, ClassVar

import perdure
from perdure import action, record, workflow

log = logging.getLogger("shop.orders")
DOORS: list[Any] = [open, eval, os.environ, subprocess.run, os.getcwd, hash, id, input]
RECORDED: list[str] = []


@action
async def act(value: Any = None) -> Any:
    return value


# --- time


@workflow
async def tells_time() -> Any:
    first = _times()
    await asyncio.sleep(90)
    return [first, _times()]


def _times() -> list[str]:
    return [
        str(datetime.datetime.now()),
        str(Moment.now()),
        str(Moment.today()),
        str(Moment.utcnow()),
        str(date.today()),
        str(Moment.now(datetime.UTC)),
        str(Moment.now(tz=datetime.timezone(datetime.timedelta(hours=2)))),
        str(perdure.now()),
        str(time.time()),
        str(time.time_ns()),
        time.strftime("%H:%M:%S", time.gmtime()),
        time.strftime("%H:%M:%S", time.localtime()),
    ]


@workflow
async def measures() -> list[float]:
    started = [time.monotonic(), time.perf_counter(), asyncio.get_running_loop().time()]
    await asyncio.sleep(2.5)
    ended = [time.monotonic(), time.perf_counter(), asyncio.get_running_loop().time()]
    return [end - start for start, end in zip(started, ended, strict=True)]


class Later(datetime.datetime):
    """A subclass of the user's."""

    def tells(self) -> str:
        return f"{type(self).__name__} {self}"

    @classmethod
    def utcnow(cls) -> Later:
        return cls(2000, 1, 1)


class Day(date):
    """Another."""


@workflow
async def uses_the_classes() -> list[Any]:
    now = Moment.now()
    return [
        isinstance(now, Moment),
        isinstance(now, datetime.datetime),
        isinstance(now, date),
        isinstance(date.today(), Moment),
        issubclass(Moment, date),
        issubclass(Later, Moment),
        isinstance(Later(2020, 1, 1), Moment),
        type(now) == datetime.datetime,
        Moment(2020, 1, 1) == datetime.datetime(2020, 1, 1),
        Moment.fromisoformat("2020-01-01T10:00") == Moment(2020, 1, 1, 10),
        Moment.strptime("2020", "%Y") == Moment(2020, 1, 1),
        Moment.fromtimestamp(0, datetime.UTC).year == 1970,
        Moment.combine(date(2020, 1, 1), datetime.time(1)) == Moment(2020, 1, 1, 1),
        Moment.max.year == 9999,
    ]


@workflow
async def one_class_by_two_names() -> list[bool]:
    return [
        Moment is datetime.datetime,
        Moment == datetime.datetime,
        {Moment: 1}.get(datetime.datetime) == 1,
    ]


@workflow
async def matches_the_classes() -> list[str]:
    return [_kind(each) for each in (Moment.now(), date.today(), 5)]


def _kind(value: Any) -> str:
    match value:
        case datetime.datetime():
            return "datetime"
        case date():
            return "date"
        case _:
            return "other"


@workflow
async def local_from_a_timestamp() -> str:
    return str(Moment.fromtimestamp(0))


@workflow
async def exact_from_a_naive_time() -> str:
    return str(Moment(2020, 1, 1).astimezone(datetime.UTC))


@workflow
async def timestamp_of_a_naive_time() -> str:
    seconds = Moment(2020, 1, 1).timestamp()
    return str(Moment.fromtimestamp(seconds, datetime.UTC))


@workflow
async def later_now() -> bool:
    return abs(Later.now() - Moment.now()) < datetime.timedelta(seconds=1)


@workflow
async def subclasses_of_time() -> list[Any]:
    kind = Later
    await act()
    days = [Day.today(), Day.fromtimestamp(0)]
    return [
        kind.now().tells(),
        Later.now(datetime.UTC).tells(),
        Later.fromtimestamp(0).tells(),
        Later.fromtimestamp(0, datetime.UTC).tells(),
        Later.utcnow().tells(),
        *(f"{type(day).__name__} {day}" for day in days),
        isinstance(Later.now(), Later) and isinstance(days[0], Day),
    ]


# --- chance


@workflow
async def draws() -> list[Any]:
    first = [random.random(), uuid.uuid4(), random.choice("abc"), random.Random().random()]
    await act()
    letters = list("abcdef")
    random.shuffle(letters)
    return [*first, random.randint(1, 99), letters, uuid.uuid4()]


@workflow
async def seeds() -> list[float]:
    random.seed(5)
    return [random.random(), random.Random(5).random()]


@workflow
async def named_ids() -> list[Any]:
    space = uuid.uuid5(uuid.NAMESPACE_DNS, "perdure")
    return [space, uuid.UUID(int=5), uuid.uuid4().version]


# --- the console


@workflow
async def speaks() -> None:
    print("one", 2, sep="-")
    log.info("%s and %s", "a", "b")
    print("to stderr", file=sys.stderr)
    logging.getLogger("other").error("%(x)s", {"x": 1})
    await act()
    log.getChild("deep").debug("five")
    logging.warning("six")
    print()


@workflow
async def speaks_of_errors() -> None:
    try:
        raise ValueError("inside")
    except ValueError:
        log.exception("caught")


@workflow
async def writes_to_memory() -> str:
    paper = io.StringIO()
    print("kept", 1, file=paper)
    await act()
    print("too", file=paper)
    return paper.getvalue()


@workflow
async def writes_to_stdout() -> None:
    sys.stdout.write("first\n")
    await act()
    sys.stdout.write("second\n")
    print("third", file=sys.stdout)


@workflow
async def writes_half_a_line() -> None:
    sys.stdout.write("first")
    await act()
    sys.stdout.write("second")


class Speaker:
    def speak(self, text: str) -> None:
        print(text)
        print("to stderr", file=sys.stderr)


@workflow
async def a_method_prints() -> None:
    Speaker().speak("from a method")


# --- what lies outside


@workflow
async def tries(number: int) -> str:
    return await _tried(TRICKS[number])


async def _tried(trick: Callable[[], Any]) -> str:
    try:
        return f"came through: {trick()!r}"
    except perdure.PerdureError as error:
        return error.code


TRICKS: list[Callable[[], Any]] = [
    lambda: DOORS[0]("/etc/hostname"),
    lambda: DOORS[1]("1 + 1"),
    lambda: DOORS[2]["PATH"],
    lambda: DOORS[2].get("PATH"),
    lambda: "PATH" in DOORS[2],
    lambda: dict(DOORS[2]),
    lambda: DOORS[3](["true"]),
    lambda: DOORS[4](),
    lambda: DOORS[5]("x"),
    lambda: DOORS[6]("x"),
    lambda: getattr(builtins, "op" + "en")("/etc/hostname"),
    lambda: getattr(os, "get" + "cwd")(),
    lambda: __import__("os").environ["PATH"],
    lambda: __import__("subprocess").run(["true"]),
    lambda: __import__("time").sleep(0),
    lambda: __builtins__["open"]("/etc/hostname"),
    lambda: DOORS[0].__call__("/etc/hostname"),
    lambda: next(map(DOORS[0], ["/etc/hostname"])),
    lambda: getattr(threading, "Thr" + "ead")(target=print).start(),
    lambda: asyncio.get_running_loop().run_in_executor(None, print),
    lambda: importlib.import_module("os").environ["PATH"],
    lambda: getattr(sys, "mod" + "ules")["os"].environ["PATH"],
    lambda: getattr(os.path, "ex" + "ists")("/etc/hostname"),
    lambda: len(DOORS[2]) > 0,
    lambda: DOORS[2].__len__(),
]


@workflow
async def reads_a_path() -> str:
    return await _tried(lambda: Path("/etc/hostname").read_text())


def _first_line(path: str) -> str:
    with DOORS[0](path) as file:
        return file.readline()


@workflow
async def records_a_search_in_the_environment() -> list[Any]:
    return [record(lambda: "PATH" in DOORS[2]), record(lambda: len(list(DOORS[2])) > 0)]


@workflow
async def records_what_lies_outside() -> list[Any]:
    return [
        record(lambda: _first_line("/proc/self/stat") != ""),
        record(lambda: os.environ["PATH"] != ""),
        record(lambda: getattr(builtins, "op" + "en")("/proc/self/stat").close()),
        record(os.getcwd) == record(lambda: os.getcwd()),
        record(lambda: time.sleep(0)),
        record(lambda: subprocess.run(["true"], check=False).returncode),
    ]


# --- record


def _reads(name: str, *, times: int = 1) -> str:
    WITNESS.note(name)
    return name * times


class Witness:
    """Counts for real: classes are not of the run."""

    notes: ClassVar[list[str]] = []

    def note(self, text: str) -> None:
        type(self).notes.append(text)


WITNESS = Witness()


def _refuses(name: str) -> None:
    WITNESS.note(name)
    raise LookupError(name)


@workflow
async def records() -> list[Any]:
    found: list[Any] = [record(_reads, "a"), record(_reads, "b", times=2)]
    await act()
    try:
        record(_refuses, "c")
    except LookupError as error:
        found.append(repr(error))
    return [*found, record(list, (1, 2))]


@workflow
async def records_what_no_one_can_write() -> str:
    try:
        record(object)
    except perdure.PerdureError as error:
        return error.code
    return "written"


@workflow
async def what_open_is() -> str:
    try:
        DOORS[0]("/etc/hostname")
    except perdure.PerdureError as error:
        return str(error)
    return "open"


@workflow
async def opens() -> None:
    DOORS[0]("/etc/hostname")
