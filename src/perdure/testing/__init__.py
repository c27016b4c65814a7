"""Testing workflows: in memory, under a virtual clock, with answers from a script or by hand."""

from perdure.testing.crash import Crashes, crash_everywhere
from perdure.testing.memory import MemoryRun, cancel_at, run_in_memory, signal_at
from perdure.testing.scenario import (
    Scenario,
    arrives,
    calls,
    completes,
    ends,
    ends_with,
    fails,
    fires,
    given,
    is_cancelled,
    is_lost,
    passes,
    revokes,
    says,
    stops_waiting,
    waits,
)
from perdure.testing.script import Answer, loses, raises, returns
from perdure.testing.virtual import VirtualLoop

__all__ = [
    "Answer",
    "Crashes",
    "MemoryRun",
    "Scenario",
    "VirtualLoop",
    "arrives",
    "calls",
    "cancel_at",
    "completes",
    "crash_everywhere",
    "ends",
    "ends_with",
    "fails",
    "fires",
    "given",
    "is_cancelled",
    "is_lost",
    "loses",
    "passes",
    "raises",
    "returns",
    "revokes",
    "run_in_memory",
    "says",
    "signal_at",
    "stops_waiting",
    "waits",
]
