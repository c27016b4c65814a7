"""One assertion for the surfaces: what a run comes to, and that its log comes to the same."""

from __future__ import annotations

from typing import Any

from perdure.testing import run_in_memory
from perdure.testing.memory import MemoryRun


def comes_to(flow: Any, *args: Any, result: Any, **how: Any) -> MemoryRun:
    """The run gives `result`, and its log, folded again, gives it too."""
    memory = run_in_memory(flow, *args, **how)
    assert memory.result() == result
    assert memory.refold().result() == result
    return memory


def took_s(memory: MemoryRun) -> float:
    """How long a run took, in its own time."""
    return (memory.rows[-1].fact.at_us - memory.rows[0].fact.at_us) / 1_000_000
