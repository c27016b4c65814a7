"""Values of the language: texts, bytes, numbers and containers around awaits."""

import asyncio
import copy
import decimal
import fractions
import math
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque

from tests.differential.kit import act, boom, slow


async def text_formatting():
    """Percent, `format` and f-strings with awaited values."""
    n, s = await act(-42), await act("tëxt")
    a = "%05d|%-6s|%r|%x|%e|%%" % (n, s, s, 255, await act(12345.678))
    b = "{:>8}|{0!r}|{k[0]}|{1:+.2e}".replace("{:>8}", "{0:>8}").format(s, n, k=await act([1]))
    c = f"{n:+,}|{1234567.891:,.1f}|{0.1:.20f}|{n:#x}|{255:08b}|{s:^{await act(9)}}|{n!s:*<6}"
    d = "%(a)s-%(b).1f" % await act({"a": 1, "b": 2.25})
    return a, b, c, d, "{:{}}".format("x", await act(">4"))


async def text_methods():
    """Methods of texts on awaited parts."""
    s = await act("  The quick, brown fox  ")
    parts = s.split(await act(","))
    table = str.maketrans("aeiou", await act("AEIOU"))
    return (
        [p.strip() for p in parts], s.strip().partition(" "), s.translate(table), s.find("q"),
        "-".join(await act(["a", "b"])), "ß".upper(), "ǅ".lower(), "x".zfill(await act(4)),
        s.count(" "), "a\tb".expandtabs(4), "A-b".swapcase(), s.rsplit(None, 1),
    )


async def text_slices_and_escapes():
    """Slices, escapes, raw and concatenated literals."""
    s = await act("abcdefgh")
    return (
        s[::-1], s[-3:], s[2:-2:2], s[100:], s[:: await act(3)],
        r"\n" + "\n" "\x41\u00e9\U0001f600",
        "a" "b" f"{s[0]}" 'c', len("\N{GREEK SMALL LETTER ALPHA}"), s * 0, s[1] * await act(3),
        min(s), sorted(s, reverse=True)[0], "abc" < await act("abd"), "Z" < "a", ord("é"),
    )


async def bytes_and_bytearrays():
    """Bytes, bytearrays and memoryviews changed across awaits."""
    b = await act(b"\x00abc\xff")
    ba = bytearray(b)
    ba += await act(b"!")
    ba[0] = await act(65)
    view = memoryview(ba)
    view[1:3] = b"XY"
    part = bytes(view[1:4])
    view.release()
    ba.extend([1, 2])
    number = int.from_bytes(b[:2], "big")
    return b.hex(), bytes(ba), part, "é".encode(), b"\xc3\xa9".decode(), number


async def integer_arithmetic():
    """Integer corners: floor division, modulo, shifts and powers of negative numbers."""
    a, b = await act(-7), await act(2)
    return (
        a // b, a % b, divmod(a, -b), a >> 1, a << 3, ~a, a ^ b, -a // -b, abs(a), a ** 3,
        pow(3, 200, 13), pow(2, -1), 7 // -2, 7 % -2, -7 % 3, int("-0x1f", 16), int("1_000"),
        True + True, (2).bit_length(), round(a / b), round(12345, -2), 0 ** 0, bool(a),
    )


async def big_integers():
    """Big integers through actions and arithmetic."""
    big = await act(2 ** 200 + 1)
    f = 1
    for n in range(1, 31):
        f *= n
    f += await act(-(10 ** 40))
    parts = big % 1000007, big >> 150, str(big)[-5:], big == 2 ** 200 + 1
    return big, f, parts, math.isqrt(big), -big


async def float_corners():
    """Float corners: rounding, infinities, NaN, negative zero and conversions."""
    nan, inf = await act(float("nan")), await act(float("inf"))
    return (
        0.1 + 0.2, round(2.5), round(3.5), round(2.675, 2), repr(nan), nan == nan, -inf < 0,
        repr(-0.0), -0.0 == 0, 1e308 * 10, repr(inf - inf), 7.5 // 2, -7.5 % 2, 5e-324 / 2,
        float("1e-5"), (0.1).as_integer_ratio()[1], math.fsum([0.1] * 10), sum([0.1] * 3),
        int(-3.9), 3.0 == 3, 2 ** 53 + 1 == float(2 ** 53), 1e16, 1e15, 0.1 + await act(0.7),
    )


async def float_through_action():
    """Floats, negative zero and small numbers come back as they went."""
    values = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, float("-inf"), 1e22, 123456789.125]
    got = await act(values)
    return [repr(x) for x in got], got == values, math.copysign(1, got[1])


async def complex_and_mixed_numbers():
    """Complex numbers and mixtures of number kinds."""
    c = await act(3 + 4j)
    return (
        abs(c), c.conjugate(), c * 1j, c == 3 + 4j, repr(c ** 2), 1 + True, 2 * 0.5, 7 / 7,
        max(1, 1.0), [1, True, 1.0].index(True), {1: "a", True: "b", 1.0: "c"}, 10 ** -2,
    )


async def decimals_and_fractions():
    """Decimals and fractions kept across awaits."""
    price = decimal.Decimal("19.99")
    total = price * 3
    await act(None)
    cents = total.quantize(decimal.Decimal("0.1"), rounding=decimal.ROUND_HALF_EVEN)
    half = fractions.Fraction(1, 3) + fractions.Fraction(await act(1), 6)
    return str(total), str(cents), str(half), str(price / 7), half == fractions.Fraction("1/2")


async def arithmetic_errors():
    """Errors of arithmetic on awaited values, with their texts."""
    out = []
    for f in (
        lambda x: 1 % x, lambda x: divmod(1, x), lambda x: 1.5 // x, lambda x: x ** -1,
        lambda x: int("12a", 10), lambda x: float("abc"), lambda x: [1][:: x], lambda x: chr(-1),
        lambda x: 1 << -1, lambda x: math.sqrt(-1), lambda x: int(float("inf")),
        lambda x: range(1, 2, x),
    ):
        x = await act(0)
        try:
            out.append(f(x))
        except (ArithmeticError, ValueError) as error:
            out.append((type(error).__name__, str(error)))
    return out


async def list_operations():
    """Lists sorted, cut and changed around awaits."""
    xs = await act([5, 3, 8, 1])
    ys = xs.copy()
    ys.sort(key=lambda n: -n)
    xs[1:3] = await act(["a", "b", "c"])
    xs.insert(-1, await act("i"))
    zs = [[0]] * 2
    zs[0].append(await act(1))
    del xs[0]
    return xs, ys, zs, xs.index("b"), xs.pop(await act(1)), xs + [await act(9)], [1, 2] < [1, 3]


async def dict_operations():
    """Dicts keep their order through deletion, update and merging with awaited parts."""
    d = await act({"b": 1, "a": 2})
    d["c"] = d.pop("b")
    d.update(await act({"a": 9, "z": 0}), y=1)
    m = {**d, "a": "new"} | {"last": await act(1)}
    first = next(iter(d))
    k, v = d.popitem()
    view = d.keys() & {"a", "z", "q"}
    return d, m, first, (k, v), sorted(view), d.get("no", await act("default")), list(reversed(d))


async def dict_view_is_live():
    """Views of a dict kept over awaits show what changed since."""
    d = {"a": 1}
    keys, items = d.keys(), d.items()
    await act(None)
    d["b"] = await act(2)
    return list(keys), list(items), len(keys), ("b", 2) in items, keys == {"b", "a"}


async def set_operations():
    """Sets and frozensets with awaited members."""
    s = {await act(1), await act(2), 3}
    f = frozenset(await act([2, 3, 4]))
    s.add(await act(5))
    s.discard(9)
    parts = sorted(s), sorted(s & f), sorted(s - f), sorted(s ^ f)
    return parts, s > {1}, f.isdisjoint({1}), {f: "key"}[f], len(s | f)


async def collections_containers():
    """Containers of collections across awaits."""
    q = deque(await act([1, 2, 3]), maxlen=3)
    q.append(await act(4))
    q.rotate(1)
    dd = defaultdict(list)
    for word in await act(["bee", "ant", "bat"]):
        dd[word[0]].append(await act(word))
    c = Counter(await act("mississippi"))
    c.subtract(Counter(s=await act(3)))
    od = OrderedDict(a=1, b=2)
    od.move_to_end("a")
    cm = ChainMap({"k": await act("first")}, {"k": 2, "l": 3})
    return list(q), dict(dd), c.most_common(2), list(od), dict(cm), cm["l"], q.maxlen


async def copies():
    """Shallow and deep copies, with shared and recursive parts, across awaits."""
    shared = [1]
    d = {"a": shared, "b": shared}
    d["self"] = d
    deep, shallow = copy.deepcopy(d), copy.copy(d)
    shared.append(await act(2))
    await act(None)
    parts = deep["a"] is deep["b"], deep["self"] is deep, shallow["self"] is d
    return deep["a"], shallow["a"], parts


async def comparisons_and_sorting():
    """Sorting is stable and comparisons of mixed kinds fail with their text."""
    rows = await act([("b", 1), ("a", 2), ("b", 0), ("a", 1)])
    by_name = sorted(rows, key=lambda r: r[0])
    out = []
    try:
        sorted(await act([1, "a"]))
    except TypeError as error:
        out.append(str(error))
    most = max(rows, key=lambda r: r[1])
    return by_name, most, sorted(rows, reverse=True)[0], out, (1, "a") < (2, None)


async def truthiness():
    """What counts as true among awaited values."""
    out = []
    for v in (0, 0.0, "", "0", [], [0], {}, None, (), (None,), b"", 0j, False, -1, float("nan")):
        out.append("yes" if await act(v) else "no")
    return "".join(w[0] for w in out), any(out), all(await act([])), any(await act([0, "", 3]))


async def action_values_come_back():
    """Nested plain values come back equal, in kind and in order."""
    value = {
        "z": [1, (2, 3), {"k": None}], "a": b"\x00\xff", 5: True, (1, "t"): 2.5,
        None: "none", "text": "é\n\u2028\U0001f600", "set": {3}, "frozen": frozenset([4]),
    }
    got = await act(value)
    kinds = [type(v).__name__ for v in got.values()]
    got["z"][2]["k"] = await act("changed")
    return list(got), kinds, value["z"], got["z"], got["text"] == value["text"]


async def printing_between_awaits():
    """Printed lines keep their place between awaits of several branches."""

    async def branch(name, seconds):
        print(name, "start")
        await slow(None, seconds)
        print(name, "end", sep="-", end=";\n")

    print("first", await act(1), [1, None], {"k": "v"})
    await asyncio.gather(branch("a", 2.0), branch("b", 1.0))
    print()
    try:
        await boom(ValueError("x"))
    except ValueError as error:
        print(repr(error), error)
    return "done"


async def json_round_trip():
    """JSON of awaited values, with sorting and errors."""
    import json

    d = await act({"b": [1, 2.5, None, True], "a": "é"})
    text = json.dumps(d, sort_keys=True)
    out = [text, json.loads(text) == d, json.dumps(await act((1, 2)))]
    try:
        json.loads(await act("{bad"))
    except json.JSONDecodeError as error:
        out.append((error.msg, error.pos))
    return out


async def regular_expressions():
    """Matches of regular expressions kept over awaits."""
    import re

    p = re.compile(r"(?P<word>\w+)=(\d+)")
    m = p.search(await act("x: total=42, n=7"))
    first = m.group("word"), m.span()
    await act(None)
    it = p.finditer("a=1 b=2")
    names = [next(it)["word"], await act("|"), next(it)["word"]]
    return first, names, p.sub(lambda k: k[2], "a=1"), re.split(await act("[,;]"), "a,b;c")
