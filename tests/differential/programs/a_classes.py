"""Classes with async methods, descriptors, special methods and class statements."""

import asyncio
import dataclasses
import enum
import functools
import typing

from tests.differential.kit import act, boom, slow


class _Account:
    """A module class with a private attribute and every kind of method."""

    __total = 1
    kind = "base"

    async def add(self, v):
        self.__total += await act(v)
        return self.__total

    @staticmethod
    async def pure(v):
        return await act(v)

    @classmethod
    async def named(cls, v):
        return cls.__name__, await act(v)


class _Savings(_Account):
    kind = "savings"

    async def add(self, v):
        return "S", await super().add(v), await act(1)


class _Order(typing.NamedTuple):
    name: str
    n: int = 1

    async def price(self, each):
        return self.n * await act(each)


@dataclasses.dataclass
class _Cart:
    owner: str
    items: list = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0)

    async def put(self, name, price):
        self.items.append(name)
        self.total += await act(price)
        return self


class _Level(enum.IntEnum):
    LOW = 1
    HIGH = 5

    async def up(self):
        return _Level(await act(int(self) + 4))


async def methods_of_every_kind():
    """Plain, static and class methods, bound methods as values, and name mangling."""
    s = _Savings()
    f = s.add
    p = functools.partial(act, 7)
    return (
        await s.add(2), await f(3), await _Savings.pure(1), await s.named(4), await p(),
        await (lambda z: act(z))(8), s._Account__total, await _Account.add(s, 5), _Account().kind,
    )


async def super_in_async_methods():
    """`super()` in the async methods and class methods of a diamond."""

    class A:
        async def m(self):
            return ["A", await act(1)]

        @classmethod
        async def c(cls):
            return [await act(cls.__name__)]

    class B(A):
        async def m(self):
            return ["B", *await super().m()]

        @classmethod
        async def c(cls):
            return ["B", *await super().c()]

    class C(A):
        async def m(self):
            return ["C", await act(2), *await super(C, self).m()]

    D = type("D", (B, C), {})
    return await D().m(), await D.c(), [k.__name__ for k in D.__mro__[:-1]]


async def properties():
    """A property with a setter and a deleter, read and written around awaits."""
    log = []

    class T:
        @property
        def x(self):
            log.append("get")
            return self._x

        @x.setter
        def x(self, v):
            log.append(("set", v))
            self._x = v

        @x.deleter
        def x(self):
            log.append("del")
            del self._x

    t = T()
    t.x = await act(1)
    t.x += await act(2)
    del t.x
    return hasattr(t, "x"), vars(t), log


async def async_property():
    """A property whose getter is async, alone, inherited and with a failing body."""

    class T:
        def __init__(self, n):
            self.n = n

        @property
        async def later(self):
            return await act(self.n) if self.n else await boom(ValueError("zero"))

    class U(T):
        @property
        async def later(self):
            return "U", await super().later

    out = [await T(1).later, await U(2).later]
    try:
        await U(0).later
    except ValueError as error:
        out.append(repr(error))
    return out


async def class_statement_inside():
    """A class statement in the body whose parts were awaited before."""
    base = await act("b")
    seen = []

    def note(c):
        seen.append(c.__name__)
        return c

    @note
    class K(dict if await act(True) else list, metaclass=type):
        """Doc of K."""

        label = base + "!"
        for letter in "xy":
            seen.append(letter)

        async def get_it(self, k):
            return self[k], await act(self.label), __class__.__name__

    k = K(a=1)
    return await k.get_it("a"), K.letter, K.__doc__, K.__qualname__.split(".")[-1], seen


async def class_variables_shared():
    """Class attributes changed by instances and through the class across awaits."""

    class Counter:
        made = 0
        names = []

        def __init__(self, name):
            type(self).made += 1
            self.names.append(name)

        async def bump(self):
            self.made += await act(10)
            return self.made

    a = Counter("a")
    await act(None)
    b = Counter("b")
    return await a.bump(), b.made, Counter.made, Counter.names, sorted(vars(a)), sorted(vars(b))


async def async_call_and_await_protocol():
    """An async `__call__` and a `__await__` that delegates to a coroutine."""

    class Job:
        def __init__(self, v):
            self.v, self.waits = v, 0

        async def __call__(self, more):
            return self.v, await act(more)

        def __await__(self):
            self.waits += 1
            got = yield from act(self.v).__await__()
            return got, self.waits

    j = Job(await act("v"))
    return await j(1), await j, await j, await asyncio.gather(j(2), j(3))


async def await_protocol_by_inner_coroutine():
    """`__await__` that returns the iterator of an async method, failing ones too."""

    class Lazy:
        def __init__(self, *steps):
            self.steps = steps

        async def _run(self):
            got = []
            for s in self.steps:
                got.append(await (boom(s) if isinstance(s, Exception) else act(s)))
            return got

        def __await__(self):
            return self._run().__await__()

    out = [await Lazy(1, 2), await Lazy()]
    try:
        await Lazy(1, ValueError("lazy"), 3)
    except ValueError as error:
        out.append(repr(error))
    return out


async def await_protocol_wrong():
    """What `await` says about things that cannot be awaited."""

    class NotIter:
        def __await__(self):
            return 5

    class Returns:
        def __await__(self):
            return iter([])

    out = [await Returns()]
    for thing in (1, None, [act], NotIter(), "text"):
        try:
            await act(None)
            await thing
        except TypeError as error:
            out.append(str(error))
    return out


async def dataclass_across_awaits():
    """A dataclass with a default factory and async methods, compared and replaced."""
    a, b = _Cart("a"), _Cart("b", ["old"])
    await (await a.put("x", 5)).put("y", 6)
    await b.put("z", 1)
    c = dataclasses.replace(a, owner=await act("c"))
    same = c.items is a.items, a == _Cart("a", ["x", "y"]), a == dataclasses.replace(a)
    return str(a), str(b), str(c), same, dataclasses.asdict(b)


async def dataclass_frozen_and_ordered():
    """A frozen, ordered dataclass made in the body; `__post_init__`; slots."""

    @dataclasses.dataclass(frozen=True, order=True, slots=True)
    class V:
        n: int
        tag: str = dataclasses.field(default="", compare=False)

        def __post_init__(self):
            if self.n < 0:
                raise ValueError("negative")

        async def plus(self, k):
            return V(self.n + await act(k), self.tag + "+")

    out = []
    v = await V(1, "t").plus(2)
    try:
        v.n = await act(9)
    except AttributeError as error:
        out.append((type(error).__name__, str(error)))
    try:
        await v.plus(-10)
    except ValueError as error:
        out.append(str(error))
    return str(v).split(".")[-1], v > V(2), v == V(3), max(V(5), v).n, len({V(1), V(1, "x")}), out


async def named_tuples():
    """NamedTuples with async methods, defaults, replacing and unpacking."""
    o = _Order(await act("pen"), n=3)
    name, n = o
    p = o._replace(n=await act(5))
    return str(o), await o.price(2), name, n, str(p), await p.price(1.5), o < p, o._asdict(), p[-1]


async def enums():
    """Enums with async methods, lookups by value and name, and wrong ones."""
    out = [await _Level.LOW.up() is _Level.HIGH, _Level[await act("LOW")].value, _Level.HIGH > 4]
    try:
        await _Level.HIGH.up()
    except ValueError as error:
        out.append(str(error))

    class Flags(enum.Flag):
        A = enum.auto()
        B = enum.auto()
        AB = A | B

    f = Flags.A
    await act(None)
    f |= Flags.B
    names = {k: await act(k.value) for k in _Level}
    return out, f is Flags.AB, Flags.B in f, f.value, [k.name for k in names], list(names.values())


async def init_subclass_and_metaclass():
    """`__init_subclass__` and a metaclass that keep a register over awaits."""
    known = {}

    class Base:
        def __init_subclass__(cls, *, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            known[tag or cls.__name__] = cls

        async def run(self):
            return type(self).__name__, await act(1)

    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.by_meta = cls.__name__
            return made

    class One(Base):
        pass

    class Two(Base, tag=await act("second"), metaclass=Meta):
        pass

    out = [(k, await c().run()) for k, c in known.items()]
    return out, Two().by_meta, hasattr(One(), "by_meta")


async def getattr_fallback():
    """`__getattr__` that makes async methods on demand."""

    class Remote:
        def __init__(self):
            self.calls = []

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)

            async def method(*args, **kwargs):
                self.calls.append((name, args, kwargs))
                return await act(name.upper())

            return method

    r = Remote()
    got = await r.get(1), await r.put("k", v=2)
    try:
        await r._hidden()
    except AttributeError as error:
        return got, r.calls, str(error)


async def descriptors():
    """A user descriptor that counts reads and checks writes around awaits."""

    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, owner=None):
            return self if obj is None else getattr(obj, self.name, 0)

        def __set__(self, obj, value):
            if value < 0:
                raise ValueError(f"{self.name[1:]} must not be {value}")
            setattr(obj, self.name, value)

    class Tank:
        level = Positive()

    t = Tank()
    t.level += await act(5)
    try:
        t.level -= await act(9)
    except ValueError as error:
        return t.level, str(error), type(Tank.level).__name__, vars(t)


async def cached_property_and_lru():
    """functools.cached_property and lru_cache on plain code between awaits."""
    made = []

    class Report:
        def __init__(self, rows):
            self.rows = rows

        @functools.cached_property
        def total(self):
            made.append("total")
            return sum(self.rows)

    @functools.lru_cache(maxsize=2)
    def square(n):
        made.append(n)
        return n * n

    r = Report(await act([1, 2]))
    first = r.total
    r.rows.append(await act(10))
    again = r.total
    del r.total
    await act(None)
    squares = [square(await act(n)) for n in (2, 2, 3, 4, 2)]
    return first, again, r.total, squares, made, tuple(square.cache_info())


async def cached_property_of_task():
    """A cached property that holds a task, awaited by several."""

    class Config:
        @functools.cached_property
        def loading(self):
            return asyncio.ensure_future(self._load())

        async def _load(self):
            log.append("load")
            return await act({"k": 1})

        async def get(self, k):
            return (await self.loading)[k]

    log = []
    c = Config()
    return await asyncio.gather(c.get("k"), c.get("k")), await c.get("k"), log


async def operators_of_user_class():
    """Operators of a user class with awaited operands, reflected and in place."""

    class V:
        def __init__(self, *xs):
            self.xs = xs

        def __add__(self, o):
            return V(*self.xs, *o.xs) if isinstance(o, V) else NotImplemented

        def __radd__(self, o):
            return V(o, *self.xs)

        def __iadd__(self, o):
            self.xs += ("i", o)
            return self

        def __neg__(self):
            return V(*reversed(self.xs))

    v = w = V(1, 2)
    w += await act(3)
    total = sum([V(await act(4)), V(5)])
    return v.xs, w is v, (await act(0) + -v).xs, total.xs


async def container_protocol():
    """`__len__`, `__contains__`, `__missing__`, `__delitem__` and `__bool__` of user classes."""

    class Bag(dict):
        def __missing__(self, k):
            self[k] = []
            return self[k]

        def __contains__(self, k):
            return k == "always" or super().__contains__(k)

    b = Bag()
    for word in await act(["ant", "bee", "ape"]):
        b[word[0]].append(await act(word))
    b["z"] += [await act("zoo")]
    del b["b"]
    return dict(b), "always" in b, "b" in b, len(b), bool(Bag()), await act(len(b["new"]))


async def slots_and_class_getitem():
    """Slots, generics by `__class_getitem__` and instance checks by a metaclass."""

    class S:
        __slots__ = ("a", "b")

        def __class_getitem__(cls, item):
            return f"{cls.__name__}[{item}]"

    class Any(type):
        def __instancecheck__(cls, obj):
            return obj == "yes"

    class Yes(metaclass=Any):
        pass

    s = S()
    s.a = await act(1)
    out = []
    for name in ("b", "c"):
        try:
            await act(getattr(s, name))
        except AttributeError as error:
            out.append((type(error).__name__, "no attribute" in str(error)))
    return s.a, out, S[await act("x")], [isinstance(await act(v), Yes) for v in ("yes", "no")]


async def constructor_alternatives():
    """An async class method as a constructor, and `__new__` that reuses objects."""

    class Conn:
        pool = {}

        def __new__(cls, name):
            return cls.pool.setdefault(name, super().__new__(cls))

        def __init__(self, name):
            self.name = name
            self.inits = getattr(self, "inits", 0) + 1

        @classmethod
        async def connect(cls, name):
            self = cls(await act(name))
            self.state = await slow("open", 0.5)
            return self

    a = await Conn.connect("x")
    b, c = await asyncio.gather(Conn.connect("x"), Conn.connect("y"))
    return a is b, a is c, a.inits, c.inits, a.state, list(Conn.pool)


async def methods_replaced_at_run_time():
    """A method put on an instance, then on the class, between awaits."""

    class A:
        async def m(self):
            return await act("class")

    a, b = A(), A()
    bound = a.m

    async def own():
        return await act("instance")

    a.m = own
    first = [await a.m(), await b.m()]

    async def new(self):
        return await act(("new", self is b))

    A.m = new
    del a.m
    return first, await a.m(), await b.m(), await bound()


async def context_and_iteration_in_one_class():
    """One class that is an async manager, an async iterable and awaitable."""
    log = []

    class Cursor:
        async def __aenter__(self):
            self.left = await act(2)
            return self

        async def __aexit__(self, *info):
            log.append(await act("close"))

        async def __aiter__(self):
            while self.left:
                self.left -= 1
                yield self.left

        def __await__(self):
            return act(self.left).__await__()

    async with Cursor() as c:
        async for n in c:
            log.append((n, await c))
    return log


async def attributes_changed_by_branches():
    """One object changed by two concurrent methods, with its lost update."""

    class Stock:
        n = 0

        async def wrong(self, k, seconds):
            n = self.n
            await slow(None, seconds)
            self.n = n + k

        async def right(self, k, seconds):
            await slow(None, seconds)
            self.n += k

    s, t = Stock(), Stock()
    await asyncio.gather(s.wrong(1, 2.0), s.wrong(10, 1.0), t.right(1, 2.0), t.right(10, 1.0))
    return s.n, t.n, Stock.n


class _Money(int):
    def __new__(cls, amount, currency):
        made = super().__new__(cls, amount)
        made.currency = currency
        return made

    def __int__(self):
        raise TypeError("not so")


class _Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


class _Counted:
    made = 0

    def __new__(cls, *args):
        print("new", len(args))
        return super().__new__(cls)

    def __init__(self, name):
        self.name = name


async def new_methods_run_once():
    """A `__new__` of one's own is not asked again."""
    money, pair, counted = _Money(5, "EUR"), _Pair(1, [2]), _Counted("x")
    await act("one")
    await act("two")
    return money + 1, money.currency, tuple(pair), type(pair).__name__, counted.name
