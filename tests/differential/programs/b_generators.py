"""Async generators and context managers together with tasks and cancellation."""

import asyncio
import contextlib

from tests.differential.kit import act, boom, slow


async def _count(limit, log):
    try:
        for number in range(limit):
            yield await act(number)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    finally:
        log.append("closed")


async def generator_simple():
    """An async generator with awaits inside, read by async for and comprehension."""
    log = []
    got = [number async for number in _count(3, log)]
    return got, log


async def generator_cancelled_inside():
    """A cancellation that strikes inside of a generator passes through it outwards."""
    log = []

    async def reader():
        async for number in _count(9, log):
            print("read", number)

    task = asyncio.create_task(reader())
    await slow(None, 2.5)
    task.cancel()
    await asyncio.wait([task])
    return log, task.cancelled()


async def generator_cancelled_between():
    """A cancellation of the consumer's own await closes the generator by aclosing."""
    log = []

    async def reader():
        async with contextlib.aclosing(_count(9, log)) as numbers:
            async for number in numbers:
                print("read", number)
                await slow(None, 5.0)

    task = asyncio.create_task(reader())
    await slow(None, 2.0)
    task.cancel()
    await asyncio.wait([task])
    return log, task.cancelled()


async def generator_aclose_runs_finally_with_await():
    """aclose() runs the finally block, awaits in it, and is harmless twice."""

    async def source():
        try:
            yield 1
            yield 2
        finally:
            print("closing", await act("slowly"))

    numbers = source()
    print(await anext(numbers))
    await numbers.aclose()
    print("closed")
    await numbers.aclose()
    return await anext(numbers, "exhausted")


async def generator_athrow_and_asend():
    """asend passes a value in, athrow an error; both come out by the next yield."""

    async def echo():
        got = "start"
        while True:
            try:
                got = yield got
            except ValueError as error:
                got = repr(error)

    talk = echo()
    seen = [await anext(talk), await talk.asend("hello"), await talk.athrow(ValueError("v"))]
    await talk.aclose()
    return seen


async def generator_two_tasks_one_generator():
    """Two tasks that read one generator at the same time: the second is refused."""
    log = []
    numbers = _count(3, log)

    async def reader(name):
        try:
            return name, await anext(numbers)
        except RuntimeError as error:
            return name, type(error).__name__

    got = await asyncio.gather(reader("a"), reader("b"))
    await numbers.aclose()
    return got, log


async def generator_failure_inside():
    """An action that fails inside of a generator comes out of the async for."""

    async def source():
        yield 1
        try:
            yield await boom(KeyError("inside"))
        finally:
            print("finally")

    got = []
    try:
        async for number in source():
            got.append(number)
    except KeyError as error:
        return got, repr(error)


async def generator_break_with_explicit_close():
    """Leaving an async for early and closing by hand runs the finally at the close."""
    log = []
    numbers = _count(9, log)
    async for number in numbers:
        if number == 1:
            break
    log.append("left")
    await numbers.aclose()
    return log


async def generator_left_open_at_the_end():
    """A generator that is still open when main returns is closed at the end of the run."""

    async def source():
        try:
            yield 1
            yield 2
        finally:
            print("closed at the end", await act("with an await"))

    numbers = source()
    print(await anext(numbers))
    asyncio.get_running_loop().call_later(99.0, print, "holds it", numbers)
    return "main over"


async def generator_dropped_half_way():
    """A generator whose last reference goes is closed by a task that the loop starts."""
    log = []
    async for number in _count(9, log):
        if number == 1:
            break
    log.append("left")
    await asyncio.sleep(0)
    log.append("one turn")
    await act()
    return log


async def manager_cancelled_in_block():
    """An async context manager made of a generator sees the cancellation and cleans up."""

    @contextlib.asynccontextmanager
    async def session(name):
        print("open", name)
        try:
            yield name.upper()
        finally:
            print("close", await act(name))

    async def work():
        async with session("s") as got:
            print("using", got)
            await slow(None, 9.0)

    task = asyncio.create_task(work())
    await act()
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


async def manager_stack_unwinds_in_reverse():
    """An AsyncExitStack closes what it holds in reverse order, over a failure."""

    async def close(name, *_):
        print("closing", await act(name))

    try:
        async with contextlib.AsyncExitStack() as stack:
            for name in "abc":
                stack.push_async_callback(close, name)
            await boom(ValueError("in the block"))
    except ValueError as error:
        return repr(error), error.__context__


async def manager_exit_swallows():
    """An __aexit__ that returns true swallows the error of the block."""

    class Swallow:
        async def __aenter__(self):
            return await act("entered")

        async def __aexit__(self, kind, error, trace):
            print("leaving with", await act(repr(error)))
            return kind is ValueError

    async with Swallow() as got:
        print(got)
        raise ValueError("swallowed")
    return "after"


async def iterator_class_with_actions():
    """A class with __aiter__ and __anext__ pages through actions."""

    class Pages:
        def __init__(self, last):
            self.number, self.last = 0, last

        def __aiter__(self):
            return self

        async def __anext__(self):
            if self.number == self.last:
                raise StopAsyncIteration
            self.number += 1
            return await act(f"page {self.number}")

    return [page async for page in Pages(3) if page != "page 2"]
