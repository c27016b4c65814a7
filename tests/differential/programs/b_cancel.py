"""Cancellation: before, during, after; counts, messages, cleanup, suppression."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _outcome(task):
    try:
        return "result", await task
    except BaseException as error:
        return type(error).__name__, error.args


async def cancel_before_start():
    """A task cancelled before its first step never runs its body."""

    async def body():
        print("never printed")

    task = asyncio.create_task(body())
    print(task.cancel(), task.cancelled())
    return await _outcome(task), task.cancelled()


async def cancel_while_waiting():
    """A task cancelled in an await gets CancelledError there; finally runs."""

    async def body():
        try:
            await slow(None, 9.0)
            print("not reached")
        finally:
            print("finally")

    task = asyncio.create_task(body())
    await act()
    print(task.cancel(), task.done())
    await asyncio.sleep(0)
    print(task.done())
    return await _outcome(task)


async def cancel_when_done():
    """Cancelling a task that is done returns False and changes nothing."""
    task = asyncio.create_task(act("kept"))
    await task
    return task.cancel(), task.cancelled(), task.cancelling(), task.result()


async def cancel_with_message():
    """The message of cancel() arrives in the task and in whoever awaits it."""

    async def body():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError as error:
            print("inside", error.args)
            raise

    task = asyncio.create_task(body())
    await act()
    task.cancel("too slow")
    return await _outcome(task)


async def cancel_twice_before_it_runs():
    """Two cancels in a row are delivered as one, with the message of the first."""

    async def body():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError as error:
            print("got", error.args, asyncio.current_task().cancelling())
        await act()
        return "survived"

    task = asyncio.create_task(body())
    await act()
    print(task.cancel("one"), task.cancel("two"))
    return await _outcome(task), task.cancelling()


async def cancel_again_during_cleanup():
    """A second cancel strikes the awaits of the cleanup."""

    async def body():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError as error:
            print("cleanup begins", error.args)
            await slow(None, 5.0)
            print("cleanup never ends")

    task = asyncio.create_task(body())
    await act()
    task.cancel("first")
    await act()
    task.cancel("second")
    return await _outcome(task)


async def cancel_and_suppress():
    """A task that swallows its CancelledError ends with a result; the count stays."""

    async def body():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            return "swallowed"

    task = asyncio.create_task(body())
    await act()
    task.cancel()
    got = await task
    return got, task.cancelled(), task.cancelling()


async def uncancel_counts():
    """cancelling() counts the requests, uncancel() takes them back, never below zero."""

    async def body():
        me = asyncio.current_task()
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            counts = [me.cancelling()]
            for _ in range(3):
                counts.append(me.uncancel())
            return counts

    task = asyncio.create_task(body())
    await act()
    task.cancel()
    task.cancel()
    return await task


async def cancel_with_awaiting_cleanup():
    """A cleanup that awaits runs to its end before the task counts as cancelled."""

    async def body():
        try:
            await slow(None, 9.0)
        finally:
            print("cleaning")
            print(await act("clean"))

    task = asyncio.create_task(body())
    await act()
    task.cancel()
    await asyncio.sleep(0)
    print("still alive", not task.done())
    return await _outcome(task)


async def cancel_goes_through_awaited_task():
    """Cancelling a task that awaits another task cancels the other one first."""

    async def inner():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError as error:
            print("inner", error.args)
            raise

    async def outer(task):
        try:
            await task
        except asyncio.CancelledError as error:
            print("outer", error.args, task.cancelled())
            raise

    low = asyncio.create_task(inner())
    high = asyncio.create_task(outer(low))
    await act()
    high.cancel("down")
    return await _outcome(high)


async def cancel_absorbed_by_awaited_task():
    """If the awaited task swallows the cancel, the awaiting one just gets its result."""

    async def inner():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            print("absorbed")
            return "inner result"

    async def outer():
        return "outer got " + await asyncio.create_task(inner())

    task = asyncio.create_task(outer())
    await act()
    task.cancel()
    return await _outcome(task), task.cancelling()


async def cancel_of_inner_strikes_awaiting_outer():
    """A task that is cancelled raises CancelledError in a task that awaits it."""
    inner = asyncio.create_task(slow(None, 9.0))

    async def outer():
        try:
            await inner
        except asyncio.CancelledError:
            return "saw it", asyncio.current_task().cancelling()

    task = asyncio.create_task(outer())
    await act()
    inner.cancel()
    return await task


async def self_cancel():
    """A task that cancels itself is struck at its next real suspension."""

    async def no_wait():
        return "passed through"

    async def body():
        print(asyncio.current_task().cancel("me"))
        print(await no_wait())
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            print("struck", error.args)
            raise

    return await _outcome(asyncio.create_task(body()))


async def self_cancel_then_return():
    """A task that cancels itself and returns without suspending ends as cancelled."""

    async def body():
        asyncio.current_task().cancel("and go")
        return "lost"

    task = asyncio.create_task(body())
    return await _outcome(task), task.cancelled()


async def self_cancel_then_raise():
    """A task that cancels itself and raises ends with its own error."""

    async def body():
        asyncio.current_task().cancel()
        raise ValueError("own")

    task = asyncio.create_task(body())
    return await _outcome(task), task.cancelled()


async def main_cancels_itself():
    """Main can cancel itself, notice it, and take it back."""
    me = asyncio.current_task()
    me.cancel("oops")
    try:
        await act()
    except asyncio.CancelledError as error:
        print(error.args, me.cancelling(), me.uncancel())
    return await act("recovered")


async def main_ends_by_its_own_cancel():
    """Main that cancels itself and lets it through ends with CancelledError."""
    asyncio.current_task().cancel("the end")
    await act()
    return "unreachable"


async def user_raises_cancelled_error():
    """A CancelledError raised by the body itself makes its task a cancelled one."""

    async def body():
        await act()
        raise asyncio.CancelledError("by hand")

    task = asyncio.create_task(body())
    return await _outcome(task), task.cancelled(), task.cancelling()


async def user_raises_cancelled_error_in_main():
    """A CancelledError raised by main itself comes out of the program."""
    await act()
    raise asyncio.CancelledError("from main", 2)


async def cancel_replaced_by_other_error():
    """An error raised while cancelled replaces it, with the CancelledError as context."""

    async def body():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            raise LookupError("instead")

    task = asyncio.create_task(body())
    await act()
    task.cancel("msg")
    try:
        await task
    except LookupError as error:
        print(repr(error.__context__), error.__cause__, task.cancelled())
        return error.__context__.args


async def cancel_replaced_propagates():
    """The chain LookupError, CancelledError comes out of the program."""

    async def body():
        try:
            await slow(None, 9.0)
        finally:
            raise LookupError("in finally")

    task = asyncio.create_task(body())
    await act()
    task.cancel("why")
    await task


async def return_in_finally_swallows_cancel():
    """A return in finally turns a cancellation into a result."""

    async def body():
        try:
            await slow(None, 9.0)
        finally:
            return await act("from finally")  # noqa: B012

    task = asyncio.create_task(body())
    await act()
    task.cancel()
    return await _outcome(task), task.cancelled()


async def nested_finally_order():
    """Nested finally blocks with awaits run from the inside out while cancelled."""

    async def body():
        try:
            try:
                await slow(None, 9.0)
            finally:
                print("inner", await act(1))
        except asyncio.CancelledError as error:
            print("between", error.args)
            raise
        finally:
            print("outer", await act(2))

    task = asyncio.create_task(body())
    await act()
    task.cancel("x")
    return await _outcome(task)


async def loop_that_keeps_swallowing():
    """A worker that swallows three cancellations and goes on gives in to none."""

    async def body():
        swallowed = 0
        while swallowed < 3:
            try:
                await slow(None, 9.0)
            except asyncio.CancelledError as error:
                swallowed += 1
                print("swallowed", error.args)
        return swallowed

    task = asyncio.create_task(body())
    for number in range(3):
        await act()
        task.cancel(number)
    return await task, task.cancelling()


async def cancel_two_tasks_order():
    """Two tasks cancelled one after the other see it in that order."""

    async def body(name):
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            print("cancelled", name)
            raise

    tasks = {name: asyncio.create_task(body(name)) for name in "abc"}
    await act()
    for name in "cab":
        tasks[name].cancel()
    await asyncio.wait(tasks.values())
    return [tasks[name].cancelled() for name in "abc"]


async def cancel_behind_result_in_the_same_turn():
    """A task woken by its result and then cancelled gets the cancel at its next step."""
    future = asyncio.get_running_loop().create_future()

    async def body():
        try:
            got = await future
        except asyncio.CancelledError:
            return "cancelled", future.cancelled(), future.result()
        return "got", got

    task = asyncio.create_task(body())
    await asyncio.sleep(0)
    future.set_result("value")
    print(task.cancel())
    return await task


async def cancel_during_handling_of_an_error():
    """A cancel during the handling of another error has that error as its context."""

    async def body():
        try:
            await boom(ValueError("original"))
        except ValueError:
            await slow(None, 9.0)

    task = asyncio.create_task(body())
    await slow(None, 2.0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError as error:
        chain = []
        while error is not None:
            chain.append(type(error).__name__)
            error = error.__context__
        return chain


async def cancelled_error_is_no_exception():
    """`except Exception` does not catch a cancellation."""

    async def body():
        try:
            await slow(None, 9.0)
        except Exception:
            print("not this")
        except BaseException as error:
            print("this", isinstance(error, Exception))
            raise

    task = asyncio.create_task(body())
    await act()
    task.cancel()
    return await _outcome(task)


async def awaiting_a_task_cancelled_long_ago():
    """A task that was cancelled long ago still raises when it is awaited, each time."""
    task = asyncio.create_task(slow(None, 9.0))
    await act()
    task.cancel("old")
    await slow(None, 3.0)
    print(task.cancelled())
    first = await _outcome(task)
    second = await _outcome(task)
    return first[0], second[0]
