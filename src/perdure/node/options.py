"""How a node is set up: bounds, and what it says to people."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from perdure.core.effects import Say

log = logging.getLogger("perdure")


def show(_: str, said: Say) -> None:
    """Show what a run printed, or logged, where the process shows such things."""
    if said.level:
        logging.getLogger(said.logger).log(said.level, "%s", said.text)
    else:
        out = sys.stderr if said.logger == "stderr" else sys.stdout
        out.write(said.text + "\n")


def warn(text: str) -> None:
    """Tell the operator."""
    log.warning("%s", text)


def now_us() -> int:
    """Read the clock of this machine: microseconds since 1970."""
    return time.time_ns() // 1_000


@dataclass(frozen=True, slots=True)
class Options:
    """What a node may be told."""

    actions_max: int = 10_000
    """Actions under way at once on the loop; more wait their turn."""
    threads_max: int = 32
    """Threads for actions that block."""
    processes_max: int = 2
    """Processes for actions with `run_in="process"`."""
    queues: tuple[str, ...] = ()
    """Queues that this process serves, beside the one of calls that name none."""
    residents_max: int = 5_000
    """Runs that may wait in memory; of more, those that waited longest leave it."""
    resident_bytes_max: int = 512 << 20
    """What they may take in memory, as far as it can be estimated: as above."""
    idle_s: float = 30.0
    """How long a run may wait in memory before it leaves it in any case."""
    keep_s: float | None = None
    """How long the facts of a run are kept after its end; for ever unless given."""
    drain_s: float = 10.0
    """How long a closing node waits for actions that are under way."""
    retry_s: float = 0.25
    """How soon a store that took nothing is tried again."""
    poll_s: float = 0.025
    """How often is looked whether others have left messages."""
    inline_s: float = 10.0
    """How long inline code of a workflow may take before it is interrupted."""
    blocked_s: float = 1.0
    """How long the loop may be blocked before it is said by what."""
    heartbeat_s: float = 1.0
    """How often at most the progress of an action is written down."""
    now_us: Callable[[], int] = field(default=now_us)
    """The clock that facts are dated by, and timers are due by."""
    say: Callable[[str, Say], None] = field(default=show)
    warn: Callable[[str], None] = field(default=warn)
