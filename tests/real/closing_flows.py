"""Workflows and actions that are under way when an engine ends, in this process or its own."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import perdure
from perdure import Options, Perdure, action, signal, workflow
from tests.real.kit import say


@action
async def step(name: str) -> str:
    """Say that it has begun; wait if a file of that name is there."""
    is_held = Path(name).exists()
    say("begun", name)
    if is_held:
        await asyncio.sleep(60)
    return f"attempt {perdure.attempt().number}"


@action(run_in="process")
def apart(name: str) -> str:
    is_held = Path(name).exists()
    Path(f"{name}.pid").write_text(str(os.getpid()))
    if is_held:
        time.sleep(60)
    return f"attempt {perdure.attempt().number}"


@action
def late(seconds: float) -> str:
    say("begun", "late")
    time.sleep(seconds)
    return "late"


@action
async def blocks(seconds: float) -> str:
    say("begun", "blocks")
    time.sleep(seconds)
    return "back"


@action
async def forks() -> int:
    """Fork, as code of long ago does, and let the other one come back as well."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return child and 1


@action
def forks_in_thread() -> int:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return child and 1


@action
async def leaves_a_child(seconds: float) -> int:
    """Leave a forked process behind that lives longer than this one."""
    child = os.fork()
    if not child:
        time.sleep(seconds)
        os._exit(0)
    say("begun", child)
    await asyncio.sleep(60)
    return child


@action
async def opens_file(file: str) -> None:
    sqlite3.connect(file)


@workflow
async def opens(file: str) -> None:
    await opens_file(file)


@workflow
async def one_step(name: str) -> str:
    return await step(name)


@workflow
async def one_apart(name: str) -> str:
    return await apart(name)


@workflow
async def one_late(seconds: float) -> str:
    return await late(seconds)


@workflow
async def one_blocking(seconds: float) -> str:
    return await blocks(seconds)


@workflow
async def two_forks() -> list[int]:
    return [await forks(), await forks_in_thread()]


@workflow
async def one_left_behind(seconds: float) -> int:
    return await leaves_a_child(seconds)


@workflow
async def asks() -> str:
    return await signal("word", str)


async def until_told(app: Perdure) -> None:
    await asyncio.Event().wait()


async def raises(app: Perdure) -> None:
    await asyncio.sleep(0.3)
    raise LookupError("of the user")


async def leaves(app: Perdure) -> None:
    await asyncio.sleep(0.3)
    sys.exit(3)


WAYS: dict[str, Callable[[Perdure], Awaitable[None]]] = {
    each.__name__: each for each in (until_told, raises, leaves)
}


def given(text: str) -> Any:
    """Read an argument."""
    return float(text) if text[0].isdigit() else text


async def main(file: str, way: str, flow: str, *args: str) -> None:
    """Start a run, and end in some way that is not `serve`'s."""
    async with Perdure(file, options=Options(drain_s=0.1)) as app:
        if flow != "none":
            await app.start(globals()[flow], *map(given, args), id="a")
        say("ready")
        await WAYS[way](app)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
