"""Attempts of actions: begun after their dispatch is durable, bounded in number, told to stop.

On the loop if the body is `async def`, else in a thread, or in a process of its own. What comes
of an attempt is a fact under its token; nothing else leaves this module.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core.calls import Call
from perdure.core.effects import Dispatch, Revoke, arguments_of
from perdure.core.facts import Completed, Failed, Lost, Progressed
from perdure.errors import ActionTimeout, NotAWorkflow, NotEncodable, Stale
from perdure.limits import LIMITS
from perdure.node.context import ATTEMPT, Attempt
from perdure.node.house import House
from perdure.node.processes import Died, Processes
from perdure.node.resident import ACTION, Resident
from perdure.registry import lookup

Key = tuple[int, int]
"""A run and a call of it."""


class Held(msgspec.Struct):
    """One attempt that is under way, or waits for its time or its turn."""

    token: int
    task: asyncio.Task[Any] | asyncio.TimerHandle | None = None
    counted: bool = False
    """Whether it has a turn."""
    begun: bool = False
    told_s: float = 0.0
    name: str = ""
    since_s: float = 0.0
    thread: int = 0
    """The thread in which a body runs that is no coroutine."""


class Attempts:
    """All attempts of one node."""

    def __init__(self, node: House) -> None:
        self.node = node
        self.loop = node.loop
        self.held: dict[Key, Held] = {}
        self.turns: deque[tuple[Resident, Dispatch]] = deque()
        """Those that wait because too many are under way."""
        self.running = 0
        self.unserved: dict[str, int] = {}
        """Actions that were asked for and that this process does not know."""
        self.threads: ThreadPoolExecutor | None = None
        self.processes = Processes(node.options.processes_max)
        self.current = ""
        """The action whose code the loop runs just now, for the watchdog."""

    # --- asking

    def ask(self, resident: Resident, effect: Dispatch) -> None:
        """Make an attempt, when it is time and its turn; none if nobody waits for it any more."""
        call = resident.run.calls.get(effect.call)
        if call is None or call.token != effect.token or self.node.draining:
            return
        key = (resident.rid, effect.call)
        held = self.held[key] = Held(effect.token)
        wait_us = effect.not_before_us - self.node.now_us() if effect.not_before_us else 0
        if wait_us > 0:
            held.task = self.loop.call_later(wait_us / 1_000_000, self._begin, resident, effect)
        else:
            self._begin(resident, effect)

    def ask_again(self, resident: Resident, call: Call) -> None:
        """Make the attempt that a run which was just loaded waits for."""
        self.ask(resident, again(call))

    def holds(self, resident: Resident, call: Call) -> bool:
        """Whether the attempt that a call waits for is under way here."""
        held = self.held.get((resident.rid, call.call))
        return held is not None and held.token == call.token

    def _begin(self, resident: Resident, effect: Dispatch) -> None:
        key = (resident.rid, effect.call)
        held = self.held.get(key)
        if held is None or held.token != effect.token:
            return
        node = self.node
        if (
            self.running >= node.options.actions_max
            or node.pipeline.undurable_bytes > LIMITS.undurable_bytes_max
        ):
            self.turns.append((resident, effect))
            return
        try:
            action = lookup(ACTION, effect.target)
        except NotAWorkflow:
            self._unserved(effect)
            return
        self.running += 1
        held.counted = True
        held.name = effect.target
        body = self._attempt(resident, effect, action, held)
        held.task = self.loop.create_task(body, context=node.context.copy())

    def _unserved(self, effect: Dispatch) -> None:
        known = self.unserved.get(effect.target, 0)
        self.unserved[effect.target] = known + 1
        if not known:
            self.node.options.warn(
                f"no action `{effect.target}` is known in this process: its calls wait; "
                "start a worker that imports the module which defines it"
            )

    # --- attempting

    async def _attempt(self, resident: Resident, effect: Dispatch, action: Any, held: Held) -> None:
        fact: Completed | Failed | Lost | None = None
        held.begun = True
        held.since_s = time.monotonic()
        try:
            value = await self._value(resident, effect, action, held)
            raw = Raw(values.encode(value, f"result of {effect.target}"))
            fact = Completed(self.node.now_us(), effect.call, effect.token, raw)
        except asyncio.CancelledError as error:
            if self.held.get((resident.rid, effect.call)) is held:
                fact = self._failed(effect, error)  # it has cancelled itself
        except Died as died:
            fact = self._of_death(effect, died)
        except BaseException as error:  # noqa: BLE001 — even `SystemExit` is but its outcome
            fact = self._failed(effect, error)
        finally:
            self.running -= 1
        if fact is not None:
            self.settle(resident, effect, held, fact)
        if self.turns:
            self._next_turn()

    def _failed(self, effect: Dispatch, error: BaseException) -> Failed:
        return Failed(
            self.node.now_us(), effect.call, effect.token, Raw(values.encode_error(error))
        )

    def _of_death(self, effect: Dispatch, died: Died) -> Lost | Failed:
        self.node.options.warn(f"the process of `{effect.target}` died: {died}")
        return Lost(self.node.now_us(), effect.call, effect.token)

    def _value(self, resident: Resident, effect: Dispatch, action: Any, held: Held) -> Any:
        policy = effect.policy
        function = action.function
        args, kwargs = arguments_of(effect.args)
        ATTEMPT.set(self._context(resident, effect, held))
        where = policy.run_in or ("loop" if action.is_async else "thread")
        if where == "process":
            work = self.processes.run(effect, ATTEMPT.get())
        elif where == "thread" or not action.is_async:
            work = self._in_thread(function, args, kwargs, held)
        else:
            work = function(*args, **kwargs)
        if policy.timeout_us is None:
            return work
        return _limited(work, policy.timeout_us, effect.target)

    def _context(self, resident: Resident, effect: Dispatch, held: Held) -> Attempt:
        call = resident.run.calls.get(effect.call)
        details = values.decode(call.details) if call is not None and call.details else None

        def tell(given: Any) -> None:
            self.progressed(resident, effect, held, given)

        return Attempt(
            resident.id, effect.target, effect.attempt, f"{resident.id}:{effect.call}",
            details, tell,
        )  # fmt: skip

    async def _in_thread(self, function: Any, args: Any, kwargs: Any, held: Held) -> Any:
        if self.threads is None:
            self.threads = ThreadPoolExecutor(self.node.options.threads_max, "perdure-action")
        context = contextvars.copy_context()

        def work() -> Any:
            held.thread = threading.get_ident()
            try:
                given = function(*args, **kwargs)
                return asyncio.run(given) if inspect.iscoroutine(given) else given
            except StopIteration as error:  # no future takes one
                raise RuntimeError("the action raised StopIteration") from error
            finally:
                held.thread = 0

        return await self.loop.run_in_executor(self.threads, context.run, work)

    # --- what comes of it

    def settle(
        self, resident: Resident, effect: Dispatch, held: Held, fact: Completed | Failed | Lost
    ) -> None:
        """Fold an outcome, unless somebody else has the call by now."""
        key = (resident.rid, effect.call)
        if self.held.get(key) is not held:
            return
        del self.held[key]
        node = self.node
        owner = node.residents.get(resident.rid)
        if owner is None:
            return  # the run was dropped; whoever has it now holds this attempt for lost
        try:
            node.fold(owner, fact)
        except Stale:
            return
        except NotEncodable:
            raise
        except Exception as error:  # noqa: BLE001 — the outcome cannot be read here: it failed
            node.fold(owner, self._failed(effect, error))

    def progressed(self, resident: Resident, effect: Dispatch, held: Held, given: Any) -> None:
        """Write down how far an attempt is, from whatever thread tells it."""
        raw = Raw(values.encode(given, f"progress of {effect.target}"))
        now_s = time.monotonic()
        if now_s - held.told_s < self.node.options.heartbeat_s and held.told_s:
            return
        held.told_s = now_s
        self.loop.call_soon_threadsafe(self._note, resident, effect, held, raw)

    def _note(self, resident: Resident, effect: Dispatch, held: Held, raw: Raw) -> None:
        owner = self.node.residents.get(resident.rid)
        if owner is None or self.held.get((resident.rid, effect.call)) is not held:
            return
        try:
            self.node.fold(owner, Progressed(self.node.now_us(), effect.call, effect.token, raw))
        except Stale:
            return

    def _next_turn(self) -> None:
        node = self.node
        while (
            self.turns
            and self.running < node.options.actions_max
            and node.pipeline.undurable_bytes <= LIMITS.undurable_bytes_max
        ):
            self._begin(*self.turns.popleft())

    # --- stopping

    def revoke(self, resident: Resident, effect: Revoke) -> None:
        """Tell an attempt that nobody waits for it any more."""
        held = self.held.get((resident.rid, effect.call))
        if held is not None and held.token == effect.token:
            del self.held[resident.rid, effect.call]
            self._stop(held)

    def abandon(self, resident: Resident) -> None:
        """The run leaves this node: its attempts are told to stop, and their outcomes are lost."""
        for call in list(resident.run.calls):
            held = self.held.pop((resident.rid, call), None)
            if held is not None:
                self._stop(held)

    def _stop(self, held: Held) -> None:
        if held.task is not None:
            held.task.cancel()
            if held.counted and not held.begun:  # its first step never comes, nor its end
                self.running -= 1

    async def drain(self, wait_s: float) -> None:
        """Let what is under way come to an end, for a while; then stop it."""
        tasks = [each.task for each in self.held.values() if isinstance(each.task, asyncio.Task)]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)
        left = [each for each in tasks if not each.done()]
        for held in self.held.values():
            self._stop(held)
        self.held.clear()
        if left:
            await asyncio.wait(left, timeout=min(wait_s, 5.0))
        self.processes.close()
        if self.threads is not None:
            self.threads.shutdown(wait=False, cancel_futures=True)


def again(call: Call) -> Dispatch:
    """Give the dispatch that a call had last."""
    return Dispatch(
        call=call.call,
        token=call.token,
        attempt=call.failures + 1,
        kind=call.target.kind,
        target=call.target.name,
        args=call.args,
        site=call.site,
        policy=call.policy,
        not_before_us=call.not_before_us,
    )


async def _limited(work: Any, limit_us: int, name: str) -> Any:
    limit = asyncio.timeout(limit_us / 1_000_000)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise ActionTimeout(f"{name} took longer than {limit_us / 1_000_000:g} s") from None
