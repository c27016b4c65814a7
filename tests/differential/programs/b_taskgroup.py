"""asyncio.TaskGroup: success, failure, nesting, cancellation from outside."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _say(name, seconds=1.0):
    try:
        got = await slow(name, seconds)
    except asyncio.CancelledError:
        print("cancelled", name)
        raise
    print("end", name)
    return got


async def group_success():
    """The block waits for its children; the results are in the tasks."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_say(name, 3.0 - n)) for n, name in enumerate("abc")]
        print("body over")
    return [task.result() for task in tasks]


async def group_empty():
    """A group without children costs nothing and lets nobody else run."""
    other = asyncio.create_task(_say("other"))
    async with asyncio.TaskGroup():
        print("empty")
    print("behind it")
    return await other


async def group_one_failure_cancels_sibling():
    """One failure cancels the other child and comes out in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_say("sibling", 9.0))
            group.create_task(boom(ValueError("bad"), 1.0))
    except ExceptionGroup as error:
        return error.message, [repr(one) for one in error.exceptions]


async def group_two_failures():
    """A sibling that fails while it is cancelled adds its error to the group."""

    async def sore_loser():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            raise KeyError("second") from None

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(sore_loser())
            group.create_task(boom(ValueError("first"), 1.0))
    except* ValueError as errors:
        print("values", errors.exceptions)
    except* KeyError as errors:
        print("keys", errors.exceptions)
    return "done"


async def group_failures_in_the_same_turn():
    """Two children that fail in one turn of the loop are both in the group."""

    async def bad(text):
        raise ValueError(text)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(bad("one"))
            group.create_task(bad("two"))
    except ExceptionGroup as error:
        return repr(error)


async def group_failure_in_body():
    """A failure in the body cancels the child and stands in the group."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_say("child", 9.0))
            await act()
            raise RuntimeError("body")
    except* RuntimeError as errors:
        print(errors.message, errors.exceptions)
    return asyncio.current_task().cancelling()


async def group_failure_in_body_before_start():
    """A child of a body that fails at once is cancelled before it starts."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_say("never starts"))
            raise RuntimeError("at once")
    except* RuntimeError as errors:
        print(errors.exceptions, task.cancelled())
    return "done"


async def group_failure_interrupts_body():
    """A failing child cancels the body where it waits; the body sees CancelledError."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(boom(ValueError("child"), 1.0))
            try:
                await slow(None, 9.0)
            except asyncio.CancelledError as error:
                print("body cancelled", error.args, asyncio.current_task().cancelling())
                raise
    except ExceptionGroup as error:
        print(repr(error))
    return asyncio.current_task().cancelling()


async def group_body_fails_as_child_failed():
    """The body's own error during the abort is in the group, behind the child's."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(boom(ValueError("child"), 1.0))
            try:
                await slow(None, 9.0)
            finally:
                raise KeyError("body")
    except ExceptionGroup as error:
        return [repr(one) for one in error.exceptions]


async def group_nested():
    """A failure in an inner group goes through the outer one, group in group."""
    try:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(_say("outer child", 9.0))
            async with asyncio.TaskGroup() as inner:
                inner.create_task(boom(ValueError("deep"), 1.0))
    except ExceptionGroup as error:
        return repr(error)


async def group_nested_inner_caught():
    """An inner group that is caught leaves the outer group in peace."""
    async with asyncio.TaskGroup() as outer:
        survivor = outer.create_task(_say("survivor", 3.0))
        try:
            async with asyncio.TaskGroup() as inner:
                inner.create_task(_say("victim", 9.0))
                inner.create_task(boom(OSError("inner"), 1.0))
        except* OSError as errors:
            print("caught", errors.exceptions)
    return survivor.result()


async def group_outer_failure_cancels_inner():
    """A failure in the outer group cancels a body that waits in an inner group."""
    try:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(boom(ValueError("outer"), 1.0))
            async with asyncio.TaskGroup() as inner:
                inner.create_task(_say("inner child", 9.0))
    except ExceptionGroup as error:
        return repr(error), asyncio.current_task().cancelling()


async def group_create_task_from_child():
    """A child may start siblings while the group waits."""
    async with asyncio.TaskGroup() as group:

        async def parent():
            await act()
            print("parent starts", group.create_task(_say("grandchild")).done())

        group.create_task(parent())
    print("all over")
    return "done"


async def group_create_task_after_end():
    """A group that is over refuses new children."""
    async with asyncio.TaskGroup() as group:
        group.create_task(act())
    late = act("late")
    try:
        group.create_task(late)
    except RuntimeError as error:
        print(str(error).endswith("is finished"))
    late.close()
    return "done"


async def group_create_task_before_entry():
    """A group that was never entered refuses children."""
    group = asyncio.TaskGroup()
    early = act("early")
    try:
        group.create_task(early)
    except RuntimeError as error:
        print(str(error).endswith("has not been entered"))
    early.close()
    return "done"


async def group_entered_twice():
    """A group cannot be entered twice."""
    group = asyncio.TaskGroup()
    async with group:
        group.create_task(act())
    try:
        async with group:
            print("not reached")
    except RuntimeError as error:
        return type(error).__name__


async def group_cancelled_from_outside():
    """Cancelling the task around a group cancels the child; CancelledError comes out bare."""

    async def holder():
        async with asyncio.TaskGroup() as group:
            group.create_task(_say("child", 9.0))
            await slow(None, 9.0)

    task = asyncio.create_task(holder())
    await act()
    task.cancel("outside")
    try:
        await task
    except asyncio.CancelledError as error:
        return error.args, task.cancelled()


async def group_cancelled_while_it_waits():
    """Cancelled while it waits for its child at the end of the block, too."""

    async def holder():
        async with asyncio.TaskGroup() as group:
            group.create_task(_say("child", 9.0))
            print("body over")

    task = asyncio.create_task(holder())
    await act()
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))
    return task.cancelled()


async def group_cancelled_and_child_fails():
    """A child that fails because of the outside cancel turns it into a group."""

    async def child():
        try:
            await slow(None, 9.0)
        finally:
            raise ValueError("during cancel")

    async def holder():
        async with asyncio.TaskGroup() as group:
            group.create_task(child())

    task = asyncio.create_task(holder())
    await act()
    task.cancel()
    got = await asyncio.gather(task, return_exceptions=True)
    return repr(got), task.cancelled()


async def group_child_cancelled_alone():
    """A child cancelled alone does not disturb the group."""
    async with asyncio.TaskGroup() as group:
        lonely = group.create_task(_say("lonely", 9.0))
        other = group.create_task(_say("other", 3.0))
        await act()
        lonely.cancel()
    return lonely.cancelled(), other.result()


async def group_child_swallows_abort():
    """A child that swallows the abort and works on keeps the group open until it ends."""

    async def stubborn():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            print("not yet")
        print(await act("finished anyway"))

    loop = asyncio.get_running_loop()
    start = loop.time()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(stubborn())
            group.create_task(boom(ValueError("x"), 1.0))
    except* ValueError:
        print("after", loop.time() - start)
    return "done"


async def group_names_and_results_by_dict():
    """Named children of a group, collected by name."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(act(n * n), name=f"square {n}") for n in range(4)]
    return {task.get_name(): task.result() for task in tasks}


async def group_failure_propagates_out():
    """An exception group that nobody catches comes out of the program."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_say("sibling", 9.0))
        group.create_task(boom(LookupError("out", 1), 1.0))
    return "unreachable"


async def group_base_exception_group_of_body():
    """A body that raises CancelledError by itself, with no failure, lets it out bare."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_say("child", 9.0))
            await act()
            raise asyncio.CancelledError("own")
    except asyncio.CancelledError as error:
        return error.args, asyncio.current_task().cancelling()


async def group_second_failure_after_abort():
    """A failure that comes long after the abort is still collected, in order of time."""

    async def late_failure():
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            await boom(OSError("cleanup failed"), 2.0)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(late_failure())
            group.create_task(boom(ValueError("first"), 1.0))
    except ExceptionGroup as error:
        contexts = [type(one.__context__).__name__ for one in error.exceptions]
        return [repr(one) for one in error.exceptions], contexts


async def group_create_task_after_failure():
    """A group that is shutting down refuses new children."""

    async def child(group):
        late = act("late")
        try:
            await slow(None, 9.0)
        except asyncio.CancelledError:
            try:
                group.create_task(late)
            except RuntimeError as error:
                print(str(error).endswith("is shutting down"))
            raise
        finally:
            late.close()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(child(group))
            group.create_task(boom(ValueError("first"), 1.0))
    except ExceptionGroup as error:
        return repr(error)


async def group_create_task_after_failure_in_one_turn():
    """Before the loop has told the group of a failure, it still takes children."""

    async def bad():
        raise ValueError("bad")

    try:
        async with asyncio.TaskGroup() as group:
            failed = group.create_task(bad())
            await asyncio.sleep(0)
            print("failed", failed.done())
            late = group.create_task(_say("late"))
    except ExceptionGroup as error:
        return repr(error), late.cancelled()
