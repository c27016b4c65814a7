"""asyncio.timeout, timeout_at and wait_for."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _noted(name, seconds):
    try:
        return await slow(name, seconds)
    except asyncio.CancelledError as error:
        print("cancelled", name, error.args)
        raise


async def timeout_in_time():
    """A block that is faster than its timeout is not disturbed."""
    async with asyncio.timeout(2.0) as limit:
        got = await act("quick")
    return got, limit.expired(), asyncio.current_task().cancelling()


async def timeout_too_late():
    """A block that is too slow is cancelled and raises TimeoutError."""
    try:
        async with asyncio.timeout(1.0) as limit:
            await _noted("slow", 5.0)
    except TimeoutError as error:
        print(error.args, limit.expired())
    return asyncio.current_task().cancelling()


async def timeout_error_is_builtin():
    """asyncio.TimeoutError is TimeoutError, an OSError; its context is a CancelledError."""
    try:
        async with asyncio.timeout(0.5):
            await slow(None, 5.0)
    except asyncio.TimeoutError as error:
        print(isinstance(error, OSError), asyncio.TimeoutError is TimeoutError)
        return type(error.__cause__).__name__, type(error.__context__).__name__


async def timeout_none():
    """timeout(None) never fires."""
    async with asyncio.timeout(None) as limit:
        got = await slow("long", 500.0)
    return got, limit.when(), limit.expired()


async def timeout_zero():
    """timeout(0) strikes at the first suspension, not before."""
    try:
        async with asyncio.timeout(0):
            print("runs up to here")
            await asyncio.sleep(0)
            print("one turn may pass")
            await slow(None, 1.0)
            print("never")
    except TimeoutError:
        return "timed out"


async def timeout_zero_without_suspension():
    """timeout(0) around a block that does not suspend leaves it alone."""
    async with asyncio.timeout(0) as limit:
        print("no await")
    got = await act("after")
    return got, limit.expired()


async def timeout_nested_inner_fires():
    """Of two nested timeouts the inner one fires; the outer one lives on."""
    async with asyncio.timeout(5.0) as outer:
        try:
            async with asyncio.timeout(1.0) as inner:
                await slow(None, 9.0)
        except TimeoutError:
            print("inner", inner.expired(), outer.expired())
        return await act("after")


async def timeout_nested_outer_fires():
    """The outer timeout goes through the inner block as CancelledError."""
    try:
        async with asyncio.timeout(1.0) as outer:
            try:
                async with asyncio.timeout(5.0) as inner:
                    await slow(None, 9.0)
            except TimeoutError:
                print("not the inner one")
            except asyncio.CancelledError:
                print("passing through")
                raise
    except TimeoutError:
        return inner.expired(), outer.expired()


# The clock tells what is due together one by one, the older first, each to its end.
async def timeout_nested_same_time():
    """Two nested timeouts due at the same time."""
    try:
        async with asyncio.timeout(1.0) as outer:
            try:
                async with asyncio.timeout(1.0) as inner:
                    await slow(None, 9.0)
            finally:
                print("inner", inner.expired(), "outer", outer.expired())
    except TimeoutError:
        print("inner", inner.expired(), "outer", outer.expired())
    return asyncio.current_task().cancelling()


async def timeout_reschedule_later():
    """A timeout moved away in time lets the block finish."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(1.5) as limit:
        print(await act(1))
        limit.reschedule(loop.time() + 1.5)
        print(await act(2))
        limit.reschedule(None)
        print(limit.when())
        return await slow("end", 10.0)


async def timeout_reschedule_sooner():
    """A timeout moved nearer fires at its new time."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(100.0) as limit:
            await act()
            limit.reschedule(start + 2.0)
            await slow(None, 50.0)
    except TimeoutError:
        return loop.time() - start


async def timeout_reschedule_into_the_past():
    """A timeout moved into the past fires at the next suspension."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(None) as limit:
            await slow(None, 3.0)
            limit.reschedule(start + 1.0)
            print("still running")
            await slow(None, 3.0)
    except TimeoutError:
        return loop.time() - start, limit.expired()


async def timeout_reschedule_when_over():
    """A timeout that is over, or was never entered, cannot be moved."""
    async with asyncio.timeout(1.0) as limit:
        await asyncio.sleep(0)
    for which in (limit, asyncio.timeout(1.0)):
        try:
            which.reschedule(5.0)
        except (RuntimeError, AssertionError) as error:
            print(type(error).__name__)
    return "done"


async def timeout_at_absolute():
    """timeout_at takes the loop's own time."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    done = []
    try:
        async with asyncio.timeout_at(start + 2.5) as limit:
            for number in range(10):
                done.append(await act(number))
    except TimeoutError:
        return done, limit.when() - start, loop.time() - start


async def timeout_swallowed_inside():
    """A block that swallows the cancellation ends without TimeoutError, yet expired."""
    try:
        async with asyncio.timeout(1.0) as limit:
            try:
                await slow(None, 9.0)
            except asyncio.CancelledError:
                print("swallowed", asyncio.current_task().cancelling())
    except TimeoutError:
        print("timed out")
    return limit.expired(), asyncio.current_task().cancelling()


async def timeout_swallowed_then_goes_on():
    """After swallowing the cancellation a block may go on awaiting, without a limit."""
    async with asyncio.timeout(1.0) as limit:
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            got = await slow("went on", 5.0)
    return got, limit.expired()


async def timeout_with_awaiting_finally():
    """A finally that awaits runs to its end after the timeout has struck."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.timeout(1.0):
            try:
                await slow(None, 9.0)
            finally:
                print(await slow("clean", 2.0))
    except TimeoutError:
        return loop.time() - start


async def timeout_body_raises_own_error_late():
    """An error raised while the timeout strikes comes out instead of TimeoutError."""
    try:
        async with asyncio.timeout(1.0) as limit:
            try:
                await slow(None, 9.0)
            except asyncio.CancelledError:
                raise ValueError("own") from None
    except ValueError as error:
        return repr(error), limit.expired()


async def timeout_body_raises_in_time():
    """An error of the body before the limit passes unchanged and stops the timer."""
    try:
        async with asyncio.timeout(5.0) as limit:
            await boom(KeyError("k"), 1.0)
    except KeyError:
        await slow(None, 10.0)
    return limit.expired(), asyncio.current_task().cancelling()


async def timeout_of_a_cancelled_task():
    """A task cancelled from outside under a timeout ends as cancelled, not timed out."""

    async def body():
        async with asyncio.timeout(5.0):
            await _noted("body", 9.0)

    task = asyncio.create_task(body())
    await act()
    task.cancel("outside")
    got = await asyncio.gather(task, return_exceptions=True)
    return type(got[0]).__name__, task.cancelled()


async def timeout_around_gather():
    """A timeout around a gather cancels all of its children, in order."""
    try:
        async with asyncio.timeout(2.0):
            await asyncio.gather(_noted("a", 5.0), _noted("b", 1.0), _noted("c", 9.0))
    except TimeoutError:
        return "timed out"


async def timeout_around_group():
    """A timeout around a group with one child left cancels it and raises TimeoutError."""
    try:
        async with asyncio.timeout(2.0):
            async with asyncio.TaskGroup() as group:
                group.create_task(_noted("late", 5.0))
                quick = group.create_task(_noted("quick", 1.0))
    except TimeoutError:
        return quick.result()


async def timeout_in_a_loop_of_retries():
    """Three tries with growing limits; the third succeeds."""
    for limit in (1.0, 2.0, 4.0):
        try:
            async with asyncio.timeout(limit):
                return limit, await _noted("job", 3.0)
        except TimeoutError:
            print("limit", limit, "was too short")


async def timeout_propagates_out():
    """A TimeoutError that nobody catches comes out with its chain."""
    async with asyncio.timeout(1.0):
        await slow(None, 9.0)
    return "unreachable"


async def timeout_and_action_at_the_same_time():
    """An action and a timeout due together: the older one, the timeout, goes first."""
    try:
        async with asyncio.timeout(1.0):
            return await act("made it")
    except TimeoutError:
        return "too late"


# The clock tells what is due together one by one, the older first, each to its end.
async def action_older_than_its_timeout():
    """An action begun before the timeout, due together with it, goes first."""
    task = asyncio.create_task(slow("made it", 2.0))
    await act()
    try:
        async with asyncio.timeout(1.0):
            return await task
    except TimeoutError:
        return "too late"


async def wait_for_in_time():
    """wait_for gives the result of what is fast enough."""
    got = await asyncio.wait_for(act("quick"), 2.0)
    return got, await asyncio.wait_for(act("no limit"), None)


async def wait_for_too_late():
    """wait_for cancels what is too slow, waits for its end, and raises TimeoutError."""
    try:
        await asyncio.wait_for(_noted("slow", 5.0), 1.0)
    except TimeoutError as error:
        print(error.args, type(error.__cause__).__name__)
    return asyncio.current_task().cancelling()


async def wait_for_a_task():
    """A task under wait_for is cancelled itself."""
    task = asyncio.create_task(_noted("task", 5.0))
    try:
        await asyncio.wait_for(task, 1.0)
    except TimeoutError:
        return task.cancelled(), task.cancelling()


async def wait_for_shielded_task():
    """A shield keeps the task under wait_for alive."""
    task = asyncio.create_task(_noted("task", 3.0))
    try:
        await asyncio.wait_for(asyncio.shield(task), 1.0)
    except TimeoutError:
        print("gave up waiting", task.done())
    return await task


async def wait_for_finished_future():
    """A future that is done needs no time, even with timeout 0."""
    future = asyncio.get_running_loop().create_future()
    future.set_result("ready")
    return await asyncio.wait_for(future, 0), await asyncio.wait_for(future, 5.0)


async def wait_for_zero():
    """With timeout 0 something unfinished is cancelled before it can finish."""
    task = asyncio.create_task(_noted("task", 1.0))
    await asyncio.sleep(0)
    try:
        await asyncio.wait_for(task, 0)
    except TimeoutError:
        return "timed out", task.cancelled()


async def wait_for_cancelled_from_outside():
    """Cancelling the task around wait_for cancels what it waits for."""

    async def inner():
        try:
            await slow(None, 9.0)
        finally:
            print("inner is over")

    async def body():
        await asyncio.wait_for(inner(), 5.0)

    task = asyncio.create_task(body())
    await act()
    task.cancel("outside")
    got = await asyncio.gather(task, return_exceptions=True)
    return type(got[0]).__name__, task.cancelled()


async def wait_for_inner_fails():
    """The error of the inner awaitable comes through wait_for unchanged."""
    try:
        await asyncio.wait_for(boom(LookupError("inner"), 1.0), 5.0)
    except LookupError as error:
        return repr(error), error.__context__, asyncio.current_task().cancelling()


async def wait_for_slow_cleanup():
    """wait_for waits for the cleanup of what it cancels, past its own limit."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def body():
        try:
            await slow(None, 9.0)
        finally:
            print(await slow("cleanup", 4.0))

    try:
        await asyncio.wait_for(body(), 1.0)
    except TimeoutError:
        return loop.time() - start


async def wait_for_nested():
    """Nested wait_for: the shorter limit, outside or inside, wins."""
    seen = []
    for outer, inner in ((1.0, 2.0), (2.0, 1.0)):
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            await asyncio.wait_for(asyncio.wait_for(_noted("core", 9.0), inner), outer)
        except TimeoutError:
            seen.append(loop.time() - start)
    return seen


async def wait_for_a_future_set_by_hand():
    """wait_for a plain future cancels the future when it is too late."""
    loop = asyncio.get_running_loop()
    good, bad = loop.create_future(), loop.create_future()
    loop.call_later(1.0, good.set_result, "good")
    print(await asyncio.wait_for(good, 2.0))
    try:
        await asyncio.wait_for(bad, 2.0)
    except TimeoutError:
        return bad.cancelled()


async def wait_for_inner_swallows():
    """What swallows the cancellation of wait_for gives its result after all."""

    async def stubborn():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            return "swallowed", await act("and more")

    try:
        return await asyncio.wait_for(stubborn(), 1.0), asyncio.current_task().cancelling()
    except TimeoutError:
        return "timed out"


async def wait_for_inner_fails_when_cancelled():
    """An error raised by what wait_for cancels comes out instead of TimeoutError."""

    async def sore():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            raise LookupError("sore") from None

    try:
        await asyncio.wait_for(sore(), 1.0)
    except (LookupError, TimeoutError) as error:
        return repr(error)
