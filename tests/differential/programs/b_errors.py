"""Exceptions: groups, except*, chains through tasks, callbacks, un-awaited failures."""

import asyncio

from tests.differential.kit import act, boom, slow


class _Refused(Exception):
    def __init__(self, code, reason="none"):
        super().__init__(code, reason)
        self.code = code


def _chain(error):
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__ or error.__context__
    return names


async def error_of_an_action_caught():
    """The error of an action has its type and arguments."""
    seen = []
    for error in (ValueError("v", 1), KeyError("k"), ZeroDivisionError(), OSError(2, "gone")):
        try:
            await boom(error, 0.5)
        except Exception as caught:
            seen.append((type(caught).__name__, caught.args))
    return seen


async def error_of_own_class():
    """An exception class of the program's module keeps its attributes."""

    async def refuse():
        await act()
        raise _Refused(7, "too late")

    try:
        await asyncio.create_task(refuse())
    except _Refused as error:
        return error.code, error.args


async def error_chain_over_three_tasks():
    """Each task wraps the error of the task below with `from`."""

    async def low():
        await boom(KeyError("low"))

    async def middle():
        try:
            await asyncio.create_task(low())
        except KeyError as error:
            raise ValueError("middle") from error

    try:
        await asyncio.create_task(middle())
    except ValueError as error:
        raise RuntimeError("high") from error


async def error_context_without_from():
    """An error raised in a handler has the handled one as context, over an await."""
    try:
        try:
            await boom(KeyError("first"))
        except KeyError:
            await boom(ValueError("second"))
    except ValueError as error:
        print(_chain(error), error.__cause__)
    try:
        try:
            await boom(KeyError("first"))
        except KeyError:
            raise ValueError("second") from None
    except ValueError as error:
        return _chain(error.__cause__), error.__suppress_context__


async def error_in_finally_replaces():
    """An error in a finally block replaces the one on its way, keeping it as context."""
    try:
        await boom(KeyError("body"))
    finally:
        await boom(ValueError("finally"))


async def error_reraised_later():
    """An error kept and raised again after other awaits is the same error."""
    kept = None
    try:
        await boom(ValueError("kept"))
    except ValueError as error:
        kept = error
    await act()
    try:
        raise kept
    except ValueError as error:
        return error is kept, error.__context__


async def error_bare_raise_after_await():
    """A bare raise after an await in the handler raises the handled error again."""
    try:
        try:
            await boom(ValueError("again"))
        except ValueError:
            print("handling", await act("something"))
            raise
    except ValueError as error:
        return error.args, error.__context__


async def error_group_split():
    """split and subgroup cut a group by type, nested parts included."""
    group = ExceptionGroup(
        "top", [ValueError(1), KeyError("k"), ExceptionGroup("low", [ValueError(2), OSError(3)])]
    )
    values, rest = group.split(ValueError)
    await asyncio.sleep(0)
    print(repr(values))
    print(repr(rest))
    return repr(group.subgroup(lambda e: e.args == (2,))), group.derive([KeyError()]).message


async def error_group_partly_handled():
    """except* that handles a part lets the rest through in a group."""
    try:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_now(ValueError("v")))
                group.create_task(_now(KeyError("k")))
        except* ValueError as errors:
            print("handled", errors.exceptions)
    except ExceptionGroup as error:
        return repr(error), error.__context__


async def _now(error):
    raise error


async def error_group_raise_in_except_star():
    """Errors raised in except* blocks are joined into a new group."""
    try:
        try:
            raise ExceptionGroup("g", [ValueError("v"), KeyError("k")])
        except* ValueError:
            await boom(LookupError("while handling v"))
        except* KeyError as errors:
            print("also", errors.exceptions)
            raise
    except ExceptionGroup as error:
        return repr(error)


async def error_except_star_on_plain_error():
    """except* takes a plain error as well, wrapped in a group without a message."""
    try:
        await boom(ValueError("plain"))
    except* (ValueError, KeyError) as errors:
        print(repr(errors), await act("awaiting inside"))
    return "done"


async def error_group_of_failures_by_hand():
    """The failures of a gather, raised as a group of its own."""
    jobs = (act(1), boom(ValueError("a"), 0.5), boom(KeyError("b"), 2.0))
    got = await asyncio.gather(*jobs, return_exceptions=True)
    bad = [one for one in got if isinstance(one, Exception)]
    error = ExceptionGroup(f"{len(bad)} of {len(got)} failed", bad)
    error.add_note("tried once")
    raise error


async def error_notes_through_a_task():
    """Notes added on the way stay on the error, in order."""

    async def worker(number):
        try:
            await boom(ValueError(number))
        except ValueError as error:
            error.add_note(f"in worker {number}")
            raise

    try:
        await asyncio.create_task(worker(3))
    except ValueError as error:
        error.add_note("in main")
        return error.__notes__


async def error_base_exception_in_a_group():
    """A CancelledError by hand cannot stand in an ExceptionGroup."""
    try:
        ExceptionGroup("no", [asyncio.CancelledError()])
    except TypeError as error:
        print(type(error).__name__)
    group = BaseExceptionGroup("yes", [asyncio.CancelledError("c"), ValueError("v")])
    await asyncio.sleep(0)
    return type(group).__name__, repr(group.subgroup(ValueError))


async def error_stop_iteration_in_a_coroutine():
    """StopIteration raised in a coroutine becomes a RuntimeError."""

    async def stops():
        await act()
        raise StopIteration("value")

    try:
        await asyncio.create_task(stops())
    except RuntimeError as error:
        return error.args, _chain(error)


async def error_same_error_from_shared_task():
    """Two tasks that await one failing task get one error; each adds a note."""
    source = asyncio.create_task(boom(ValueError("shared")))

    async def reader(name):
        try:
            await source
        except ValueError as error:
            error.add_note(name)
            return len(error.__notes__)

    got = await asyncio.gather(reader("a"), reader("b"))
    return got, source.exception().__notes__


async def error_handler_of_the_loop():
    """A callback that raises reaches the loop's exception handler."""
    loop = asyncio.get_running_loop()

    def handler(_, context):
        print("handler", repr(context["exception"]))

    def bad():
        raise ValueError("in a callback")

    loop.set_exception_handler(handler)
    loop.call_soon(bad)
    loop.call_later(1.0, bad)
    await slow(None, 2.0)
    loop.set_exception_handler(None)
    return loop.get_exception_handler()


async def error_assertion_and_index():
    """Errors of plain statements between awaits carry their usual arguments."""
    seen = []
    for body in (lambda: [][1], lambda: {}["k"], lambda: 1 / 0, lambda: int("x"), lambda: None.y):
        await asyncio.sleep(0)
        try:
            body()
        except Exception as error:
            seen.append((type(error).__name__, await act(str(error))))
    return seen


async def error_cancel_inside_handler_chain():
    """A task cancelled in a handler that then fails: three errors in one chain."""

    async def body():
        try:
            await boom(KeyError("one"))
        except KeyError:
            try:
                await slow(None, 9.0)
            finally:
                raise ValueError("three")

    task = asyncio.create_task(body())
    await slow(None, 2.0)
    task.cancel("two")
    try:
        await task
    except ValueError as error:
        return _chain(error), error.__context__.args


async def error_timeout_turned_into_own():
    """A TimeoutError turned into an error of the program, with its whole chain."""
    try:
        async with asyncio.timeout(1.0):
            await slow(None, 9.0)
    except TimeoutError as error:
        raise _Refused(504, "upstream") from error
