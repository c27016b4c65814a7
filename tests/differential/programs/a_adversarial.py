"""Programs made to trip a machine that stops and goes on at every await."""

import asyncio
import contextlib
import functools
import sys

from tests.differential.kit import act, boom

_CLOSED = []


def _chain(error):
    out = []
    while error is not None:
        out.append(repr(error))
        error = error.__context__
    return out


class _Noted:
    """A context manager that notes its life in a list."""

    def __init__(self, name, log, swallow=False):
        self.name, self.log, self.swallow = name, log, swallow

    def __enter__(self):
        self.log.append("in" + self.name)
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(("out" + self.name, repr(error)))
        return self.swallow


class _Base:
    __x = 1

    async def m(self, v):
        self.__x += await act(v)
        return self.__x

    @staticmethod
    async def s(v):
        return await act(v)

    @classmethod
    async def c(cls, v):
        return cls.__name__, await act(v)


class _Derived(_Base):
    async def m(self, v):
        return "B", await super().m(v), await act(1)


def _counted():
    try:
        yield from range(3)
    finally:
        _CLOSED.append("closed")


async def ctx():
    """The handled error is the context of the next, across an await."""
    try:
        raise KeyError(1)
    except KeyError:
        await act(1)
        try:
            raise ValueError(2)
        except ValueError as e:
            return _chain(e), repr(sys.exception())


async def ctx_helper():
    """The context chain goes through the frame of a helper that awaited."""

    async def h():
        try:
            raise KeyError("e1")
        except KeyError:
            await act(1)
            raise ValueError("e2")

    try:
        raise ZeroDivisionError("e0")
    except ZeroDivisionError:
        try:
            await h()
        except ValueError as e:
            return _chain(e)


async def bare():
    """A bare raise after two awaits, and the name of the handler unbound outside of it."""
    try:
        try:
            raise KeyError(1)
        except (KeyError, ValueError) as e:
            await act(1)
            await act(2)
            raise
    except LookupError as x:
        try:
            return repr(x), e
        except UnboundLocalError as gone:
            return repr(x), str(gone)


async def fromnone():
    """`raise ... from None` after an await keeps the context and hides it."""
    try:
        try:
            raise KeyError(1)
        except KeyError:
            await act(1)
            raise ValueError(2) from None
    except ValueError as x:
        return _chain(x), x.__suppress_context__, x.__cause__


async def finret():
    """Return, continue and break pending in a `finally` that awaits."""

    async def f(n):
        for i in range(5):
            try:
                if i == n:
                    return await act(("r", i))
                if i == 1:
                    continue
                await act(i)
            except ZeroDivisionError:
                pass
            else:
                await act("else")
            finally:
                await act("f")
                if i == 3:
                    break
        else:
            return "else", await act(1)
        return "broke", i

    return [await f(n) for n in (0, 1, 2, 3, 4, 9)]


async def finexc():
    """The pending error is the current one inside of a `finally` that awaits."""
    out = []
    try:
        try:
            await boom(ValueError("a"))
        finally:
            out.append(await act(1))
            out.append(repr(sys.exception()))
    except ValueError as e:
        out.append(_chain(e))
    try:
        try:
            1 / 0
        finally:
            await act(1)
            raise KeyError("k")
    except KeyError as e:
        out.append(_chain(e))
    return out


async def unbound():
    """Unbound locals, deleted locals and unbound cells after awaits."""
    out = []
    for name in ("a", "b", "c"):
        try:
            if name == "a":
                await act(1)
                y
            if name == "b":
                z = 1
                del z
                await act(2)
                z
            g = lambda: w  # noqa: E731
            await act(1)
            g()
        except NameError as e:
            out.append((type(e).__name__, str(e)))
    try:
        await act(1)
        w
    except NameError as e:
        out.append((type(e).__name__, str(e)))
    w = y = z = 1
    return out, w, y, z


async def order():
    """Operands, arguments, targets and displays around awaits."""
    log = []

    def t(x):
        log.append(x)
        return x

    def f(*a, **k):
        return a, sorted(k.items())

    d, o, x = {}, functools.partial(f), [1]
    r = f(t(1), *[t(2), t(3)], await act(t(4)), t(5), a=t(6), **{"b": t(7)}, c=await act(t(8)))
    o.z = t(9) + await act(t(10)) * t(11)
    d[t("k")] = await act(t("v"))
    d[await act(t("k2"))] = t("v2")
    d["n"] = 1
    d["n"] += await act(t(5))
    y = x
    x += await act([2])
    s = f"{t(1)!r:>3}|{await act(t(2))}|{x}|{await act(x.append(9))}|{x}"
    q = {**{"z": t("za")}, t("zk"): await act(t("zv"))}
    m = [*x, await act(x.clear()), *x]
    return r, o.z, d, x is y, s, q, m, log


async def value_before():
    """The left operand and the old value are read before the await changes them."""
    x = 1

    def setx():
        nonlocal x
        x = 100
        return 1

    async def h():
        await act(1)
        setx()
        return 5

    a = x + await h()
    x = 1
    x += await h()
    return a, x


async def chaincmp():
    """Chained comparison, `not`, `or`, `and` and a conditional with awaits."""
    n = []

    def t(v):
        n.append(v)
        return v

    return [
        t(1) < await act(t(5)) < t(10),
        t(3) < await act(t(2)) < t(99),
        not await act(0),
        (await act(0)) or await act("") or t("z"),
        t(1) and await act(2) and t(3),
        (await act("y") if await act(False) else await act("n")),
    ], n


async def compclosure():
    """Closures over comprehension variables, and a walrus out of a comprehension."""
    fs = []
    for k in range(2):
        fs += [(lambda: (k, i)) for i in range(2) if await act(True)]
    last = [y := await act(i) for i in range(3)]
    return [f() for f in fs], y, last


async def withs():
    """Managers around awaits: two items, loop exits and an ExitStack."""
    log = []
    with _Noted("a", log) as a, _Noted("b", log, True) as b:
        await act(1)
        log.append(a.name + b.name)
        await boom(ValueError("x"))
    for i in range(3):
        with _Noted(str(i), log):
            if i == 1:
                continue
            await act(i)
            if i == 2:
                break
    with contextlib.ExitStack() as stack:
        stack.enter_context(_Noted("s", log))
        await act(1)
    return log


async def genalive():
    """A user generator and three built-in iterators alive over awaits."""
    r = []
    for x in _counted():
        r.append(await act(x))
    z = zip("ab", [1, 2])
    e = enumerate("xy")
    next(z)
    next(e)
    await act(1)
    it = iter({"k": 1, "l": 2})
    next(it)
    await act(2)
    return r, list(z), list(e), list(it), _CLOSED


async def aliasing():
    """A recursive structure whose parts stay the same objects."""
    a = [1]
    b = {"x": a}
    a.append(b)
    s, t, kind = {1, 2}, (a,), type(a)

    async def h(q):
        q.append(await act(3))
        return q is a

    ok = await h(a)
    return ok, b["x"] is a, a[1] is b, t[0] is a, len(a), kind is list, sorted(s)


async def cells():
    """One nonlocal counter shared by helpers made in a loop."""
    n = 0
    fs = []

    def inc():
        nonlocal n
        n += 1
        return n

    for i in range(2):

        async def w(k=i):
            return (inc(), await act(k), inc(), i)

        fs.append(w)
    r = [await f() for f in fs]
    r.append(await asyncio.gather(*[f() for f in fs], fs[0](9)))
    return r, n


def _make(k):
    c = 0

    async def h(x):
        nonlocal c
        c += 1
        y = await act(x)
        c += y
        return c + k

    return h


async def factory():
    """A factory of the module whose helpers keep cells of their own."""
    h = _make(100)
    g = h
    return [await h(1), await g(2), await _make(5)(3), await asyncio.gather(h(1), h(2))]


async def method():
    """Methods of every kind, a partial, a bound method and a lambda, with mangling."""
    b = _Derived()
    p = functools.partial(act, 7)
    fn = b.m
    return (
        await b.m(2), await fn(3), await _Derived.s(1), await b.c(4), await p(),
        await (lambda z: act(z))(8), b._Base__x,
    )


async def matchs():
    """A match in a loop with break and continue in its bodies."""
    out = []
    for v in ({"k": [1, 2, 3]}, 5, "s", (1, 2), None):
        match v:
            case {"k": [a, *rest]}:
                out.append((await act(a), rest))
            case int(n) if n > 3:
                out.append(("big", await act(n)))
            case (x, y):
                out.append(await act(x + y))
            case None:
                break
            case _:
                out.append(await act("other"))
                continue
        out.append("after")
    return out


async def nested_tasks():
    """A task in the background of a gather, step by step."""
    log = []

    async def w(n, k):
        for i in range(k):
            log.append((n, i))
            await asyncio.sleep(0)
        return n

    t = asyncio.ensure_future(w("t", 3))
    log.append("created")
    await asyncio.sleep(0)
    log.append("p1")
    r = await asyncio.gather(w("a", 1), w("b", 2))
    log.append("g")
    return log, r, await t
