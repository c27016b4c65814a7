"""`with` and `async with` around awaits, with the tools of contextlib."""

import contextlib
import sys

from tests.differential.kit import act, boom


class _CM:
    """A context manager that writes down what happens to it."""

    def __init__(self, name, log, swallow=False):
        self.name, self.log, self.swallow = name, log, swallow

    def __enter__(self):
        self.log.append("in " + self.name)
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(("out " + self.name, kind and kind.__name__, repr(error)))
        return self.swallow


class _ACM:
    """The same with awaits in its enter and exit."""

    def __init__(self, name, log, swallow=False):
        self.name, self.log, self.swallow = name, log, swallow

    async def __aenter__(self):
        self.log.append("entering " + self.name)
        self.log.append("in " + await act(self.name))
        return self

    async def __aexit__(self, kind, error, traceback):
        self.log.append("leaving " + self.name)
        await act(self.name)
        self.log.append(("out " + self.name, repr(error)))
        return self.swallow


async def with_several_items():
    """Two items in one `with`, the second of which swallows the error."""
    log = []
    with _CM("a", log) as a, _CM("b", log, True) as b:
        await act(1)
        log.append(a.name + b.name)
        await boom(ValueError("x"))
        log.append("never")
    log.append(await act("after"))
    return log


async def with_in_loop():
    """`continue`, `break` and `return` leave the managers of a loop."""

    async def f(log, stop):
        for i in range(4):
            with _CM(str(i), log):
                if i == 1:
                    continue
                if i == stop:
                    return await act("returned")
                await act(i)
                if i == 2:
                    break
        return "done"

    one, two = [], []
    return await f(one, 0), one, await f(two, 9), two


async def with_parenthesized_and_await_in_items():
    """The items of a `with` may be awaited; later ones come after the earlier were entered."""
    log = []

    async def make(name):
        log.append("make " + name)
        await act(None)
        return _CM(name, log)

    with (
        await make("a") as a,
        await make("b"),
        await make(a.name + "2") as c,
    ):
        log.append(await act(c.name))
    return log


async def with_targets():
    """Items, attributes and patterns as targets of `with`."""
    d = {}

    @contextlib.contextmanager
    def give(value):
        yield value

    with give([1, (2, 3)]) as (a, (b, *c)), give(await act("x")) as d[await act("k")]:
        await act(None)
        with give(5) as d["m"]:
            pass
    return a, b, c, d


async def enter_fails():
    """When entering fails, the exit of that item is not called, but that of the earlier is."""
    log = []

    class Bad(_CM):
        def __enter__(self):
            raise KeyError("enter")

    try:
        with _CM("a", log), Bad("b", log):
            log.append("never")
    except KeyError as error:
        log.append((repr(error), await act("caught")))
    return log


async def exit_fails():
    """An error in the exit replaces the error of the body and keeps it as context."""
    log = []

    class Bad(_CM):
        def __exit__(self, kind, error, traceback):
            self.log.append(repr(sys.exception()))
            raise KeyError(self.name)

    try:
        with Bad("outer", log), Bad("inner", log):
            await boom(ValueError("body"))
    except KeyError as error:
        while error:
            log.append(repr(error))
            error = error.__context__
    return log


async def not_a_context_manager():
    """The texts of `with` on things that are none."""
    out = []
    try:
        with await act(5):
            pass
    except TypeError as error:
        out.append(str(error))
    try:
        async with _CM("x", []):
            pass
    except TypeError as error:
        out.append(str(error))
    try:
        with _ACM("x", []):
            pass
    except TypeError as error:
        out.append(str(error))
    return out


async def async_with_order():
    """Order of awaits in entering and leaving of nested `async with` items."""
    log = []
    async with _ACM("a", log) as a, _ACM("b", log) as b:
        log.append(await act(a.name + b.name))
    log.append("after")
    return log


async def async_with_swallows():
    """An `async with` whose exit awaits and then swallows the error."""
    log = []
    async with _ACM("outer", log):
        async with _ACM("inner", log, swallow=True):
            await boom(ValueError("v"))
        log.append(repr(sys.exception()))
    return log


async def async_with_exits():
    """`return`, `break` and `continue` wait for the exits."""

    async def f(how, log):
        for i in range(2):
            async with _ACM(how + str(i), log):
                if how == "r":
                    return await act("value")
                if how == "b":
                    break
                if how == "c":
                    continue
        else:
            return "else"
        return "after"

    out = []
    for how in "rbc":
        log = []
        out.append((await f(how, log), log))
    return out


async def sync_inside_async_with():
    """Plain and async managers nested in one another."""
    log = []
    try:
        with _CM("p", log):
            async with _ACM("q", log):
                with _CM("r", log):
                    await boom(KeyError("k"))
    except KeyError:
        log.append(await act("caught"))
    return log


async def aexit_fails():
    """An error in `__aexit__` after its await replaces the error of the body."""

    class Bad:
        async def __aenter__(self):
            return await act("entered")

        async def __aexit__(self, *info):
            await act(None)
            raise IndexError(info[0].__name__)

    try:
        async with Bad() as text:
            raise ValueError(text)
    except IndexError as error:
        return repr(error), repr(error.__context__)


async def contextmanager_generator():
    """A generator manager sees the value, the error and the end of the body."""
    log = []

    @contextlib.contextmanager
    def manage(name):
        log.append("start " + name)
        try:
            yield name.upper()
        except ValueError as error:
            log.append(("caught", repr(error)))
        finally:
            log.append("end " + name)

    with manage("a") as a:
        log.append(await act(a))
    with manage("b"):
        await boom(ValueError("v"))
    try:
        with manage("c"):
            await boom(KeyError("k"))
    except KeyError as error:
        log.append(repr(error))
    return log


async def contextmanager_as_decorator():
    """A generator manager used as a decorator of a plain function."""
    log = []

    @contextlib.contextmanager
    def around(name):
        log.append("before " + name)
        yield
        log.append("after " + name)

    @around("f")
    def f(x):
        log.append(x)
        return x + 1

    return await act(f(1)), f(await act(2)), log


async def asynccontextmanager_generator():
    """An async generator manager with awaits on both sides of its `yield`."""
    log = []

    @contextlib.asynccontextmanager
    async def manage(name, swallow=False):
        log.append("start " + await act(name))
        try:
            yield name * 2
        except ValueError as error:
            log.append((await act("caught"), repr(error)))
            if not swallow:
                raise
        finally:
            log.append("end " + await act(name))

    async with manage("a") as a, manage("b", swallow=True):
        log.append(await act(a))
        await boom(ValueError("v"))
    try:
        async with manage("c"):
            raise ValueError("w")
    except ValueError as error:
        log.append(repr(error))
    return log


async def generator_manager_misuse():
    """Managers whose generator yields never or twice."""

    @contextlib.asynccontextmanager
    async def none():
        if await act(False):
            yield

    @contextlib.asynccontextmanager
    async def twice():
        yield 1
        await act(None)
        yield 2

    out = []
    for make in (none, twice):
        try:
            async with make() as value:
                out.append(value)
        except RuntimeError as error:
            out.append(str(error))
    return out


async def exit_stack():
    """An ExitStack with managers, callbacks and pushed exits around awaits."""
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(_CM("s", log))
        stack.callback(log.append, "callback")
        await act(1)
        stack.enter_context(_CM("t", log, True))
        stack.push(lambda *info: log.append(repr(info[1])))
        await boom(ValueError("v"))
    log.append(await act("after"))
    return log


async def exit_stack_pop_all():
    """`pop_all` hands the managers over to be closed later."""
    log = []
    with contextlib.ExitStack() as stack:
        for name in await act(["a", "b"]):
            stack.enter_context(_CM(name, log))
        kept = stack.pop_all()
    log.append(await act("still open"))
    kept.close()
    return log


async def async_exit_stack():
    """An AsyncExitStack with both kinds of managers and callbacks that await."""
    log = []

    async def bye(name, *, loud):
        log.append(await act(name.upper() if loud else name))

    async with contextlib.AsyncExitStack() as stack:
        a = await stack.enter_async_context(_ACM("a", log))
        stack.enter_context(_CM("b", log))
        stack.push_async_callback(bye, "c", loud=True)
        stack.callback(log.append, "d")
        log.append(await act(a.name))
    return log


async def async_exit_stack_errors():
    """Errors of async callbacks chain as in nested statements."""
    log = []

    async def fail(error):
        log.append(repr(sys.exception()))
        await boom(error)

    async def swallow(kind, error, traceback):
        log.append(("swallowed", await act(kind.__name__), repr(error.__context__)))
        return True

    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_exit(swallow)
        stack.push_async_callback(fail, KeyError("k"))
        stack.push_async_callback(fail, IndexError("i"))
        await boom(ValueError("v"))
    return log


async def suppress_and_nullcontext():
    """`suppress` and `nullcontext` in their plain and async use."""
    out = []
    with contextlib.suppress(ValueError, KeyError):
        out.append(await act(1))
        await boom(KeyError("k"))
    with contextlib.nullcontext(await act("n")) as n:
        out.append(n)
    async with contextlib.nullcontext(7) as m:
        out.append(await act(m))
    try:
        with contextlib.suppress(ValueError):
            await boom(TypeError("t"))
    except TypeError as error:
        out.append(repr(error))
    return out


async def closing_and_aclosing():
    """`closing` and `aclosing` close what they were given."""
    log = []

    async def numbers():
        try:
            for n in range(5):
                yield await act(n)
        finally:
            log.append(await act("closed"))

    class Thing:
        def close(self):
            log.append("close")

    with contextlib.closing(Thing()) as thing:
        log.append((type(thing).__name__, await act(1)))
    async with contextlib.aclosing(numbers()) as ns:
        async for n in ns:
            if n == 2:
                break
            log.append(n)
    log.append("after")
    return log


async def reused_and_shared_manager():
    """One manager object entered twice, nested, with a count."""

    class Depth:
        def __init__(self):
            self.now, self.most = 0, 0

        async def __aenter__(self):
            self.now += await act(1)
            self.most = max(self.most, self.now)
            return self.now

        async def __aexit__(self, *info):
            self.now -= await act(1)

    d = Depth()
    async with d as one:
        async with d as two, d as three:
            inside = d.now
    async with d as again:
        pass
    return one, two, three, inside, again, d.most, d.now


async def text_buffer_over_awaits():
    """A text buffer in a `with`, printed to before and after awaits."""
    import io

    with io.StringIO() as buffer:
        print("one", await act(1), file=buffer)
        await act(None)
        print("two", 2, sep="-", end="!", file=buffer)
        text = buffer.getvalue()
    try:
        buffer.write(await act("late"))
    except ValueError as error:
        return text, str(error)
