"""Plain generators and iterators that stay alive over awaits."""

import asyncio
import functools
import itertools

from tests.differential.kit import act, boom

_CLOSED = []


def _steps(n):
    try:
        for k in range(n):
            yield k
    finally:
        _CLOSED.append(n)


async def generator_in_for():
    """A plain generator driven by a `for` with awaits in its body."""
    out = []
    for x in _steps(3):
        out.append(await act(x))
        out.append(len(_CLOSED))
    return out, _CLOSED


async def generator_break_closes():
    """Leaving the loop drops the generator, whose `finally` then runs."""
    out = []
    for x in _steps(5):
        if await act(x) == 2:
            break
        out.append(x)
    out.append(list(_CLOSED))
    await act(None)
    return out, _CLOSED


async def generator_kept_and_resumed():
    """A generator kept in a name goes on after awaits and a first loop."""
    g = _steps(6)
    out = []
    for x in g:
        out.append(await act(x))
        if x == 1:
            break
    out.append(await act("pause"))
    out.append(next(g))
    g.close()
    out.append((list(_CLOSED), next(g, "closed")))
    return out


async def send_and_throw():
    """`send`, `throw` and the value of a finished generator between awaits."""

    def talk():
        got = []
        while len(got) < 3:
            try:
                got.append((yield len(got)))
            except ValueError as error:
                got.append(repr(error))
        return got

    g = talk()
    out = [next(g), g.send(await act("a")), g.throw(ValueError(await act("b")))]
    try:
        g.send(await act("c"))
    except StopIteration as stop:
        out.append(stop.value)
    return out


async def yield_from_over_awaits():
    """Delegating generators alive over awaits, with return values."""

    def inner(name):
        got = yield name + "1"
        yield name + str(got)
        return name.upper()

    def outer():
        a = yield from inner("a")
        b = yield from inner(a)
        yield (a, b)
        yield from "xy"

    g = outer()
    out = [next(g)]
    for k in range(3):
        out.append(g.send(await act(k)))
    for rest in g:
        out.append(await act(rest))
    return out


async def builtin_iterators_alive():
    """zip, enumerate, map, filter, reversed and dict iterators half consumed over awaits."""
    z = zip("abc", [1, 2, 3])
    e = enumerate("xyz", 1)
    m = map(lambda n: n * 2, [1, 2, 3])
    f = filter(None, [0, 1, 0, 2, 3])
    r = reversed([1, 2, 3])
    d = iter({"k": 1, "l": 2}.items())
    first = [next(i) for i in (z, e, m, f, r, d)]
    await act(first[0])
    second = [next(i) for i in (z, e, m, f, r, d)]
    await act(None)
    return first, second, [list(i) for i in (z, e, m, f, r, d)]


async def sequence_iterators_alive():
    """Iterators of lists, tuples, texts, ranges and bytes over awaits and changes."""
    xs = [1, 2, 3]
    its = [iter(xs), iter((4, 5)), iter("ab"), iter(range(3, 0, -1)), iter(b"yz")]
    out = [[next(i) for i in its]]
    xs.append(await act(9))
    out.append([next(i) for i in its])
    await act(None)
    out.append([list(i) for i in its])
    xs.append(10)
    out.append(list(its[0]))
    return out


async def itertools_alive():
    """Iterators of itertools over awaits."""
    c = itertools.count(10, 5)
    cy = itertools.cycle("ab")
    ch = itertools.chain([1], (n for n in (2, 3)))
    ac = itertools.accumulate([1, 2, 3, 4])
    out = []
    for _ in range(3):
        out.append((next(c), next(cy), next(ch), next(ac)))
        await act(None)
    pairs = list(itertools.pairwise(await act("abc")))
    groups = [(k, list(g)) for k, g in itertools.groupby(await act([1, 3, 2, 5]), lambda n: n % 2)]
    for combo in itertools.combinations("xyz", 2):
        out.append(await act("".join(combo)))
    return out, pairs, groups, list(itertools.islice(c, 2))


async def generator_fails():
    """An error raised by a plain generator inside of a `for` header."""

    def gen():
        yield 1
        raise KeyError("inside")

    out = []
    try:
        for x in gen():
            out.append(await act(x))
        else:
            out.append("never")
    except KeyError as error:
        out.append(repr(error))
    return out


async def error_while_generator_alive():
    """An awaited error passes a loop over a generator, which is then closed."""
    try:
        for x in _steps(4):
            if x == 2:
                await boom(ValueError(x))
    except ValueError as error:
        del x
        return repr(error), await act("handled")


async def user_iterator_protocol():
    """A user class with `__iter__` and `__next__`."""

    class Down:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    d = Down(await act(3))
    out = [next(d)]
    for x in d:
        out.append(await act(x))
    a, b, *rest = Down(4)
    return out, a, b, rest, 2 in Down(5), list(d)


async def old_iteration_protocol():
    """A class with only `__getitem__` is iterated by index until an IndexError."""

    class Old:
        def __init__(self):
            self.asked = []

        def __getitem__(self, k):
            self.asked.append(k)
            return "old"[k]

    o = Old()
    out = []
    for c in o:
        out.append(await act(c))
    it = iter(o)
    next(it)
    await act(None)
    return out, o.asked, list(it), "d" in o, o.asked


async def iter_with_sentinel():
    """`iter(callable, sentinel)` alive over awaits."""
    feed = [3, 2, 0, 1]
    out = []
    for x in iter(lambda: feed.pop(0), 0):
        out.append(await act(x))
    it = iter(functools.partial(feed.pop), 7)
    out.append(next(it))
    return out, feed


async def generator_with_state_in_class():
    """Two generators of one object share its state over awaits."""

    class Source:
        def __init__(self):
            self.taken = []

        def numbers(self, name):
            for n in itertools.count():
                self.taken.append((name, n))
                got = yield n
                if got:
                    return got

    s = Source()
    a, b = s.numbers("a"), s.numbers("b")
    next(a), next(b)
    await act(None)
    next(a)
    try:
        b.send(await act("stop"))
    except StopIteration as stop:
        end = stop.value
    return s.taken, end, next(a)


async def two_iterators_over_one_list():
    """Two iterators of one list and one generator zipped with itself."""
    xs = await act([1, 2, 3, 4])
    pairs = []
    it = iter(xs)
    for a, b in zip(it, it):
        pairs.append(await act((a, b)))
    for a in xs:
        for b in xs:
            if a < b and await act(a + b) == 5:
                pairs.append((a, b))
    return pairs


async def generator_closed_while_pending_error():
    """Closing a generator that yields in its `finally` is a RuntimeError."""

    def stubborn():
        try:
            yield 1
        finally:
            yield 2

    g = stubborn()
    out = [next(g), await act("pause")]
    try:
        g.close()
    except RuntimeError as error:
        out.append(str(error))
    try:
        out.append(next(g))
    except GeneratorExit as error:
        out.append(repr(error))
    return out


async def stateful_pipeline():
    """A pipeline of plain generators fed with awaited values."""

    def average():
        total, n = 0, 0
        result = None
        while True:
            result = total / n if n else None
            value = yield result
            total += value
            n += 1

    def double(source):
        for x in source:
            yield x * 2

    avg = average()
    next(avg)
    out = []
    for x in double(double(_steps(4))):
        out.append((x, avg.send(await act(x))))
    return out, _CLOSED


async def generator_closed_wherever_its_loop_is_left():
    """By `return`, `continue` of an outer loop, an error, a cancellation: at once, each time."""
    log = []

    def steps(name):
        try:
            yield from range(3)
        finally:
            log.append(("closed", name))

    async def by_return():
        for x in steps("return"):
            return await act(x)

    async def by_error():
        try:
            for x in steps("error"):
                await boom(ValueError(x))
        except ValueError as error:
            log.append(("caught", error.args))
            raise KeyError("next") from error

    async def by_cancel():
        try:
            for x in steps("cancel"):
                await asyncio.sleep(60)
        finally:
            log.append("after the loop")

    log.append(await by_return())
    for n in range(2):
        for x in steps(("outer", n)):
            if await act(x) == 1:
                break
        else:
            continue
        log.append("left")
    try:
        await by_error()
    except KeyError as error:
        log.append(repr(error))
    task = asyncio.create_task(by_cancel())
    await act(None)
    task.cancel()
    log.append(await asyncio.gather(task, return_exceptions=True) and "cancelled")
    return log


async def generator_expressions_over_awaits():
    """Nested, with conditions, closures, `:=`, and asked for more between awaits."""
    out = []
    rows = [[1, 2], [3], []]
    flat = (x * len(row) for row in rows if row for x in row if x != 3)
    out.append(next(flat))
    await act("first")
    out.append(list(flat))
    total = 0
    running = (total := total + x for x in range(4))
    for each in running:
        out.append((await act(each), total))
    nested = ((y for y in range(x)) for x in (2, 3))
    for inner in nested:
        out.append(next(inner))
        await act("inner")
        out.append(list(inner))
    makers = (lambda: x for x in (1, 2))
    one = next(makers)
    await act("maker")
    out.append((one(), next(makers)(), one()))
    return out


async def generator_expressions_in_odd_places():
    """In the test of a loop, behind `and`, in a default, in a block without an await."""
    out = []
    left = [3, 2, 1]
    while next((x for x in left if x > 1), None):
        out.append(await act(left.pop(0)))
    lazy = out and (x for x in out)
    if lazy:
        doubled = (x * 2 for x in lazy)

    def ask(given=(x for x in "ab")):
        return next(given)

    out.append(ask())
    await act("between")
    out.append((ask(), list(doubled), next(lazy, "over")))
    pairs = zip((x for x in "xy"), (await act(n) for n in ()) and (1, 2))
    out.append(next(pairs))
    await act("zip")
    out.append(list(pairs))
    return out


async def generator_expressions_that_fail():
    """What is not iterable says so at once; what fails later does so where it is asked."""
    out = []
    try:
        (x for x in 5)
    except TypeError as error:
        out.append(str(error))
    fails = (10 // x for x in (5, 0, 2))
    out.append(next(fails))
    await act("before")
    try:
        next(fails)
    except ZeroDivisionError as error:
        out.append((str(error), error.__traceback__.tb_next.tb_frame.f_code.co_name))
    out.append(list(fails))
    thrown = (x for x in range(3))
    next(thrown)
    await act("thrown")
    try:
        thrown.throw(KeyError("in"))
    except KeyError as error:
        out.append(repr(error))
    stops = (next(iter(())) for _ in range(1))
    await act("stops")
    try:
        next(stops)
    except RuntimeError as error:
        out.append((str(error), type(error.__cause__).__name__))
    closed = (x for x in range(3))
    next(closed)
    await act("closed")
    closed.close()
    out.append((list(closed), closed.__name__, closed.__qualname__))
    return out


async def async_generator_expressions_over_awaits():
    """An element that awaits makes it an asynchronous one."""
    out = []
    squares = (await act(x * x) for x in range(4) if x != await act(2))
    out.append(await anext(squares))
    await act("between")
    async for each in squares:
        out.append(each)
        await act(each)
    return out


async def matches_over_awaits():
    """What a pattern matched goes on over an await."""
    import re

    out = []
    text = "ab12 cd34"
    if found := re.search(r"(?P<word>[a-z]+)(\d+)", text):
        await act(found["word"])
        out.append((found.groups(), found.span(2), found.pos, found.lastgroup))
    for each in re.finditer(r"(?<=[a-z])\d", text):
        await act(each[0])
        out.append((each.start(), each.re.pattern, each.string is text))
    whole = re.compile("a*?").fullmatch("aaa")
    part = re.compile("b").match("abc", 1, 2)
    await act("more")
    out.append((whole[0], part.span(), part.endpos, whole.expand("<\\g<0>>")))
    return out
