"""What the parts of a node may ask of it, and of each other. No part knows another's module.

`Node` is the only one that is all of this; the parts see it through here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextvars import Context
from typing import Any, Protocol

from msgspec import Raw

from perdure.core.calls import Call
from perdure.core.facts import AnyFact
from perdure.core.run import Program, Run
from perdure.errors import PerdureError
from perdure.node.alarms import Alarms
from perdure.node.flush import Entry, Pipeline
from perdure.node.options import Options
from perdure.node.programs import Programs
from perdure.node.resident import Resident
from perdure.store.port import NewRun, RunChange, RunRow, Store, Writer


class Attending(Protocol):
    """Attempts of actions, as those see them who bring runs back."""

    def ask_again(self, resident: Resident, call: Call) -> None:
        """Make the attempt that a run waits for."""
        ...

    def holds(self, resident: Resident, call: Call) -> bool:
        """Whether that attempt is under way here."""
        ...

    def serves(self, resident: Resident) -> None:
        """A run goes on: its row need not say any longer why it waits, unless a call of it does."""
        ...

    def left_behind(self, resident: Resident, call: Call) -> bool:
        """Whether it was under way when the run left this node."""
        ...


class Loading(Protocol):
    """Bringing runs into memory, as those see it who need them there."""

    async def load(self, rids: Collection[int], *, fresh: bool = False) -> None:
        """Bring runs into memory, unless they are there."""
        ...

    async def written(self, rids: frozenset[int]) -> None:
        """Wait until nothing of these runs is on its way to the store."""
        ...

    def evict(self, resident: Resident) -> bool:
        """Let a run that only waits leave the memory; say whether it does."""
        ...

    def adopt(self, row: RunRow, run: Run) -> Resident:
        """Take a run that was brought back among those in memory."""
        ...

    async def reconcile(
        self, resident: Resident, *, fresh: bool, asked: frozenset[int] = frozenset()
    ) -> None:
        """See to it that exactly what the run waits for is under way."""
        ...


class Memory(Protocol):
    """How much the runs in memory take, as those see it who bring them there."""

    def rests(self, resident: Resident) -> None:
        """A run has come to rest: it may leave the memory when others have come."""
        ...


class Gathering(Protocol):
    """The way to the store, as those see it who have something to write."""

    def add(self, entry: Entry, atom: int = 0) -> None:
        """Gather an entry, and see to it that it is written."""
        ...


class House(Protocol):
    """A node, as its parts see it."""

    store: Store
    writer: Writer
    key: bytes
    options: Options
    loop: asyncio.AbstractEventLoop
    context: Context
    pipeline: Pipeline
    residents: dict[int, Resident]
    programs: Programs
    alarms: Alarms
    observers: list[Callable[[Entry], object]]
    unable: dict[int, PerdureError]
    draining: bool
    folding: tuple[Resident, float] | None
    fold_guard: Any
    interrupt: str

    @property
    def attending(self) -> Attending:
        """The attempts."""
        ...

    @property
    def loading(self) -> Loading:
        """What brings runs into memory."""
        ...

    @property
    def memory(self) -> Memory:
        """How much the runs in memory take."""
        ...

    @property
    def gathering(self) -> Gathering:
        """The way to the store."""
        ...

    def clock(self) -> float:
        """Read the clock by which waiting is measured."""
        ...

    def now_us(self) -> int:
        """Read the clock."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside everything else."""
        ...

    def fold(
        self, resident: Resident, fact: AnyFact, *, key: str | None = None, atom: int = 0
    ) -> Entry:
        """Fold a fact and gather its row, or that of the run's stop."""
        ...

    def begin_run(
        self,
        row: NewRun,
        program: Program,
        args: Raw,
        *,
        seed: int,
        zone: str,
        stored: bool = False,
        key: str | None = None,
    ) -> Entry:
        """Fold the first fact of a run."""
        ...

    def stop(self, resident: Resident, error: BaseException, fact: AnyFact | None) -> Entry:
        """Take a run out that cannot go on."""
        ...

    def forget(self, rids: frozenset[int], why: Exception) -> frozenset[int]:
        """Drop runs, and all that are bound to them, with everything that is not written."""
        ...

    def give_up(self, entries: Iterable[Entry], why: Exception) -> None:
        """Undo what was done in the belief that these entries would be written."""
        ...

    def load_again(self, rids: frozenset[int], *, fresh: bool = False) -> None:
        """Bring runs back that were dropped."""
        ...

    def stop_row(
        self, rid: int, id_: str, head: int, error: BaseException, fact: AnyFact | None = None
    ) -> Entry:
        """Write down that a run cannot go on, and which fact could not be folded."""
        ...

    def drop(self, resident: Resident) -> None:
        """Forget a run; the store has it."""
        ...

    def write_change(self, change: RunChange) -> None:
        """Change the row of a run."""
        ...

    def release(self, entries: list[Entry], refused: frozenset[int]) -> None:
        """Carry out what durable facts caused."""
        ...

    def fence(self) -> None:
        """Another process owns the runs now."""
        ...
