"""Every upper bound of Perdure, named once. Reaching one is a coded error, never a hang.

Knows no other module of Perdure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds that a run, a payload and a program keep."""

    payload_bytes_max: int = 8 << 20
    """One encoded value: an argument list, a result, a signal's payload."""

    payload_depth_max: int = 200
    """Containers inside containers in one value."""

    lost_attempts_max: int = 5
    """How often the holder of one call may die before the call fails."""

    deaths_suspected: int = 3
    """After so many of them, the call is made apart from all others, in a process of its own."""

    turns_per_fact_max: int = 10_000_000
    """Callbacks that one fact may cause before the run stops as endless."""

    image_bytes_max: int = 64 << 20
    """One image of a run; a larger one is not taken, and the run refolds."""

    image_small_bytes: int = 2 << 10
    """Up to here, a run is imaged in every flush; a larger one when its tail outweighs it."""

    undurable_bytes_max: int = 256 << 20
    """What may wait to become durable before nothing more is dispatched, then nothing started."""

    signal_keys_kept: int = 1_000
    """Keys of consumed signals that a run remembers, so that a repeated key is refused."""

    mailbox_messages_max: int = 100_000
    """Signals that may wait in one run for somebody to ask for them."""

    program_functions_max: int = 10_000
    """Functions that one program may capture."""


LIMITS = Limits()
