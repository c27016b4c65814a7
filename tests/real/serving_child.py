"""A process that serves a store: what a signal does to it is seen from outside."""

from __future__ import annotations

import asyncio
import sys
import time

import perdure
from perdure import Options, Perdure, action, workflow
from perdure.serving import serve
from tests.real.kit import say


@action
async def quick(seconds: float) -> str:
    say("begun")
    await asyncio.sleep(seconds)
    return f"attempt {perdure.attempt().number}"


@action(at_most_once=True)
async def once(seconds: float) -> str:
    say("begun")
    await asyncio.sleep(seconds)
    return "done"


@action
async def stubborn() -> str:
    say("begun")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("unmoved")
    return "never"


@action
def deaf() -> str:
    say("begun")
    time.sleep(60)
    return "never"


@action
async def blocking() -> str:
    say("begun")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    return "never"


@workflow
async def one_quick(seconds: float) -> str:
    return await quick(seconds)


@workflow
async def one_once(seconds: float) -> str:
    return await once(seconds)


@workflow
async def one_stubborn() -> str:
    return await stubborn()


@workflow
async def one_deaf() -> str:
    return await deaf()


@workflow
async def one_blocking() -> str:
    return await blocking()


FLOWS = {each.name.rpartition(":")[2]: each for each in (
    one_quick, one_once, one_stubborn, one_deaf, one_blocking
)}  # fmt: skip


async def main(file: str, drain_s: str, flow: str, *given: str) -> int:
    async def work(app: Perdure) -> int:
        handle = await app.start(FLOWS[flow], *map(float, given), id="a")
        say("result", await handle.result())
        return 7

    return await serve(
        Perdure(file, options=Options(drain_s=float(drain_s))), work, ready=lambda: say("ready")
    )


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
