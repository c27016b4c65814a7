"""`if`, `for` and `while` with awaits in their headers and bodies."""

import asyncio

from tests.differential.kit import act, boom, slow


async def if_elif_else():
    """Conditions are awaited in order until one holds."""
    log = []

    async def ask(name, answer):
        log.append(name)
        return await act(answer)

    out = []
    for k in range(4):
        if await ask("a", k == 0):
            out.append("A")
        elif await ask("b", k == 1) or await ask("c", k == 2):
            out.append("BC")
        else:
            out.append(await act("E"))
    return out, log


async def while_with_awaited_condition():
    """The condition of a `while` is awaited before each turn, and `else` runs at its end."""
    left = [3, 2, 1, 0]
    out = []
    while await act(left[0]):
        out.append(left.pop(0))
    else:
        out.append(await act("else"))
    return out, left


async def while_else_and_break():
    """`else` of a `while` is skipped by a break, not by a continue."""
    out = []
    for stop in (2, 9):
        n = 0
        while n < 4:
            n += 1
            if n == await act(stop):
                out.append(("break", n))
                break
            if n % 2:
                continue
            out.append(n)
        else:
            out.append(await act("else"))
        out.append("after")
    return out


async def for_else_continue_break():
    """`for` with an awaited iterable, `continue`, `break` and `else`."""
    out = []
    for words in (["a", "", "b"], ["c", "stop", "d"], []):
        for w in await act(words):
            if not w:
                continue
            if await act(w) == "stop":
                break
            out.append(w)
        else:
            out.append(await act("all"))
        out.append("|")
    return out


async def nested_loops_break_inner():
    """A break leaves only the innermost loop; its `else` belongs to it."""
    out = []
    for i in range(3):
        for j in range(4):
            if await act(i + j) == 3:
                break
            if (i + j) % 2:
                continue
            out.append((i, j))
        else:
            out.append(("whole", i))
            continue
        out.append(("broken", i, j))
    return out


async def nested_while_in_for():
    """`while True` inside `for` inside `while`, left at different depths."""
    out = []
    rounds = 0
    while rounds < 3:
        rounds += 1
        for letter in "abc":
            n = 0
            while True:
                n += await act(1)
                if n > rounds:
                    break
                if letter == "b":
                    continue
                out.append(f"{rounds}{letter}{n}")
            if letter == "b" and await act(rounds == 2):
                break
        else:
            out.append("whole")
    return out


async def loop_variable_after_loop():
    """The loop variable keeps its last value, and none when nothing was iterated."""
    for i in range(await act(3)):
        await act(i)
    for k in await act([]):
        pass
    try:
        return i, k
    except UnboundLocalError as error:
        return i, str(error)


async def loop_variable_rebound():
    """Assigning the loop variable does not disturb the iteration."""
    out = []
    for i in range(3):
        i = i * 10 + await act(1)
        out.append(i)
        for i in "xy":
            out.append(await act(i))
    return out, i


async def for_targets():
    """Items, attributes and star patterns as targets of a `for`."""

    class O:
        pass

    o, d, out = O(), {}, []
    for o.x in await act([1, 2]):
        out.append(o.x)
    for d[await act("k")], *d["rest"] in [(1, 2, 3), (4,)]:
        out.append(dict(d))
    for (a, b), *c in await act([((1, 2), 3), ((4, 5), 6, 7)]):
        out.append((a, b, c))
    return out, o.x


async def list_grows_while_iterated():
    """A list iterated over an await sees what was appended meanwhile."""
    xs = [1, 2, 3]
    out = []

    async def more(x):
        if x < 3:
            xs.append(await act(x + 10))

    for x in xs:
        await more(x)
        out.append(x)
    for x in xs:
        xs.remove(await act(x))
        out.append(x)
    return out, xs


async def dict_changed_during_iteration():
    """A dict that grew over an await fails at the next step with the usual text."""
    d = {"a": 1, "b": 2}
    seen = []
    try:
        for k in d:
            seen.append(k)
            d[await act(k + "!")] = 0
    except RuntimeError as error:
        seen.append(str(error))
    for k, v in d.items():
        d[k] = await act(v + 1)
    for k in list(d):
        if await act(len(k)) == 2:
            del d[k]
    return seen, d


async def set_and_deque_changed():
    """Sets and deques refuse changes over awaits with their own texts."""
    from collections import deque

    out = []
    s, q = {1}, deque([1, 2])
    try:
        for x in s:
            s.add(await act(2))
    except RuntimeError as error:
        out.append(str(error))
    try:
        for x in q:
            q.append(await act(3))
    except RuntimeError as error:
        out.append(str(error))
    return out, list(q)


async def range_enumerate_zip():
    """Iterators of the language alive over awaits in nested loops."""
    out = []
    for i, (a, b) in enumerate(zip("abc", range(10, 0, -4)), start=await act(5)):
        for k in reversed([1, 2]):
            out.append((i, a, b, await act(k)))
    for pair in zip(await act([1, 2, 3]), map(str, filter(None, [0, 7, 8]))):
        out.append(await act(pair))
    return out


async def zip_strict_fails():
    """`zip(strict=True)` fails after the pairs were handled."""
    out = []
    try:
        for a, b in zip(await act([1, 2]), "x", strict=True):
            out.append(await act((a, b)))
    except ValueError as error:
        out.append(str(error))
    return out


async def early_return_in_loops():
    """`return` with an awaited value from the depth of nested loops."""

    async def find(grid, wanted):
        for y, row in enumerate(grid):
            x = 0
            while x < len(row):
                if await act(row[x]) == wanted:
                    return await act((x, y))
                x += 1
        else:
            return None

    grid = [[1, 2], [3, 4]]
    return await find(grid, 3), await find(grid, 9), await find([], 0)


async def break_and_return_in_else():
    """`break` and `return` inside of the `else` of an inner loop."""
    out = []

    async def f(limit):
        for i in range(5):
            for j in range(3):
                if await act(j > limit):
                    break
            else:
                if i == 1:
                    return "returned", i
                continue
            out.append(i)
            if i == 2:
                break
        else:
            return "never"
        return "broke", i

    return await f(0), await f(9), out


async def conditions_with_walrus_and_comparison():
    """Loop headers that mix walrus, awaits and chained comparison."""
    pages = {0: 2, 2: 5, 5: 1, 1: None}
    out = []
    at = 0
    while (nxt := await act(pages.get(at))) is not None and 0 <= nxt < await act(10):
        out.append((at, nxt))
        at = nxt
    return out, at, nxt


async def pass_and_ellipsis():
    """Branches that do nothing, and awaits whose value is thrown away."""
    n = 0
    for _ in range(3):
        if await act(n):
            ...
        elif n == 0:
            pass
        else:
            raise AssertionError
        await act("unused")
        n += 1
        (await act("also unused"),)
    return n


async def countdown_with_concurrency():
    """A loop that starts helpers and collects them in a later loop."""

    async def work(n):
        await slow(n, 1.0 + n)
        return n * n

    tasks = []
    for n in range(3):
        tasks.append(asyncio.ensure_future(work(n)))
    out = []
    for t in tasks:
        out.append((await t, [x.done() for x in tasks]))
    return out


async def loop_with_error_inside():
    """An error in one turn is handled and the loop goes on at the next."""
    out = []
    for n in range(4):
        try:
            if n == 1:
                await boom(ValueError(n))
            if n == 2:
                raise KeyError(await act(n))
            out.append(await act(n))
        except ValueError as error:
            out.append(error.args)
            continue
        except KeyError as error:
            out.append(repr(error))
            break
    else:
        out.append("never")
    return out, n
