"""What clients leave in the store before anybody serves it is taken up in one go, and kept."""

from __future__ import annotations

import asyncio

from perdure import Perdure
from tests.app import flows


def test_a_run_is_on_its_program_though_its_start_and_its_end_are_one_batch(tmp_path):
    async def main():
        async with asyncio.timeout(20):
            async with Perdure(tmp_path / "runs.db", serve=False) as client:
                handle = await client.start(flows.asks, "x", id="a")
                await handle.cancel()
            async with Perdure(tmp_path / "runs.db") as app:
                handle = await app.get("a")
                await asyncio.gather(handle.result(), return_exceptions=True)
                [row] = await app.store.find(["a"])
                assert row.program == flows.asks.program().hash
                assert await handle.status() == "cancelled"

    asyncio.run(main())
