"""Names: unbound, deleted, late, shadowed, and module constants changed by a run."""

import functools

from tests.differential.kit import act, boom

_COUNT = {"runs": 0}
_LOG = []
_NESTED = {"a": {"b": [1]}, "c": (1, [2])}
_WORDS = ("one", "two", "three")
_TABLE = [[0] * 3 for _ in range(2)]
_MADE = []


@functools.cache
def _square(n):
    _MADE.append(n)
    return n * n


@functools.lru_cache(maxsize=None)
def _fib(n):
    return n if n < 2 else _fib(n - 1) + _fib(n - 2)


class _Registry:
    entries = []
    by_name = {}

    @classmethod
    def add(cls, name):
        cls.entries.append(name)
        cls.by_name[name] = len(cls.entries)
        return cls.by_name[name]


async def unbound_and_undefined():
    """Texts of names never bound, deleted, and free but not yet bound."""
    out = []
    for name in ("a", "b", "c", "d"):
        try:
            if name == "a":
                await act(1)
                y
            if name == "b":
                z = 1
                del z
                await act(2)
                z
            if name == "c":
                g = lambda: w  # noqa: E731
                await act(1)
                g()
            await act(3)
            nowhere  # noqa: F821
        except NameError as error:
            out.append((type(error).__name__, str(error), error.name))
    w = y = 1
    return out, w, y


async def unbound_cell():
    """A name shared with an inner function and read before it is bound."""
    out = []
    try:
        await act(1)
        w
    except NameError as error:
        out.append((type(error).__name__, str(error)))
    w = await act("bound")
    out.append((lambda: w)())
    return out


async def delete_shared_name():
    """Deleting a name that an inner function uses, then binding it again."""
    out = []

    async def read():
        await act(None)
        return x

    for k in range(3):
        if k != 1:
            x = await act(k)
        else:
            del x
        try:
            out.append(await read())
        except NameError as error:
            out.append(str(error))
    try:
        del x
        del x
    except UnboundLocalError as error:
        out.append(str(error))
    return out


async def unbound_in_branches():
    """Names bound by only some of the ways through try, loop, with and match."""
    out = []

    async def f(way):
        try:
            if way == 0:
                a = await act("a")
            elif way == 1:
                b = await boom(ValueError("b"))
        except ValueError as c:
            await act(repr(c))
        while way == 2:
            d = await act("d")
            break
        for text in ("a", "b", "c", "d"):
            try:
                out.append((way, {"a": lambda: a, "b": lambda: b, "d": lambda: d}[text]()))
            except (NameError, KeyError) as error:
                out.append((way, type(error).__name__))

    for way in range(3):
        await f(way)
    return out


async def augmented_unbound():
    """Augmented assignment of an unbound name fails before its await."""
    log = []

    async def value():
        log.append("asked")
        return await act(1)

    try:
        n += await value()  # noqa: F821
    except UnboundLocalError as error:
        log.append(str(error))
    n = 1
    n += await value()
    return n, log


async def shadowed_builtins():
    """Built-in names bound as locals, deleted, and used by inner functions."""
    out = [len("ab")]

    async def f():
        try:
            max(1, 2)
        except UnboundLocalError:
            out.append("max is local")
        max = lambda *a: "mine"  # noqa: E731, F841
        out.append(max(1, 2))
        list, dict = await act((1, 2))
        return list, dict

    out.append(await f())
    sum = await act(5)
    return out, sum, list("ab"), max(3, 4)


async def names_of_many_kinds():
    """Unicode names, names with underscores and names of soft keywords over awaits."""
    größe = await act(1)
    _ = await act(2)
    __ = _ + größe
    type = match = case = await act("soft")
    self = cls = await act("no method")
    π, Ⅳ = await act((3, 4))
    return größe, _, __, type, match, case, self, cls, π, IV


async def class_body_scope():
    """A class body sees its own names first, then the module's, and skips into functions."""
    x = await act("function")

    class A:
        y = x
        z = [x for _ in range(1)]
        word = _WORDS[0]

        def m(self):
            return x

    class B:
        x = x + "!" if False else "class"  # noqa: F841

        def m(self):
            return x

    return A.y, A.z, A.word, A().m(), B.x, B().m()


async def class_body_unbound():
    """A class body that reads a name it has not bound falls back to the module's."""
    await act(None)

    class A:
        _COUNT = dict(_COUNT, own=True)

        try:
            missing_name  # noqa: F821
        except NameError as error:
            text = str(error)

    return A._COUNT, A.text, hasattr(A, "error")


async def comprehension_and_lambda_scopes():
    """Comprehension targets, lambda parameters and locals of one name side by side."""
    x = await act("local")
    a = [x for x in range(2)]
    b = (lambda x: x)(await act("parameter"))
    c = [(lambda: x)() for _ in range(1)]
    d = [x := n for n in range(3)]
    return a, b, c, d, x


async def module_counter():
    """A module dict changed by the run; every run begins with a fresh one."""
    for _ in range(3):
        _COUNT["runs"] += await act(1)
    _COUNT.setdefault("log", []).append(_COUNT["runs"])
    return _COUNT


async def module_list_shared_by_helpers():
    """A module list changed by helpers while others wait."""

    async def note(x):
        _LOG.append(("before", x))
        _LOG.append(("after", await act(x)))

    before = len(_LOG)
    for x in "ab":
        await note(x)
    same = _LOG
    same.append("alias")
    return before, _LOG


async def module_nested_constants():
    """Nested module constants changed in their depth; parts alias parts."""
    part = _NESTED["a"]["b"]
    part.append(await act(2))
    _NESTED["c"][1].extend(await act([3, 4]))
    _NESTED["new"] = part
    await act(None)
    part.append("seen by all")
    return _NESTED


async def module_table():
    """A module table of rows filled cell by cell."""
    for y, row in enumerate(_TABLE):
        for x in range(len(row)):
            row[x] = await act(y * 10 + x)
    _TABLE.append(_WORDS)
    return _TABLE, _WORDS[await act(1)]


async def module_class_state():
    """Class attributes of a module class changed by the run."""
    out = [_Registry.add(await act(n)) for n in ("x", "y", "x")]
    r = _Registry()
    r.entries.append(await act("by instance"))
    r.by_name = {}
    return out, _Registry.entries, _Registry.by_name, r.by_name


async def cached_helper():
    """functools.cache on a module helper computes once per argument in a run."""
    out = []
    for n in (3, 4, 3):
        out.append(_square(await act(n)))
    return out, _MADE, tuple(_square.cache_info())


async def cached_recursive_helper():
    """A recursive cached helper used and cleared between awaits."""
    a = _fib(await act(30))
    info = _fib.cache_info()
    _fib.cache_clear()
    await act(None)
    return a, info.currsize, _fib(10), _fib.cache_info().misses


async def cached_helper_of_mutable():
    """A cached helper gives the very same list again, changes and all."""

    @functools.cache
    def rows(name):
        return [name]

    r = rows("a")
    r.append(await act(1))
    again = rows("a")
    again.append(await act(2))
    try:
        rows(await act(["unhashable"]))
    except TypeError as error:
        return rows("a"), again is r, str(error)


async def aliasing_of_locals():
    """Aliases among locals, items and arguments stay aliases over awaits."""
    a = [1]
    b = {"x": a}
    a.append(b)
    t = (a,)

    async def h(q):
        q.append(await act(3))
        return q is a

    ok = await h(a)
    return ok, b["x"] is a, a[1] is b, t[0] is a, len(a), a[1]["x"][0]


async def constants_identity():
    """Singletons and types keep their identity over awaits."""
    nothing, yes, dots, kind = None, True, ..., int
    await act(None)
    got = await act(None), await act(True), await act(False)
    f = len
    await act(None)
    return nothing is None, yes is True, dots is Ellipsis, kind is int, f is len, [
        got[0] is None, got[1] is True, got[2] is False
    ]
