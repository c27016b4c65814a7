"""Lock, Semaphore, BoundedSemaphore, Event, Condition, Barrier."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _hold(lock, name, seconds=1.0):
    async with lock:
        print("in", name)
        await slow(name, seconds)
        print("out", name)
    return name


async def lock_is_fair():
    """A lock serves its waiters in the order in which they came."""
    lock = asyncio.Lock()
    return await asyncio.gather(*(_hold(lock, name) for name in "abc"))


async def lock_locked_states():
    """locked() before, inside and after; a free lock is taken without a turn of the loop."""
    lock = asyncio.Lock()
    other = asyncio.create_task(act("other"))
    states = [lock.locked()]
    async with lock:
        states.append(lock.locked())
    states.append(lock.locked())
    return states, await other


async def lock_release_unlocked():
    """Releasing a lock that nobody holds is a RuntimeError."""
    lock = asyncio.Lock()
    try:
        lock.release()
    except RuntimeError as error:
        print(error)
    print(await lock.acquire())
    lock.release()
    return lock.locked()


async def lock_released_by_another_task():
    """A lock has no owner: another task may release it."""
    lock = asyncio.Lock()
    await lock.acquire()
    waiter = asyncio.create_task(_hold(lock, "waiter"))
    await act()
    asyncio.get_running_loop().call_soon(lock.release)
    return await waiter, lock.locked()


async def lock_cancel_while_waiting():
    """A waiter that is cancelled leaves the queue; the next one gets the lock."""
    lock = asyncio.Lock()
    tasks = [asyncio.create_task(_hold(lock, name, 2.0)) for name in "abc"]
    await act()
    tasks[1].cancel()
    got = await asyncio.gather(*tasks, return_exceptions=True)
    return [repr(one) for one in got], lock.locked()


async def lock_cancel_at_the_handover():
    """A waiter cancelled just as it is handed the lock passes it on."""
    lock = asyncio.Lock()
    await lock.acquire()
    tasks = [asyncio.create_task(_hold(lock, name)) for name in "ab"]
    await act()
    lock.release()
    tasks[0].cancel()
    got = await asyncio.gather(*tasks, return_exceptions=True)
    return [repr(one) for one in got], lock.locked()


async def lock_no_barging():
    """Who releases a lock and takes it again at once stands behind the waiter."""
    lock = asyncio.Lock()

    async def greedy():
        for number in range(2):
            async with lock:
                print("greedy", number)
                await act()

    await asyncio.gather(greedy(), _hold(lock, "patient"))
    return lock.locked()


async def lock_failure_inside():
    """A failure inside the block releases the lock."""
    lock = asyncio.Lock()

    async def bad():
        async with lock:
            await boom(ValueError("inside"))

    got = await asyncio.gather(bad(), _hold(lock, "next"), return_exceptions=True)
    return [repr(one) for one in got]


async def lock_two_locks_in_one_order():
    """Two tasks that take two locks in the same order do not block each other."""
    left, right = asyncio.Lock(), asyncio.Lock()

    async def both(name):
        async with left:
            print(name, "left")
            await act()
            async with right:
                print(name, "right")
                await act()
        return name

    return await asyncio.gather(both("a"), both("b"))


async def lock_deadlock_ends_by_timeout():
    """Two locks taken in opposite order: a timeout breaks the embrace."""
    left, right = asyncio.Lock(), asyncio.Lock()

    async def both(name, first, second, limit):
        async with first:
            await act()
            try:
                async with asyncio.timeout(limit):
                    async with second:
                        return name, "both"
            except TimeoutError:
                return name, "gave up"

    return await asyncio.gather(both("a", left, right, 2.0), both("b", right, left, 9.0))


async def semaphore_fan_out():
    """Ten jobs over a semaphore of three: never more than three at once, in order."""
    gate = asyncio.Semaphore(3)
    running, peak, order = 0, 0, []

    async def job(number):
        nonlocal running, peak
        async with gate:
            running += 1
            peak = max(peak, running)
            order.append(number)
            await slow(None, 1.0 + number % 3 / 4)
            running -= 1

    await asyncio.gather(*(job(number) for number in range(10)))
    return peak, order


async def semaphore_over_release():
    """A plain semaphore may be released too often and grows."""
    gate = asyncio.Semaphore(1)
    gate.release()
    print(await gate.acquire(), gate.locked())
    print(await gate.acquire(), gate.locked())
    return "two at once"


async def semaphore_bounded_over_release():
    """A bounded semaphore refuses to grow."""
    gate = asyncio.BoundedSemaphore(2)
    await gate.acquire()
    gate.release()
    try:
        gate.release()
    except ValueError as error:
        return str(error), gate.locked()


async def semaphore_negative():
    """A semaphore of less than zero is refused; one of zero starts locked."""
    try:
        asyncio.Semaphore(-1)
    except ValueError as error:
        print(error)
    gate = asyncio.Semaphore(0)
    asyncio.get_running_loop().call_later(1.0, gate.release)
    return gate.locked(), await gate.acquire()


async def semaphore_cancel_while_waiting():
    """A cancelled waiter does not cost a permit."""
    gate = asyncio.Semaphore(1)
    tasks = [asyncio.create_task(_hold(gate, name, 2.0)) for name in "abc"]
    await act()
    tasks[1].cancel()
    got = await asyncio.gather(*tasks, return_exceptions=True)
    return [repr(one) for one in got], gate.locked()


async def semaphore_is_fair():
    """Waiters of a semaphore of two go in by arrival as permits come free."""
    gate = asyncio.Semaphore(2)
    times = (3.0, 1.0, 1.0, 0.5, 0.5)
    return await asyncio.gather(*(_hold(gate, n, time) for n, time in enumerate(times)))


async def event_wakes_all_in_order():
    """set() wakes every waiter in order of arrival; a later wait() passes at once."""
    event = asyncio.Event()

    async def waiter(name):
        print(name, await event.wait())

    tasks = [asyncio.create_task(waiter(name)) for name in "abc"]
    await act()
    print(event.is_set())
    event.set()
    print("set")
    await asyncio.gather(*tasks)
    return await event.wait(), event.is_set()


async def event_set_and_clear_at_once():
    """An event that is set and cleared in one go still wakes those who waited."""
    event = asyncio.Event()

    async def waiter(name):
        await event.wait()
        return name, event.is_set()

    task = asyncio.create_task(waiter("early"))
    await act()
    event.set()
    event.clear()
    late = asyncio.create_task(waiter("late"))
    print(await task)
    asyncio.get_running_loop().call_later(1.0, event.set)
    return await late


async def event_wait_cancelled():
    """A waiter that is cancelled does not keep the others from waking."""
    event = asyncio.Event()
    tasks = [asyncio.create_task(event.wait()) for _ in range(3)]
    await act()
    tasks[1].cancel()
    await act()
    event.set()
    got = await asyncio.gather(*tasks, return_exceptions=True)
    return [repr(one) for one in got]


async def event_rendezvous_of_two():
    """Two tasks meet by two events; neither goes on before both have come."""

    async def party(name, seconds, mine, other):
        await slow(None, seconds)
        print(name, "is here")
        mine.set()
        await other.wait()
        print(name, "goes on")

    one, two = asyncio.Event(), asyncio.Event()
    await asyncio.gather(party("a", 1.0, one, two), party("b", 3.0, two, one))
    return "met"


async def condition_notify_one_and_all():
    """notify wakes the longest waiter, notify_all the rest, in order."""
    condition = asyncio.Condition()

    async def waiter(name):
        async with condition:
            print(name, await condition.wait())

    tasks = [asyncio.create_task(waiter(name)) for name in "abcd"]
    await act()
    for wake in (condition.notify, lambda: condition.notify(2), condition.notify_all):
        async with condition:
            wake()
            print("notified")
        await act()
    await asyncio.gather(*tasks)
    return condition.locked()


async def condition_wait_for():
    """wait_for goes on waiting until its predicate holds."""
    condition = asyncio.Condition()
    stock = []

    async def buyer():
        async with condition:
            got = await condition.wait_for(lambda: len(stock) >= 3 and sum(stock))
            return got, list(stock)

    task = asyncio.create_task(buyer())
    for number in (10, 20, 30):
        await act()
        async with condition:
            stock.append(number)
            condition.notify()
            print("stock", stock)
    return await task


async def condition_without_lock():
    """wait and notify without holding the lock are RuntimeErrors."""
    condition = asyncio.Condition()
    for call in (condition.wait, condition.notify, condition.notify_all):
        try:
            made = call()
            if asyncio.iscoroutine(made):
                await made
        except RuntimeError as error:
            print(error)
    return condition.locked()


async def condition_shares_a_lock():
    """Two conditions over one lock: each wakes only its own waiters."""
    lock = asyncio.Lock()
    full, empty = asyncio.Condition(lock), asyncio.Condition(lock)

    async def waiter(name, condition):
        async with condition:
            await condition.wait()
            print(name, lock.locked())

    tasks = [asyncio.create_task(waiter(*pair)) for pair in (("full", full), ("empty", empty))]
    await act()
    for condition in (empty, full):
        async with lock:
            condition.notify_all()
        await act()
    return [task.done() for task in tasks]


async def condition_cancelled_waiter_retakes_lock():
    """A waiter that is cancelled holds the lock again while its error passes through."""
    condition = asyncio.Condition()

    async def waiter():
        async with condition:
            try:
                await condition.wait()
            except asyncio.CancelledError:
                print("cancelled, locked:", condition.locked())
                raise

    task = asyncio.create_task(waiter())
    await act()
    await condition.acquire()
    task.cancel()
    await act()
    print("still waiting for the lock:", not task.done())
    condition.release()
    await asyncio.wait([task])
    return task.cancelled(), condition.locked()


async def barrier_of_three():
    """A barrier lets three parties pass together; each gets a number of its own."""
    barrier = asyncio.Barrier(3)

    async def party(seconds):
        await slow(None, seconds)
        print("arrives", barrier.n_waiting, "waiting")
        return await barrier.wait()

    got = await asyncio.gather(party(3.0), party(1.0), party(2.0))
    return got, barrier.n_waiting, barrier.broken


async def barrier_in_rounds():
    """A barrier can be used again, as a context manager, round after round."""
    barrier = asyncio.Barrier(2)

    async def party(name, seconds):
        for number in range(2):
            await slow(None, seconds)
            async with barrier as position:
                print(name, "round", number, "position", position)

    await asyncio.gather(party("a", 1.0), party("b", 2.0))
    return barrier.parties


async def barrier_aborted():
    """abort() breaks the barrier for those who wait and those who come."""
    barrier = asyncio.Barrier(3)
    waiting = asyncio.create_task(barrier.wait())
    await act()
    await barrier.abort()
    got = await asyncio.gather(waiting, barrier.wait(), return_exceptions=True)
    print([type(one).__name__ for one in got], barrier.broken)
    await barrier.reset()
    return barrier.broken


async def barrier_reset_while_waiting():
    """reset() throws those who wait out, and the barrier is as new."""
    barrier = asyncio.Barrier(2)
    waiting = asyncio.create_task(barrier.wait())
    await act()
    await barrier.reset()
    got = await asyncio.gather(waiting, return_exceptions=True)
    print(type(got[0]).__name__, barrier.broken)
    return await asyncio.gather(barrier.wait(), barrier.wait())
