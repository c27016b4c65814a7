"""Thirty-odd poisonous actions, each for the loop, for a thread, and for a process of its own.

`POISONS` says of each what becomes of its run: a name of an error class, `completed`, or what else
the row of the run says. Where that depends on who does the work, it says so by kind.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import inspect
import locale
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure import Action, action, workflow

KINDS = ("loop", "thread", "process")
DONE, LOST, LATE = "completed", "HolderLost", "ActionTimeout"
LATE_S = 0.5
CHANGES = {
    "change_locale", "empty_environment", "forget_modules", "ignore_signals", "leave_folder",
    "wreck_output",
}  # fmt: skip
"""What harms others of its process that rely on what it changes: no engine can undo that."""
POISONS: dict[str, dict[str, str]] = {}
ACTIONS: dict[str, Action[[], Any]] = {}


def poison(
    *becomes: str, timeout: float | None = None, kinds: tuple[str, ...] = KINDS
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Make three actions of a function; `becomes` is one for all kinds, or one for each."""

    def decorate(function: Callable[[], Any]) -> Callable[[], Any]:
        name = function.__name__
        POISONS[name] = dict(zip(kinds, becomes * (len(kinds) // len(becomes)), strict=True))
        for kind in kinds:
            body = _on_loop(function) if kind == "loop" else function
            full = f"{__name__}:{name}_{kind}"
            ACTIONS[f"{name}_{kind}"] = action(name=full, run_in=kind, timeout=timeout)(body)
        return function

    return decorate


def _on_loop(function: Callable[[], Any]) -> Callable[[], Any]:
    async def body() -> Any:
        given = function()
        return await given if inspect.iscoroutine(given) else given

    return body


@workflow
async def swallow(name: str) -> str:
    """Run one poisonous action."""
    return repr(await ACTIONS[name]())[:80]


@action
async def on_loop() -> str:
    await asyncio.sleep(0)
    return "loop"


@action
def on_thread() -> str:
    return "thread"


@workflow
async def innocent() -> list[str]:
    """What others do meanwhile."""
    return [await on_loop(), await on_thread()]


# --- what kills its process


@poison(LOST)
def segfault() -> None:
    ctypes.string_at(0)


@poison(LOST)
def exit_at_once() -> None:
    os._exit(3)


@poison(LOST)
def abort() -> None:
    os.abort()


@poison(LOST)
def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- what raises


@poison("SystemExit")
def system_exit() -> None:
    sys.exit(3)


@poison("KeyboardInterrupt")
def keyboard_interrupt() -> None:
    raise KeyboardInterrupt


class Baneful(BaseException):
    """Not an Exception."""


@poison("Baneful")
def base_exception() -> None:
    raise Baneful("of no known kind")


@poison("GeneratorExit")
def generator_exit() -> None:
    raise GeneratorExit


@poison("RuntimeError")
def stop_iteration() -> None:
    raise StopIteration(7)


@poison("CancelledError")
def cancel_itself() -> None:
    raise asyncio.CancelledError("by itself")


@poison("MemoryError")
def no_memory() -> bytearray:
    return bytearray(1 << 62)


@poison("RecursionError")
def deep_recursion() -> int:
    return deep_recursion() + 1


class Unspeakable(Exception):
    """One that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


@poison("Unspeakable")
def error_without_text() -> None:
    raise Unspeakable


class Unmakeable(Exception):
    """One that cannot be made from its arguments."""

    def __init__(self, *, only: threading.Lock) -> None:
        self.only = only
        super().__init__(only, object())


@poison("Unmakeable")
def error_that_cannot_be_rebuilt() -> None:
    raise Unmakeable(only=threading.Lock())


class RaisesInDel:
    """One that makes trouble when it goes."""

    def __del__(self) -> None:
        raise ValueError("in __del__")


@poison(DONE)
def raise_in_del() -> str:
    RaisesInDel()
    gc.collect()
    return "gone"


# --- what gives something that is none


@poison("NotEncodable")
def unencodable() -> object:
    return threading.Lock()


@poison("ValueTooLarge")
def too_large() -> str:
    return "x" * (9 << 20)


@poison("NotEncodable")
def generator() -> Any:
    return (n for n in range(3))


@poison(DONE)
def never_awaited() -> str:
    asyncio.sleep(1)  # type: ignore[unused-coroutine]
    return "not awaited"


# --- what does not end


@poison(LATE, timeout=LATE_S, kinds=("thread", "process"))
def busy() -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        pass


@poison(DONE, kinds=("loop",))
def busy_for_a_while() -> str:
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        pass
    return "back"


@poison(DONE)
def hold_the_interpreter() -> str:
    ctypes.PyDLL(None).usleep(1_200_000)
    return "back"


@poison(DONE, LATE, LATE, timeout=LATE_S)
def sleep() -> str:
    time.sleep(1.2)
    return "back"


@poison(LATE, timeout=LATE_S, kinds=KINDS)
async def deaf() -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            continue


# --- what changes its process


@poison(LOST, kinds=("process",))
def close_files() -> str:
    os.closerange(3, 400)
    return "closed"


@poison(DONE)
def much_output() -> str:
    for _ in range(int(os.environ.get("POISON_MEGABYTES", "5"))):
        sys.stdout.write("x" * (1 << 20))
    sys.stdout.flush()
    return "printed"


@poison(DONE, kinds=("loop", "thread"))
def kill_children() -> str:
    here = os.getpid()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == here:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue
    return "killed"


@poison(DONE)
def leave_folder() -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
    return "in a folder that is gone"


@poison(DONE, "ValueError", DONE)
def ignore_signals() -> str:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(each, signal.SIG_IGN)
    return "deaf"


@poison(DONE)
def change_locale() -> str:
    return locale.setlocale(locale.LC_ALL, "C")


@poison(DONE)
def forget_modules() -> str:
    for name in (__name__, "json", "msgspec", "perdure.values", "perdure"):
        sys.modules.pop(name, None)
    return "forgotten"


@poison(DONE)
def empty_environment() -> str:
    os.environ.clear()
    return "empty"


@poison(DONE)
def wreck_output() -> str:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]
    return "no output"


@poison(DONE)
def fork() -> int:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return 1 if child else 0


@poison(DONE)
def leave_threads() -> str:
    for _ in range(5):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return "five"


@poison(DONE, kinds=("loop",))
def stop_loop() -> str:
    asyncio.get_running_loop().stop()
    return "stopped"
