"""Runs one program natively and in Perdure, under the same virtual time, and compares all there is.

The native side is CPython's own asyncio on `VirtualLoop`: it is the specification.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.util
import inspect
import itertools
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from perdure import workflow
from perdure.errors import Deadlocked, Endless
from perdure.ordered import OrderedSet
from perdure.testing import VirtualLoop, cancel_at, raises, returns, run_in_memory
from perdure.testing.memory import MemoryRun
from perdure.workflows import Workflow
from tests.differential import kit

VirtualLoop.jumps_max = 300


# Where CPython goes through a set of tasks, its order is that of addresses. To compare at all,
# the native side goes in order of creation there, as Perdure does; nothing else is changed.


class NumberedTask(asyncio.Task[Any]):
    """A task that knows when it was made."""

    numbers = itertools.count()

    def __init__(self, coro: Any, **kwargs: Any) -> None:
        self.number = next(self.numbers)
        super().__init__(coro, **kwargs)


def _cancel_all_in_order(loop: asyncio.AbstractEventLoop) -> None:
    leftovers = sorted(asyncio.all_tasks(loop), key=lambda task: getattr(task, "number", 0))
    for task in leftovers:
        task.cancel()
    if leftovers:
        loop.run_until_complete(asyncio.gather(*leftovers, return_exceptions=True))


asyncio.taskgroups.set = OrderedSet  # type: ignore[attr-defined]
asyncio.tasks.set = OrderedSet  # type: ignore[attr-defined]
asyncio.runners._cancel_all_tasks = _cancel_all_in_order  # type: ignore[attr-defined]

PROGRAMS = Path(__file__).parent / "programs"

_TAIL = """

async def run_{name}(_seconds=None):
    if _seconds is None:
        return await {name}()
    async with asyncio.timeout(_seconds):
        return await {name}()
"""


class Injected(RuntimeError):
    """The failure that the harness makes a call end with."""


@dataclass(frozen=True)
class Schedule:
    """What happens to a program from outside: nothing, or one of three things."""

    cancel_s: float | None = None
    timeout_s: float | None = None
    fail_call: int | None = None


@dataclass
class Outcome:
    """All that can be compared of a run of a program."""

    result: Any = None
    error: Any = None
    lines: list[Any] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    deadlocked: bool = False


class Text(importlib.abc.InspectLoader):
    """Loads a module from text that is in memory, and can give the text again."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.code: CodeType = compile(text, file, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return self.code


CLASS_STATE = frozenset({"module_class_state"})
"""Programs that change what a class holds, which is of the process: each run imports them anew."""


class Linked(NamedTuple):
    """A program as all its runs in Perdure share it."""

    module: ModuleType
    flow: Workflow[Any, Any]


class Source:
    """One file of programs, which can be imported any number of times, each time afresh."""

    def __init__(self, text: str, file: str, names: list[str]) -> None:
        tail = "".join(_TAIL.format(name=name) for name in names)
        self.names = names
        self.file = file
        self.name = f"programs_{Path(file).stem}"
        self.loader = Text(text + tail, file)
        self._linked: tuple[str, Linked] | None = None

    def linked(self, name: str) -> Linked:
        """Give a program as it is linked for Perdure: once for all its runs that follow.

        What the runs of one program would share shows, for asyncio imports it for each of its own.
        """
        if self._linked is None or self._linked[0] != name or name in CLASS_STATE:
            module = self.fresh()
            self._linked = name, Linked(module, workflow(getattr(module, f"run_{name}")))
        return self._linked[1]

    def fresh(self) -> ModuleType:
        """Import it anew: new classes, new module data."""
        spec = importlib.util.spec_from_loader(self.name, self.loader, origin=self.file)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        module.__file__ = self.file
        sys.modules[self.name] = module
        exec(self.loader.code, module.__dict__)
        return module

    def print_by(self, printer: Any, module: ModuleType) -> None:
        """Have a module print by other means."""
        module.__dict__["print"] = printer


def sources() -> list[Source]:
    """Give every file of the corpus."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        text = path.read_text()
        names = [
            line.split("(")[0].removeprefix("async def ")
            for line in text.splitlines()
            if line.startswith("async def ") and not line.startswith("async def _")
        ]
        found.append(Source(text, str(path), names))
    return found


# --- the native side


def native(source: Source, name: str, schedule: Schedule = Schedule()) -> Outcome:
    """Run a program under asyncio."""
    module = source.fresh()
    outcome = Outcome()
    kit.JOURNAL.clear()
    kit.FAIL_CALL = schedule.fail_call
    source.print_by(_printer(outcome.printed), module)
    program = getattr(module, f"run_{name}")
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.get_loop().set_exception_handler(lambda *_: None)
            runner.get_loop().set_task_factory(_numbered)
            outcome.result = describe(runner.run(_native(program, schedule, outcome)))
    except (Deadlocked, Endless):
        outcome.deadlocked = True
    except BaseException as error:  # noqa: BLE001 — whatever it is, it is compared
        _failed(outcome, error, source)
    finally:
        kit.FAIL_CALL = None
    outcome.calls = [f"{call}{describe(list(args))}" for call, args, _ in kit.JOURNAL]
    return outcome


def _numbered(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> NumberedTask:
    return NumberedTask(coro, loop=loop, **kwargs)


async def _native(program: Any, schedule: Schedule, outcome: Outcome) -> Any:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.jumped = outcome.times.append
    task = asyncio.current_task()
    assert task is not None
    if schedule.cancel_s is not None:
        loop.call_at(schedule.cancel_s, task.cancel)
    return await program(schedule.timeout_s)


def _printer(lines: list[str]) -> Any:
    def print_(
        *values: object, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False
    ) -> None:
        if file is not None and file is not sys.stdout:
            print(*values, sep=sep, end=end, file=file, flush=flush)
        else:
            text = sep.join(map(str, values)) + end
            lines.append(text.removesuffix("\n"))

    return print_


# --- our side


def perdure(
    source: Source, name: str, schedule: Schedule = Schedule()
) -> tuple[Outcome, MemoryRun | None]:
    """Run a program in Perdure, in memory."""
    module, flow = source.linked(name)
    sys.modules[source.name] = module
    outcome = Outcome()
    events = [] if schedule.cancel_s is None else [cancel_at(schedule.cancel_s)]
    memory = None
    try:
        memory = run_in_memory(flow, schedule.timeout_s, script=script(schedule), events=events)
    except (Deadlocked, Endless):
        outcome.deadlocked = True
        return outcome, None
    main = memory.run.main
    assert main is not None
    if memory.status == "completed":
        outcome.result = describe(main.value)
    else:
        assert memory.run.error is not None
        _failed(outcome, memory.run.error, source)
    outcome.printed = memory.printed
    outcome.calls = [
        f"{call}{describe(_bound(call, args, kwargs))}" for call, args, kwargs in memory.calls
    ]
    return outcome, memory


def _bound(call: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    bound = inspect.signature(getattr(kit, call).function).bind(*args, **kwargs)
    bound.apply_defaults()
    return list(bound.arguments.values())


def script(schedule: Schedule) -> dict[Any, Any]:
    """Answer the calls of the kit as its bodies do."""
    count = itertools.count()

    def answered(answer: Any) -> Any:
        return raises(Injected("injected"), 1) if next(count) == schedule.fail_call else answer

    return {
        kit.act: lambda value=None: answered(returns(value, 1)),
        kit.slow: lambda value, seconds: answered(returns(value, max(seconds, 0))),
        kit.boom: lambda error, seconds=1.0: answered(raises(error, seconds)),
    }


# --- comparing


def _failed(outcome: Outcome, error: BaseException, source: Source) -> None:
    outcome.error = describe_error(error)
    frames = traceback.extract_tb(error.__traceback__)
    outcome.lines = [
        (frame.lineno, frame.name)
        for frame in _merged([each for each in frames if each.filename == source.file])
    ]


def _merged(frames: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Have a comprehension that has a frame of its own count as part of the frame around it."""
    found: list[traceback.FrameSummary] = []
    for frame in frames:
        name = found.pop().name if frame.name in _COMPREHENSIONS and found else frame.name
        found.append(traceback.FrameSummary(frame.filename, frame.lineno, name))
    return found


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
"""Up to 3.11 each has a frame of its own; in a run those that await have one on every Python."""


def describe(value: Any) -> Any:
    """Give a value as something that compares by type as well as by content."""
    if isinstance(value, BaseException):
        return describe_error(value)
    if isinstance(value, dict):
        return ("dict", [(describe(k), describe(v)) for k, v in value.items()])
    if isinstance(value, (set, frozenset)):
        return ("set", sorted(map(repr, map(describe, value))))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [describe(each) for each in value])
    return (type(value).__name__, repr(value))


def describe_error(error: BaseException | None, depth: int = 0) -> Any:
    """Give an error with its class, arguments, notes, and everything that hangs on it."""
    if error is None or depth > 8:
        return None
    parts = [type(error).__name__, [describe(each) for each in error.args]]
    parts.append(list(getattr(error, "__notes__", [])))
    parts.append(error.__suppress_context__)
    parts.append(describe_error(error.__cause__, depth + 1))
    parts.append(describe_error(error.__context__, depth + 1))
    return parts


def differences(want: Outcome, got: Outcome) -> list[str]:
    """Say in words what differs."""
    if want.deadlocked or got.deadlocked:
        return (
            [] if want.deadlocked == got.deadlocked else [f"deadlock: {want.deadlocked} natively"]
        )
    found = []
    for part in ("result", "error", "printed", "calls", "lines"):
        here, there = getattr(want, part), getattr(got, part)
        if here != there:
            found.append(f"{part}:\n    asyncio: {here}\n    perdure: {there}")
    return found


def schedules(plain: Outcome, most: int = 6) -> list[Schedule]:
    """Give the disturbances of a program: at, and just after, every event that it had."""
    times = sorted(set(plain.times))[:most]
    moments = [moment for time in times for moment in (time, round(time + 0.0625, 6))]
    found = [Schedule(cancel_s=moment) for moment in moments]
    found += [Schedule(timeout_s=moment) for moment in moments]
    found += [Schedule(fail_call=call) for call in range(min(len(plain.calls), most))]
    return found
