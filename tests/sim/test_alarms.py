"""Alarms by a clock that people may set, on a loop that does not hear of it."""

from __future__ import annotations

import asyncio

from perdure.node.alarms import Alarms
from perdure.testing import VirtualLoop


def test_a_clock_that_was_set_forward_rings_at_the_next_look_and_one_set_back_waits():
    rung: list[tuple[float, list[int]]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        skew_us = 0

        def now_us() -> int:
            return int(loop.time() * 1_000_000) + skew_us

        alarms = Alarms(
            loop, now_us, lambda rids: rung.append((loop.time(), rids)), lambda _, due_us: due_us
        )
        alarms.push(600_000_000, 1)
        alarms.push(900_000_000, 2)
        alarms.look()
        assert not rung
        skew_us = 600_000_000
        alarms.look()
        assert rung == [(0.0, [1])]
        skew_us = -100_000_000
        await asyncio.sleep(2_000)
        assert rung[1:] == [(1_000.0, [2])]
        alarms.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
