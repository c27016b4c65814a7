"""A run followed to its end: a tree redrawn in place, plain lines, or an object a line.

    last = await follow(handle, way_for(sys.stderr))

`way_for` chooses by where the output goes; `follow` returns the last picture. For `watch`, `run`
and whoever else shows a run while it goes on. What is drawn is on the stream that is given, so
results may go to another one. Cancelling it leaves the terminal in order.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self, TextIO

from perdure.cli import tree
from perdure.cli.terminal import clean, clip, paint, wants_colour
from perdure.core.picture import Picture, to_data

_FRAME_S = 0.1
"""How often a tree is drawn anew; times go on between facts."""
_LAST_S = 2.0
"""How long the last picture may take to come."""


class Shows(Protocol):
    """What takes the pictures of a run, one after the other."""

    def show(self, picture: Picture) -> None:
        """Take the next picture."""
        ...

    def tick(self) -> None:
        """Some time has passed."""
        ...

    def clear(self) -> None:
        """Make room: something else is about to be written."""
        ...

    def say(self, text: str) -> None:
        """Tell something beside the run."""
        ...

    def close(self) -> None:
        """There are no more."""
        ...


class Followed(Protocol):
    """What can be followed: a handle."""

    def pictures(self) -> AsyncIterator[Picture]:
        """Give a picture now, and another one whenever there is news, to the end."""
        ...


def way_for(stream: TextIO, *, as_json: bool = False) -> Shows:
    """Choose how to show a run on a stream: a live tree on a terminal, lines elsewhere."""
    if as_json:
        return Objects(stream)
    return Screen(stream) if is_terminal(stream) else Lines(stream)


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream leads to a terminal that can move its cursor, to draw in place."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


async def follow(handle: Followed, way: Shows) -> Picture | None:
    """Show a run until it is over; give its last picture."""
    last: Picture | None = None
    ticking = asyncio.create_task(_tick(way))
    try:
        async for picture in handle.pictures():
            last = picture
            way.show(picture)
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        way.close()
    return last


class Beside:
    """A run followed while something else is done: `async with Beside(handle, way): …`.

    At the end it is given a little time to show the end; what goes wrong in it disturbs nothing.
    """

    def __init__(self, handle: Followed, way: Shows) -> None:
        self.handle = handle
        self.way = way
        self._task: asyncio.Task[Picture | None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(follow(self.handle, self.way))
        return self

    def stop(self) -> None:
        """Follow it no longer."""
        if self._task is not None:
            self._task.cancel()

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        assert self._task is not None
        await asyncio.wait([self._task], timeout=_LAST_S if kind is None else 0)
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # it counts as seen


async def _tick(way: Shows) -> None:
    while True:
        await asyncio.sleep(_FRAME_S)
        way.tick()


class Screen:
    """A tree at the end of the terminal, drawn over itself."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.colour = wants_colour(stream)
        self.picture: Picture | None = None
        self.drawn = 0
        self.ticks = 0
        self.last_said = ""

    def show(self, picture: Picture) -> None:
        """Keep it: it is drawn at the next tick, so that a thousand facts are one drawing."""
        is_first = self.picture is None
        self.picture = picture
        if is_first:
            self.tick()

    def tick(self) -> None:
        """Draw what there is."""
        if self.picture is None:
            return
        self.ticks += 1
        self._draw(self.picture, now=dt.datetime.now(dt.UTC))

    def clear(self) -> None:
        """Take the tree away, so that something can be written; the next tick draws it below."""
        if self.drawn:
            self.stream.write(f"\r\x1b[{self.drawn}A\x1b[J")
            self.stream.flush()
            self.drawn = 0

    def say(self, text: str) -> None:
        """Write a line above the tree, and keep it below for as long as nothing else is said."""
        self.clear()
        self.last_said = clean(text)
        self.stream.write(f"{paint(self.last_said, 'bold', on=self.colour)}\n")
        self.tick()

    def close(self) -> None:
        """Leave the whole last picture above the cursor."""
        if self.picture is not None:
            is_over = self.picture.ended is not None
            self._draw(self.picture, now=None if is_over else dt.datetime.now(dt.UTC), last=True)
            self.stream.write("\x1b[?25h")
            self.stream.flush()
            self.picture, self.drawn = None, 0

    def _draw(self, picture: Picture, *, now: dt.datetime | None, last: bool = False) -> None:
        columns, rows = shutil.get_terminal_size()
        found = tree.lines(
            picture,
            width=columns - 1,
            height=None if last else rows - (2 if self.last_said else 1),
            colour=self.colour,
            now=now,
            tick=None if last else self.ticks,
        )
        if self.last_said and not last:
            found.append(paint(clip(self.last_said, columns - 1), "bold", on=self.colour))
        up = f"\x1b[{self.drawn}A" if self.drawn else ""
        body = "".join(f"\x1b[2K{line}\n" for line in found)
        self.stream.write(f"\x1b[?25l\r{up}\x1b[J{body}" if up else f"\x1b[?25l{body}")
        self.stream.flush()
        self.drawn = len(found)


class Lines:
    """One line for each change, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.before: Picture | None = None

    def show(self, picture: Picture) -> None:
        """Write what is new."""
        new = tree.changes(self.before, picture)
        found = [tree.change_line(node, picture.at) for node in new if tree.is_worth_a_line(node)]
        if not picture.nodes:
            found = picture.recent[-1:]
        self._write(found)
        self.before = picture

    def tick(self) -> None:
        """Nothing: time alone is no news."""

    def clear(self) -> None:
        """Nothing is in the way."""

    def say(self, text: str) -> None:
        """Write it."""
        self._write([clean(text)])

    def close(self) -> None:
        """Say how it ended."""
        if self.before is not None:
            ended = [line for line, _ in tree.ending(self.before) if line]
            self._write([f"{self.before.id}  {self.before.status}", *ended])

    def _write(self, lines: Sequence[str]) -> None:
        if lines:
            self.stream.write("\n".join(lines) + "\n")
            self.stream.flush()


class Objects:
    """One JSON object for each picture: how the run stands, and the nodes that changed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.before: Picture | None = None

    def show(self, picture: Picture) -> None:
        """Write it."""
        self.stream.write(json.dumps(event(self.before, picture)) + "\n")
        self.stream.flush()
        self.before = picture

    def tick(self) -> None:
        """Nothing."""

    def clear(self) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing: it is not of the run."""

    def close(self) -> None:
        """Nothing."""


def event(before: Picture | None, after: Picture) -> dict[str, Any]:
    """Give a picture without the nodes that stand as before."""
    new = {node.id for node in tree.changes(before, after)}
    data = to_data(after)
    data["nodes"] = [node for node in data["nodes"] if node["id"] in new]
    return data
