"""Futures made by hand, and contextvars with tasks and callbacks."""

import asyncio
import contextvars

from tests.differential.kit import act, slow

_WHO = contextvars.ContextVar("who", default="nobody")


def _future():
    return asyncio.get_running_loop().create_future()


async def _outcome(awaitable):
    try:
        return "result", await awaitable
    except BaseException as error:
        return type(error).__name__, error.args


async def future_set_result_by_a_task():
    """A future resolved by another task wakes main."""
    future = _future()

    async def setter():
        await act()
        future.set_result("set")
        print("setter goes on")

    task = asyncio.create_task(setter())
    got = await future
    print("main woke", task.done())
    return got


async def future_awaited_by_two_tasks():
    """Two tasks that await one future wake in order of waiting."""
    future = _future()

    async def waiter(name):
        got = await future
        print(name, got)
        return name

    tasks = [asyncio.create_task(waiter(name)) for name in ("first", "second")]
    await act()
    future.set_result(42)
    print("set")
    return await asyncio.gather(*tasks)


async def future_set_twice():
    """A future takes one outcome only; a second one is an InvalidStateError."""
    future = _future()
    future.set_result(1)
    calls = (lambda: future.set_result(2), lambda: future.set_exception(ValueError()))
    for call in calls:
        try:
            call()
        except asyncio.InvalidStateError as error:
            print(type(error).__name__, error.args)
    return future.cancel(), await future


async def future_set_exception():
    """A future can fail with an instance or a class; a class is called without arguments."""
    one, two = _future(), _future()
    one.set_exception(KeyError("k"))
    two.set_exception(ValueError)
    print(one.done(), type(two.exception()).__name__)
    return await _outcome(one), await _outcome(two)


async def future_cancelled_while_awaited():
    """Cancelling a future raises CancelledError in the task that awaits it."""
    future = _future()
    asyncio.get_running_loop().call_later(1.0, future.cancel, "no more")
    got = await _outcome(future)
    return got, future.cancelled(), asyncio.current_task().cancelling()


async def future_cancelled_by_its_waiter():
    """Cancelling the waiting task cancels the future that it waits for."""
    future = _future()
    task = asyncio.create_task(_outcome(future))
    await act()
    task.cancel("waiter")
    print(await task)
    try:
        future.set_result("too late")
    except asyncio.InvalidStateError:
        return future.cancelled()


async def future_done_await_does_not_yield():
    """Awaiting a future that is done lets nobody else run."""
    future = _future()
    future.set_result("ready")
    other = asyncio.create_task(_outcome(act("other")))
    asyncio.get_running_loop().call_soon(print, "callback")
    print(await future)
    print("no turn so far")
    return await other


async def future_result_before_done():
    """Asking a pending future for its outcome is an InvalidStateError."""
    future = _future()
    for ask in (future.result, future.exception):
        try:
            ask()
        except asyncio.InvalidStateError as error:
            print(error.args)
    future.set_result(None)
    return future.result(), future.exception(), future.done()


async def future_callbacks():
    """Callbacks of a future: in order, soon, removable, also when it is cancelled."""
    future = _future()

    def note(done):
        print("note", done.cancelled())

    future.add_done_callback(lambda _: print("one"))
    future.add_done_callback(note)
    future.add_done_callback(note)
    future.add_done_callback(lambda _: print("two"))
    print(future.remove_done_callback(note))
    future.add_done_callback(note)
    future.cancel()
    print("cancelled")
    await asyncio.sleep(0)
    return future.cancelled()


async def future_chain_by_callbacks():
    """Three futures, each resolved by the callback of the one before."""
    futures = [_future() for _ in range(4)]
    for before, after in zip(futures, futures[1:]):
        before.add_done_callback(lambda f, after=after: after.set_result(f.result() + 1))
    futures[0].set_result(10)
    print([future.done() for future in futures])
    for _ in range(3):
        await asyncio.sleep(0)
        print([future.done() for future in futures])
    return await futures[-1]


async def future_never_resolved_under_timeout():
    """A future that nobody resolves ends by the timeout around it."""
    future = _future()
    try:
        async with asyncio.timeout(3.0):
            await future
    except TimeoutError:
        return future.cancelled()


async def future_same_exception_in_two_tasks():
    """Two tasks that await one failed future get the very same exception object."""
    future = _future()
    seen = []

    async def waiter():
        try:
            await future
        except LookupError as error:
            seen.append(error)

    tasks = [asyncio.create_task(waiter()) for _ in range(2)]
    await act()
    future.set_exception(LookupError("shared"))
    await asyncio.gather(*tasks)
    return seen[0] is seen[1], repr(seen[0])


async def context_copied_at_creation():
    """A task has the context of the moment of its creation."""

    async def who():
        return _WHO.get()

    _WHO.set("first")
    one = asyncio.create_task(who())
    _WHO.set("second")
    two = asyncio.create_task(who())
    return await one, await two, await who()


async def context_is_isolated():
    """What a task sets is not seen outside; what a direct await sets is."""

    async def change(name):
        _WHO.set(name)
        await act()
        return _WHO.get()

    inside = await asyncio.create_task(change("task"))
    after_task = _WHO.get()
    await change("direct")
    return inside, after_task, _WHO.get()


async def context_tokens_reset():
    """A token resets the variable; it works once."""
    var = contextvars.ContextVar("local")
    token = var.set(1)
    again = var.set(2)
    print(var.get(), again.old_value, token.old_value is contextvars.Token.MISSING)
    var.reset(again)
    print(var.get())
    try:
        var.reset(again)
    except RuntimeError as error:
        print(type(error).__name__)
    var.reset(token)
    return var.get("unset")


async def context_lookup_error():
    """A variable without a default and without a value is a LookupError in each task."""
    var = contextvars.ContextVar("empty")

    async def look():
        try:
            return var.get()
        except LookupError:
            return "nothing"

    before = asyncio.create_task(look())
    var.set("now set")
    after = asyncio.create_task(look())
    return await before, await after


async def context_of_callbacks():
    """Callbacks run in the context in which they were scheduled."""
    loop = asyncio.get_running_loop()
    seen = []

    def note(*_):
        seen.append(_WHO.get())

    _WHO.set("soon")
    loop.call_soon(note)
    _WHO.set("later")
    loop.call_later(0.5, note)
    _WHO.set("done callback")
    task = asyncio.create_task(act())
    task.add_done_callback(note)
    _WHO.set("main")
    await task
    return seen, _WHO.get()


async def context_given_to_create_task():
    """A context given to create_task is used itself, not copied."""
    context = contextvars.copy_context()

    async def change():
        _WHO.set("changed in " + _WHO.get())
        await act()

    context.run(_WHO.set, "given")
    await asyncio.create_task(change(), context=context)
    return context[_WHO], _WHO.get()


async def context_through_gather_of_steps():
    """Request numbers held in a variable stay apart over interleaved awaits."""

    async def deep():
        await asyncio.sleep(0)
        return _WHO.get()

    async def request(number):
        _WHO.set(f"request {number}")
        seen = []
        for _ in range(3):
            await slow(None, 1.0 / number)
            seen.append(await deep())
        return seen

    return await asyncio.gather(*(request(number) for number in (1, 2, 4))), _WHO.get()


async def context_copy_run():
    """A copied context keeps its values; run changes only the copy."""
    _WHO.set("outer")
    copy = contextvars.copy_context()

    def change():
        before = _WHO.get()
        _WHO.set("inner")
        return before

    await asyncio.sleep(0)
    return copy.run(change), copy[_WHO], _WHO.get(), _WHO in copy
