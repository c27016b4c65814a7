"""Comprehensions of every kind, with awaits in each position."""

import asyncio

from tests.differential.kit import act, boom, slow


async def _count(n, step=1):
    for k in range(0, n, step):
        yield await act(k)


async def list_set_dict():
    """Awaits in the element, the key, the value and the iterable."""
    a = [await act(n * n) for n in range(3)]
    b = {await act(n % 2) for n in await act([1, 2, 3])}
    c = {await act(k): await act(v) for k, v in {"x": 1, "y": 2}.items()}
    d = {k: [await act(k)] for k in await act("ab")}
    return a, sorted(b), c, d


async def conditions():
    """Awaits in several conditions, each asked only when the one before held."""
    asked = []

    async def ask(name, n, answer):
        asked.append((name, n))
        return await act(answer)

    got = [n for n in range(5) if await ask("odd", n, n % 2) if not await ask("big", n, n > 2)]
    return got, asked


async def nested_for_clauses():
    """Several `for` clauses with awaits in the inner iterable."""
    grid = [[1, 2], [], [3]]
    a = [x * y for x in await act([1, 10]) for y in await act([x, x + 1])]
    b = [await act((r, c)) for r, row in enumerate(grid) if row for c in row if await act(c) != 2]
    c = {x + y: y for x in "ab" for y in [await act(x)] * 2}
    return a, b, c


async def nested_comprehensions():
    """Comprehensions inside of comprehensions, awaits at both depths."""
    rows = [[await act(x * y) for x in range(2)] for y in await act([1, 2])]
    turned = [[row[k] for row in rows] for k in range(await act(2))]
    index = {n: {m: await act(n + m) for m in range(n)} for n in range(3) if await act(n)}
    return rows, turned, index


async def async_comprehensions():
    """`async for` in list, set and dict displays, mixed with plain clauses."""
    a = [n async for n in _count(3)]
    b = [n + m async for n in _count(2) for m in range(2) if m >= n]
    c = {n: await act(n) async for n in _count(6, 2) if await act(n != 2)}
    d = sorted({n % 2 async for n in _count(4)})
    e = [(x, y) for x in "ab" async for y in _count(2)]
    return a, b, c, d, e


async def walrus_leaks():
    """A walrus inside of a comprehension binds in the function around it."""
    last = "before"
    xs = [(last := await act(n)) for n in range(3)]
    total = 0
    sums = [total := total + n for n in await act([5, 6, 7])]
    any_big = [big for n in sums if (big := await act(n)) > 10]
    return xs, last, sums, total, any_big, big


async def loop_names_do_not_leak():
    """The targets of a comprehension are its own; outer names stay."""
    n = "outer"
    a = [n for n in range(await act(3))]
    b = [[n for n in "xy"] + [n] for n in await act([1, 2])]
    await act(None)
    try:
        k = [k for k in range(2) if k]
        del k
        k
    except UnboundLocalError as error:
        return n, a, b, str(error)


async def closures_capture_the_last():
    """Lambdas made in a comprehension share its variable."""
    late = [lambda: n for n in range(3) if await act(True)]
    bound = [lambda n=n: n for n in range(3) if await act(True)]
    fs = []
    for k in range(2):
        fs += [(lambda: (k, i)) for i in range(2) if await act(True)]
    await act(None)
    return [f() for f in late], [f() for f in bound], [f() for f in fs]


async def async_lambdas_in_comprehension():
    """Helpers made inside of a comprehension and awaited later, together."""

    def make(n):
        async def helper(x):
            return n, await act(x)

        return helper

    helpers = {n: make(n) for n in await act([1, 2])}
    calls = [lambda: helpers[n](n * 10) for n in helpers]
    a = [await call() for call in calls]
    b = await asyncio.gather(*[h(n) for n, h in helpers.items()])
    return a, b


async def failure_in_element():
    """An error in an element drops the comprehension; the name keeps its old value."""
    got = "old"
    seen = []

    async def f(n):
        seen.append(n)
        return await (boom(ValueError(n)) if n == 2 else act(n))

    try:
        got = [await f(n) for n in range(5)]
    except ValueError as error:
        return got, seen, error.args


async def iterable_evaluated_first():
    """The outermost iterable of a generator expression is evaluated at once."""
    log = []

    def t(x):
        log.append(x)
        return x

    g = (t(("element", n)) for n in t([1, 2]) for m in t("z"))
    log.append("made")
    await act(None)
    got = list(g)
    try:
        (n for n in await act(3))
    except TypeError as error:
        log.append(str(error))
    return got, log


async def generator_expression_alive():
    """A generator expression that stays half consumed over awaits."""
    g = (n * n for n in range(5) if n != 1)
    out = [next(g), await act("pause"), next(g)]
    await act(None)
    out.append(list(g))
    out.append(next(g, "empty"))
    return out


async def generator_expression_sees_late_names():
    """Names inside of a generator expression are read when it runs."""
    k = 1
    g = (n * k for n in [1, 2, 3])
    first = next(g)
    k = await act(10)
    second = next(g)
    k = await act(100)
    return first, second, list(g)


async def async_generator_expression():
    """A generator expression with awaits is an async generator."""
    log = []

    async def say(n):
        log.append(n)
        return await act(n)

    g = (await say(n) for n in range(3))
    log.append("made")
    one = await anext(g)
    rest = [x async for x in g if await act(x) > 1]
    h = (x + y async for x in _count(2) for y in (10, 20))
    return one, rest, [z async for z in h], await anext(g, "end"), log


async def comprehension_as_arguments():
    """Comprehensions as arguments, stars, subscripts and in f-strings."""
    total = sum([await act(n) for n in range(4)])
    biggest = max(*[await act(n) for n in (3, 9, 4)], key=lambda n: -n)
    text = ",".join([await act(c) for c in "abc"])
    pairs = dict([(k, await act(v)) for k, v in zip("xy", [1, 2])])
    picked = [10, 20, 30][[await act(2)][0]]
    return total, biggest, text, pairs, picked, f"{[await act(n) for n in range(2)]!r:>10}"


async def comprehension_over_changing_list():
    """A list that shrinks while a comprehension over it awaits."""
    xs = [1, 2, 3, 4]

    async def drop(x):
        xs.remove(await act(x))
        return x

    return [await drop(x) for x in xs], xs


async def comprehension_unpacking_targets():
    """Star and nested targets, and items as targets, in comprehensions."""
    rows = await act([("a", (1, 2, 3)), ("b", (4, 5))])
    d = {}
    a = [(name, first, rest) for name, (first, *rest) in rows]
    b = [await act(x) for d["k"] in "xy" for x in d["k"]]
    c = {k: v for k, *v in [(1, 2, 3), (await act(4),)]}
    return a, b, c, d


async def conditional_element():
    """Conditional expressions and short circuits as elements."""
    a = [await act(n) if n % 2 else await slow(-n, 0.5) for n in range(4)]
    b = [n or await act("zero") for n in (1, 0, 2)]
    c = [x for n in range(3) if (x := n and await act(n * 5))]
    d = [*[await act(1)], *(await act((2, 3))), *{await act(4): 0}]
    return a, b, c, d


async def comprehension_in_class_method():
    """Comprehensions that use `self` and private attributes across awaits."""

    class Shop:
        def __init__(self):
            self.__prices = {"a": 1, "b": 2}

        async def totals(self, amounts):
            return {k: self.__prices[k] * await act(n) for k, n in amounts.items()}

        async def over(self, limit):
            return [k for k, v in (await self.totals({"a": 5, "b": 1})).items() if v > limit]

    s = Shop()
    return await s.totals({"a": 2, "b": 3}), await s.over(await act(2))


async def deep_mixture():
    """A comprehension with everything at once."""
    pages = {1: [3, 4], 2: [], 3: [5]}
    return [
        {f"{p}/{x}": [await act(y) async for y in _count(x - 2)] for x in xs if (z := x + p) > 4}
        for p, xs in (await act(pages)).items()
        if xs or await act(p) == 2
    ], z
