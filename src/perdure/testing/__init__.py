"""Testing workflows: in memory, under a virtual clock, with answers from a script."""

from perdure.testing.memory import MemoryRun, cancel_at, run_in_memory, signal_at
from perdure.testing.script import Answer, loses, raises, returns
from perdure.testing.virtual import VirtualLoop

__all__ = [
    "Answer",
    "MemoryRun",
    "VirtualLoop",
    "cancel_at",
    "loses",
    "raises",
    "returns",
    "run_in_memory",
    "signal_at",
]
