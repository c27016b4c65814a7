"""Functions: arguments, closures, lambdas, decorators, recursion."""

import asyncio
import functools

from tests.differential.kit import act, boom, slow


async def default_arguments_evaluated_once():
    """Defaults belong to the definition, mutable ones are shared by the calls."""

    async def collect(x, into=[]):
        into.append(await act(x))
        return list(into)

    n = 1

    async def fixed(k=n, *, m=[n]):
        m[0] += await act(k)
        return m[0]

    n = 100
    got = [await collect(1), await collect(2), await collect(3, []), await collect(4)]
    return got, [await fixed(), await fixed(5), await fixed(m=[0])]


async def mutable_default_of_module_helper():
    """The shared default of a helper of the module."""
    return [await _remember(1), await _remember(2, key="z"), await _remember(3)]


async def _remember(x, *, key="k", seen={}):
    seen.setdefault(key, []).append(await act(x))
    return {k: list(v) for k, v in seen.items()}


async def parameter_kinds():
    """Positional-only, keyword-only, star and double-star parameters."""

    async def f(a, b=2, /, c=3, *rest, d, e=5, **more):
        await act(None)
        return a, b, c, rest, d, e, more

    return [
        await f(1, d=4),
        await f(1, 2, 3, 4, 5, d=6, a=7, b=8),
        await f(*await act([1, 2]), c=9, **await act({"d": 1, "z": 2})),
        await f(await act(1), d=await act(2), e=await act(3)),
    ]


async def wrong_arity_of_helpers():
    """The texts of calls that do not fit; the call fails before any await."""

    async def f(a, /, b, *, c):
        return a, b, c

    out = []
    for args, kwargs in (
        ((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {"c": 1}), ((1, 2), {"c": 3, "d": 4}),
        ((1,), {"a": 2, "b": 3, "c": 4}), ((1, 2), {"b": 3, "c": 4}),
    ):
        try:
            await act(None)
            out.append(f(*args, **kwargs))
        except TypeError as error:
            out.append(str(error).split("<locals>.")[-1])
    return out


async def wrong_arity_of_actions():
    """An action called with arguments that do not fit fails as a function does."""
    out = []
    for call in (
        lambda: act(1, 2),
        lambda: act(val=1),
        lambda: slow(1),
        lambda: slow(1, 2, 3),
        lambda: boom(),
        lambda: act(1, value=2),
        lambda: slow(1, seconds=0.5, more=2),
    ):
        try:
            await call()
        except TypeError as error:
            out.append(str(error))
    return out, await slow(seconds=0.5, value="by name"), await act(value=1)


async def closures_and_nonlocal():
    """A nonlocal counter shared by plain and async inner functions."""
    n = 0
    fs = []

    def inc():
        nonlocal n
        n += 1
        return n

    for i in range(2):

        async def w(k=i):
            return inc(), await act(k), inc(), i

        fs.append(w)
    out = [await f() for f in fs]
    out.append(await asyncio.gather(*[f() for f in fs], fs[0](9)))
    return out, n


async def nonlocal_shared_by_branches():
    """Concurrent helpers that change one nonlocal around their awaits."""
    total = 0
    log = []

    async def add(n, seconds):
        nonlocal total
        before = total
        await slow(None, seconds)
        log.append((n, before, total))
        total += n

    await asyncio.gather(add(1, 3.0), add(2, 1.0), add(3, 2.0))
    return total, log


async def closure_factory():
    """Helpers made by a factory have cells of their own."""

    def make(k):
        c = 0

        async def h(x):
            nonlocal c
            c += 1
            y = await act(x)
            c += y
            return c + k

        return h

    h = make(100)
    g = h
    return [await h(1), await g(2), await make(5)(3), await asyncio.gather(h(1), h(2))]


async def nested_scopes():
    """Three scopes deep: free names, own names and nonlocals of two levels."""
    x = "outer"

    async def middle():
        y = await act("middle")

        async def inner(z):
            nonlocal x, y
            x, y = y + z, await act(x)
            return lambda: (x, y, z)

        return await inner("!"), lambda: y

    f, g = await middle()
    x = await act("changed")
    return f(), g(), x


async def free_name_bound_later():
    """A free name is read when the function runs; unbound it is a NameError."""

    async def f():
        await act(None)
        return later

    try:
        await f()
    except NameError as error:
        text = str(error)
    later = "now"
    got = await f()
    del later
    try:
        await f()
    except NameError as error:
        return text, got, type(error).__name__


async def lambdas():
    """Lambdas with awaitables, defaults, stars and conditions."""
    pick = lambda which: act("a") if which else slow("b", 0.5)  # noqa: E731
    many = lambda *a, k=1, **kw: asyncio.gather(*[act(x * k) for x in a])  # noqa: E731
    twice = lambda f: lambda x: f(f(x))  # noqa: E731
    key = sorted(await act([3, -1, 2]), key=lambda n: -abs(n))
    return [
        await pick(True), await pick(False), await many(1, 2, k=3),
        twice(lambda x: x + 1)(await act(5)), key, (lambda: (yield))().__name__,
    ]


async def sync_decorators_stacked():
    """Decorators that wrap an async helper, with `functools.wraps` and arguments."""
    log = []

    def noisy(name):
        def deco(f):
            @functools.wraps(f)
            async def wrapper(*args, **kwargs):
                log.append(name + " before")
                try:
                    return await f(*args, **kwargs)
                finally:
                    log.append(await act(name + " after"))

            return wrapper

        return deco

    @noisy("outer")
    @noisy("inner")
    async def work(x, *, y=1):
        """The text of work."""
        log.append("work")
        return await act(x + y)

    return await work(1), await work(1, y=5), work.__name__, work.__doc__, log


async def decorator_class():
    """A decorator that is a class with an async `__call__` and a count."""

    class Counted:
        def __init__(self, f):
            functools.update_wrapper(self, f)
            self.f, self.calls = f, 0

        async def __call__(self, *args):
            self.calls += 1
            return self.calls, await self.f(*args)

    @Counted
    async def double(x):
        return 2 * await act(x)

    got = [await double(1), await double("a")]
    return got, double.calls, double.__name__, double.__wrapped__ is double.f


async def decorator_retry():
    """A retry decorator with arguments over an action that fails twice."""
    log = []

    def retry(times, kinds):
        def deco(f):
            async def again(*args):
                for n in range(1, times + 1):
                    try:
                        return n, await f(n, *args)
                    except kinds as error:
                        log.append((n, repr(error)))
                raise LookupError(times)
            return again

        return deco

    @retry(3, (ValueError, KeyError))
    async def flaky(n, good):
        return await act("done") if n >= good else await boom(ValueError(n))

    got = await flaky(3)
    try:
        await flaky(9)
    except LookupError as error:
        return got, log, error.args


async def partials():
    """functools.partial of actions, helpers, methods and partials."""

    class A:
        async def m(self, a, b):
            return a, await act(b)

    async def f(a, b, *, c=0):
        return await act((a, b, c))

    p = functools.partial(f, 1, c=await act(3))
    q = functools.partial(p, c=4)
    m = functools.partial(A().m, "a")
    s = functools.partial(slow, seconds=0.5)
    await act(None)
    return await p(2), await q(5), await m("b"), await s("s"), q.args, q.keywords, q.func is f


async def reduce_and_sorted_with_state():
    """functools.reduce and cmp_to_key with functions that close over awaited values."""
    base = await act(10)
    steps = []

    def add(a, b):
        steps.append((a, b))
        return a + b * base

    total = functools.reduce(add, await act([1, 2, 3]), 0)
    words = await act(["bb", "a", "ccc"])
    words.sort(key=functools.cmp_to_key(lambda a, b: len(b) - len(a)))
    return total, steps, words


async def reduce_over_coroutines():
    """A chain of awaitables folded by hand."""

    async def then(before, f):
        return await f(await before)

    async def plus(x):
        return await act(x + 1)

    async def times(x):
        return await slow(x * 10, 0.5)

    return await functools.reduce(then, [plus, times, plus], act(1))


async def singledispatch_async():
    """functools.singledispatch over async helpers."""

    @functools.singledispatch
    async def show(x):
        return "any", await act(str(x))

    @show.register
    async def _(x: int):
        return "int", await act(x + 1)

    @show.register(list)
    async def _(x):
        return "list", [await show(y) for y in x]

    return await show([1, "a", [2.5, True]]), await show(None)


async def recursion_deep():
    """A helper that calls itself 100 times, with an await at the bottom and on the way up."""

    async def down(n):
        if n == 0:
            return await act(0)
        got = await down(n - 1)
        if n % 25 == 0:
            got += await act(1)
        return got + n

    return await down(100)


async def mutual_recursion():
    """Two helpers that call each other, with memory in a shared dict."""
    seen = {}

    async def even(n):
        seen[n] = "even?"
        return True if n == 0 else await odd(n - 1)

    async def odd(n):
        seen[n] = await act("odd?")
        return False if n == 0 else await even(n - 1)

    return await even(6), await even(3), seen


async def recursion_over_tree():
    """A tree walked by a recursive helper with awaits between the branches."""

    async def walk(node, depth=0):
        name, *children = node
        yield_order.append(("down", name, depth))
        sizes = [await walk(c, depth + 1) for c in children]
        size = await act(1 + sum(sizes))
        yield_order.append(("up", name, size))
        return size

    yield_order = []
    tree = ["root", ["a", ["b"], ["c"]], ["d"]]
    return await walk(tree), yield_order


async def recursion_concurrent():
    """Recursive helpers that gather their own branches."""

    async def fib(n):
        if n < 2:
            return await act(n)
        return sum(await asyncio.gather(fib(n - 1), fib(n - 2)))

    return await fib(7)


async def recursive_lambda_and_default():
    """A lambda that calls itself by name, and a default that refers to an earlier helper."""
    fact = lambda n: n * fact(n - 1) if n else 1  # noqa: E731

    async def g(n, f=fact):
        await act(None)
        return f(n)

    fact = await act(None)
    try:
        return await g(0), await g(3)
    except TypeError as error:
        return str(error)


async def functions_as_values():
    """Helpers kept in dicts and lists, given as arguments and compared."""

    async def plus(a, b):
        return await act(a + b)

    async def minus(a, b):
        return await act(a - b)

    table = {"+": plus, "-": minus}
    stack = []
    for token in await act("5 3 - 4 +".split()):
        if token in table:
            b, a = stack.pop(), stack.pop()
            stack.append(await table[token](a, b))
        else:
            stack.append(int(token))
    return stack, table["+"] is plus, plus is not minus, list(table.values()).index(minus)


async def function_attributes():
    """Attributes set on a function around its own awaits."""

    async def f(x):
        f.calls += 1
        got = await act(x)
        f.last = got
        return f.calls

    f.calls = 0
    out = [await f("a"), await f("b"), *await asyncio.gather(f("c"), f("d"))]
    return out, f.last, f.calls, f.__name__


async def annotations_only():
    """Annotations of parameters and results do not matter at run time."""

    async def f(x: "int | None" = None, *args: "tuple", **kwargs: dict) -> "list[str]":
        y: "what" = await act(x)  # noqa: F821
        return [y, args, kwargs]

    return await f(1, 2, k=3), sorted(f.__annotations__), await f()


async def helper_returning_helper():
    """Calls of calls with awaits between: `await (await f(1))(2)`."""

    async def f(a):
        await act(None)

        async def g(b):
            async def h(c):
                return a, b, await act(c)

            return h

        return g

    return await (await (await f(1))(2))(3), await (await (await f("x"))("y"))("z")


async def methodcaller_and_attrgetter():
    """Objects of `operator` used as functions over awaited values."""
    import operator

    rows = await act([{"n": 2, "k": "b"}, {"n": 1, "k": "c"}, {"n": 1, "k": "a"}])
    by = operator.itemgetter("n", "k")
    await act(None)
    up = operator.methodcaller("upper")
    return [by(r) for r in sorted(rows, key=by)], up(await act("x")), operator.add(1, await act(2))
