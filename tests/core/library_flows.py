"""Workflows whose classes use asyncio itself: they are not captured, and run as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from perdure import action, workflow


@action
async def act(value: Any = None) -> Any:
    return value


class Library:
    """Stands for code that was written for asyncio and has never heard of Perdure."""

    async def sleeps(self, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return f"slept {seconds}"

    async def gathers(self) -> list[str]:
        return list(await asyncio.gather(self.sleeps(2), self.sleeps(1)))

    async def has_tasks(self) -> list[str]:
        one = asyncio.create_task(self.sleeps(3), name="one")
        names = [one.get_name(), str(asyncio.current_task() is not None)]
        return [*names, await one]

    async def times_out(self) -> str:
        try:
            async with asyncio.timeout(5):
                await self.sleeps(100)
        except TimeoutError:
            return "timed out"
        return "in time"

    async def waits_for(self) -> str:
        try:
            return await asyncio.wait_for(self.sleeps(100), 5)
        except TimeoutError:
            return "timed out"

    async def groups(self) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.sleeps(n)) for n in (3, 1, 2)]
        return [task.result() for task in tasks]

    async def queues(self) -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)

        async def fills() -> None:
            for number in range(3):
                await queue.put(number)

        filler = asyncio.create_task(fills())
        taken = [await queue.get() for _ in range(3)]
        await filler
        return taken

    async def locks(self) -> list[int]:
        lock, order = asyncio.Lock(), []

        async def takes(number: int) -> None:
            async with lock:
                await asyncio.sleep(1)
                order.append(number)

        await asyncio.gather(*(takes(number) for number in range(3)))
        return order

    async def hears(self) -> str:
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(4, event.set)
        await event.wait()
        return f"heard at {asyncio.get_running_loop().time():g}"

    async def has_futures(self) -> str:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "settled")
        return str(await future)

    async def races(self) -> str:
        tasks = [asyncio.ensure_future(self.sleeps(n)) for n in (9, 1)]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return done.pop().result()

    async def shields(self) -> str:
        return await asyncio.shield(self.sleeps(1))

    async def completes(self) -> list[str]:
        each = asyncio.as_completed([asyncio.ensure_future(self.sleeps(n)) for n in (2, 1)])
        return [await one for one in each]

    async def yields(self) -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(1)
            yield number

    async def iterates(self) -> list[int]:
        return [number async for number in self.yields()]

    async def calls(self) -> list[Any]:
        return list(await asyncio.gather(act(1), self.sleeps(1), act(2)))


@workflow
async def uses(name: str) -> Any:
    result = await getattr(Library(), name)()
    await act(result)
    return result


class Outsider:
    async def asks(self, name: str) -> Any:
        return getattr(asyncio.get_running_loop(), name)


@workflow
async def asks_the_loop(name: str) -> Any:
    return await Outsider().asks(name)


class Loud:
    def fails(self) -> None:
        print("half a line", end="")
        raise ValueError("in the middle")


@workflow
async def fails_loudly() -> None:
    Loud().fails()


LEFT: list[AsyncIterator[int]] = []


@workflow
async def leaves_generators() -> None:
    async def counts(number: int) -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            print(f"{number} ends")

    async def begun(number: int) -> AsyncIterator[int]:
        generator = counts(number)
        await anext(generator)
        return generator

    finished = [await begun(number) for number in range(4)]
    while finished:
        [None async for _ in finished.pop(len(finished) // 2)]
    LEFT.extend([await begun(number) for number in range(4, 8)])  # often where the finished were
    await act()
