"""Programs after real life: workers, supervisors, retries, races, actors."""

import asyncio
import collections

from tests.differential.kit import act, boom, slow


async def life_worker_pool():
    """Three workers share ten jobs from one queue and stop at an end mark."""
    jobs, results = asyncio.Queue(), {}
    for number in range(10):
        jobs.put_nowait(number)

    async def worker(name):
        while (job := await jobs.get()) is not None:
            results[job] = (name, await slow(job * job, 0.5 + job % 3 / 4))
            print(name, "did", job)

    workers = [asyncio.create_task(worker(name)) for name in "xyz"]
    for _ in workers:
        jobs.put_nowait(None)
    await asyncio.gather(*workers)
    return results


async def life_rate_limiter():
    """At most two requests begin per second."""
    loop = asyncio.get_running_loop()
    origin = loop.time()
    gate = asyncio.Semaphore(2)
    begun = []

    async def request(number):
        await gate.acquire()
        loop.call_later(1.0, gate.release)
        begun.append((number, loop.time() - origin))
        return await slow(number, 0.25)

    got = await asyncio.gather(*(request(number) for number in range(6)))
    return got, begun


async def life_publish_subscribe():
    """Each subscriber has a queue; one leaves early and gets no more."""
    subscribers = {}

    async def subscribe(name, count):
        inbox = subscribers[name] = asyncio.Queue()
        seen = [await inbox.get() for _ in range(count)]
        del subscribers[name]
        print(name, "leaves")
        return name, seen

    tasks = [asyncio.create_task(subscribe(*one)) for one in (("a", 2), ("b", 4))]
    for number in range(4):
        await act()
        print("publish", number, "to", list(subscribers))
        for inbox in subscribers.values():
            inbox.put_nowait(number)
    return await asyncio.gather(*tasks)


async def life_debounce():
    """Only the last of several quick calls goes through; each new one cancels the old."""
    saved, pending = [], None

    async def save(text):
        await asyncio.sleep(1.0)
        saved.append(await act(text))

    for text, pause in (("h", 0.25), ("he", 0.5), ("hey", 3.0), ("bye", 3.0)):
        if pending is not None and not pending.done():
            print("drop", pending.cancel())
        pending = asyncio.create_task(save(text))
        await slow(None, pause)
    return saved


async def life_circuit_breaker():
    """Three failures open the circuit; after a pause one try closes it again."""
    loop = asyncio.get_running_loop()
    failures, opened = 0, None

    async def call(healthy):
        nonlocal failures, opened
        if opened is not None and loop.time() - opened < 5.0:
            return "open"
        try:
            got = await (act("ok") if healthy else boom(ConnectionError("down")))
        except ConnectionError:
            failures += 1
            opened = loop.time() if failures >= 3 else None
            return "failed"
        failures, opened = 0, None
        return got

    log = [await call(False) for _ in range(5)]
    await asyncio.sleep(5.0)
    return log + [await call(True), await call(False)]


async def life_supervisor_restarts():
    """A supervisor starts a failing child again, up to three times."""
    attempts = collections.Counter()

    async def child(name, bad):
        attempts[name] += 1
        if attempts[name] <= bad:
            await boom(RuntimeError(f"{name} {attempts[name]}"))
        return await act(f"{name} fine")

    async def supervise(name, bad):
        for _ in range(3):
            try:
                return await asyncio.create_task(child(name, bad))
            except RuntimeError as error:
                print("restart after", error)
        return f"{name} given up"

    return await asyncio.gather(supervise("a", 0), supervise("b", 2), supervise("c", 5))


async def life_supervisor_one_for_all():
    """When one child of a group fails the whole group is started again."""
    runs = 0

    async def steady():
        try:
            return await slow("steady", 2.0)
        except asyncio.CancelledError:
            print("steady stopped")
            raise

    async def shaky():
        return await (boom(OSError("shaky")) if runs < 3 else act("shaky"))

    while True:
        runs += 1
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(steady()), group.create_task(shaky())]
            return runs, [task.result() for task in tasks]
        except* OSError:
            print("run", runs, "failed")


# Meals that end together are told one by one, which decides who eats next.
async def life_dining_philosophers():
    """Five philosophers take the lower fork first; everybody eats."""
    forks = [asyncio.Lock() for _ in range(5)]

    async def dine(seat):
        low, high = sorted((seat, (seat + 1) % 5))
        async with forks[low], forks[high]:
            print(seat, "eats")
            await slow(None, 1.0)
        return seat

    return await asyncio.gather(*(dine(seat) for seat in range(5)))


async def life_hedged_request():
    """A second request goes out if the first is slow; the first answer wins."""

    async def ask(server, seconds):
        try:
            return await slow(server, seconds)
        except asyncio.CancelledError:
            print(server, "told to stop", await act("yes"))
            raise

    first = asyncio.create_task(ask("primary", 9.0))
    done, _ = await asyncio.wait([first], timeout=2.0)
    if done:
        return first.result()
    second = asyncio.create_task(ask("backup", 1.0))
    done, pending = await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return [task.result() for task in done]


async def life_race_with_deadline():
    """The fastest of three mirrors within a deadline; the losers are cancelled."""

    async def mirror(name, seconds):
        try:
            return name, await slow(seconds, seconds)
        finally:
            print(name, "is over")

    tasks = [asyncio.create_task(mirror(*one)) for one in (("eu", 3.0), ("us", 2.0), ("ap", 4.0))]
    try:
        async with asyncio.timeout(10.0):
            for nearest in asyncio.as_completed(tasks):
                winner = await nearest
                break
    finally:
        for task in tasks:
            task.cancel()
        got = await asyncio.gather(*tasks, return_exceptions=True)
    return winner, [type(one).__name__ for one in got]


async def life_retry_with_backoff():
    """Retries with doubling pauses until the service answers; the times are exact."""
    loop = asyncio.get_running_loop()
    start, tries = loop.time(), []

    async def service():
        tries.append(loop.time() - start)
        if len(tries) < 4:
            await boom(ConnectionError(f"try {len(tries)}"), 0.25)
        return await act("answer")

    pause = 0.5
    while True:
        try:
            return await service(), tries
        except ConnectionError as error:
            print(error, "pause", pause)
            await asyncio.sleep(pause)
            pause *= 2


async def life_actor_with_inbox():
    """An actor handles its messages one by one and answers through futures."""
    account = _Account(100)
    loop_task = asyncio.create_task(account.run())
    got = await asyncio.gather(
        account.ask("take", 30),
        account.ask("take", 90),
        account.ask("give", 50),
        account.ask("take", 90),
        return_exceptions=True,
    )
    await account.ask("stop", 0)
    await loop_task
    return [repr(one) for one in got], account.balance


class _Account:
    def __init__(self, balance):
        self.balance, self.inbox = balance, asyncio.Queue()

    async def ask(self, what, amount):
        answer = asyncio.get_running_loop().create_future()
        self.inbox.put_nowait((what, amount, answer))
        return await answer

    async def run(self):
        while True:
            what, amount, answer = await self.inbox.get()
            await act((what, amount))
            print(what, amount)
            if what == "take" and amount > self.balance:
                answer.set_exception(ValueError(amount - self.balance))
                continue
            self.balance += {"take": -amount, "give": amount}.get(what, 0)
            answer.set_result(self.balance)
            if what == "stop":
                return


async def life_leader_and_followers():
    """The first caller loads, the others wait for the same load; later callers find it."""
    cache, loads = {}, []

    async def load(key):
        loads.append(key)
        return await slow(key * 2, 2.0)

    async def get(key, delay):
        await slow(None, delay)
        if key not in cache:
            cache[key] = asyncio.create_task(load(key))
        got = await asyncio.shield(cache[key])
        print(key, "after", delay)
        return got

    got = await asyncio.gather(*(get("a", delay) for delay in (0.5, 1.0, 5.0)), get("b", 0.25))
    return got, loads


async def life_fan_out_of_fan_outs():
    """Regions, shops, shelves: gathers in gathers, summed up on the way back."""

    async def shelf(number):
        return await slow(number, 0.25 * (number % 4 + 1))

    async def shop(base):
        return sum(await asyncio.gather(*(shelf(base + n) for n in range(3))))

    async def region(name, base):
        total = sum(await asyncio.gather(shop(base), shop(base + 10)))
        print(name, total)
        return total

    totals = await asyncio.gather(region("north", 3), region("south", 1), region("west", 0))
    return totals, sum(totals)


async def life_order_saga():
    """A failed step undoes the steps before it in reverse order."""
    undo = []
    try:
        for step, fails in (("reserve", False), ("charge", False), ("ship", True)):
            print("do", await act(step))
            if fails:
                await boom(LookupError(f"cannot {step}"), 0.5)
            undo.append(step)
    except LookupError as error:
        while undo:
            print("undo", await slow(undo.pop(), 0.25))
        return "rolled back", error.args
    return "done"


async def life_heartbeat_beside_work():
    """A heartbeat ticks beside the work and stops with it."""
    beats = []

    async def heartbeat():
        try:
            while True:
                beats.append(asyncio.get_running_loop().time())
                await asyncio.sleep(1.0)
        finally:
            print("heart stops after", len(beats))

    heart = asyncio.create_task(heartbeat())
    got = await slow("work", 3.5)
    heart.cancel()
    await asyncio.wait([heart])
    return got, [beat - beats[0] for beat in beats]


async def life_batching_collector():
    """Single requests are collected into batches by size or by time."""
    queue, batches = asyncio.Queue(), []

    async def collect():
        while True:
            batch = [await queue.get()]
            try:
                async with asyncio.timeout(1.0):
                    while len(batch) < 3:
                        batch.append(await queue.get())
            except TimeoutError:
                print("by time")
            batches.append(await act(batch))

    collector = asyncio.create_task(collect())
    for number, pause in enumerate((0.25, 0.25, 0.25, 0.5, 4.0, 0.25, 4.0)):
        await queue.put(number)
        await slow(None, pause)
    collector.cancel()
    return batches


async def life_graceful_shutdown():
    """A stop event lets workers finish their current job; nobody starts another."""
    stop, done = asyncio.Event(), []

    async def worker(name, seconds):
        number = 0
        while not stop.is_set():
            done.append(await slow(f"{name}{number}", seconds))
            number += 1
        print(name, "stops")

    tasks = [asyncio.create_task(worker(*one)) for one in (("a", 1.0), ("b", 1.5))]
    await slow(None, 3.25)
    stop.set()
    print("stopping")
    await asyncio.gather(*tasks)
    return done


async def life_shutdown_with_patience():
    """Workers get a second to finish; who is late is cancelled."""

    async def worker(name, seconds):
        try:
            return await slow(name, seconds)
        except asyncio.CancelledError:
            print(name, "is cut off")
            raise

    tasks = [asyncio.create_task(worker(*one)) for one in (("quick", 1.5), ("late", 9.0))]
    await act()
    done, pending = await asyncio.wait(tasks, timeout=1.0)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return [task.result() for task in done], [task.cancelled() for task in tasks]


async def life_connection_pool():
    """A pool of two connections, lent by a context manager; a broken one is replaced."""
    pool, made = asyncio.Queue(), 2
    for number in range(2):
        pool.put_nowait(f"c{number}")

    async def query(number):
        nonlocal made
        link = await pool.get()
        try:
            if number == 1:
                await boom(ConnectionError(link), 0.5)
            return await slow((number, link), 1.0)
        except ConnectionError:
            link, made = f"c{made}", made + 1
            return number, "broken"
        finally:
            pool.put_nowait(link)

    return await asyncio.gather(*(query(number) for number in range(5))), pool.qsize()


async def life_token_refresh():
    """Several requests find an old token; one refreshes it, under a lock, for all."""
    lock, token, refreshed = asyncio.Lock(), "old", 0

    async def request(number):
        nonlocal token, refreshed
        used = await slow(token, 0.5 * number)
        if used == "old":
            async with lock:
                if token == "old":
                    print(number, "refreshes")
                    token = await slow("new", 2.0)
                    refreshed += 1
        return number, token

    return await asyncio.gather(*(request(n) for n in (1, 2, 3))), refreshed


async def life_readers_and_writer():
    """Readers share, a writer is alone: a read-write gate made of a condition."""
    condition, readers, log = asyncio.Condition(), 0, []

    async def read(name, delay):
        nonlocal readers
        await slow(None, delay)
        async with condition:
            readers += 1
        log.append(await slow(f"{name} read", 2.0))
        async with condition:
            readers -= 1
            condition.notify_all()

    async def write(delay):
        await slow(None, delay)
        async with condition:
            await condition.wait_for(lambda: readers == 0)
            log.append(await act("write"))

    await asyncio.gather(read("a", 0.25), read("b", 0.5), write(1.0), read("late", 3.0))
    return log


async def life_dependency_graph():
    """Tasks of a build wait for what they need; each is built once."""
    needs = {"app": ("lib", "ui"), "ui": ("core",), "lib": ("core",), "core": ()}
    built, order = {}, []

    async def build(name):
        await asyncio.gather(*(start(need) for need in needs[name]))
        await slow(None, len(name) / 4)
        order.append(name)
        return name.upper()

    def start(name):
        if name not in built:
            built[name] = asyncio.create_task(build(name), name=name)
        return built[name]

    got = await start("app")
    return got, order, list(built)


async def life_paged_download_with_prefetch():
    """The next page is fetched while the present one is worked on."""
    loop = asyncio.get_running_loop()
    start, lines = loop.time(), []

    async def page(number):
        return await slow([number * 2, number * 2 + 1], 1.0) if number < 4 else None

    number, ahead = 0, asyncio.create_task(page(0))
    while (rows := await ahead) is not None:
        number += 1
        ahead = asyncio.create_task(page(number))
        for row in rows:
            lines.append(await slow(row, 0.75))
    return lines, loop.time() - start


async def life_approval_with_reminders():
    """Waiting for a decision with a reminder each two seconds, three at the most."""
    decision = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(5.0, decision.set_result, "approved")
    for number in range(3):
        try:
            return number, await asyncio.wait_for(asyncio.shield(decision), 2.0)
        except TimeoutError:
            print("reminder", await slow(number, 0.25))
    return "expired"


async def life_election_by_quorum():
    """Five voters; as soon as three agree the rest is called off."""

    async def vote(name, yes, seconds):
        return name, await slow(yes, seconds)

    ballots = (("a", 1, 3.0), ("b", 0, 1.0), ("c", 1, 2.0), ("d", 1, 4.0), ("e", 0, 9.0))
    tasks = [asyncio.create_task(vote(*one)) for one in ballots]
    tally = collections.Counter()
    for nearest in asyncio.as_completed(tasks):
        name, yes = await nearest
        tally[yes] += 1
        print(name, yes)
        if max(tally.values()) == 3:
            break
    off = [task.cancel() for task in tasks]
    return dict(tally), off


async def life_throttled_crawl():
    """A crawl of a small site: a set of seen pages, two fetchers, a join at the end."""
    links = {"/": ["/a", "/b"], "/a": ["/b", "/c"], "/b": ["/"], "/c": ["/d"], "/d": []}
    queue, seen, order = asyncio.Queue(), {"/"}, []
    queue.put_nowait("/")

    async def fetch(name):
        while True:
            page = await queue.get()
            for link in await slow(links[page], 1.0 + len(order) / 8):
                if link not in seen:
                    seen.add(link)
                    queue.put_nowait(link)
            order.append((name, page))
            queue.task_done()

    fetchers = [asyncio.create_task(fetch(name)) for name in "xy"]
    await queue.join()
    for fetcher in fetchers:
        fetcher.cancel()
    await asyncio.gather(*fetchers, return_exceptions=True)
    return order, sorted(seen)
