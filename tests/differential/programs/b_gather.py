"""asyncio.gather: start, order, failure, cancellation."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _say(name, seconds=1.0):
    print("start", name)
    got = await slow(name, seconds)
    print("end", name)
    return got


async def _at_once(value):
    print("ran", value)
    return value


async def gather_keeps_order_of_arguments():
    """The results stand in the order of the arguments, not of completion."""
    got = await asyncio.gather(_say("a", 3.0), _say("b", 1.0), _say("c", 2.0))
    print("all")
    return got


async def gather_starts_children_without_await():
    """The children are tasks from the call on, though nobody has awaited the gather yet."""
    pending = asyncio.gather(_say("x"), _say("y", 2.0))
    print("called")
    await asyncio.sleep(0)
    print("yielded once")
    await slow(None, 5.0)
    print("done?", pending.done())
    return await pending


async def gather_never_awaited():
    """A gather that nobody awaits still runs its children to the end."""
    asyncio.gather(_say("p"), _say("q"))
    print("not awaiting")
    await slow(None, 3.0)
    return "main done"


async def gather_empty():
    """A gather of nothing is a future that is done only after one turn of the loop."""
    nothing = asyncio.gather()
    print("done at once:", nothing.done())
    got = await nothing
    print("done later:", nothing.done())
    return got


async def gather_children_that_never_suspend():
    """Children that do not suspend run in order when the caller yields."""
    pending = asyncio.gather(_at_once(1), _at_once(2), _at_once(3))
    print("before")
    got = await pending
    print("after")
    return got


async def gather_first_failure_siblings_go_on():
    """The first failure comes out at once; the sibling is not cancelled."""
    slower = asyncio.create_task(_say("slower", 3.0))
    try:
        await asyncio.gather(boom(ValueError("first"), 1.0), slower)
    except ValueError as error:
        print("caught", error.args, slower.done())
    return await slower


async def gather_two_failures_only_first_seen():
    """Of two failures only the earlier one is raised."""
    try:
        await asyncio.gather(boom(KeyError("late"), 2.0), boom(ValueError("early"), 1.0))
    except (KeyError, ValueError) as error:
        print(repr(error))
    await slow(None, 3.0)
    return "went on"


async def gather_return_exceptions():
    """With return_exceptions every failure is a result in its place."""
    got = await asyncio.gather(
        act(1), boom(ValueError("v")), act(3), boom(KeyError("k"), 0.5), return_exceptions=True
    )
    return [repr(one) for one in got]


async def gather_nested():
    """Gathers inside a gather give nested lists."""
    got = await asyncio.gather(
        asyncio.gather(_say("a"), _say("b", 0.5)), _say("c", 0.25), asyncio.gather()
    )
    print("nested done")
    return got


async def gather_nested_failure():
    """A failure in an inner gather comes out of the outer one; the rest goes on."""
    inner = asyncio.gather(boom(LookupError("deep"), 1.0), _say("inner", 2.0))
    try:
        await asyncio.gather(inner, _say("outer", 3.0))
    except LookupError as error:
        print("caught", repr(error))
    await slow(None, 5.0)
    return inner.done()


async def gather_same_awaitable_twice():
    """The same coroutine, given twice, runs once and fills both places."""
    one = _say("only")
    got = await asyncio.gather(one, act("other"), one)
    return got


async def gather_same_task_twice():
    """The same task, given three times, fills three places."""
    task = asyncio.create_task(_say("task"))
    return await asyncio.gather(task, task, task)


async def gather_mixed_awaitables():
    """Coroutines, tasks, actions, done futures and late futures in one gather."""
    loop = asyncio.get_running_loop()
    done, late = loop.create_future(), loop.create_future()
    done.set_result("done")
    loop.call_later(1.5, late.set_result, "late")
    task = asyncio.create_task(_say("task", 0.5))
    return await asyncio.gather(_say("coro"), task, act("action"), done, late)


async def gather_cancelled_from_outside():
    """A cancelled gather cancels its children, in order, and raises CancelledError."""

    async def child(name):
        try:
            await slow(None, 10.0)
        finally:
            print("cancelled", name)

    pending = asyncio.gather(child("a"), child("b"), child("c"))
    asyncio.get_running_loop().call_later(1.0, pending.cancel)
    try:
        await pending
    except asyncio.CancelledError as error:
        print("gather", error.args, pending.cancelled())
    return "end"


async def gather_task_that_awaits_it_is_cancelled():
    """Cancelling the task that awaits a gather cancels the children, then the task."""

    async def child(name):
        try:
            await slow(None, 10.0)
        except asyncio.CancelledError as error:
            print("child", name, error.args)
            raise

    async def parent():
        await asyncio.gather(child("a"), child("b"))

    task = asyncio.create_task(parent())
    await act()
    print(task.cancel("stop it"))
    got = await asyncio.gather(task, return_exceptions=True)
    return [repr(one) for one in got]


async def gather_a_cancelled_child_raises():
    """A child that is cancelled by someone else makes the gather raise CancelledError."""
    child = asyncio.create_task(slow("never", 9.0))
    asyncio.get_running_loop().call_later(1.0, child.cancel, "just this one")
    try:
        await asyncio.gather(child, _say("sibling", 2.0))
    except asyncio.CancelledError as error:
        print("caught", error.args)
    await slow(None, 3.0)
    return asyncio.current_task().cancelling()


async def gather_a_cancelled_child_as_result():
    """With return_exceptions a cancelled child is a result like any other."""
    child = asyncio.create_task(slow("never", 9.0))
    asyncio.get_running_loop().call_later(1.0, child.cancel)
    got = await asyncio.gather(child, act("fine"), return_exceptions=True)
    return [repr(one) for one in got]


async def gather_awaited_twice():
    """A gather can be awaited twice; the second time gives the same list at once."""
    pending = asyncio.gather(_say("a"), _say("b"))
    first = await pending
    print("again")
    second = await pending
    return first, first is second


async def gather_failed_awaited_twice():
    """A failed gather raises the same error each time that it is awaited."""
    pending = asyncio.gather(boom(ValueError("same")))
    seen = []
    for _ in range(2):
        try:
            await pending
        except ValueError as error:
            seen.append(error)
    return seen[0] is seen[1], repr(pending.exception())


async def gather_cancel_with_return_exceptions():
    """A gather with return_exceptions that is cancelled still raises CancelledError."""

    async def child(name):
        try:
            await slow(None, 10.0)
        except asyncio.CancelledError:
            print("swallowed by", name)
            return name

    pending = asyncio.gather(child("a"), child("b"), return_exceptions=True)
    asyncio.get_running_loop().call_later(1.0, pending.cancel)
    try:
        print(await pending)
    except asyncio.CancelledError:
        print("cancelled all the same")
    return pending.cancelled()


async def gather_cancel_but_children_refuse():
    """A cancelled gather raises CancelledError even when every child swallows it and returns."""

    async def stubborn(name):
        try:
            await slow(None, 10.0)
        except asyncio.CancelledError:
            print("no", name)
        return await act(name)

    pending = asyncio.gather(stubborn("a"), stubborn("b"))
    asyncio.get_running_loop().call_later(1.0, pending.cancel)
    try:
        return await pending
    except asyncio.CancelledError:
        return "cancelled"


async def gather_unawaited_failure_then_awaited():
    """A gather that failed long ago raises when it is awaited at last."""
    pending = asyncio.gather(boom(OSError(5, "gone"), 0.5), act(1))
    await slow(None, 3.0)
    print(pending.done(), repr(pending.exception()))
    return await pending


async def gather_propagates_out():
    """The failure of one child ends the program; the other child is cancelled at the end."""

    async def sibling():
        try:
            await slow(None, 50.0)
        finally:
            print("sibling is swept up")

    await asyncio.gather(sibling(), boom(RuntimeError("out"), 1.0))
    return "unreachable"
