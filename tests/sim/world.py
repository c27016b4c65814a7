"""A world of two nodes over one store in memory, in which everything goes wrong that can.

One seed decides all: which faults there are, when nodes die, who takes over, how clocks step, what
clients ask for. Time is virtual. The same seed tells the same story, line by line.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.facts import Lost, Signalled, Stopped, decode_row
from perdure.errors import StoreError
from perdure.node.flush import FENCED
from perdure.node.node import Taken
from perdure.node.options import Options
from perdure.node.owner import Owner
from perdure.node.wire import Cancel, Signal, Start, digest_of
from perdure.store.memory import Late, MemoryDatabase, MemoryStore, MemoryWriter
from perdure.store.port import (
    CANCELLED,
    COMPLETED,
    OPEN,
    PENDING,
    RUNNING,
    STATUSES,
    STOPPED,
    Batch,
    Down,
    Message,
    NewRun,
    Refused,
    Unclear,
)
from perdure.testing import VirtualLoop
from tests.sim import flows
from tests.sim.explained import asked_for, demand_explained, demand_once, refolded
from tests.sim.flows import GIVES, Journal

KEY = b"k" * 32
START_US = 1_700_000_000_000_000
HEAL_S = 200.0
"""How long a healed world has to bring everything to its end, in virtual seconds."""

FAULTS = ("down", "refuse to read", "unclear and absent", "late", "unclear but committed", "slow")
DEEDS = ("kill", "take over", "declare dead", "clock", "poison", "leave", "sent again")
"""What can go wrong of itself, and what is done to the nodes. A seed draws some of each."""

CALLS: list[tuple[str, Callable[[Random], tuple[Any, ...]]]] = [
    ("straight", lambda r: tuple("abc"[: r.randint(1, 3)])),
    ("fan", lambda r: tuple("a" * r.randint(1, 9) for _ in range(r.randint(2, 6)))),
    ("naps", lambda r: (r.randint(1, 4), r.choice([0.0, 0.1, 1.0, 4.0]))),
    ("asks", lambda r: (r.randint(1, 3),)),
    ("asks_and_works", lambda r: (r.randint(1, 3),)),
    ("parent", lambda r: tuple("pqr"[: r.randint(1, 3)])),
    ("slow_parent", lambda r: tuple("st"[: r.randint(1, 2)])),
    ("grandparent", lambda r: ("g",)),
    ("retries", lambda r: ("f", r.randint(0, 3))),
    ("limited", lambda r: ("l",)),
    ("hurried", lambda r: ()),
    ("single", lambda r: ("o",)),
    ("tidies", lambda r: ("t",)),
    ("abandons", lambda r: ("b",)),
]
WORDS = {"asks", "asks_and_works", "hurried"}


class Quiet:
    """Where real threads would watch the clock of the machine, there is none."""

    def start(self) -> None:
        pass

    stop = start


class Machine:
    """A process that owns runs: its clock, its node, and how it dies."""

    def __init__(self, world: World, name: str, writer: MemoryWriter) -> None:
        self.world = world
        self.name = name
        self.writer = writer
        self.skew_us = 0
        self.is_alive = True
        options = Options(
            residents_max=world.residents_max, idle_s=1e6, retry_s=0.1, poll_s=0.2, drain_s=0.05,
            inline_s=1e6, now_us=self.now_us, say=lambda *_: None, warn=self.warned,
        )  # fmt: skip
        self.owner = Owner(world.store, writer, KEY, options)
        self.owner.watchdog = Quiet()  # type: ignore[assignment]
        self.node = self.owner.node
        # Whoever is suspected of killing its process would be run in a real one, in real time.
        lanes = self.node.attempts.lanes
        self.node.attempts._lane_of = lambda *_: lanes["loop"]  # type: ignore[method-assign]
        self.node.mark = world.marks
        world.marks += 1
        self.node.observers.append(lambda _: world.check_node(self))
        self._listen()

    def now_us(self) -> int:
        return START_US + int(self.world.loop.time() * 1_000_000) + self.skew_us

    def warned(self, text: str) -> None:
        assert "the node failed" not in text, text
        self.world.tell(f"{self.name}: {text.splitlines()[0]}")

    def _listen(self) -> None:
        """Count which branches of the flush pipeline were taken."""
        pipeline, seen = self.node.pipeline, self.world.seen
        recovered, refused = pipeline.recovered, pipeline.refused

        def hear_recovered(heads: Any, durable: Any) -> Any:
            verdict = recovered(heads, durable)
            pipeline.check_invariants()
            seen["released after all"] += bool(verdict.release)
            seen["same bytes again"] += verdict.resend
            return verdict

        def hear_refused() -> Any:
            entries = refused()
            pipeline.check_invariants()
            seen["found at fault" if entries else "split"] += 1
            return entries

        pipeline.recovered, pipeline.refused = hear_recovered, hear_refused  # type: ignore[method-assign]

    async def begin(self) -> None:
        await self.owner.begin(patient=True)

    async def take_over(self) -> None:
        """Bring back the runs of another, beside one's own."""
        self.node.recovery.clean = False
        await self.node.insist(self.node.recovery.begin)

    def die(self) -> None:
        """Stop at this instant: nothing is written, said or heard any more."""
        self.is_alive = False
        self.owner.closed = True
        if self.owner.handle is not None:
            self.owner.handle.cancel()
        tasks = [held.task for held in self.node.attempts.held.values() if held.task is not None]
        tasks += self.node.spawned
        self.node.fence()
        self.node.close()
        self.node.writing.send = lambda: None  # type: ignore[method-assign]
        for task in tasks:
            task.cancel()

    async def leave(self) -> None:
        self.is_alive = False
        await self.owner.close()


class World:
    """The store, two nodes, their clients, and what is known of all that was promised."""

    def __init__(self, seed: int, events: int) -> None:
        self.seed = seed
        self.events = events
        self.random = Random(seed)
        draw = self.random
        self.story: list[str] = []
        self.seen: Counter[str] = Counter()
        self.marks = draw.randint(0, 500)
        self.residents_max = draw.choice([1, 2, 1_000])
        self.faults = {name: draw.choice([0.0, 0.03, 0.15]) for name in FAULTS}
        self.deeds = [name for name in DEEDS if draw.random() < 0.6]
        self.database = MemoryDatabase(shared=True, faults=self._fault)
        self.store = MemoryStore(self.database)
        self.machines: list[Machine] = []
        self.calls: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self.sent: dict[str, set[str]] = {}
        self.cancelled: set[str] = set()
        self.acknowledged: list[tuple[str, str, str]] = []
        """What was promised to be durable: (kind, run, key)."""
        self.waiting: list[tuple[Machine, str, asyncio.Future[None]]] = []
        self.poisoned: set[str] = set()
        self.is_healed = False
        self.wrong: list[dict[str, Any]] = []
        """What went wrong where nobody looks."""
        self.last_rid = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def run(self) -> World:
        Journal.here = self.journal = Journal()
        self.loop = VirtualLoop()
        self.journal.hear = self.tell
        self.loop.jumps_max = 100_000
        self.loop.set_exception_handler(lambda _, context: self.wrong.append(context))
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._live())
        return self

    def tell(self, what: str) -> None:
        self.story.append(f"{self.loop.time():9.3f}  {what}")

    # --- faults of the store

    def _fault(self, moment: str, batch: Batch) -> Awaitable[None] | None:
        if moment == "flushed":
            self._tell_facts(batch)
        if self.is_healed:
            return None
        self._demand_no_poison(moment, batch)
        draw = self.random.random
        if draw() < self.faults["slow"]:
            return self._slowly(moment, self.random.choice([0.0, 0.01, 0.3]))
        self._strike(moment)
        return None

    def _tell_facts(self, batch: Batch) -> None:
        for fact in batch.facts:
            if self.database.facts.get(fact.rid, {}).get(fact.seq) is fact:
                what = decode_row(fact.body).fact
                call = getattr(what, "call", "")
                name = type(what).__name__.lower()
                self.tell(f"{self.database.runs[fact.rid].id} #{fact.seq} {name} {call}".rstrip())

    async def _slowly(self, moment: str, seconds: float) -> None:
        self._saw("slow")
        await asyncio.sleep(seconds)
        if not self.is_healed:
            self._strike(moment)

    def _strike(self, moment: str) -> None:
        draw = self.random.random
        if moment in ("read", "have read"):
            if draw() < self.faults["refuse to read"]:
                self._saw("refuse to read")
                raise Down("no answer")
        elif moment in ("flush", "send"):
            for name, error in (("down", Down), ("unclear and absent", Unclear), ("late", Late)):
                if draw() < self.faults[name]:
                    self._saw(name)
                    raise error(name)
        elif draw() < self.faults["unclear but committed"]:
            self._saw("unclear but committed")
            raise Unclear("no answer")

    def _demand_no_poison(self, moment: str, batch: Batch) -> None:
        if moment != "flush" or not self.poisoned:
            return
        for fact in batch.facts:
            row = self.database.runs.get(fact.rid)
            id_ = row.id if row is not None else _id_of(batch, fact.rid)
            if id_ in self.poisoned and b'"fact":"stopped' not in fact.body:
                self._saw("refused")
                raise Refused(f"poison in {id_}")

    def _saw(self, what: str) -> None:
        self.seen[what] += 1
        self.tell(what)

    # --- what happens

    async def _live(self) -> None:
        await self._boot(None)
        await self._boot(None)
        for _ in range(self.events):
            await asyncio.sleep(self.random.choice([0.0, 0.001, 0.02, 0.2, 0.9]))
            await self._event()
            self.check()
        await self._heal()
        self.check_end()
        for machine in self.machines:
            await machine.leave()

    async def _event(self) -> None:
        draw = self.random
        kind = draw.choices(("start", "start here", "word", "cancel", "deed"), (4, 6, 6, 1, 5))[0]
        if kind == "start":
            self._begin(self._client_start())
        elif kind == "start here" and self.machines:
            self._begin(self._start_here(draw.choice(self.machines)))
        elif kind == "word" and self.calls:
            self._begin(self._send_word())
        elif kind == "cancel" and self.calls:
            self._begin(self._cancel())
        elif kind == "deed" and self.deeds:
            await self._do(draw.choice(self.deeds))

    def _begin(self, work: Any) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            raise task.exception()  # type: ignore[misc]

    # --- clients

    def _draw_call(self) -> tuple[str, str, tuple[Any, ...]]:
        name, args_of = self.random.choice(CALLS)
        id_ = f"{name}-{len(self.calls)}"
        if self.calls and self.random.random() < 0.15:  # somebody else starts the same
            id_ = self.random.choice(list(self.calls))
            return (id_, *self.calls[id_])
        self.calls[id_] = name, args_of(self.random)
        return (id_, *self.calls[id_])

    def _row(self, rid: int, id_: str, name: str, args: tuple[Any, ...]) -> tuple[NewRun, Raw]:
        workflow = getattr(flows, name)
        raw = Raw(values.encode([list(args)]))
        program = workflow.program().hash
        return NewRun(rid, id_, workflow.name, program, digest_of(raw), START_US), raw

    async def _client_start(self) -> None:
        """Start as a process does that owns nothing, and again until it is acknowledged."""
        id_, name, args = self._draw_call()
        self.tell(f"client starts {id_}")
        while True:
            self.last_rid += 1
            row, raw = self._row(self.last_rid << 20, id_, name, args)
            row = msgspec.structs.replace(row, status=PENDING, program="")
            body = msgspec.json.encode(Start(row.workflow, raw, zlib.crc32(id_.encode())))
            with_retry = await self._sent([row], [Message(row.rid, "start", body)])
            if with_retry:
                self.acknowledged.append(("start", id_, ""))
                return

    async def _sent(self, rows: list[NewRun], messages: list[Message]) -> bool:
        """Send; whoever does not know what came of it has to send again."""
        try:
            await self.store.send(rows, messages)
        except StoreError:
            await asyncio.sleep(0.05)
            return False
        return True

    async def _start_here(self, machine: Machine) -> None:
        """Start as the owner does: fold, and wait until it is durable."""
        id_, name, args = self._draw_call()
        if not machine.is_alive or machine.node.pipeline.state == FENCED:
            return
        self.tell(f"{machine.name} starts {id_}")
        node = machine.node
        row, raw = self._row(node.new_rid(), id_, name, args)
        program = getattr(flows, name).program()
        entry = node.begin_run(row, program, raw, seed=zlib.crc32(id_.encode()), zone="UTC")
        assert entry is not None
        waiter = self.loop.create_future()
        entry.waiters = [waiter]
        self.waiting.append((machine, id_, waiter))
        try:
            await waiter
        except Taken:
            self._saw("id is taken")
            assert id_ in self.database.ids
        except StoreError as error:
            self.tell(f"{id_} is not started: {error}")
        else:
            assert self.database.head(row.rid), "acknowledged and not durable"
            self.acknowledged.append(("start", id_, ""))

    async def _send_word(self) -> None:
        """Send a word to a run under a key, until it is acknowledged; perhaps once more."""
        id_ = self.random.choice(list(self.calls))
        if id_ not in self.database.ids or self.calls[id_][0] not in WORDS:
            return
        sent = self.sent.setdefault(id_, set())
        key = word = f"w{len(sent)}"
        sent.add(word)
        body = msgspec.json.encode(Signal("word", Raw(values.encode(word))))
        await self._leave(id_, "signal", body, key)
        if "sent again" in self.deeds and self.random.random() < 0.5:
            await asyncio.sleep(self.random.choice([0.0, 0.1, 2.0]))
            self._saw("sent again")
            await self._leave(id_, "signal", body, key)

    async def _cancel(self) -> None:
        id_ = self.random.choice(list(self.calls))
        if id_ in self.database.ids:
            self.tell(f"client cancels {id_}")
            self.cancelled.add(id_)
            await self._leave(id_, "cancel", msgspec.json.encode(Cancel("enough")), None)

    async def _leave(self, id_: str, kind: str, body: bytes, key: str | None) -> None:
        rid = self.database.ids[id_]
        if self.database.runs[rid].status > OPEN:
            return
        while not await self._sent([], [Message(rid, kind, body, key)]):
            pass
        self.acknowledged.append((kind, id_, key or ""))

    # --- deeds

    async def _do(self, deed: str) -> None:
        victim = self.random.choice(self.machines) if self.machines else None
        if victim is None or deed == "sent again":
            return
        self._saw(deed)
        if deed == "kill":
            victim.die()
            await self._replace(victim)
        elif deed == "leave":
            await victim.leave()
            await self._replace(victim)
        elif deed in ("take over", "declare dead"):
            await self._take_over(victim, is_dead=deed == "take over")
        elif deed == "clock":
            victim.skew_us += self.random.choice([-30, -2, 2, 30]) * 1_000_000
        elif deed == "poison":
            self.poisoned.add(self.random.choice([*self.calls, "nobody"]))

    async def _replace(self, victim: Machine) -> None:
        """Start a process again that is gone: it has the runs of the one before."""
        self.machines.remove(victim)
        await asyncio.sleep(self.random.choice([0.0, 0.3]))
        self._land()
        await self._boot(victim)

    async def _take_over(self, victim: Machine, *, is_dead: bool) -> None:
        """Have the other node own the runs of one that is dead, or was only taken to be."""
        others = [each for each in self.machines if each is not victim]
        if not others:
            return
        self.machines.remove(victim)
        if is_dead:
            victim.die()
        self._land()
        [heir] = others
        self.database.declare_dead(victim.writer, heir.writer)
        self.tell(f"{heir.name} takes over from {victim.name}")
        await heir.take_over()
        if not is_dead:
            await asyncio.sleep(1.0)
            victim.die()  # it has found out by now, or does not matter
        await self._boot(None)

    async def _boot(self, before: Machine | None) -> None:
        writer = self.database.enter()
        assert writer is not None
        if before is not None:
            self.database.declare_dead(before.writer, writer)
        machine = Machine(self, f"node {self.marks}", writer)
        self.tell(f"{machine.name} begins" + (f" after {before.name}" if before else ""))
        self.machines.append(machine)
        await machine.begin()

    def _land(self) -> None:
        """Have writes take place whose senders no longer wait for them."""
        if landed := self.database.land():
            self.seen["landed late"] += landed
            self.tell("late writes land")

    # --- the end

    async def _heal(self) -> None:
        """Let everything work again, and wait until all is over that can be."""
        self.tell("healed")
        self.is_healed = True
        for machine in self.machines:
            machine.skew_us = 0
        deadline = self.loop.time() + HEAL_S
        while self.loop.time() < deadline and (
            self._unfinished() or self.tasks or self._messages()
        ):
            await self._send_last_words()
            await asyncio.sleep(1)

    async def _send_last_words(self) -> None:
        """Send whoever waits for words more than it waits for."""
        for id_ in sorted(self.database.ids):
            sent = self.sent.setdefault(id_, set())
            if self.calls.get(id_, ("",))[0] in WORDS and "end0" not in sent:
                for word in (f"end{i}" for i in range(4)):
                    sent.add(word)
                    body = msgspec.json.encode(Signal("word", Raw(values.encode(word))))
                    await self._leave(id_, "signal", body, word)

    def _unfinished(self) -> list[str]:
        """Give runs that are open, but for those that wait for a run that was stopped."""
        rows = self.database.runs
        stuck = {row.rid for row in rows.values() if row.status == STOPPED}
        while more := {
            row.parent
            for row in rows.values()
            if row.rid in stuck and row.parent is not None and row.parent not in stuck
        }:
            stuck |= more
        return [row.id for row in rows.values() if row.status <= OPEN and row.rid not in stuck]

    # --- what must be true

    def check_node(self, machine: Machine) -> None:
        """After every release: nothing is taken for durable that is not."""
        machine.node.pipeline.check_invariants()
        if machine.writer.alive:
            for rid, resident in machine.node.residents.items():
                assert resident.durable_seq <= self.database.head(rid), resident.id

    def check(self) -> None:
        """After every event."""
        for context in self.wrong:
            raise context.get("exception") or AssertionError(context["message"])
        for machine in self.machines:
            self.check_node(machine)
        for rid, facts in self.database.facts.items():
            assert len(facts) == self.database.head(rid), "a gap in a log"
        for kind, id_, key in self.acknowledged:
            assert id_ in self.database.ids, (kind, id_)
            if key:
                self.demand_kept(id_, key)

    def demand_kept(self, id_: str, key: str) -> None:
        """An acknowledged message waits, was folded, or came when the run was over."""
        rid = self.database.ids[id_]
        is_kept = (
            (rid, key) in self.database._folded
            or (rid, key) in self.database._waiting
            or self.database.runs[rid].status > OPEN
        )
        assert is_kept, f"message {key} of {id_} is lost"

    def check_end(self) -> None:
        self.check()
        assert not self._unfinished(), f"stuck: {self._unfinished()}"
        assert not self.tasks, "somebody waits for ever"
        for machine, id_, waiter in self.waiting:
            assert waiter.done() or not machine.is_alive, f"nobody said what became of {id_}"
        assert not self._messages(), "messages that nobody takes"
        asked: Counter[tuple[str, int]] = Counter()
        for row in self.database.runs.values():
            asked += self._check_run(row)
        demand_explained(self.journal.begun, asked)

    def _messages(self) -> list[Message]:
        stopped = {row.rid for row in self.database.runs.values() if row.status == STOPPED}
        return [m for m in self.database.messages.values() if m.rid not in stopped]

    def _check_run(self, row: Any) -> Counter[tuple[str, int]]:
        rows = [decode_row(fact.body) for _, fact in sorted(self.database.facts[row.rid].items())]
        demand_once(rows)
        self.seen["lost"] += sum(isinstance(each.fact, Lost) for each in rows)
        self.seen["again"] += ".2" in row.id
        run, caused = refolded(row.workflow, rows)
        name = row.workflow.rpartition(":")[2]
        if row.status == STOPPED:
            assert isinstance(rows[-1].fact, Stopped)
        elif row.status == COMPLETED:
            self._check_result(row, name, run.result(), rows)
        elif row.status == CANCELLED:
            assert row.id in self.cancelled or row.parent is not None, row.id
        else:
            assert row.status == RUNNING, (row.id, STATUSES[row.status], run.error)
        run.drop()
        return asked_for(row.id, caused)

    def _check_result(self, row: Any, name: str, result: Any, rows: list[Any]) -> None:
        assert values.decode(row.result) == result
        if name in GIVES:
            args = values.decode(bytes(rows[0].fact.args))[0]
            assert result in GIVES[name](*args), (row.id, args, result)
            return
        taken = [values.decode(bytes(each.fact.value)) for each in rows if _is_word(each)]
        assert set(taken) <= self.sent.get(row.id, set())
        if name == "hurried":
            assert result in (taken[:1] or [""])[0] or result == "NONE"
        else:
            wanted = taken[: len(result)]
            assert result == (wanted if name == "asks" else [each.upper() for each in wanted])


def _is_word(row: Any) -> bool:
    return isinstance(row.fact, Signalled) and row.fact.name == "word"


def _id_of(batch: Batch, rid: int) -> str:
    return next((run.id for run in batch.runs if run.rid == rid), "")
