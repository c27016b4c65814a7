"""The watchdog: a thread that sees when the loop does not come back, and says why.

Inline code of a workflow that hangs is interrupted, and its run stopped; an action that blocks the
loop is named, with its stack. Code that hangs in C can only be reported.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import traceback
from types import FrameType

from perdure.node.house import House

_TICK_S = 0.2
_AGAIN_S = 0.05


class Hang(BaseException):
    """Thrown into inline code that does not come back; never seen by anybody else."""


class Watchdog:
    """Watches the loop of one node, from a thread."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.watched = threading.get_ident()
        self.stopping = threading.Event()
        self.answered = threading.Event()
        self.answered.set()
        self.asked_s = 0.0
        self.told = False
        self.thread = threading.Thread(target=self._watch, daemon=True, name="perdure-watchdog")

    def start(self) -> None:
        """Begin."""
        self.thread.start()

    def stop(self) -> None:
        """End."""
        self.stopping.set()
        self.thread.join()

    def _watch(self) -> None:
        tick_s = _TICK_S
        while not self._rest(tick_s):
            tick_s = _AGAIN_S if self._fold_hangs() else _TICK_S
            self._ask()

    def _rest(self, tick_s: float) -> bool:
        """Wait a little; say whether that is the end.

        What came too late although this process did not use the time, it was not given: the machine
        is busy, and nobody here has blocked the loop.
        """
        begun_s, spent_s = time.monotonic(), time.process_time()
        ends = self.stopping.wait(tick_s)
        late_s = time.monotonic() - begun_s - tick_s
        self.asked_s += max(0.0, late_s - (time.process_time() - spent_s))
        return ends

    def _fold_hangs(self) -> bool:
        """Interrupt a fold that takes too long, again and again until it ends."""
        node = self.node
        with node.fold_guard:
            folding = node.folding
            if folding is None:
                return False
            resident, begun = folding
            if time.perf_counter() - begun < node.options.inline_s:
                return False
            node.interrupt = (
                f"inline code of run `{resident.id}` has not come back for "
                f"{node.options.inline_s:g} s, at {_place(self.watched)}"
            )
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.watched), ctypes.py_object(Hang)
            )
            return True

    def _ask(self) -> None:
        """See whether the loop answers; if not, say what it does instead."""
        now_s = time.monotonic()
        if self.answered.is_set():
            self.answered.clear()
            self.asked_s = now_s
            self.told = False
            try:
                self.node.loop.call_soon_threadsafe(self.answered.set)
            except RuntimeError:  # the loop is closed
                self.stopping.set()
        elif not self.told and now_s - self.asked_s > self.node.options.blocked_s:
            if _links(self.watched):
                self.asked_s = now_s  # what comes after it is counted from here
                return
            self.told = True
            self.node.options.warn(
                f"the loop has been blocked for {now_s - self.asked_s:.1f} s: "
                f'use run_in="thread", or await\n{_stack(self.watched)}'
            )


def _frames(thread: int) -> list[FrameType]:
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _links(thread: int) -> bool:
    """Whether it is we who block: a workflow is linked once, and nobody can help it."""
    names = (frame.f_globals.get("__name__", "") for frame in _frames(thread))
    return any(name.startswith("perdure.lang.") for name in names)


def _place(thread: int) -> str:
    for frame in _frames(thread):
        if not frame.f_globals.get("__name__", "").startswith("perdure."):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return "an unknown place"


def _stack(thread: int) -> str:
    frames = _frames(thread)
    if not frames:
        return ""
    lines = traceback.format_stack(frames[0])
    return "".join(lines[-6:]).rstrip()
