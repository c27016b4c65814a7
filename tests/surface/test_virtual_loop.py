"""`VirtualLoop`: asyncio's own loop, whose time jumps from timer to timer."""

# ruff: noqa: ASYNC110  (users write such things, and that is what is tested)

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from perdure.errors import Deadlocked, Endless
from perdure.testing import VirtualLoop


def run(main: Coroutine[Any, Any, Any], loop: Any = VirtualLoop) -> Any:
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main)


def test_a_sleep_of_a_year_takes_no_time() -> None:
    async def main() -> float:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(365 * 86_400)
        return asyncio.get_running_loop().time() - before

    began = time.monotonic()
    assert run(main()) == 365 * 86_400
    assert time.monotonic() - began < 5


def test_timers_come_in_order_and_equal_ones_by_age() -> None:
    came: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for delay, name in [(2, "c"), (1, "a"), (3, "d"), (1, "b")]:
            loop.call_later(delay, came.append, name)
        await asyncio.sleep(3)

    run(main())
    assert "".join(came) == "abcd"


def test_all_that_follows_from_a_timer_happens_before_the_next() -> None:
    came: list[str] = []

    async def tells(name: str) -> None:
        await asyncio.sleep(1)
        for step in range(3):
            came.append(f"{name}{step}")
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(tells("a"), tells("b"))

    run(main())
    assert came == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_a_cancelled_timer_does_not_come() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        loop.call_later(100, pytest.fail, "it came").cancel()
        await asyncio.sleep(200)
        return loop.time()

    assert run(main()) == 200


def test_cancelled_timers_move_no_clock() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1_000):
                await asyncio.sleep(1)
        return loop.time()

    assert run(main()) == 1


def test_time_begins_where_it_is_told() -> None:
    async def main() -> float:
        await asyncio.sleep(5)
        return asyncio.get_running_loop().time()

    assert run(main(), lambda: VirtualLoop(100)) == 105


def test_every_jump_can_be_heard() -> None:
    heard: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.jumped = heard.append  # type: ignore[attr-defined]
        for seconds in (5, 0, 7):
            await asyncio.sleep(seconds)

    run(main())
    assert heard == [5, 12]


def test_when_nothing_can_happen_it_is_a_deadlock() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlocked, match=r"^E307 nothing is left that could happen; "):
        run(main())


def works() -> str:
    """Take real time in a thread: a little more than a loop needs to find nothing to do."""
    threading.Event().wait(0.05)
    return "worked"


def run_bare(main: Coroutine[Any, Any, Any]) -> Any:
    """Run without a runner, which would wait for threads at its end."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def test_a_thread_that_may_still_answer_is_no_deadlock() -> None:
    async def main() -> Any:
        return await asyncio.to_thread(works)

    assert run_bare(main()) == "worked"


def test_a_thread_of_any_pool_may_still_answer() -> None:
    async def main() -> Any:
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, works)

    assert run_bare(main()) == "worked"


def test_while_a_thread_works_no_time_passes() -> None:
    async def main() -> Any:
        worked = await asyncio.wait_for(asyncio.to_thread(works), 5)
        return worked, asyncio.get_running_loop().time()

    assert run_bare(main()) == ("worked", 0)


def test_the_end_waits_for_threads_that_still_work() -> None:
    async def main() -> None:
        asyncio.get_running_loop().run_in_executor(None, works)

    run(main())


def test_a_test_without_end_is_stopped(monkeypatch: Any) -> None:
    monkeypatch.setattr(VirtualLoop, "jumps_max", 100)

    async def main() -> None:
        while True:
            await asyncio.sleep(1)

    with pytest.raises(Endless, match=r"^E305 100 events passed and there is no end; "):
        run(main())
