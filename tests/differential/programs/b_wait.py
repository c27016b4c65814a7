"""asyncio.wait, as_completed and shield."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _say(name, seconds):
    try:
        got = await slow(name, seconds)
    except asyncio.CancelledError:
        print("cancelled", name)
        raise
    print("end", name)
    return got


def _names(tasks):
    return sorted(task.get_name() for task in tasks)


def _make(**seconds):
    return [asyncio.create_task(_say(name, time), name=name) for name, time in seconds.items()]


async def wait_all_completed():
    """wait returns when everything is done; nothing is pending."""
    done, pending = await asyncio.wait(_make(a=2.0, b=1.0, c=3.0))
    return _names(done), _names(pending)


async def wait_first_completed():
    """FIRST_COMPLETED returns with the first one; the others go on."""
    tasks = _make(a=2.0, b=1.0, c=3.0)
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    print(_names(done), _names(pending))
    done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    print(_names(done), _names(pending))
    return await tasks[2]


async def wait_first_exception():
    """FIRST_EXCEPTION ignores successes and returns with the first failure."""
    tasks = _make(a=1.0, c=3.0)
    tasks.append(asyncio.create_task(boom(ValueError("b"), 2.0), name="b"))
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    print(_names(done), _names(pending))
    print([repr(task.exception()) for task in tasks if task in done])
    return await tasks[1]


async def wait_first_exception_without_failure():
    """FIRST_EXCEPTION without a failure waits for all."""
    done, pending = await asyncio.wait(_make(a=1.0, b=2.0), return_when="FIRST_EXCEPTION")
    return _names(done), len(pending)


async def wait_first_exception_and_cancelled():
    """A cancelled task does not count as a failure for FIRST_EXCEPTION."""
    tasks = _make(a=9.0, b=3.0)
    asyncio.get_running_loop().call_later(1.0, tasks[0].cancel)
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    return _names(done), _names(pending)


async def wait_timeout():
    """A timeout of wait raises nothing and cancels nothing."""
    tasks = _make(a=1.0, b=5.0)
    done, pending = await asyncio.wait(tasks, timeout=2.0)
    print(_names(done), _names(pending))
    return await asyncio.gather(*pending)


async def wait_timeout_zero():
    """wait with timeout 0 reports what is done by now."""
    tasks = _make(a=1.0, b=5.0)
    await slow(None, 2.0)
    done, pending = await asyncio.wait(tasks, timeout=0)
    print(_names(done), _names(pending))
    tasks[1].cancel()
    done, pending = await asyncio.wait(tasks)
    return _names(done), tasks[1].cancelled()


async def wait_everything_done_already():
    """wait over done tasks returns without a turn of the loop."""
    tasks = _make(a=1.0, b=2.0)
    await asyncio.gather(*tasks)
    other = asyncio.create_task(_say("other", 1.0))
    done, pending = await asyncio.wait(tasks)
    print(_names(done), len(pending))
    return await other


async def wait_cancelled_leaves_tasks_alone():
    """Cancelling the task that waits does not cancel what it waits for."""
    tasks = _make(a=3.0)

    async def watcher():
        await asyncio.wait(tasks)

    task = asyncio.create_task(watcher())
    await act()
    task.cancel()
    got = await asyncio.gather(task, return_exceptions=True)
    return repr(got), await tasks[0]


async def wait_refuses_nothing_and_coroutines():
    """wait refuses an empty set, a coroutine, and an unknown mode."""
    coro = act(1)
    task = asyncio.create_task(act(2))
    calls = (
        lambda: asyncio.wait([]),
        lambda: asyncio.wait([coro]),
        lambda: asyncio.wait(task),
        lambda: asyncio.wait([task], return_when="SOMETIME"),
    )
    for call in calls:
        try:
            await call()
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
    return await coro, await task


async def wait_two_done_in_one_turn():
    """Two futures resolved in one turn are both done for FIRST_COMPLETED."""
    loop = asyncio.get_running_loop()
    one, two, three = (loop.create_future() for _ in range(3))

    def fire():
        two.set_result("two")
        one.set_result("one")

    loop.call_later(1.0, fire)
    done, pending = await asyncio.wait([one, two, three], return_when="FIRST_COMPLETED")
    return sorted(each.result() for each in done), pending == {three}


async def wait_drain_loop():
    """A loop over wait with FIRST_COMPLETED that drains a set, one by one."""
    pending = set(_make(a=3.0, b=1.0, c=2.0))
    order = []
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        order.extend(task.result() for task in done)
    return order


async def completed_in_order_of_time():
    """as_completed gives results in the order in which they come in."""
    order = []
    for nearest in asyncio.as_completed(_make(a=3.0, b=1.0, c=2.0)):
        order.append(await nearest)
        print("got", order[-1])
    return order


async def completed_with_failure():
    """A failure in as_completed comes out where its turn is; the rest follows."""
    tasks = _make(a=1.0, c=3.0)
    tasks.append(asyncio.create_task(boom(ValueError("b"), 2.0)))
    order = []
    for nearest in asyncio.as_completed(tasks):
        try:
            order.append(await nearest)
        except ValueError as error:
            order.append(repr(error))
    return order


async def completed_with_timeout():
    """as_completed with a timeout raises TimeoutError for what is not done by then."""
    tasks = _make(a=1.0, b=5.0)
    order = []
    for nearest in asyncio.as_completed(tasks, timeout=2.0):
        try:
            order.append(await nearest)
        except TimeoutError as error:
            order.append(type(error).__name__)
    return order, await tasks[1]


async def completed_break_early():
    """Leaving the loop after the first result leaves the others running."""
    tasks = _make(a=3.0, b=1.0)
    for nearest in asyncio.as_completed(tasks):
        print("first is", await nearest)
        break
    return await tasks[0]


async def completed_never_awaited():
    """The awaitables of as_completed may be collected first and awaited later."""
    waiting = list(asyncio.as_completed(_make(a=2.0, b=1.0)))
    print(len(waiting))
    await slow(None, 4.0)
    return [await one for one in waiting]


async def completed_of_actions_in_chunks():
    """Two rounds of as_completed, each over tasks of its own."""
    total = []
    for base in (1.0, 2.0):
        tasks = [asyncio.create_task(slow(base * n, base / n)) for n in (1, 2, 4)]
        for nearest in asyncio.as_completed(tasks):
            total.append(await nearest)
    return total


async def completed_empty():
    """as_completed of nothing is an empty loop."""
    for _ in asyncio.as_completed([]):
        print("never")
    return await act("empty")


async def shield_passes_result():
    """An undisturbed shield passes the result of a coroutine on."""
    shield = asyncio.shield(_say("inner", 1.0))
    print("made", shield.done())
    return await shield


async def shield_outer_cancelled_inner_goes_on():
    """Cancelling the task that awaits a shield leaves the inner task running."""
    inner = asyncio.create_task(_say("inner", 3.0))

    async def outer():
        try:
            await asyncio.shield(inner)
        except asyncio.CancelledError as error:
            print("outer", error.args, inner.done())
            raise

    task = asyncio.create_task(outer())
    await act()
    task.cancel("give up")
    await asyncio.wait([task])
    return task.cancelled(), await inner


async def shield_inner_fails():
    """The failure of the inner task comes through the shield."""
    try:
        await asyncio.shield(boom(KeyError("inner"), 1.0))
    except KeyError as error:
        return repr(error)


async def shield_inner_cancelled():
    """Cancelling the inner task directly cancels the shield."""
    inner = asyncio.create_task(_say("inner", 9.0))
    asyncio.get_running_loop().call_later(1.0, inner.cancel)
    shield = asyncio.shield(inner)
    try:
        await shield
    except asyncio.CancelledError:
        return inner.cancelled(), shield.cancelled(), asyncio.current_task().cancelling()


async def shield_cancelled_by_itself():
    """The shield future may be cancelled; the inner task does not care."""
    inner = asyncio.create_task(_say("inner", 2.0))
    shield = asyncio.shield(inner)
    print(shield.cancel(), shield.cancelled(), inner.cancelled())
    return await inner


async def shield_of_done_future():
    """A shield around something done is that very thing."""
    task = asyncio.create_task(act("done"))
    await task
    return asyncio.shield(task) is task, await asyncio.shield(task)


async def shield_under_timeout_then_collect():
    """A shielded write finishes although the timeout around it has struck."""
    writes = []

    async def write(value):
        await slow(None, 3.0)
        writes.append(value)

    task = asyncio.create_task(write("row"))
    try:
        async with asyncio.timeout(1.0):
            await asyncio.shield(task)
    except TimeoutError:
        print("timed out with", writes)
    await task
    return writes


async def shield_inner_fails_after_outer_left():
    """A failure behind a shield that nobody awaits any more disturbs nobody."""
    inner = asyncio.create_task(boom(ValueError("late"), 3.0))

    async def outer():
        await asyncio.shield(inner)

    task = asyncio.create_task(outer())
    await act()
    task.cancel()
    await slow(None, 5.0)
    return task.cancelled(), repr(inner.exception())
