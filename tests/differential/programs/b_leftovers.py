"""What happens at the end of a run: main returns or fails while others still run."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _lingering(name, cleanup=None):
    try:
        await slow(None, 100.0)
    finally:
        print(name, "ends")
        if cleanup is not None:
            print(name, "cleaned", await slow("up", cleanup))


async def leftover_finally_runs():
    """A task that still waits when main returns is cancelled; its finally runs."""
    kept = asyncio.create_task(_lingering("left"))
    await act()
    return kept.done()


async def leftover_finally_with_await():
    """The finally of a leftover task may await; the run waits for it."""
    kept = asyncio.create_task(_lingering("left", 5.0))
    await act()
    return kept.done()


async def leftover_created_in_the_last_step():
    """A task created in main's last step still takes its first step, in the last turn."""

    async def body():
        print("first step")
        await asyncio.sleep(0)
        print("never")

    kept = asyncio.create_task(body())
    return kept.done()


async def leftover_that_is_ready_runs_once_more():
    """A leftover that is ready when main returns takes one more step, then is struck."""

    async def body():
        try:
            for number in range(9):
                print(number)
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            print("struck")
            raise

    kept = asyncio.create_task(body())
    await asyncio.sleep(0)
    print("main over")
    return kept.done()


async def leftover_swallows_and_works_on():
    """A leftover that swallows its cancellation runs to its end before the run is over."""

    async def body():
        try:
            await slow(None, 100.0)
        except asyncio.CancelledError as error:
            print("no", error.args)
        for number in range(3):
            print("working", await act(number))

    kept = asyncio.create_task(body())
    await act()
    return kept.done()


async def leftover_that_fails_in_cleanup():
    """A leftover whose cleanup fails does not change main's result."""

    async def body():
        try:
            await slow(None, 100.0)
        finally:
            print("failing")
            await boom(ValueError("in cleanup"))

    kept = asyncio.create_task(body())
    await act()
    return kept.done()


async def leftover_when_main_fails():
    """Main fails while another task runs: the task is cleaned up, the error comes out."""
    kept = asyncio.create_task(_lingering("left", 2.0))
    await act()
    raise ValueError("main failed", kept.done())


async def leftover_when_action_of_main_fails():
    """The same with the failure of an action."""
    task = asyncio.create_task(_lingering("left"))
    print(task.done())
    await boom(KeyError("action"), 2.0)


async def leftover_starts_a_new_task_in_cleanup():
    """A cleanup that starts a task and awaits it has it finished."""

    async def body():
        try:
            await slow(None, 100.0)
        finally:
            print(await asyncio.create_task(act("helper")))

    kept = asyncio.create_task(body())
    await act()
    return kept.done()


async def leftover_waits_for_another_leftover():
    """One leftover awaits another; only the inner one prints."""
    inner = asyncio.create_task(_lingering("inner", 1.0))

    async def outer():
        await inner

    kept = asyncio.create_task(outer())
    await act()
    return kept.done(), inner.done()


async def leftover_in_a_lock():
    """A leftover inside a lock releases it as it is swept up."""
    lock = asyncio.Lock()

    async def holder():
        async with lock:
            try:
                await slow(None, 100.0)
            finally:
                print("locked", lock.locked())
        print("never")

    kept = asyncio.create_task(holder())
    await act()
    return lock.locked(), kept.done()


async def leftover_under_timeout():
    """A leftover inside asyncio.timeout ends as cancelled, not as timed out."""

    async def body():
        try:
            async with asyncio.timeout(50.0):
                await slow(None, 100.0)
        except TimeoutError:
            print("timed out")
        except asyncio.CancelledError:
            print("cancelled")

    kept = asyncio.create_task(body())
    await act()
    return kept.done()


async def leftover_ignores_a_timer():
    """A timer that is due after main's return never fires."""
    loop = asyncio.get_running_loop()
    loop.call_later(1.0, print, "fires")
    loop.call_later(5.0, print, "never fires")
    await slow(None, 2.0)
    return "over"


async def leftover_timer_fires_during_cleanup():
    """A timer that falls due while a leftover cleans up does fire."""
    asyncio.get_running_loop().call_later(3.0, print, "timer")
    kept = asyncio.create_task(_lingering("left", 5.0))
    await act()
    return kept.done()


async def leftover_group_is_torn_down():
    """A leftover with a task group inside tears its child down first."""

    async def child():
        try:
            await slow(None, 100.0)
        finally:
            print("child ends")

    async def holder():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
        finally:
            print("holder ends")

    kept = asyncio.create_task(holder())
    await act()
    return kept.done()


async def leftover_failed_before_the_end():
    """A task that failed unseen before the end leaves main's result alone."""
    kept = asyncio.create_task(boom(RuntimeError("unseen")))
    await slow(None, 2.0)
    return kept.done()


async def leftover_when_main_is_cancelled():
    """Main ends by its own cancellation; the leftover is cleaned up as well."""
    kept = asyncio.create_task(_lingering("left", 1.0))
    await act()
    asyncio.current_task().cancel("myself")
    await kept


async def callback_of_what_ends_in_the_last_turn():
    """A task that ends in main's last turn still has its callbacks called."""

    async def body():
        print("body")

    kept = asyncio.create_task(body())
    kept.add_done_callback(lambda task: print("called", task.cancelled()))
    return kept.done()


async def callbacks_while_the_loop_ends():
    """The last steps of `asyncio.run` take turns of their own, and what is ready then runs."""
    loop = asyncio.get_running_loop()

    def again(left):
        print("turns", left)
        loop.call_soon(again, left + 1)

    loop.call_soon(again, 0)


async def callbacks_while_the_loop_ends_with_leftovers():
    """The same after a leftover and an abandoned generator were closed."""
    loop = asyncio.get_running_loop()

    async def numbers():
        try:
            yield 1
        finally:
            print("closing")
            await asyncio.sleep(0)
            print("closed")

    def again(left, held):
        print("turns", left)
        loop.call_soon(again, left + 1, held)

    generator = numbers()
    await anext(generator)
    kept = asyncio.create_task(_lingering("left", 5.0))
    kept.add_done_callback(lambda _: again(0, generator))
    await act()
    return kept.done()


async def callbacks_of_what_ends_in_the_last_turn():
    """A task that ends in one step after the main one did still has its callbacks called."""
    queue = asyncio.Queue()

    async def quick():
        await queue.put(1)

    def deeper(left):
        print("turn", left)
        asyncio.get_running_loop().call_soon(deeper, left + 1)

    await act(1)
    task = asyncio.create_task(quick())
    task.add_done_callback(lambda t: print("quick", t.cancelled()))
    timed = asyncio.create_task(asyncio.wait_for(quick(), 1.0))
    timed.add_done_callback(lambda t: print("timed", t.cancelled()))
    asyncio.get_running_loop().call_soon(deeper, 0)
    raise ValueError("the end")
