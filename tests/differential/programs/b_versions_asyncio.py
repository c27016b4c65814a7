"""Programs whose result depends on the version of Python; each says what differs."""

import asyncio
import contextvars

from tests.differential.kit import act, boom, slow

_WHO = contextvars.ContextVar("who", default="nobody")


# 3.11 cancels the inner task anew, without the message; from 3.12 on it arrives.
async def versions_wait_for_cancel_message():
    """The message of an outside cancel inside of what wait_for waits for."""

    async def inner():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError as error:
            print("inner", error.args)
            raise

    async def body():
        await asyncio.wait_for(inner(), 5.0)

    task = asyncio.create_task(body())
    await act()
    task.cancel("outside")
    await asyncio.wait([task])
    return task.cancelled()


# 3.11 runs a coroutine under wait_for in a task of its own; from 3.12 on in the caller's.
async def versions_wait_for_is_a_task():
    """Whether a coroutine under wait_for runs in the caller's task and context."""

    async def inner():
        _WHO.set("inner")
        return asyncio.current_task() is caller

    caller = asyncio.current_task()
    return await asyncio.wait_for(inner(), 5.0), _WHO.get()


# 3.11 needs turns of the loop to start and to collect the task; from 3.12 on none.
async def versions_wait_for_turns():
    """How many turns of the loop a wait_for takes around something immediate."""
    turns = []

    async def tick():
        for number in range(6):
            turns.append(number)
            await asyncio.sleep(0)

    async def immediate():
        return "now"

    task = asyncio.create_task(tick())
    got = await asyncio.wait_for(immediate(), 5.0)
    seen = len(turns)
    await task
    return got, seen


# Up to 3.12 a TypeError; from 3.13 on the future fails with a RuntimeError.
async def versions_future_stop_iteration():
    """A future that is given StopIteration as its exception."""
    future = asyncio.get_running_loop().create_future()
    try:
        future.set_exception(StopIteration("s"))
    except TypeError as error:
        return "refused", error.args, future.done()
    try:
        await future
    except RuntimeError as error:
        return "wrapped", error.args, repr(error.__cause__)


# From 3.13 on as_completed is an async iterator as well; before, async for is a TypeError.
async def versions_completed_async_for():
    """async for over as_completed gives the tasks themselves."""
    tasks = [asyncio.create_task(slow(n, float(n)), name=str(n)) for n in (3, 1, 2)]
    order = []
    try:
        async for task in asyncio.as_completed(tasks):
            order.append((task.get_name(), await task))
    except TypeError as error:
        print(type(error).__name__)
        order = await asyncio.gather(*tasks)
    return order


# Queue.shutdown came with 3.13.
async def versions_queue_shutdown():
    """A queue that is shut down gives what it has and then refuses."""
    queue = asyncio.Queue()
    queue.put_nowait("last")
    try:
        queue.shutdown()
    except AttributeError as error:
        return type(error).__name__, await queue.get()
    print(await queue.get())
    for call in (queue.get, lambda: queue.put("more")):
        try:
            await call()
        except asyncio.QueueShutDown as error:
            print(repr(error))
    return queue.qsize()


# From 3.13 on a TimeoutError stands in the context chain of an error raised instead.
async def versions_timeout_error_in_the_chain():
    """The context of an error that a block raises when its timeout strikes."""
    try:
        async with asyncio.timeout(1.0):
            try:
                await slow(None, 9.0)
            finally:
                raise ValueError("instead")
    except ValueError as error:
        chain = []
        while error is not None:
            chain.append(type(error).__name__)
            error = error.__context__
        return chain


# 3.13 drops a cancel that is taken back before it was delivered; before, it strikes anyhow.
async def versions_uncancel_before_delivery():
    """A task that cancels itself and takes it back before it suspends."""

    async def body():
        me = asyncio.current_task()
        me.cancel()
        print(me.uncancel())
        try:
            await act()
        except asyncio.CancelledError:
            return "struck all the same"
        return "not struck"

    return await asyncio.create_task(body())


# 3.13 refuses to sleep for a time that is no number; before, nan is a delay like another.
async def versions_sleep_not_a_number():
    """sleep(nan): whether it fails at once or waits until it is cancelled."""
    task = asyncio.create_task(asyncio.sleep(float("nan"), "slept"))
    await asyncio.sleep(0)
    done = task.done()
    task.cancel()
    got = await asyncio.gather(task, return_exceptions=True)
    return done, [repr(one) for one in got]


# Task.get_context came with 3.12.
async def versions_task_get_context():
    """The context of a task, asked from outside."""
    _WHO.set("creator")
    task = asyncio.create_task(act("result"))
    _WHO.set("later")
    try:
        seen = task.get_context()[_WHO]
    except AttributeError as error:
        seen = type(error).__name__
    return seen, await task


# 3.13 delivers the outside cancel at the first await behind the group; before, it is lost.
async def versions_group_failure_and_cancel_at_once():
    """A task whose group fails and which is cancelled from outside in the same turn."""

    async def holder():
        try:
            async with asyncio.TaskGroup() as group:
                child = group.create_task(boom(ValueError("bad"), 1.0))
                child.add_done_callback(lambda _: task.cancel("outside"))
                await slow(None, 9.0)
        except* ValueError as errors:
            print("caught", errors.exceptions, asyncio.current_task().cancelling())
        await asyncio.sleep(0)
        return "went on"

    task = asyncio.create_task(holder())
    got = await asyncio.gather(task, return_exceptions=True)
    return [repr(one) for one in got]


# 3.13 cancels the body again at the end of the inner group, for the outer one; before, that
# cancel is lost and the outer body goes on.
async def versions_group_nested_failures_at_once():
    """An outer group that fails while the inner one is failing already."""

    async def sore():
        try:
            await slow(None, 9.0)
        finally:
            await boom(KeyError("inner"), 0.5)

    try:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(boom(OSError("outer"), 1.0))
            try:
                async with asyncio.TaskGroup() as inner:
                    inner.create_task(sore())
                    await slow(None, 9.0)
            except* KeyError as errors:
                print("inner", errors.exceptions, asyncio.current_task().cancelling())
            await asyncio.sleep(0)
            print("outer body goes on")
    except* OSError as errors:
        print("outer", errors.exceptions)
    return asyncio.current_task().cancelling()
