"""sleep(0), sleep(n), timers at equal times, callbacks: who goes first."""

import asyncio

from tests.differential.kit import act, slow


async def _ticks(name, times):
    for number in range(times):
        print(name, number)
        await asyncio.sleep(0)


async def sleep_zero_round_robin():
    """Tasks that sleep(0) take turns in the order of their creation."""
    await asyncio.gather(_ticks("a", 3), _ticks("b", 2), _ticks("c", 3))
    return "done"


async def sleep_negative_is_one_turn():
    """A negative sleep is one turn of the loop, like sleep(0)."""

    async def body():
        print("body 1")
        print(await asyncio.sleep(-5, "back"))
        print("body 2")

    await asyncio.gather(body(), _ticks("tick", 3))
    return "done"


async def sleep_gives_its_result():
    """sleep returns its second argument."""
    print(await asyncio.sleep(0))
    return await asyncio.sleep(0, "zero"), await asyncio.sleep(1.0, "one")


async def sleep_equal_times_creation_order():
    """Sleeps that end at the same time end in the order in which they began."""

    async def body(name):
        await asyncio.sleep(2.0)
        print(name)

    await asyncio.gather(*(body(name) for name in "edcba"))
    return "done"


async def sleep_equal_times_from_different_starts():
    """Sleeps begun at different times that end together: the older timer goes first."""

    async def body(name, first, second):
        await asyncio.sleep(first)
        await asyncio.sleep(second)
        print(name)

    await asyncio.gather(body("a", 1.0, 2.0), body("b", 2.0, 1.0), body("c", 0.5, 2.5))
    return "done"


async def sleep_sort():
    """Sleeping for its value sorts a list."""
    result = []

    async def put(value):
        await asyncio.sleep(value / 4)
        result.append(value)

    await asyncio.gather(*(put(value) for value in (7, 3, 9, 1, 5)))
    return result


async def sleep_and_action_end_together():
    """A sleep and actions of the same length end in the order in which they began."""

    async def sleeper():
        await asyncio.sleep(1.0)
        print("sleep")

    async def actor(name):
        await act()
        print("action", name)

    await asyncio.gather(actor("before"), sleeper(), actor("after"))
    return "done"


async def sleep_zero_against_action():
    """Many turns of the loop go by before an action of one second comes back."""
    turns = 0

    async def spin():
        nonlocal turns
        for _ in range(50):
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(spin())
    await act()
    return turns, task.done()


async def call_soon_order_with_tasks():
    """call_soon callbacks and new tasks share one queue."""
    loop = asyncio.get_running_loop()
    loop.call_soon(print, "callback 1")
    task = asyncio.create_task(_ticks("task", 2))
    loop.call_soon(print, "callback 2")
    print("main")
    await asyncio.sleep(0)
    print("main again")
    await task
    return "done"


async def call_soon_from_a_callback():
    """A callback scheduled by a callback runs one turn later."""
    loop = asyncio.get_running_loop()

    def outer():
        print("outer")
        loop.call_soon(print, "inner")

    loop.call_soon(outer)
    await _ticks("main", 3)
    return "done"


async def call_soon_cancelled():
    """A cancelled handle does not run, and says so."""
    loop = asyncio.get_running_loop()
    handle = loop.call_soon(print, "never")
    loop.call_soon(print, "runs")
    print(handle.cancelled())
    handle.cancel()
    await asyncio.sleep(0)
    return handle.cancelled()


async def call_later_order():
    """call_later callbacks run by time, equal times by order of the call."""
    loop = asyncio.get_running_loop()
    for delay, name in ((3.0, "d"), (1.0, "a"), (2.0, "b"), (2.0, "c")):
        loop.call_later(delay, print, name)
    await slow(None, 5.0)
    return "done"


async def call_later_cancelled_by_an_earlier_one():
    """A timer may cancel a later timer."""
    loop = asyncio.get_running_loop()
    later = loop.call_later(2.0, print, "never")
    loop.call_later(1.0, later.cancel)
    await slow(None, 3.0)
    return later.cancelled()


async def call_at_and_loop_time():
    """call_at takes the loop's own time; the differences are exact."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    seen = []
    for offset in (1.5, 0.5, 1.0):
        loop.call_at(start + offset, lambda: seen.append(loop.time() - start))
    await slow(None, 2.0)
    return seen, loop.time() - start


async def loop_time_does_not_move_by_itself():
    """Between two suspensions, and over sleep(0), the loop's time stands."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for _ in range(5):
        await asyncio.sleep(0)
    stood = loop.time() == start
    await act()
    await asyncio.sleep(0.5)
    return stood, loop.time() - start


async def call_later_when():
    """A timer handle knows when it is due."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    handles = [loop.call_later(delay, print, "tick", delay) for delay in (2.0, 0.25)]
    whens = [handle.when() - start for handle in handles]
    await slow(None, 1.0)
    handles[0].cancel()
    return whens


async def call_soon_raises():
    """A callback that raises does not stop the loop or the callbacks behind it."""
    loop = asyncio.get_running_loop()

    def bad():
        print("bad")
        raise ZeroDivisionError("callback")

    loop.call_soon(bad)
    loop.call_soon(print, "behind")
    await asyncio.sleep(0)
    return await act("fine")


async def timer_resolves_a_future():
    """A future resolved by a timer wakes its waiter one turn later."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def fire():
        future.set_result("fired")
        loop.call_soon(print, "behind the waiter")

    loop.call_later(1.0, fire)
    got = await future
    print("woken")
    await asyncio.sleep(0)
    return got


async def metronome_drift():
    """Two metronomes of different period interleave by their times."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    beats = []

    async def beat(name, period, times):
        for _ in range(times):
            await asyncio.sleep(period)
            beats.append((name, loop.time() - start))

    await asyncio.gather(beat("slow", 0.75, 4), beat("fast", 0.5, 6))
    return beats


# A clock that tells everything that is due at once would let the two take turns.
async def actions_that_end_together_then_step():
    """Two actions end at the same time; they are told one by one, each until nothing is ready."""

    async def body(name):
        await act()
        for number in range(3):
            print(name, number)
            await asyncio.sleep(0)

    await asyncio.gather(body("a"), body("b"))
    return "done"
