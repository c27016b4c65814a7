"""Queue, PriorityQueue, LifoQueue: bounds, joining, producers and consumers."""

import asyncio

from tests.differential.kit import act, boom, slow


async def queue_first_in_first_out():
    """Items come out in the order in which they went in."""
    queue = asyncio.Queue()
    for item in "abc":
        await queue.put(item)
    print(queue.qsize(), queue.empty(), queue.full(), queue.maxsize)
    return [await queue.get() for _ in range(3)], queue.empty()


async def queue_nowait_errors():
    """put_nowait on a full queue and get_nowait on an empty one raise."""
    queue = asyncio.Queue(maxsize=1)
    queue.put_nowait("only")
    for call in (lambda: queue.put_nowait("more"), queue.get_nowait, queue.get_nowait):
        try:
            print(call())
        except (asyncio.QueueFull, asyncio.QueueEmpty) as error:
            print(repr(error))
    return queue.qsize()


async def queue_bounded_producer_waits():
    """A producer of a bounded queue waits for room."""
    queue = asyncio.Queue(maxsize=2)

    async def produce():
        for number in range(5):
            await queue.put(number)
            print("put", number)

    task = asyncio.create_task(produce())
    got = []
    for _ in range(5):
        await act()
        got.append(await queue.get())
        print("got", got[-1])
    await task
    return got


async def queue_getters_are_served_in_order():
    """Getters that wait are served in the order in which they came."""
    queue = asyncio.Queue()

    async def getter(name):
        got = await queue.get()
        print(name, "got", got)
        return got

    tasks = [asyncio.create_task(getter(name)) for name in "abc"]
    await act()
    for item in (1, 2, 3):
        queue.put_nowait(item)
    print("all put")
    return await asyncio.gather(*tasks)


async def queue_join_and_task_done():
    """join waits until every item was worked on, not merely taken."""
    queue = asyncio.Queue()

    async def worker():
        while True:
            item = await queue.get()
            await slow(None, item)
            print("worked on", item)
            queue.task_done()

    for item in (2.0, 1.0, 0.5):
        queue.put_nowait(item)
    task = asyncio.create_task(worker())
    await queue.join()
    print("joined")
    task.cancel()
    await asyncio.wait([task])
    return queue.empty(), task.cancelled()


async def queue_task_done_too_often():
    """task_done without an item is a ValueError; join of an unused queue returns at once."""
    queue = asyncio.Queue()
    await queue.join()
    try:
        queue.task_done()
    except ValueError as error:
        return error.args


async def queue_cancel_a_getter():
    """A getter that is cancelled does not eat an item."""
    queue = asyncio.Queue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await act()
    first.cancel()
    queue.put_nowait("item")
    got = await asyncio.gather(first, second, return_exceptions=True)
    return [repr(one) for one in got], queue.qsize()


async def queue_cancel_a_getter_behind_the_item():
    """A getter cancelled just after an item came leaves the item for the next one."""
    queue = asyncio.Queue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await act()
    queue.put_nowait("item")
    first.cancel()
    got = await asyncio.gather(first, second, return_exceptions=True)
    return [repr(one) for one in got], queue.qsize()


async def queue_cancel_a_putter():
    """A putter that is cancelled does not put; the one behind it does."""
    queue = asyncio.Queue(maxsize=1)
    queue.put_nowait("old")
    putters = [asyncio.create_task(queue.put(item)) for item in ("lost", "kept")]
    await act()
    putters[0].cancel()
    await asyncio.sleep(0)
    got = [await queue.get(), await queue.get()]
    done = await asyncio.gather(*putters, return_exceptions=True)
    return got, [repr(one) for one in done]


async def queue_get_under_timeout():
    """A get under wait_for gives up; the queue stays usable."""
    queue = asyncio.Queue()
    try:
        await asyncio.wait_for(queue.get(), 1.0)
    except TimeoutError:
        print("nothing came")
    asyncio.get_running_loop().call_later(1.0, queue.put_nowait, "late")
    return await asyncio.wait_for(queue.get(), 5.0)


async def queue_priority():
    """A PriorityQueue gives the smallest item first, also between puts."""
    queue = asyncio.PriorityQueue()
    for item in ((3, "c"), (1, "a"), (2, "b")):
        queue.put_nowait(item)
    order = [await queue.get()]
    queue.put_nowait((0, "urgent"))
    while not queue.empty():
        order.append(queue.get_nowait())
    return order


async def queue_lifo():
    """A LifoQueue gives the newest item first."""
    queue = asyncio.LifoQueue(maxsize=3)
    for item in "abc":
        queue.put_nowait(item)
    order = [queue.get_nowait()]
    await queue.put("d")
    while not queue.empty():
        order.append(await queue.get())
    return order


async def queue_two_producers_two_consumers():
    """Two producers and two consumers over a bounded queue, with an end mark each."""
    queue = asyncio.Queue(maxsize=2)
    taken = {"x": [], "y": []}

    async def produce(name, seconds):
        for number in range(3):
            await slow(None, seconds)
            await queue.put(f"{name}{number}")

    async def consume(name):
        while (item := await queue.get()) is not None:
            print(name, item)
            taken[name].append(item)
            await slow(None, 0.75)

    consumers = [asyncio.create_task(consume(name)) for name in taken]
    await asyncio.gather(produce("a", 1.0), produce("b", 0.375))
    for _ in consumers:
        await queue.put(None)
    await asyncio.gather(*consumers)
    return taken


async def queue_pipeline_of_three_stages():
    """Three stages joined by queues of one place hand items on in order."""
    first, second, out = asyncio.Queue(1), asyncio.Queue(1), []

    async def source():
        for number in range(4):
            await first.put(number)
        await first.put(None)

    async def middle():
        while (item := await first.get()) is not None:
            await second.put(await act(item * item))
        await second.put(None)

    async def sink():
        while (item := await second.get()) is not None:
            out.append(item)
            print("sink", item)

    await asyncio.gather(source(), middle(), sink())
    return out


async def queue_consumer_fails():
    """A consumer that fails leaves its item taken and unfinished; another goes on."""
    queue = asyncio.Queue()
    for item in ("good", "bad", "fine"):
        queue.put_nowait(item)

    async def consume(name):
        seen = []
        while not queue.empty():
            item = queue.get_nowait()
            if item == "bad":
                await boom(ValueError(item), 0.5)
            await act()
            seen.append(item)
            queue.task_done()
        return name, seen

    got = await asyncio.gather(consume("a"), consume("b"), return_exceptions=True)
    return [repr(one) for one in got], queue.qsize()


async def queue_of_futures_as_requests():
    """Requests carry a future for the answer; a server resolves them in its own order."""
    queue = asyncio.Queue()

    async def ask(number):
        answer = asyncio.get_running_loop().create_future()
        await queue.put((number, answer))
        return await answer

    async def serve():
        batch = [await queue.get() for _ in range(3)]
        for number, answer in reversed(batch):
            print("serving", number)
            answer.set_result(await act(number * 10))

    server = asyncio.create_task(serve())
    got = await asyncio.gather(*(ask(number) for number in (1, 2, 3)))
    await server
    return got


async def queue_put_does_not_yield_when_there_is_room():
    """put into a queue with room, and get from one with items, let nobody else run."""
    queue = asyncio.Queue()

    async def watcher():
        print("watcher sees", queue.qsize())

    task = asyncio.create_task(watcher())
    for number in range(3):
        await queue.put(number)
    print("first out", await queue.get())
    await task
    return queue.qsize()
