"""Rare corners of the grammar: precedence, one-line forms, deep nesting, odd places of awaits."""

from __future__ import annotations

import typing

from tests.differential.kit import act, boom, slow

if typing.TYPE_CHECKING:
    from nowhere.at.all import Thing

_Pair = tuple[int, "Thing"]


async def await_precedence():
    """`await` binds tighter than every operator except calls, items and attributes."""
    a = -await act(2) ** 2
    b = await act(2) ** await act(3)
    c = not await act(0) == 0
    d = (await act([1, 2]))[1] + len(await act("abc"))
    e = await act(5) - await act(3) - await act(1)
    f = 1 if await act(1) - 1 else await act(4) or 5
    g = await act(1), await act(2) if await act(0) else await act(3), 4
    h = (await (await act(None) or act(6)))
    return a, b, c, d, e, f, g, h, ~await act(5) & 0xF, (2 * await act(3) @ _Mat(4)).n


class _Mat:
    def __init__(self, n):
        self.n = n

    def __rmatmul__(self, other):
        return _Mat(other * self.n)

    def __matmul__(self, other):
        return _Mat(self.n - getattr(other, "n", other))

    def __imatmul__(self, other):
        self.n += other
        return self

    def __rmul__(self, other):
        return other, self.n


async def matrix_operator():
    """`@` and `@=` with awaited operands."""
    m = _Mat(10)
    same = m
    m @= await act(5)
    n = m @ await act(3) @ _Mat(2)
    o = await act(2) @ m
    return m.n, same is m, n.n, o.n, 3 * o


async def one_line_forms():
    """Several statements on a line, one-line bodies and continued lines."""
    a = await act(1); b = await act(2); a, b = b, a  # noqa: E702
    if a > b: c = await act("yes"); d = 1  # noqa: E701, E702
    else: c = "no"  # noqa: E701
    for k in range(2): d += await act(k); c += "."  # noqa: E701, E702
    while d < 5: d += await act(2)  # noqa: E701
    try: await boom(KeyError("k"))  # noqa: E701
    except KeyError: c += "!"  # noqa: E701
    finally: d *= 10  # noqa: E701
    total = a \
        + b \
        + await act(
            4,
        )
    return a, b, c, d, total,


async def raise_awaited():
    """The error to raise, and its cause, may be awaited."""

    async def make(text):
        await act(None)
        return ValueError(text)

    out = []
    for way in range(3):
        try:
            if way == 0:
                raise await make("raised")
            if way == 1:
                raise KeyError("k") from await make("cause")
            raise (await make("first") if await act(0) else await make("second")) from None
        except Exception as error:
            out.append((repr(error), repr(error.__cause__), error.__suppress_context__))
    return out


async def awaits_in_class_header():
    """Awaits in the bases and the keywords of a class, evaluated in order."""
    log = []

    async def ask(name, value):
        log.append(await act(name))
        return value

    class A:
        def __init_subclass__(cls, **kwargs):
            log.append((cls.__name__, kwargs))

    class B(await ask("base", A), *await ask("more", (dict,)), k=await ask("k", 1), **{"z": 2}):
        pass

    return log, [c.__name__ for c in B.__mro__[:3]]


async def awaits_in_lambda_defaults():
    """Defaults of lambdas and nested functions are awaited where they are defined."""
    f = lambda a, b=await act(1), *c, d=[await act(2)], **e: (a, b, c, d, e)  # noqa: E731
    return f(0), f(0, 9, 8, d=7, k=6), (lambda x=await act("x"): x)()


async def membership_and_identity():
    """`in`, `not in`, `is` and `is not` with awaits on either side."""
    xs = [1, [2], None]
    inner = xs[1]
    return (
        await act(1) in xs, await act([2]) in xs, await act(9) not in xs, inner is xs[1],
        await act([2]) is not inner, None is await act(None), "b" in await act("abc"),
        await act("k") in await act({"k": 1}), not await act(1) in xs,
    )


async def imports_inside():
    """Imports in the body, under a condition and with other names, used after awaits."""
    import math as m
    from collections import deque, namedtuple as nt

    if await act(True):
        import string
    else:
        import nowhere_at_all as string
    try:
        from math import no_such_name
    except ImportError as error:
        text = type(error).__name__, error.name
    try:
        import no.such.module  # noqa: F401
    except ModuleNotFoundError as error:
        missing = str(error)
    p = nt("P", "x y")(1, await act(2))
    await act(None)
    return m.floor(2.5), list(deque([1], 2)), string.digits, text, missing, p.x + p.y


async def deeply_nested_blocks():
    """Ten blocks deep, left by break, continue and return in turn."""
    log = []

    async def f(way):
        for a in "xy":
            while True:
                try:
                    with _Note(log, "w"):
                        for b in range(3):
                            try:
                                if await act(b) == 1:
                                    match way:
                                        case "return":
                                            return a, b
                                        case "break":
                                            break
                                        case _:
                                            continue
                            finally:
                                log.append(await act(b))
                    break
                finally:
                    log.append("f")
        return "end"

    return [await f(way) for way in ("return", "break", "go")], log


class _Note:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append("+" + self.name)

    def __exit__(self, *info):
        self.log.append("-" + self.name)


async def many_locals():
    """Many names of every kind alive at once over one await."""
    a, b, c, d, e, f, g, h = range(8)
    i, j, k, *m = "ijklmn"
    n = {"a": (o := [a, b])}
    with _Note(o, "p") as p:
        for q, r in enumerate(m):
            s = t = u = [q, r]
            v = w = lambda: (x, q, a)  # noqa: E731
            x = await act(q)
            a += 1
    y: int = await act(a)
    z = v()
    return a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s is t is u, v is w, x, y, z


async def string_literal_kinds():
    """Raw, formatted, byte and joined literals with awaits among them."""
    w = await act("w")
    return (
        rf"\d{w}\n", f"{{{w}}}", rb"\x".decode(), f"""{
            await act("multi")
        } line""", f"{'nested ' + f'{await act(1)}{w}'}", f"{await act(2):{'>'}{4}}", b"a" b"\0",
        f"{(lambda: 3)()}", f"{w if await act(0) else 'else'}", f"{[await act(n) for n in (1, 2)]}",
        f"{ {'k': await act(4)}['k'] }", "%s" % await act("old"), f"{w:{'<' if w else '>'}3}|",
    )


async def future_annotations():
    """Annotations that could not be evaluated are kept as text."""

    async def f(x: Thing, *, y: list[Thing] = ()) -> _Pair:
        z: Thing.sub = await act(x)
        return z, y

    return await f(1), {k: str(v) for k, v in f.__annotations__.items()}


async def yield_and_send_with_awaits():
    """Awaits as the argument of `yield` and around its value."""

    async def g():
        total = 0
        while total < 6:
            total += await act((yield await act(total)) or 1)
        yield total, (yield "last but one")

    gen = g()
    out = [await anext(gen)]
    for value in (None, 2, 3, "sent"):
        out.append(await gen.asend(value))
    await gen.aclose()
    return out


async def statements_without_effect():
    """Expression statements: literals, names, comparisons and awaits thrown away."""
    x = await act(1)
    "just text"
    x
    x == await act(1)
    [await act(2)]
    (await act(3), x)[0]
    ...
    await slow(None, 0.5)
    lambda: boom(ValueError())
    pass
    {}
    return x
    x = await act("never")


async def unreachable_code():
    """Branches that can never run, with names only they would bind."""
    await act("before")
    if False:
        never = await act("never")
    while 0:
        other = await act("never")
    try:
        return await act(never or other)
    except UnboundLocalError as error:
        return str(error)
    return await act("unreachable")


async def same_names_in_nested_functions():
    """Functions of the same name at several levels, redefined between awaits."""

    async def f():
        async def f():
            return await act("inner")

        return "outer", await f()

    first = f
    got = await f()

    async def f(x):  # noqa: F811
        return x, await first()

    async def g(f=f):
        return await f("g")

    return got, await f(1), await g(), first is f


async def call_shapes():
    """Calls with generators, trailing commas, nested stars and keywords before stars."""

    def show(*args, **kwargs):
        return args, kwargs

    xs = await act([1, 2])
    return [
        show(*xs, *(x * 10 for x in xs), *await act("ab"),),
        show(a=1, *xs, **{"b": await act(2)}, c=3),
        show(**await act({}), **{}), show(*[], *()), sum(x for x in xs),
        show([*xs, *xs], {**{"k": 1}}, (*xs,), k={*xs} == {2, 1}),
        show(*{"x": 1, "y": 2}, **dict(z=await act(9))), show(y := await act(5), k=y + 1),
    ]
