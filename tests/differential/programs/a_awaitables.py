"""Awaitables as values: kept, chosen, given away, awaited late, twice or never."""

import asyncio
import functools
import inspect

from tests.differential.kit import act, boom, slow


async def _double(x):
    return 2 * await act(x)


async def _traced(log, name, value):
    log.append("start " + name)
    got = await act(value)
    log.append("end " + name)
    return got


async def coroutine_starts_when_awaited():
    """A coroutine kept in a name does nothing until it is awaited."""
    log = []
    c = _traced(log, "c", 1)
    log.append("made")
    await act(None)
    log.append("waited")
    return await c, log


async def coroutines_in_list():
    """Coroutines kept in a list and awaited in the opposite order."""
    log = []
    cs = [_traced(log, n, n * 2) for n in "abc"]
    await act(None)
    out = []
    while cs:
        out.append(await cs.pop())
    return out, log


async def coroutines_in_dict():
    """Coroutines in a dict awaited where they are, then replaced by their results."""
    log = []
    d = {n: _traced(log, n, n.upper()) for n in "xyz"}
    d["w"] = act("action")
    for k in d:
        d[k] = await d[k]
    return d, log


async def coroutine_never_awaited():
    """A coroutine closed by hand never starts; awaiting it then is an error."""
    log = []
    c = _traced(log, "c", 1)
    await act(None)
    c.close()
    try:
        await c
    except RuntimeError as error:
        log.append(str(error))
    return log


async def awaited_twice():
    """A coroutine awaited again is a RuntimeError; its first result is kept."""
    c = _double(4)
    out = [await c]
    for _ in range(2):
        try:
            out.append(await c)
        except RuntimeError as error:
            out.append(str(error))
    return out


async def awaited_twice_after_failure():
    """A coroutine that failed cannot be awaited again either."""
    c = boom(ValueError("once"))

    async def outer():
        return await c

    out = []
    for attempt in (outer(), outer()):
        try:
            await attempt
        except (ValueError, RuntimeError) as error:
            out.append(type(error).__name__)
    return out


async def coroutine_awaited_by_two():
    """Two branches that await one coroutine: the second is refused while the first waits."""
    c = _double(3)
    log = []

    async def branch(name):
        try:
            log.append((name, await c))
        except RuntimeError as error:
            log.append((name, str(error)))

    await asyncio.gather(branch("a"), branch("b"))
    return log


async def task_awaited_twice():
    """A task gives its result, or its error, as often as it is asked."""
    good, bad = asyncio.ensure_future(_double(2)), asyncio.ensure_future(boom(KeyError("k")))
    out = [await good, await good]
    for _ in range(2):
        try:
            await bad
        except KeyError as error:
            out.append(repr(error))
    return out, good.result(), repr(bad.exception())


async def conditional_awaitable():
    """A conditional expression chooses what to await."""
    out = []
    for n in range(3):
        out.append(await (act(n) if n == 0 else slow(n, 0.5) if n == 1 else _double(n)))
    chosen = _double if await act(True) else act
    out.append(await chosen(5))
    out.append(await (None or act("or")))
    out.append(await (True and act("and")))
    return out


async def actions_as_arguments():
    """Actions and helpers given to a helper that calls them."""

    async def apply(f, *args, **kwargs):
        return await f(*args, **kwargs)

    async def compose(*fs):
        x = 1
        for f in fs:
            x = await f(x)
        return x

    a = await apply(act, 1)
    b = await apply(slow, "s", seconds=0.5)
    c = await compose(act, _double, _double, lambda x: slow(x + 1, 0.25))
    try:
        await apply(boom, ValueError("applied"))
    except ValueError as error:
        return a, b, c, repr(error)


async def actions_in_tables():
    """Actions kept in dicts, lists and attributes and called from there."""

    class Tools:
        fetch = staticmethod(act)
        wait = functools.partial(slow, seconds=0.5)

    table = {"act": act, "double": _double, "list": [slow, boom]}
    t = Tools()
    return (
        await table["act"]("a"), await table["double"](4), await table["list"][0](5, 0.25),
        await t.fetch("f"), await Tools.wait("w"), [f is act for f in (table["act"], t.fetch)],
    )


async def method_returns_awaitable():
    """Plain methods, properties and lambdas that return awaitables."""

    class Api:
        def get(self, k):
            self.last = k
            return act(k * 2)

        def many(self, *ks):
            return asyncio.gather(*map(self.get, ks))

        @property
        def ready(self):
            return slow("ready", 0.5)

    api = Api()
    got = await api.get("a"), await api.many(1, 2, 3), await api.ready, api.last
    return got, await (lambda api: api.get("z"))(api)


async def coroutine_as_argument():
    """A coroutine given to a helper that decides whether to await it."""

    async def maybe(flag, c):
        if await act(flag):
            return await c
        c.close()
        return "skipped"

    return await maybe(True, _double(1)), await maybe(False, _double(2)), await maybe(1, act("x"))


async def coroutine_returned():
    """A helper that returns a coroutine without awaiting it."""

    async def later(x):
        await act(None)
        return _double(x)

    c = await later(5)
    kind = type(c).__name__
    return kind, await c, await (await later("s")), inspect.iscoroutine(c)


async def lazy_action_arguments():
    """A list given to an action that is awaited later is read at the await."""
    xs = [1]
    c = act(xs)
    xs.append(2)
    await act(None)
    xs.append(3)
    got = await c
    xs.append(4)
    return got, xs, got is xs


async def action_result_is_a_copy():
    """The result of an action is no alias of its argument, in any part."""
    inner = [1]
    d = {"a": inner, "b": inner}
    got = await act(d)
    got["a"].append(2)
    return d, got, got["a"] is got["b"], got == d


async def gather_of_mixed_awaitables():
    """Coroutines, tasks, futures and user awaitables in one gather."""

    class W:
        def __await__(self):
            return act("w").__await__()

    f = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.5, f.set_result, "future")
    t = asyncio.ensure_future(_double("t"))
    return await asyncio.gather(act(1), W(), f, t, slow("s", 0.25), return_exceptions=True)


async def awaitable_in_default_and_closure():
    """An awaitable kept by a default argument and by a closure; each gives its result once."""
    c, d = act("default"), act("closure")

    async def f(x=c):
        return await x

    async def g():
        return await d

    out = [await f(), await g()]
    for h in (f, g):
        try:
            await h()
        except RuntimeError as error:
            out.append(str(error))
    return out


async def wrong_things_awaited():
    """Awaiting a function, a list of coroutines or a result is a TypeError."""
    out = []
    cs = [_double(1), _double(2)]
    try:
        await cs
    except TypeError as error:
        out.append(str(error))
    for c in cs:
        out.append(await c)
    for wrong in (lambda: 1, await act(3), None, (n for n in "ab"), NotImplemented):
        try:
            await wrong
        except TypeError as error:
            out.append(str(error))
    return out


async def send_by_hand():
    """A coroutine driven by hand through an awaitable that yields a plain value."""
    log = []

    class Ask:
        def __await__(self):
            log.append("asked")
            got = yield "token"
            return got

    async def job():
        log.append(await Ask())
        return "done"

    c = job()
    log.append(c.send(None))
    await act(None)
    try:
        c.send("answer")
    except StopIteration as stop:
        log.append(stop.value)
    return log


async def close_suspended_by_hand():
    """A coroutine closed where it is suspended runs its `finally`."""
    log = []

    class Pause:
        def __await__(self):
            yield "paused"

    async def job():
        try:
            await Pause()
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    c = job()
    log.append(c.send(None))
    await act(None)
    c.close()
    return log


async def throw_into_coroutine_by_hand():
    """`throw` into a coroutine that never started, and `close` of a finished one."""

    async def job():
        return await act("never")

    out = []
    c = job()
    try:
        c.throw(KeyError("thrown"))
    except KeyError as error:
        out.append(repr(error))
    d = job()
    out.append(await d)
    d.close()
    try:
        d.send(None)
    except RuntimeError as error:
        out.append(str(error))
    return out


async def coroutine_states():
    """What `inspect` says about a coroutine before, during and after."""
    out = []

    async def job():
        out.append(inspect.getcoroutinestate(c))
        return await act(1)

    c = job()
    out.append(inspect.getcoroutinestate(c))
    await c
    out.append(inspect.getcoroutinestate(c))
    out += [inspect.isawaitable(x) for x in (c, act, 5)]
    return out, c.__name__, inspect.iscoroutinefunction(job)


async def pipeline_of_awaitables():
    """Every stage gets the awaitable of the stage before it."""
    log = []

    async def stage(name, source):
        log.append(name)
        got = await source
        log.append((name, got))
        return got + name

    c = act("")
    for name in "abc":
        c = stage(name, c)
    log.append("built")
    return await c, log


async def same_action_many_times():
    """Twenty calls of one action in a row and then at once."""
    total = 0
    for n in range(20):
        total += await act(n)
    return total, sum(await asyncio.gather(*(act(n) for n in range(20))))


async def failing_deep_in_helpers():
    """A failure several helpers deep, with helpers of each kind on the way."""

    class Service:
        async def call(self, x):
            return await self.inner(x)

        @staticmethod
        async def inner(x):
            return [await deep(y) for y in x]

    async def deep(y):
        async with asyncio.Lock():
            return await (lambda: boom(ValueError(f"deep {y}")))()

    names = []
    try:
        await functools.partial(Service().call)([1, 2])
    except ValueError as error:
        t = error.__traceback__
        while t:
            names.append(t.tb_frame.f_code.co_name)
            t = t.tb_next
        return str(error), [n for n in names if n in ("call", "inner", "deep")]


async def failing_uncaught_in_helpers():
    """A TypeError several helpers deep leaves the program with its text."""

    async def a(x):
        return await b(x) + 1

    async def b(x):
        return await c(await act(x))

    async def c(x):
        return x + await act("1")

    return await a(1)
