"""A process that serves workflows of `closing_flows` until it is told to stop."""

from __future__ import annotations

import asyncio
import sys

from perdure import Options, Perdure
from perdure.serving import serve
from tests.real import closing_flows


async def main(file: str, flow: str, *args: str) -> int:
    async def work(app: Perdure) -> int:
        given = map(closing_flows.given, args)
        await (await app.start(getattr(closing_flows, flow), *given, id="a")).result()
        return 0

    return await serve(Perdure(file, options=Options(drain_s=10)), work)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
