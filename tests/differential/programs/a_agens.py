"""Async generators, async iterators and `async for`."""

import asyncio

from tests.differential.kit import act, boom, slow


class _Feed:
    """An async iterator with state of its own."""

    def __init__(self, items):
        self.items, self.asked = list(items), 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.asked += 1
        if not self.items:
            raise StopAsyncIteration
        return await act(self.items.pop(0))


async def _numbers(n, log):
    try:
        for k in range(n):
            log.append(("yield", k))
            yield await act(k)
    finally:
        log.append("closing")
        await act(None)
        log.append("closed")


async def async_for_else():
    """`async for` with else, continue and break over a class."""
    out = []
    for stop in (1, 9):
        feed = _Feed([0, 1, 2])
        async for x in feed:
            if x == 0:
                continue
            if x == stop:
                break
            out.append(await act(x))
        else:
            out.append("else")
        out.append((feed.asked, feed.items))
    return out


async def async_for_resumed():
    """A second loop over the same async iterator goes on where the first one left."""
    feed = _Feed("abcd")
    out = []
    async for x in feed:
        if x == "b":
            break
        out.append(x)
    async for y in feed:
        out.append(y)
    async for z in feed:
        out.append("never")
    return out, x, y, feed.asked


async def async_for_target_forms():
    """Items, star patterns and attributes as targets of `async for`."""
    d = {}
    out = []
    async for d["k"], *rest in _Feed([(1, 2, 3), "xy"]):
        out.append((d["k"], rest))
    async for d[await act("z")] in _Feed([7]):
        out.append(d)
    return out


async def separate_aiter_object():
    """`__aiter__` that gives a new iterator for every loop."""

    class Pages:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return _Feed(range(self.n)) if self.n else 5

    g = Pages(await act(2))
    out = [[x async for x in g], [x async for x in g]]
    try:
        async for x in Pages(0):
            out.append("never")
    except TypeError as error:
        out.append(str(error))
    return out


async def not_an_async_iterable():
    """The texts of `async for` over things that are none."""
    out = []
    for thing in ([1], None, lambda: 1):
        try:
            await act(None)
            async for x in thing:
                out.append("never")
        except TypeError as error:
            out.append(str(error))
    try:
        for x in _Feed([]):
            out.append("never")
    except TypeError as error:
        out.append(str(error))
    return out


async def error_in_anext():
    """An error of `__anext__` leaves the loop, whose `else` does not run."""

    class Bad(_Feed):
        async def __anext__(self):
            x = await super().__anext__()
            return x if x != 2 else await boom(ValueError(x))

    out = []
    feed = Bad([1, 2, 3])
    try:
        async for x in feed:
            out.append(x)
        else:
            out.append("never")
    except ValueError as error:
        out.append(repr(error))
    async for x in feed:
        out.append(x)
    return out


async def generator_run_to_its_end():
    """An async generator that ends runs its `finally` before the loop's `else`."""
    log = []
    async for x in _numbers(2, log):
        log.append(("got", x))
    else:
        log.append("else")
    return log


async def generator_closed_by_hand():
    """`aclose` runs the `finally` with its await; later steps end at once."""
    log = []
    g = _numbers(5, log)
    log.append(await anext(g))
    log.append(await g.__anext__())
    await g.aclose()
    log.append(await anext(g, "over"))
    await g.aclose()
    try:
        await anext(g)
    except StopAsyncIteration as stop:
        log.append(stop.args)
    return log


async def generator_closed_before_start():
    """`aclose` on a generator that never started does not enter it."""
    log = []
    g = _numbers(3, log)
    await g.aclose()
    out = [x async for x in g]
    await act(None)
    return out, log


async def break_leaves_generator_open():
    """After a break the generator that is still held can go on."""
    log = []
    g = _numbers(4, log)
    async for x in g:
        if x == 1:
            break
    log.append("after break")
    async for x in g:
        log.append(("again", x))
    return log


async def break_drops_generator():
    """A generator dropped by a break is closed in the background, at the next chance."""
    log = []
    async for x in _numbers(4, log):
        if x == 1:
            break
    log.append("after break")
    await act(1)
    log.append("one second")
    await act(2)
    return log


async def asend():
    """`asend` gives values to a generator that awaits between its yields."""

    async def adder():
        total = 0
        try:
            while True:
                got = yield total
                total += await act(got)
        finally:
            await act("end")

    g = adder()
    out = [await g.asend(None)]
    for n in (5, 6):
        out.append(await g.asend(n))
    await g.aclose()
    try:
        await adder().asend(1)
    except TypeError as error:
        out.append(str(error))
    return out


async def athrow():
    """`athrow` raises at the yield; the generator may handle it and go on."""
    log = []

    async def patient():
        n = 0
        while True:
            try:
                n += 1
                yield n
            except ValueError as error:
                log.append(repr(error))
                n = await act(n * 10)

    g = patient()
    out = [await anext(g), await g.athrow(ValueError("a")), await anext(g)]
    try:
        await g.athrow(KeyError("b"))
    except KeyError as error:
        out.append(repr(error))
    out.append(await anext(g, "over"))
    return out, log


async def two_generators_alive():
    """Two generators and a plain one stepped in turns by hand."""
    log = []
    a, b = _numbers(3, log), _numbers(2, log)
    plain = iter("xyz")
    out = []
    for _ in range(3):
        out.append((await anext(a, None), next(plain), await anext(b, None)))
    await a.aclose()
    return out, log


async def generator_over_generator():
    """Generators that read generators, with filters and delays."""

    async def evens(source):
        async for n in source:
            if n % 2 == 0:
                yield n

    async def pairs(source):
        before = None
        async for n in source:
            if before is not None:
                yield before, await slow(n, 0.25)
            before = n

    log = []
    out = [p async for p in pairs(evens(_numbers(6, log)))]
    return out, log[-2:]


async def error_in_body_of_loop():
    """An error in the loop's body is not seen by the generator until it is closed."""
    log = []
    g = _numbers(3, log)
    try:
        async for x in g:
            if x == 1:
                await boom(ValueError(x))
    except ValueError as error:
        log.append(repr(error))
    await g.aclose()
    return log


async def error_inside_generator():
    """A generator that failed is over; its error has the caller's as context."""

    async def fails():
        yield await act(1)
        raise KeyError("inside")

    g = fails()
    out = [await anext(g)]
    try:
        raise ValueError("handled")
    except ValueError:
        try:
            await anext(g)
        except KeyError as error:
            out.append((repr(error), repr(error.__context__)))
    out.append(await anext(g, "over"))
    return out


async def stop_iteration_inside_generator():
    """StopIteration and StopAsyncIteration raised inside become RuntimeErrors."""

    async def raises(kind):
        yield await act(1)
        raise kind("by hand")

    out = []
    for kind in (StopIteration, StopAsyncIteration):
        try:
            async for x in raises(kind):
                out.append(x)
        except RuntimeError as error:
            out.append((str(error), repr(error.__cause__)))
    return out


async def yield_inside_with_and_try():
    """Yields inside of `async with`, `try` and loops keep their blocks open."""
    log = []

    class Room:
        async def __aenter__(self):
            log.append(await act("open"))

        async def __aexit__(self, *info):
            log.append((await act("shut"), info[0] and info[0].__name__))

    async def inside():
        async with Room():
            for n in range(3):
                try:
                    yield n
                finally:
                    log.append(("turn", n))

    g = inside()
    async for n in g:
        log.append(await act(n))
        if n == 1:
            break
    await g.aclose()
    return log


async def return_ends_generator():
    """A plain `return` inside of an async generator, through a `finally` that awaits."""
    log = []

    async def some(n):
        for k in range(9):
            try:
                if k == n:
                    return
                yield k
            finally:
                log.append(await act(("f", k)))

    return [x async for x in some(2)], log


async def aclose_refused():
    """A generator that yields while it is closed fails with a RuntimeError."""

    async def stubborn():
        try:
            yield 1
        finally:
            yield await act(2)

    g = stubborn()
    out = [await anext(g)]
    try:
        await g.aclose()
    except RuntimeError as error:
        out.append(str(error))
    try:
        await anext(g)
    except BaseException as error:
        out.append(type(error).__name__)
    return out


async def aiter_and_anext_builtins():
    """`aiter`, `anext` and defaults, in any position of an expression."""
    it = aiter(_Feed([1, 2, 3]))
    first = await anext(it) + await anext(it) * 10
    both = [await anext(it, None), await anext(it, "end")]
    try:
        await anext(it)
    except StopAsyncIteration:
        both.append("stop")
    return first, both


async def generator_as_method_with_state():
    """An async generator method that shares the state of its object."""

    class Tank:
        def __init__(self, level):
            self.level = level

        async def drain(self, by):
            while self.level > 0:
                self.level -= await act(by)
                yield self.level

    t = Tank(10)
    out = []
    async for level in t.drain(3):
        out.append(level)
        if level == 4:
            t.level += 5
    return out, t.level


async def generator_while_running():
    """A generator asked twice at once refuses the second question."""
    log = []
    g = _numbers(3, log)
    first = asyncio.ensure_future(anext(g))
    await asyncio.sleep(0)
    try:
        await anext(g)
    except RuntimeError as error:
        log.append(str(error))
    log.append(await first)
    await g.aclose()
    return log


async def async_generator_closed_wherever_its_loop_is_left():
    """By `return`, an error, a cancellation: its `finally` is under way from then on."""
    log = []

    async def by_return():
        async for x in _numbers(3, log):
            return await act(x)

    async def by_error():
        try:
            async for x in _numbers(3, log):
                await boom(ValueError(x))
        except ValueError as error:
            log.append(("caught", error.args))
            await act(None)
            log.append("caught and waited")

    async def by_cancel():
        try:
            async for x in _numbers(3, log):
                await asyncio.sleep(60)
        finally:
            log.append("after the loop")

    log.append(await by_return())
    log.append(await act("between"))
    await by_error()
    task = asyncio.create_task(by_cancel())
    await act(None)
    await act(None)
    task.cancel()
    log.append(await asyncio.gather(task, return_exceptions=True) and "cancelled")
    log.append(await act("last"))
    await act(None)
    return log


async def closed_in_a_finally_that_awaits():
    """`aclose`, `athrow` and a broken loop, each waiting inside of the generator's own cleanup."""
    out = []

    async def feed(name, swallow=False):
        try:
            yield 1
            yield 2
        except KeyError as error:
            out.append(await slow(repr(error), 0.5))
            yield "caught"
        finally:
            out.append(await slow(f"closing {name}", 0.5))
            await act("closed")
            if swallow:
                yield "ignored"

    one = feed("one")
    await anext(one)
    await one.aclose()
    two = feed("two")
    await anext(two)
    out.append(await two.athrow(KeyError("k")))
    try:
        await two.athrow(ValueError("v"))
    except ValueError as error:
        out.append((repr(error), error.__context__))
    three = feed("three", swallow=True)
    await anext(three)
    try:
        await three.aclose()
    except RuntimeError as error:
        out.append(str(error))
    await three.aclose()
    out.append(await anext(three, "over"))
    four = feed("four")
    await anext(four)
    closing = asyncio.create_task(four.aclose())
    await asyncio.sleep(0.25)
    closing.cancel("stop")
    try:
        await closing
    except asyncio.CancelledError as error:
        out.append(error.args)
    return out


async def not_restorable_and_half_way():
    """An asynchronous generator that awaits beside an `except*` waits at a `yield` meanwhile."""
    out = []

    async def feed(n):
        for i in range(n):
            try:
                yield i
                await act(i)
            except* ValueError:
                await act("never")

    async for each in feed(3):
        out.append(await act(each))
    unstarted = feed(2)
    await act("before")
    out.append([each async for each in unstarted])
    return out
