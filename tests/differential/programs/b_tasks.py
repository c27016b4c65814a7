"""Tasks: start order, names, results, done callbacks, awaiting them."""

import asyncio
import functools

from tests.differential.kit import act, boom, slow


async def _step(name, times=2):
    for number in range(times):
        print(name, number)
        await asyncio.sleep(0)
    return name


async def _fail(text):
    raise ValueError(text)


async def task_starts_only_when_main_yields():
    """A new task does not run before its creator suspends."""
    task = asyncio.create_task(_step("t"))
    print("main goes on")
    await asyncio.sleep(0)
    print("main again")
    return await task


async def task_start_order_is_creation_order():
    """Tasks start in the order of their creation, whatever the order of awaiting."""
    tasks = [asyncio.create_task(_step(name)) for name in "abc"]
    return [await task for task in reversed(tasks)]


async def task_created_inside_a_task():
    """A task created by a task starts behind those that were ready before."""

    async def parent():
        print("parent")
        child = asyncio.create_task(_step("child"))
        await asyncio.sleep(0)
        print("parent again")
        return await child

    one = asyncio.create_task(parent())
    two = asyncio.create_task(_step("two", 3))
    return await one, await two


async def direct_await_does_not_yield():
    """A coroutine that is awaited directly lets nobody else run; as a task it does."""
    other = asyncio.create_task(_step("other", 1))

    async def helper():
        return "helped"

    print(await helper(), "directly")
    print(await asyncio.create_task(helper()), "as task")
    return await other


async def await_done_task_does_not_yield():
    """Awaiting a task that is done gives its result without a turn of the loop."""
    first = asyncio.create_task(act("first"))
    await first
    other = asyncio.create_task(_step("other", 1))
    print(await first)
    print("still before other")
    return await other


async def task_awaited_twice():
    """Awaiting a task twice gives the same result; the body runs once."""
    task = asyncio.create_task(_step("once"))
    return await task, await task


async def failed_task_awaited_twice():
    """Awaiting a failed task twice raises the very same error."""
    task = asyncio.create_task(boom(ValueError("again")))
    seen = []
    for _ in range(2):
        try:
            await task
        except ValueError as error:
            seen.append(error)
    return seen[0] is seen[1], seen[0] is task.exception()


async def task_awaited_by_two_tasks():
    """Two tasks that wait for a third wake in the order in which they began to wait."""
    source = asyncio.create_task(act("value"))

    async def waiter(name):
        got = await source
        print(name, "got", got)
        return name + got

    late = asyncio.create_task(waiter("b"))
    early = asyncio.create_task(waiter("a"))
    return await asyncio.gather(early, late)


async def task_never_awaited_runs():
    """A task that nobody awaits runs while main waits for something else."""
    kept = asyncio.create_task(_step("background", 3))
    await slow(None, 1.0)
    return kept.done(), kept.result()


async def failing_task_never_awaited():
    """The failure of a task that nobody awaits does not reach main."""
    kept = asyncio.create_task(_fail("nobody sees it"))
    await slow(None, 1.0)
    print("main is fine")
    return kept.done()


async def task_result_too_early():
    """result() and exception() of a running task raise InvalidStateError."""
    task = asyncio.create_task(act(1))
    for ask in (task.result, task.exception):
        try:
            ask()
        except asyncio.InvalidStateError as error:
            print(error.args)
    await task
    return task.result(), task.exception()


async def task_exception_of_failed():
    """exception() gives the error, result() raises it."""
    task = asyncio.create_task(_fail("x"))
    await asyncio.wait([task])
    print(repr(task.exception()), task.cancelled(), task.done())
    try:
        task.result()
    except ValueError as error:
        return error is task.exception()


async def task_result_of_cancelled():
    """result() and exception() of a cancelled task raise CancelledError with its message."""
    task = asyncio.create_task(act(1))
    await asyncio.sleep(0)
    task.cancel("because")
    await asyncio.wait([task])
    for ask in (task.result, task.exception):
        try:
            ask()
        except asyncio.CancelledError as error:
            print(error.args)
    return task.cancelled()


async def task_set_result_is_refused():
    """A task's result cannot be set from outside."""
    task = asyncio.create_task(act(1))
    for call in (lambda: task.set_result(2), lambda: task.set_exception(ValueError())):
        try:
            call()
        except RuntimeError as error:
            print(error)
    return await task


async def task_names():
    """Names: given at creation, set later, always strings."""
    task = asyncio.create_task(act(1), name="first")
    print(task.get_name())
    task.set_name(7)
    print(repr(task.get_name()))
    other = asyncio.create_task(act(2), name=12.5)
    print(repr(other.get_name()))
    await asyncio.gather(task, other)
    return task.get_name(), other.get_name()


async def task_knows_itself_by_name():
    """current_task() inside a task is that task, also in helpers awaited directly."""

    async def deep():
        return asyncio.current_task().get_name()

    async def body():
        return await deep(), asyncio.current_task().get_name()

    tasks = [asyncio.create_task(body(), name=f"worker {n}") for n in range(3)]
    return await asyncio.gather(*tasks), asyncio.current_task() in tasks


async def all_tasks_counts():
    """all_tasks() counts the tasks that are not done, main included."""
    before = len(asyncio.all_tasks())
    tasks = [asyncio.create_task(slow(n, float(n))) for n in (1, 2, 3)]
    counts = [before, len(asyncio.all_tasks())]
    for task in tasks:
        await task
        counts.append(len(asyncio.all_tasks()))
    return counts


async def done_callbacks_order():
    """Done callbacks run in the order in which they were added, before a later waiter."""
    task = asyncio.create_task(act("r"))
    for name in "abc":
        task.add_done_callback(lambda t, name=name: print(name, t.result()))
    got = await task
    print("main")
    return got


async def done_callback_added_after_done():
    """A callback added to a done task runs soon, not at once."""
    task = asyncio.create_task(act("r"))
    await task
    task.add_done_callback(lambda t: print("callback", t.done()))
    print("added")
    await asyncio.sleep(0)
    print("after a turn")
    return task.result()


async def done_callback_removed():
    """Removing a callback removes every copy of it and says how many."""
    task = asyncio.create_task(act(1))

    def note(done):
        print("noted", done.result())

    def other(done):
        print("other", done.result())

    for callback in (note, other, note):
        task.add_done_callback(callback)
    print(task.remove_done_callback(note), task.remove_done_callback(note))
    await task
    await asyncio.sleep(0)
    return "end"


async def done_callback_between_waiters():
    """Callbacks and waiting tasks share one queue, in the order of their registration."""
    source = asyncio.create_task(act("s"))

    async def waiter(name):
        await source
        print("waiter", name)

    first = asyncio.create_task(waiter("one"))
    await asyncio.sleep(0)
    source.add_done_callback(lambda _: print("callback"))
    second = asyncio.create_task(waiter("two"))
    await asyncio.gather(first, second)
    return "ok"


async def done_callback_raises():
    """A callback that raises harms neither the task nor the other callbacks."""
    task = asyncio.create_task(act("fine"))

    def bad(_):
        print("bad")
        raise RuntimeError("in a callback")

    task.add_done_callback(bad)
    task.add_done_callback(lambda _: print("good"))
    return await task


async def done_callback_partial_and_failure():
    """A callback sees the failure of its task; functools.partial carries arguments."""
    seen = []

    def note(label, task):
        seen.append((label, repr(task.exception())))

    task = asyncio.create_task(boom(KeyError("k")))
    task.add_done_callback(functools.partial(note, "partial"))
    try:
        await task
    except KeyError:
        print("main saw it", seen)
    return seen


async def done_callback_starts_a_task():
    """A callback may start another task."""
    started = []

    def follow(task):
        started.append(asyncio.create_task(_step("after " + task.result(), 1)))

    task = asyncio.create_task(_step("one", 1))
    task.add_done_callback(follow)
    await task
    print(len(started))
    return await started[0]


async def ensure_future_of_everything():
    """ensure_future wraps coroutines and gives futures and tasks back as they are."""
    future = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(act(1))
    wrapped = asyncio.ensure_future(act(2))
    same = asyncio.ensure_future(future) is future, asyncio.ensure_future(task) is task
    future.set_result(0)
    try:
        asyncio.ensure_future(3)
    except TypeError as error:
        print(type(error).__name__)
    return same, isinstance(wrapped, asyncio.Task), await asyncio.gather(future, task, wrapped)


async def ensure_future_of_awaitable_object():
    """An object with __await__ becomes a task through ensure_future."""

    class Ticket:
        def __await__(self):
            print("awaiting the ticket")
            got = yield from asyncio.sleep(1.0, "redeemed").__await__()
            return got

    task = asyncio.ensure_future(Ticket())
    print("made", isinstance(task, asyncio.Task))
    return await task, await Ticket()


async def create_task_refuses_a_future():
    """create_task takes coroutines only."""
    future = asyncio.get_running_loop().create_future()
    try:
        asyncio.create_task(future)
    except TypeError as error:
        print(type(error).__name__)
    try:
        asyncio.create_task("text")
    except TypeError as error:
        print(type(error).__name__)
    return future.done()


async def task_awaits_itself():
    """A task that awaits itself gets a RuntimeError."""

    async def narcissus():
        try:
            await asyncio.current_task()
        except RuntimeError as error:
            print(str(error).startswith("Task cannot await on itself"))
            raise LookupError("self") from None

    task = asyncio.create_task(narcissus())
    try:
        await task
    except LookupError as error:
        return repr(error), error.__suppress_context__


async def chain_of_tasks_wakes_in_order():
    """A chain of tasks that await one another ends from the inside out."""

    async def link(number, inner):
        got = await inner
        print("link", number)
        return got + [number]

    async def seed():
        return [await act(0)]

    task = asyncio.create_task(seed())
    for number in range(1, 6):
        task = asyncio.create_task(link(number, task))
    return await task


async def chain_interleaves_with_steps():
    """Each link of a chain takes a turn of the loop; a stepping task shows the turns."""

    async def link(number, inner):
        await inner
        print("link", number)

    task = asyncio.create_task(_step("seed", 1))
    for number in range(3):
        task = asyncio.create_task(link(number, task))
    steps = asyncio.create_task(_step("tick", 6))
    await task
    print("chain over")
    return await steps


async def deep_direct_await_chain():
    """Forty coroutines awaited directly inside each other suspend only at the bottom."""

    async def down(depth):
        if depth == 0:
            return await act(1)
        return 1 + await down(depth - 1)

    other = asyncio.create_task(_step("other", 2))
    got = await down(40)
    return got, other.result()


async def task_returning_a_coroutine():
    """A coroutine returned by a task is a plain value; awaiting it runs it then."""

    async def outer():
        return _step("inner", 1)

    made = await asyncio.create_task(outer())
    print(asyncio.iscoroutine(made))
    return await made


async def iscoroutine_and_friends():
    """iscoroutine, isfuture and iscoroutinefunction over several kinds."""
    coro = _step("x", 0)
    task = asyncio.create_task(_step("y", 0))
    future = asyncio.get_running_loop().create_future()
    rows = []
    for thing in (coro, task, future, _step, len, 3):
        kinds = (asyncio.iscoroutine, asyncio.isfuture, asyncio.iscoroutinefunction)
        rows.append([kind(thing) for kind in kinds])
    await coro
    await task
    return rows


async def coroutine_awaited_twice():
    """A coroutine object cannot be awaited a second time."""
    coro = _step("once", 1)
    print(await coro)
    try:
        await coro
    except RuntimeError as error:
        return error.args


async def await_something_that_is_no_awaitable():
    """Awaiting a number is a TypeError; the program goes on."""
    try:
        await 5
    except TypeError as error:
        print(error)
    return await act("on")


async def task_get_coro_and_done():
    """get_coro() is the coroutine; done() and cancelled() change only at the end."""
    coro = act("c")
    task = asyncio.create_task(coro)
    print(task.get_coro() is coro, task.done(), task.cancelled())
    await task
    return task.done(), task.cancelled(), task.get_loop() is asyncio.get_running_loop()


async def failing_task_propagates_out():
    """A failure awaited by main ends the program with the same error."""

    async def worker():
        try:
            await boom(KeyError("inner"))
        except KeyError as error:
            raise ValueError("outer", 2) from error

    task = asyncio.create_task(worker())
    print("waiting")
    return await task
