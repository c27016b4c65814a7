"""`match` with every kind of pattern and awaits in subject, guard and body."""

import dataclasses
import enum

from tests.differential.kit import act, boom


@dataclasses.dataclass
class _Point:
    x: int
    y: int = 0


class _Color(enum.Enum):
    RED = "r"
    BLUE = "b"


class _Limits:
    LOW = 3
    HIGH = 9


async def kinds_in_a_loop():
    """Mapping, class, sequence, singleton and wildcard patterns with loop exits in bodies."""
    out = []
    for value in ({"k": [1, 2, 3]}, 5, "s", (1, 2), None, "never"):
        match value:
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


async def awaited_subject():
    """The subject is awaited once; without a match nothing happens."""
    asked = []

    async def subject(x):
        asked.append(x)
        return await act(x)

    out = []
    for x in (1, 2, 3):
        match await subject(x):
            case 1:
                out.append("one")
            case 2 | 4:
                out.append("even")
    return out, asked


async def awaited_guards():
    """Guards may await; a guard that fails leaves its names bound."""
    log = []

    async def allow(name, answer):
        log.append(name)
        return await act(answer)

    match await act([1, 2]):
        case [a, b] if await allow("first", a > b):
            log.append("never")
        case [c, _] if await allow("second", False) or await allow("third", True):
            log.append((a, b, c))
        case _:
            log.append("never")
    return log


async def guard_that_fails():
    """An error in a guard leaves the statement; later cases are not tried."""
    out = []
    try:
        match await act(1):
            case x if await boom(ValueError(x)):
                out.append("never")
            case _:
                out.append("never either")
    except ValueError as error:
        out.append((x, repr(error)))
    return out


async def literals():
    """Literal patterns: numbers, texts, bytes, signs, complex, singletons."""
    out = []
    for v in (-1, 2.5, "a" "b", b"x", 1 + 2j, True, 1, None, 0, False, "1"):
        match await act(v):
            case -1 | 2.5:
                out.append("number")
            case "ab" | b"x":
                out.append("text")
            case 1 + 2j:
                out.append("complex")
            case True:
                out.append("true")
            case None:
                out.append("none")
            case 0:
                out.append("zero")
            case _:
                out.append(repr(v))
    return out


async def sequences():
    """Sequence patterns of fixed and free length; texts are no sequences."""

    async def f(v):
        match await act(v):
            case []:
                return "empty"
            case [x]:
                return "one", x
            case [1, *_, 9]:
                return "from 1 to 9"
            case [first, [second, *inner], *rest]:
                return first, second, inner, rest
            case (a, b, *rest):
                return a, b, await act(rest)
            case str() | bytes() as s:
                return "text", s
        return "none"

    values = [], [5], (1, 9), [1, 2, 3, 9], [0, [1, 2], 3], [3, 4, 5], "ab", b"cd", {1}, [[], []]
    return [await f(v) for v in values]


async def mappings():
    """Mapping patterns with literal keys, value keys, rest and nesting."""

    async def f(v):
        match await act(v):
            case {"kind": "order", "items": [{"sku": sku, **other}, *more]}:
                return sku, other, len(more)
            case {"kind": str(kind), **rest} if rest:
                return kind, await act(rest)
            case {_Limits.LOW: x, "y": None}:
                return "low", x
            case {"kind": _}:
                return "only kind"
            case {}:
                return "any mapping"
            case _:
                return "no mapping"

    order = {"kind": "order", "items": [{"sku": 7, "n": 1, "p": 2}, 3]}
    values = order, {"kind": "k", "z": 1}, {3: "x", "y": None}, {"kind": 4}, {"q": 1}, {}, []
    return [await f(v) for v in values]


async def classes_and_attributes():
    """Class patterns by position, by keyword and nested."""
    out = []
    for v in (_Point(0, 0), _Point(0, 7), _Point(3), _Point(4, 4), (_Point(1), 2), 3.5):
        await act(None)
        match v:
            case _Point(0, 0):
                out.append("origin")
            case _Point(0, y) | (_Point(y=y), _):
                out.append(("y", await act(y)))
            case _Point(x=a, y=b) if a == b:
                out.append(("same", a))
            case _Point(x):
                out.append(("x", await act(x)))
            case float(f):
                out.append(f)
    return out


async def custom_match_args():
    """`__match_args__`, attributes of user classes, and properties asked in order."""
    log = []

    class Pair:
        __match_args__ = ("left", "right")

        def __init__(self, *kept):
            self.kept = kept

        @property
        def left(self):
            log.append("left")
            return self.kept[0]

        @property
        def right(self):
            log.append("right")
            return self.kept[1]

    match Pair(await act(1), await act([2, 3])):
        case Pair(9, 9):
            log.append("never")
        case Pair(a, [_, b]) if await act(b) == 3:
            log.append((a, b))
    return log


async def match_args_errors():
    """Too many positional patterns and a name given twice are TypeErrors."""
    out = []
    point = _Point(1, 2)
    for n in (1, 2):
        try:
            match await act(n):
                case int(1):
                    match point:
                        case _Point(1, 2, 3):
                            out.append("never")
                case 2:
                    match point:
                        case _Point(1, x=1):
                            out.append("never")
        except TypeError as error:
            out.append(str(error))
    return out


async def value_patterns():
    """Dotted names are compared, enum members included."""

    async def f(v, tag):
        got = await act(tag)
        match v, got:
            case _Color.RED, "plain":
                return "red"
            case _Color.BLUE | _Color.RED as c, t:
                return c.name, t
            case _Limits.LOW, _:
                return "low"
            case n, _ if _Limits.LOW < n <= _Limits.HIGH:
                return "between", n
        return "outside"

    pairs = (_Color.RED, "plain"), (_Color.RED, "x"), (_Color.BLUE, "y"), (3, ""), (5, ""), (99, "")
    return [await f(*p) for p in pairs]


async def or_and_as_patterns():
    """Alternatives that bind the same names, and `as` at several depths."""
    out = []
    for v in (["add", 1, 2], ["neg", 5], {"op": "neg", "of": 6}, ["add", [1], 2]):
        match await act(v):
            case ["add", (int() | float()) as a, int() as b] as whole:
                out.append((await act(a + b), len(whole)))
            case ["neg", n] | {"op": "neg", "of": n}:
                out.append(-n)
            case [_, [_] as inner, *_]:
                out.append(inner)
    return out


async def capture_then_await_then_use():
    """Captured names survive awaits, loops and later statements."""
    match await act({"user": {"name": "Ann", "roles": ["a", "b"]}, "n": 1}):
        case {"user": {"name": name, "roles": [*roles]}, **rest}:
            for k, role in enumerate(roles):
                roles[k] = await act(role.upper())
            await act(None)
    await act(None)
    return name, roles, rest


async def nested_match():
    """A match in the body of another, returning from both."""

    async def f(a, b):
        match await act(a):
            case 0:
                match await act(b):
                    case 0:
                        return "both"
                    case n if n > 5:
                        return "big", n
                return "left only"
            case str(text):
                match text.split():
                    case [one]:
                        return one
                    case [one, *others]:
                        return one, await act(len(others))
        return "neither"

    return [await f(*p) for p in ((0, 0), (0, 9), (0, 1), ("a", 0), ("a b c", 0), ("", 0), (1, 1))]


async def match_with_try_and_loops():
    """A match between try, for and while, with every exit in a body."""
    log = []

    async def run(commands):
        n = 0
        while True:
            for c in commands:
                try:
                    match c, await act(n):
                        case "inc", _:
                            n += 1
                            continue
                        case "fail", k:
                            await boom(ValueError(k))
                        case "break", _:
                            break
                        case "stop", k if k > 2:
                            return "stopped", k
                except ValueError as error:
                    log.append(error.args)
                finally:
                    log.append(c)
            n += 1

    return await run(["inc", "fail", "stop", "break", "never"]), log


async def match_soft_keywords():
    """`match`, `case` and `_` are ordinary names elsewhere."""
    match = await act({"case": 1})
    case = match["case"]
    _ = await act("under")
    match match, case:
        case {"case": 2}, _:
            out = "never"
        case [{"case": x}, y]:
            out = x, y, _
    return out, match, case


async def star_subject_and_tuple_subject():
    """Subjects with stars, trailing commas and walrus targets."""
    xs = await act([1, 2])
    match *xs, await act(3):
        case 1, *ys:
            pass
    match await act("t"),:
        case [t]:
            pass
    match (n := await act(4)):
        case 4 as m:
            pass
    return ys, t, n, m
