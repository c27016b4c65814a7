"""Assignments of every form, with awaits in the values and in the targets."""

import asyncio

from tests.differential.kit import act, boom, slow


class _Box:
    """An object whose reads and writes are written down."""

    def __init__(self, log):
        object.__setattr__(self, "log", log)
        object.__setattr__(self, "kept", {})

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.log.append(("get", name))
        return self.kept[name]

    def __setattr__(self, name, value):
        self.log.append(("set", name, value))
        self.kept[name] = value

    def __delattr__(self, name):
        self.log.append(("del", name))
        del self.kept[name]

    def __getitem__(self, key):
        self.log.append(("getitem", key))
        return self.kept[key]

    def __setitem__(self, key, value):
        self.log.append(("setitem", key, value))
        self.kept[key] = value


async def augmented_operators():
    """Every augmented operator takes an awaited right-hand side."""
    a = 7
    seen = []
    a += await act(5)
    seen.append(a)
    a -= await act(2)
    seen.append(a)
    a *= await act(10)
    seen.append(a)
    a //= await act(3)
    seen.append(a)
    a %= await act(20)
    seen.append(a)
    a **= await act(2)
    seen.append(a)
    a <<= await act(3)
    a >>= await act(1)
    seen.append(a)
    a |= await act(3)
    a &= await act(0xFE)
    a ^= await act(0x55)
    seen.append(a)
    a /= await act(4)
    return seen, a


async def augmented_subscript_reads_first():
    """The old item is read before the await, so a change made meanwhile is overwritten."""
    stock = {"pear": 10}

    async def change():
        stock["pear"] = 1000
        return await act(1)

    stock["pear"] += await change()
    first = dict(stock)
    stock["pear"] = stock["pear"] + await change()
    return first, stock


async def augmented_subscript_key_once():
    """Container and key of an augmented subscript are evaluated once, before the value."""
    log = []
    box = _Box(log)
    box["k"] = 1

    async def key():
        log.append("key")
        return await act("k")

    box[await key()] += await act(41)
    return log, box["k"]


async def augmented_attribute_get_then_set():
    """An augmented attribute is read before the await and written after it."""
    log = []
    box = _Box(log)
    box.total = 5

    async def amount():
        log.append("amount")
        got = await act(3)
        log.append("paid")
        return got

    box.total += await amount()
    box.total -= await amount() * await amount()
    return log


async def augmented_target_failed_value():
    """When the awaited value fails, the augmented target keeps what it had."""
    xs = [1, 2, 3]
    total = 1
    try:
        xs[1] += await boom(ValueError("no"))
    except ValueError as error:
        total += len(error.args)
    try:
        total *= await boom(KeyError("k"))
    except KeyError:
        pass
    return xs, total


async def augmented_in_place_and_alias():
    """In-place operators change the shared object; the others bind a new one."""
    xs = [1]
    same = xs
    xs += await act([2, 3])
    xs *= await act(2)
    t = (1,)
    old = t
    t += await act((2,))
    d = {"a": 1}
    also = d
    d |= await act({"b": 2})
    s = {1, 2, 3}
    alias = s
    s &= await act({2, 3, 4})
    s ^= await act({9})
    return xs, xs is same, t, old, also, d is also, sorted(alias), s is alias


async def augmented_tuple_item_half_done():
    """`t[0] += list` extends the list and then fails to store it."""
    t = ([1], 2)
    try:
        t[0] += await act([2, 3])
    except TypeError as error:
        return t, str(error)


async def augmented_slice():
    """Slices as augmented targets, with awaits inside of the bounds."""
    xs = list(range(8))
    xs[await act(1):await act(3)] += await act(["x", "y"])
    xs[-2:] *= await act(2)
    xs[::5] = await act("abc")
    return xs


async def star_unpacking():
    """Star targets at the start, in the middle, at the end and nested."""
    first, *middle, last = await act([1, 2, 3, 4, 5])
    *init, end = await act("xyz")
    head, *rest = await act((9,))
    (a, *b), [c, (*d, e)] = await act(([1, 2, 3], [4, [5, 6, 7]]))
    [*everything] = await act({"k": 1, "l": 2})
    return first, middle, last, init, end, head, rest, a, b, c, d, e, everything


async def star_into_subscripts_and_attributes():
    """Unpacking into items and attributes goes from left to right, awaits included."""
    log = []
    box = _Box(log)
    d = {}
    d["a"], *d["rest"], box.z = await act([1, 2, 3, 4])
    box[await act("p")], (box.q, box[await act("r")]) = await act("p!"), (await act("q!"), 7)
    return d, log


async def unpacking_errors():
    """The texts of the errors that unpacking an awaited value gives."""
    out = []
    for value in ([1], [1, 2, 3], 5, "", None):
        try:
            a, b = await act(value)
        except (TypeError, ValueError) as error:
            out.append((type(error).__name__, str(error)))
    try:
        a, b, *c = await act([1])
    except ValueError as error:
        out.append(str(error))
    return out


async def unpacking_stops_midway():
    """Targets before the one that failed keep their new value."""
    a = b = "old"
    xs = []
    try:
        a, xs[5], b = await act(("new", "item", "never"))
    except IndexError as error:
        return a, b, xs, str(error)


async def chained_targets():
    """A chained assignment evaluates the value once and the targets from left to right."""
    log = []
    box = _Box(log)
    a = box[await act("first")] = box.second = [b, *c] = await act([1, 2])
    a.append(3)
    return a, b, c, log, box.second is a


async def chained_rebinds_index():
    """`i = xs[i] = ...` uses the index that was bound just before."""
    i = 0
    xs = [0, 0, 0]
    i = xs[i] = await act(2)
    xs[i], i = await act(1), i
    i, xs[i] = await act(0), await act("zero")
    return i, xs


async def annotated():
    """Annotated assignments, with and without a value; the annotations are never evaluated."""
    x: int = await act(1)
    y: "nothing.at.all"  # noqa: F821
    z: list[undefined] = [await act(2), x]  # noqa: F821
    try:
        y
    except UnboundLocalError as error:
        text = str(error)
    y = await act("later")
    (w): int = await act(4)
    return x, y, z, w, text


async def annotated_target_without_value():
    """An annotated item or attribute without a value still evaluates its parts."""
    log = []

    async def part(name):
        log.append(await act(name))
        return {"k": _Box(log)}

    (await part("one"))["k"].never: int
    (await part("two"))[await act("missing")]: str
    (await part("three"))["k"].now: float = await act(2.5)
    return log


async def walrus_everywhere():
    """Walrus targets bound by awaited values in conditions, calls and subscripts."""
    out = []
    if (n := await act(4)) > 3 and (m := await act(n * 2)):
        out.append((n, m))
    while (n := n - await act(2)) > 0:
        out.append(n)
    out.append([(y := await act(5)), y + 1, (y := y * await act(2)), y])
    d = {(k := await act("k")): (v := await act([1])), k + k: v}
    out.append(d)
    out.append((lambda: (q := 3) + q)() + (z := await act(1)) + z)
    return out, k, v is d["kk"]


async def delete_forms():
    """`del` of names, items, slices and attributes, with awaited keys, from left to right."""
    log = []
    box = _Box(log)
    box.a, box.b = await act((1, 2))
    xs = list(range(10))
    d = {"k": 1, "l": 2, "m": 3}
    name = "x"
    del xs[await act(0)], d[await act("l")], name, box.a
    del (xs[await act(1):await act(4)], [d["k"], box.b])
    try:
        del d[await act("gone")]
    except KeyError as error:
        log.append(repr(error))
    return xs, d, log


async def right_hand_side_first():
    """In a plain assignment the value comes before the parts of the target."""
    log = []

    async def say(x):
        log.append(x)
        return await act(x)

    d = {"a": {}}
    d[await say("a")][await say("b")] = await say("value")
    d[await say("c")], d[await say("d")] = await say(1), await say(2)
    return log, d


async def swap_through_awaits():
    """Swaps and rotations read every name before any is bound."""
    a, b, c = 1, 2, 3
    a, b = b, await act(a)
    a, b, c = await act(c), a, b
    xs = [1, 2, 3]
    xs[0], xs[-1] = xs[-1], await act(xs[0])
    return a, b, c, xs


async def slices_as_values():
    """Slices with awaited bounds and steps, and the tuple subscripts."""

    class Echo:
        def __getitem__(self, key):
            return key

    xs = list("abcdefgh")
    e = Echo()
    got = xs[await act(6):await act(1):await act(-2)]
    key = e[await act(1):2, ..., await act(3)]
    return got, str(key), str(e[:await act("x"):]), e[*await act([1, 2]), 3], e[()]


async def extended_slice_mismatch():
    """An extended slice of the wrong size changes nothing."""
    xs = [1, 2, 3, 4]
    out = []
    try:
        xs[::2] = await act([9, 9, 9])
    except ValueError as error:
        out.append(str(error))
    xs[1:1] = await act([7])
    xs[len(xs):] = [await act("end")]
    del xs[::await act(2)]
    return out, xs


async def conditional_binding_survives():
    """A name bound in only one branch is still there after later awaits."""
    for flag in (True, False):
        if await act(flag):
            kept = "first"
        else:
            other = await act(kept + "!")
    got = await asyncio.gather(act(kept), slow(other, 0.5))
    return kept, other, got


async def attribute_on_awaited_object():
    """Attributes of what an awaited helper returns are set on that very object."""
    log = []
    box = _Box(log)

    async def find():
        await act(None)
        return box

    (await find()).x = await act(1)
    (await find()).x += 1
    del (await find()).x
    return log, box.kept
