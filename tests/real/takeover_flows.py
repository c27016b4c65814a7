"""A process that is to die with an action under way; the next one does it again, and says so."""

from __future__ import annotations

import asyncio
import os
import sys

from perdure import Perdure, action, signal, workflow
from tests.real.kit import say


@action
async def held() -> str:
    if "HELD" not in os.environ:
        return "second"
    say("begun")
    await asyncio.Event().wait()
    return "never"


@workflow
async def holds_and_waits() -> list[str]:
    return list(await asyncio.gather(held(), signal("word", str)))


@workflow
async def waits() -> str:
    return await signal("word", str)


async def main(file: str) -> None:
    os.environ["HELD"] = "yes"
    async with Perdure(file) as app:
        await app.start(holds_and_waits, id="a")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
