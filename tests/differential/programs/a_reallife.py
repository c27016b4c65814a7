"""Small models of real work: orders, transfers, polling, agents, pipelines."""

import asyncio
import contextlib
import dataclasses
import enum

from tests.differential.kit import act, boom, slow


class _OutOfStock(Exception):
    pass


class _Declined(Exception):
    def __init__(self, account, amount):
        super().__init__(account, amount)
        self.account, self.amount = account, amount


async def _reserve(stock, sku, n):
    if await act(stock.get(sku, 0)) < n:
        raise _OutOfStock(sku)
    stock[sku] -= n
    return f"hold-{sku}"


async def order_fulfilment():
    """Reserve, charge and ship several orders; a refused one gives its stock back."""
    stock, sent = {"pen": 3, "cup": 1}, []

    async def fulfil(order):
        held = []
        try:
            for sku, n in order["lines"].items():
                held.append(await _reserve(stock, sku, n))
            if order["total"] > 100:
                await boom(_Declined(order["who"], order["total"]))
            sent.append(await act(order["who"]))
        except _OutOfStock as error:
            return "no stock", error.args[0], held
        except _Declined as error:
            for sku, n in order["lines"].items():
                stock[sku] += await act(n)
            return "declined", error.amount
        return "sent", held

    orders = [
        {"who": "ann", "lines": {"pen": 2}, "total": 5},
        {"who": "bob", "lines": {"pen": 1, "cup": 1}, "total": 500},
        {"who": "cid", "lines": {"cup": 1, "pen": 2}, "total": 9},
    ]
    return [await fulfil(o) for o in orders], stock, sent


async def saga_with_compensation():
    """A trip booked step by step; a failure undoes the done steps in reverse order."""
    log = []

    async def step(name, fail=False):
        log.append("do " + name)
        await (boom(RuntimeError(name)) if fail else act(name))
        return name

    async def undo(name):
        log.append("undo " + await act(name))

    async def book(*plan):
        done = []
        try:
            for name, fail in plan:
                done.append(await step(name, fail))
        except RuntimeError as error:
            while done:
                await undo(done.pop())
            return "failed at " + str(error)
        return "booked"

    good = await book(("flight", False), ("hotel", False))
    bad = await book(("flight", False), ("hotel", False), ("car", True), ("tour", False))
    return good, bad, log


async def saga_with_exit_stack():
    """The same with an AsyncExitStack whose callbacks are dropped on success."""
    log = []

    async def undo(name):
        log.append(await act("undo " + name))

    async def book(names, fail_at):
        async with contextlib.AsyncExitStack() as stack:
            for n, name in enumerate(names):
                if n == fail_at:
                    await boom(ValueError(name))
                log.append(await act(name))
                stack.push_async_callback(undo, name)
            stack.pop_all()
        return "booked"

    out = [await book("ab", None)]
    try:
        await book("cde", 2)
    except ValueError as error:
        out.append(repr(error))
    return out, log


async def pagination_loop():
    """All pages of a listing followed by cursor, with a limit on the number of pages."""
    pages = {
        None: {"items": [1, 2], "next": "p2"},
        "p2": {"items": [], "next": "p3"},
        "p3": {"items": [3], "next": None},
    }

    async def listing(limit):
        cursor, asked = None, 0
        while True:
            page = await act(pages[cursor])
            asked += 1
            for item in page["items"]:
                yield item
            cursor = page["next"]
            if cursor is None or asked >= limit:
                return

    everything = [x async for x in listing(10)]
    return everything, [x async for x in listing(2)]


async def polling_with_back_off():
    """A job polled with growing pauses until it is done or too late."""
    clock = asyncio.get_running_loop().time
    began = clock()

    async def poll(states, patience):
        pause, asked = 1.0, []
        for state in states:
            asked.append((round(clock() - began, 3), state))
            if await act(state) == "done":
                return "done", asked
            if pause > patience:
                raise TimeoutError(f"gave up after {len(asked)}")
            await asyncio.sleep(pause)
            pause = min(pause * 2, 10)

    out = [await poll(["queued", "running", "done"], 99)]
    try:
        await poll(["running"] * 9, 4)
    except TimeoutError as error:
        out.append(str(error))
    return out, round(clock() - began, 3)


async def map_reduce():
    """Words counted by mappers that run at once, reduced in the order of the input."""

    async def count(n, text):
        got = {}
        for word in await slow(text.split(), 3.0 - n):
            got[word] = got.get(word, 0) + 1
        return got

    async def merge(a, b):
        return await act({k: a.get(k, 0) + b.get(k, 0) for k in dict.fromkeys([*a, *b])})

    texts = "a b a", "b c", "c c a"
    parts = await asyncio.gather(*(count(n, t) for n, t in enumerate(texts)))
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2])
        left = parts[len(parts) // 2 * 2:]
        parts = [*await asyncio.gather(*(merge(a, b) for a, b in pairs)), *left]
    return parts[0]


async def bank_transfer():
    """Transfers between accounts under locks taken in order; a failed one changes nothing."""
    balance = {"a": 100, "b": 50, "c": 0}
    locks = {k: asyncio.Lock() for k in balance}
    journal = []

    async def transfer(src, dst, amount):
        first, second = sorted((src, dst))
        async with locks[first], locks[second]:
            if await act(balance[src]) < amount:
                raise _Declined(src, amount)
            balance[src] -= amount
            balance[dst] += await slow(amount, 0.5)
            journal.append((src, dst, amount))
        return "ok"

    moves = ("a", "b", 70), ("b", "c", 100), ("a", "c", 70), ("c", "a", 5)
    got = await asyncio.gather(*(transfer(*m) for m in moves), return_exceptions=True)
    return [g if g == "ok" else repr(g) for g in got], balance, sum(balance.values()), journal


async def agent_loop_with_tools():
    """A model that asks for tools until it answers; a failing tool is told back to it."""
    script = [
        {"tool": "search", "args": {"q": "price"}},
        {"tool": "divide", "args": {"a": 84, "b": 0}},
        {"tool": "missing", "args": {}},
        {"tool": "divide", "args": {"a": 84, "b": 2}},
        {"answer": "it is {}"},
    ]

    async def search(q):
        return await act(f"found {q}")

    async def divide(a, b):
        return await act(a) / b

    tools = {f.__name__: f for f in (search, divide)}
    history = []
    while "answer" not in (reply := await slow(script[len(history)], 0.5)):
        try:
            result = await tools[reply["tool"]](**reply["args"])
        except (KeyError, ZeroDivisionError) as error:
            result = f"error: {error!r}"
        history.append((reply["tool"], result))
    return reply["answer"].format(history[-1][1]), history


async def etl_with_partial_failure():
    """Rows read, cleaned and loaded in batches; bad rows are set aside with their reason."""
    rows = ["1,ann", "x,bob", "3", "4,dee", "5,eve", "6,boom", "7,gus"]
    loaded, rejected = [], []

    async def clean(row):
        number, name = (await slow(row, 0.25)).split(",")
        if name == "boom":
            await boom(ConnectionError(name), 0.25)
        return {"n": int(number), "name": name.title()}

    for k in range(0, len(rows), 3):
        batch = rows[k:k + 3]
        results = await asyncio.gather(*map(clean, batch), return_exceptions=True)
        for row, got in zip(batch, results, strict=True):
            if isinstance(got, Exception):
                rejected.append((row, type(got).__name__, str(got)))
            else:
                loaded.append(got)
        print("batch", k // 3, len(loaded), len(rejected))
    return await act(loaded), rejected


class _State(enum.Enum):
    NEW = "new"
    PAID = "paid"
    SENT = "sent"
    GONE = "gone"


async def state_machine():
    """An order as a state machine driven by events, with refused transitions."""
    moves = {
        (_State.NEW, "pay"): _State.PAID,
        (_State.NEW, "cancel"): _State.GONE,
        (_State.PAID, "ship"): _State.SENT,
        (_State.PAID, "cancel"): _State.GONE,
    }

    async def run(events):
        state, trail = _State.NEW, []
        for event in events:
            match moves.get((state, await act(event))):
                case None:
                    trail.append(f"{event}? not when {state.value}")
                case _State.GONE as state:
                    trail.append(await act("refund"))
                    break
                case new:
                    trail.append(f"{state.value}->{new.value}")
                    state = new
        else:
            trail.append("open" if state is not _State.SENT else "over")
        return state.name, trail

    return await run(["ship", "pay", "pay", "ship"]), await run(["pay", "cancel", "ship"])


async def retry_wrapper():
    """A retry helper of the user's with back-off, a budget and errors that are final."""
    log = []

    async def retry(make, times=4, base=1.0, final=()):
        for n in range(times):
            try:
                return await make(n)
            except final:
                log.append("final")
                raise
            except Exception as error:
                log.append((n, repr(error)))
                last = error
                await asyncio.sleep(base * 2 ** n)
        raise LookupError(f"{times} attempts") from last

    out = [await retry(lambda n: act("fine") if n == 2 else boom(OSError(n)))]
    for kind in (ValueError, OSError):
        try:
            await retry(lambda n: boom(kind(n)), times=2, final=(ValueError,))
        except (ValueError, LookupError) as error:
            out.append((repr(error), repr(error.__cause__)))
    return out, log


async def approval_with_deadline():
    """A request that is approved, refused or too late, as a race of two waits."""

    async def ask(answer, after):
        try:
            async with asyncio.timeout(2.0):
                got = await slow(answer, after)
        except TimeoutError:
            return "escalated to " + await act("boss")
        return "approved" if got else "refused"

    return await asyncio.gather(ask(True, 1.0), ask(False, 1.5), ask(True, 3.0))


async def rate_limited_crawl():
    """Pages crawled breadth first, at most two at once, each only once."""
    links = {"/": ["/a", "/b"], "/a": ["/b", "/c"], "/b": ["/"], "/c": ["/d"], "/d": []}
    gate, busy, most = asyncio.Semaphore(2), 0, 0
    seen, depth = {"/": 0}, 0

    async def fetch(url):
        nonlocal busy, most
        async with gate:
            busy += 1
            most = max(most, busy)
            try:
                return await slow(links[url], 0.5)
            finally:
                busy -= 1

    level = ["/"]
    while level:
        depth += 1
        found = [u for page in await asyncio.gather(*map(fetch, level)) for u in page]
        level = [u for u in dict.fromkeys(found) if u not in seen]
        seen.update((u, depth) for u in level)
    return seen, most, depth


@dataclasses.dataclass
class _Subscription:
    who: str
    months: int = 0
    debts: list = dataclasses.field(default_factory=list)

    async def bill(self, month, good):
        try:
            paid = await (act(9) if good else boom(_Declined(self.who, 9)))
        except _Declined as error:
            self.debts.append((month, error.amount))
            return 0
        self.months += 1
        return paid


async def subscription_billing():
    """A subscription billed monthly, ended after two debts in a row."""
    s = _Subscription("ann")
    income = 0
    in_a_row = 0
    for month, good in enumerate(await act([True, False, True, False, False, True]), 1):
        income += (paid := await s.bill(month, good))
        in_a_row = 0 if paid else in_a_row + 1
        if in_a_row == 2:
            ended = await act(f"ended in month {month}")
            break
        await asyncio.sleep(30.0)
    else:
        ended = "still on"
    return ended, income, s.months, s.debts


async def dependency_build():
    """Targets built once each, dependencies first, siblings at once, with one memo of tasks."""
    needs = {"app": ["lib", "ui"], "ui": ["lib", "icons"], "lib": [], "icons": ["svg"], "svg": []}
    memo, log = {}, []

    async def build(name):
        await asyncio.gather(*(want(d) for d in needs[name]))
        log.append("start " + name)
        await slow(name, 1.0 + len(needs[name]))
        log.append("built " + name)
        return len(log)

    def want(name):
        if name not in memo:
            memo[name] = asyncio.ensure_future(build(name))
        return memo[name]

    total = await want("app")
    return total, log, list(memo), [t.done() for t in memo.values()]


async def chat_moderation():
    """Messages checked by rules in turn; the first that objects decides."""

    async def too_long(text):
        return await act(len(text)) > 20

    async def shouting(text):
        return text.isupper() and await act(True)

    async def broken(text):
        return "?" in text and await boom(ConnectionError("rule"), 0.5)

    async def check(text):
        for rule in (too_long, shouting, broken):
            try:
                if await rule(text):
                    return rule.__name__
            except ConnectionError:
                continue
        else:
            return "passed"

    texts = ["hello", "HELLO", "a very long message indeed", "is it?", "IS IT?"]
    return {t: await check(t) for t in texts}, await asyncio.gather(*map(check, texts[::-1]))


async def inventory_sync():
    """Two inventories compared and brought together, change by change, with a dry run."""

    async def changes(here, there):
        for sku in sorted({*here, *there}):
            match await slow((here.get(sku), there.get(sku)), 0.25):
                case None, n:
                    yield "add", sku, n
                case n, None:
                    yield "drop", sku, n
                case n, m if n != m:
                    yield "set", sku, m

    async def sync(here, there, dry):
        plan = []
        async for kind, sku, n in changes(dict(here), there):
            plan.append(f"{kind} {sku}={n}")
            if not dry:
                here.pop(sku, None) if kind == "drop" else here.update({sku: await act(n)})
        return plan

    here, there = {"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 5, "d": 7}
    first = await sync(here, there, dry=True), dict(here)
    return first, await sync(here, there, dry=False), here, await sync(here, there, dry=False)


async def interpreter_of_a_small_language():
    """An interpreter with a stack, variables and loops whose every step is awaited."""
    program = """
        push 3; store n; label top; load n; load n; mul; print
        load n; push -1; add; store n; load n; jump top; halt
    """
    code = [line.split() for line in program.replace("\n", ";").split(";") if line.strip()]
    labels = {words[1]: at for at, words in enumerate(code) if words[0] == "label"}
    stack, names, out, at, steps = [], {}, [], 0, 0
    while code[at][0] != "halt":
        match code[at]:
            case ["push", n]:
                stack.append(int(n))
            case ["store", name]:
                names[name] = stack.pop()
            case ["load", name]:
                stack.append(names[name])
            case ["mul" | "add" as op]:
                b, a = stack.pop(), stack.pop()
                stack.append(await slow(a * b if op == "mul" else a + b, 0.25))
            case ["print"]:
                out.append(await act(stack.pop()))
            case ["jump", label] if stack.pop():
                at = labels[label]
        at, steps = at + 1, steps + 1
    return out, names, steps
