"""Evaluation order of operands, arguments and displays around awaits."""

import asyncio

from tests.differential.kit import act, boom, slow


def _tracer():
    log = []

    def t(x):
        log.append(x)
        return x

    async def at(x):
        log.append(("ask", x))
        got = await act(x)
        log.append(("got", x))
        return got

    return log, t, at


async def binary_operands():
    """Both operands of every binary operator are evaluated from left to right."""
    log, t, at = _tracer()
    a = t(7) + await at(2) * t(3) - t(1)
    b = await at(2) ** t(3) ** await at(2)
    c = (t(9) // await at(2), t(9) % await at(4), t(9) / await at(2), -await at(3), ~await at(1))
    d = t(1) | await at(6) & t(3) ^ await at(5) << t(1)
    return a, b, c, d, log


async def operand_read_before_await():
    """A name on the left is read before the await on the right changes it."""
    x = 1

    async def change():
        nonlocal x
        await act(None)
        x = 100
        return 5

    a = x + await change()
    x = 1
    b = await change() + x
    x = 1
    c = (x, await change(), x)
    return a, b, c, x


async def call_arguments():
    """Function, positionals, stars and keywords are evaluated in source order."""
    log, t, at = _tracer()

    def f(*args, **kwargs):
        return args, list(kwargs.items())

    got = t(f)(
        t(1), *await at([2, 3]), await at(4), *t((5,)),
        a=t(6), **await at({"b": 7}), c=await at(8), **t({"d": 9}),
    )
    return got, [x for x in log if x is not f], len(log)


async def callee_looked_up_first():
    """`o.m(await ...)` binds the method before its argument is awaited."""

    class Old:
        def m(self, x):
            return "old", x

    o = Old()

    async def replace():
        nonlocal o
        await act(None)
        Old.m = lambda self, x: ("new", x)
        o = None
        return 1

    first = o.m(await replace())
    return first, Old().m(await act(2)), o


async def duplicate_keyword_after_await():
    """A keyword given twice fails after all the arguments were awaited."""
    log, t, at = _tracer()

    def f(**kwargs):
        return kwargs

    try:
        f(a=t(1), **await at({"a": 2}), **await at({"b": 3}))
    except TypeError as error:
        return log, "multiple values for keyword argument 'a'" in str(error)


async def star_of_non_iterable():
    """`*None` and `**None` fail with the texts of plain calls."""
    out = []

    def f(*args, **kwargs):
        return args

    for wrong in (1, 2):
        try:
            if wrong == 1:
                f(await act(1), *await act(None))
            else:
                f(await act(1), **await act(5))
        except TypeError as error:
            out.append(str(error).rsplit(".", 1)[-1])
    return out


async def displays():
    """Lists, tuples, sets and dicts with unpackings are filled from left to right."""
    log, t, at = _tracer()
    xs = [t(1), *await at([2, 3]), await at(4), *t((5,))]
    ys = *await at((1, 2)), t(3)
    d = {t("a"): await at(1), **await at({"a": 2, "b": 3}), await at("c"): t(4), **t({"b": 5})}
    s = sorted({t(3), await at(1), *await at([2, 1])})
    return xs, ys, d, s, log


async def list_display_of_changing_list():
    """A star takes the items of the moment, before the later awaits clear the list."""
    xs = [1, 2]

    async def clear():
        xs.clear()
        return await act("cleared")

    return [*xs, await clear(), *xs], xs


async def dict_display_key_then_value():
    """In a dict display every key is evaluated just before its value; the last one wins."""
    log, t, at = _tracer()
    d = {await at("x"): t(1), t("y"): await at(2), await at("x"): await at(3)}
    return d, log


async def unhashable_key_in_display():
    """A key that cannot be hashed fails only when the whole display is built."""
    log, t, at = _tracer()
    out = []
    try:
        out.append({t("a"): await at(1), [t("b")]: await at(2), t("c"): await at(3)})
    except TypeError as error:
        out.append(str(error))
    try:
        out.append({t("d"), await at("e"), (t("f"), {}), await at("g")})
    except TypeError as error:
        out.append(str(error))
    return out, log


async def chained_comparison():
    """Every middle operand is evaluated once and the rest only while it holds."""
    log, t, at = _tracer()
    return [
        t(1) < await at(5) < t(10),
        t(3) < await at(2) < t(99),
        await at(1) <= await at(1) != await at(2) > t(0),
        t(1) in await at([1, 2]) == t([1, 2]),
        await at(None) is None is not await at(0),
    ], log


async def boolean_short_circuit():
    """`and` and `or` return operands and skip what is not needed."""
    log, t, at = _tracer()
    return [
        await at(0) or await at("") or t("z"),
        t(1) and await at(2) and t(3),
        t(0) and await at("never"),
        await at("x") or t("never"),
        not await at(0),
        (await at(0) or t(1)) and (t([]) or await at({})),
        not (await at(1) and not await at(0)),
    ], log


async def truth_asked_once():
    """`and`, `or`, `not` and `if` ask an object for its truth once each."""
    log = []

    class Coin:
        def __init__(self, name, up):
            self.name, self.up = name, up

        def __bool__(self):
            log.append(self.name)
            return self.up

    a, b = Coin("a", True), Coin("b", False)
    x = a and (await act(1) and b) and await act("never")
    y = b or await act(0) or a
    if not (a and await act(1)) or (b or await act(0)):
        log.append("no")
    return x.name, y.name, log


async def conditional_expressions():
    """The condition comes first and only the chosen side is awaited."""
    log, t, at = _tracer()
    a = await at("yes") if await at(True) else await at("no")
    b = await at("yes") if t(0) else await at("no")
    c = t(1) if await at(0) else t(2) if await at(1) else t(3)
    d = [await at(n) if n % 2 else t(-n) for n in range(3)]
    return a, b, c, d, log


async def f_string_parts():
    """F-strings evaluate values and nested specs from left to right."""
    log, t, at = _tracer()
    s = f"{t(1)!r:>3}|{await at('x'):{t('*')}^{await at(5)}}|{await at('é')!a}"
    s += f"|{t(3.14159):.{await at(2)}f}"
    name = await act("w")
    u = f"{name=} {await at(2)=} {name + 'x'!s:>4}{{}}" f"{await at(3):04d}"
    return s, u, log


async def f_string_sees_changes():
    """A part already formatted keeps its text when a later await changes the object."""
    xs = [1]

    async def grow():
        xs.append(await act(2))
        return len(xs)

    return f"{xs} {await grow()} {xs} {await grow()} {xs!r:>12}"


async def f_string_error_position():
    """A bad format spec fails at its own place: the later awaits never start."""
    log, t, at = _tracer()
    try:
        return f"{await at(1)} {await at('x'):d} {await at(3)}"
    except ValueError as error:
        return str(error), log


async def format_protocol():
    """`__format__`, `__str__` and `__repr__` of user classes in awaited f-strings."""

    class Money:
        def __init__(self, cents):
            self.cents = cents

        def __format__(self, spec):
            return f"{self.cents / 100:{spec or '.2f'}}€"

        def __repr__(self):
            return f"Money({self.cents})"

    m = Money(await act(1234))
    return f"{m} {m:.1f} {m!r} {m!s:>14} {m:{await act('08.2f')}}", "{:.0f}".format(m)


async def subscript_order():
    """Container before key, in loads as in calls."""
    log, t, at = _tracer()
    grid = [[1, 2], [3, 4]]

    async def table():
        log.append("table")
        return await act(grid)

    a = (await table())[await at(1)][t(0)]
    b = (await table())[t(0)][await at(1)]
    return a, b, log


async def subscript_augmented_order():
    """Container, key, old item, value, in this order."""
    log, t, at = _tracer()

    class D(dict):
        def __getitem__(self, k):
            log.append(("read", k))
            return super().__getitem__(k)

        def __setitem__(self, k, v):
            log.append(("write", k, v))
            super().__setitem__(k, v)

    d = D(a=1)
    d[await at("a")] += await at(10)
    d[t("a")] *= t(2) + await at(0)
    return d["a"], log


async def method_chain():
    """A chain of methods evaluates each argument after the call before it."""
    log, t, at = _tracer()

    class Q:
        def __init__(self):
            self.parts = []

        def add(self, x):
            log.append(("add", x))
            self.parts.append(x)
            return self

    q = Q().add(await at(1)).add(t(2)).add(await at(3) + await at(4))
    text = "-".join([await act("a"), "b"]).upper().replace(await act("A"), t("z"))
    return q.parts, text, log


async def nested_awaits():
    """Awaits as arguments of awaits, three levels deep, with stars."""
    log, t, at = _tracer()

    async def add(*xs):
        log.append(xs)
        return await act(sum(xs))

    got = await add(await at(1), await add(await at(2), *[await at(3), await add(t(4))]), t(5))
    return got, log


async def return_and_yield_stars():
    """Stars in returned tuples and in subscripts."""

    async def f():
        return *await act([1, 2]), await act(3), *range(await act(2))

    async def g():
        return (*await f(),)[await act(1):], {**await act({"a": 1})}

    return await f(), await g()


async def failure_skips_the_rest():
    """An operand that fails leaves the ones to its right unevaluated."""
    log, t, at = _tracer()
    out = []
    try:
        out.append([t(1), await boom(ValueError("stop")), t(2)])
    except ValueError as error:
        out.append(str(error))
    try:
        out.append(t(1) / await at(0) + await at(5))
    except ZeroDivisionError as error:
        out.append(str(error))
    try:
        out.append(print(t("p"), undefined_name, await at("never")))  # noqa: F821
    except NameError as error:
        out.append(str(error))
    return out, log


async def mixed_with_concurrency():
    """Operands on either side of a gather keep their order."""
    log, t, at = _tracer()
    got = t("l"), await asyncio.gather(at("b"), slow(t("c"), 0.5), at("d")), t("r")
    return got, log


async def decorator_and_default_order():
    """Decorators, then defaults, then annotations of a nested def, awaits included."""
    log, t, at = _tracer()

    def deco(name):
        log.append(("made", name))
        return lambda f: log.append(("applied", name)) or f

    @deco(await at("one"))
    @deco(t("two"))
    def f(a=t("da"), *, k=await at("dk"), b: t("ann") = await at("db")) -> t("ret"):
        return a, k, b

    return f(), list(f.__annotations__.items()), log
