"""What an action can know of the attempt that it is: its key, its number, how far the last one was.

Set in the context of every attempt; knows neither runs nor stores.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any


class Attempt:
    """One attempt of a call, as its body sees it."""

    __slots__ = ("action", "details", "idempotency_key", "number", "run_id", "tell")

    def __init__(
        self,
        run_id: str,
        action: str,
        number: int,
        idempotency_key: str,
        details: Any,
        tell: Callable[[Any], None],
    ) -> None:
        self.run_id = run_id
        """The id of the run that asked."""
        self.action = action
        self.number = number
        """1 for the first; losses of a holder do not count."""
        self.idempotency_key = idempotency_key
        """The same for every attempt of the call, and for no other call: hand it to the bank."""
        self.details = details
        """What the last attempt told by `heartbeat`, or `None`."""
        self.tell = tell

    def __repr__(self) -> str:
        return f"<attempt {self.number} of {self.action}, {self.idempotency_key}>"


ATTEMPT: ContextVar[Attempt | None] = ContextVar("perdure.attempt", default=None)


def attempt() -> Attempt:
    """Give the attempt that the calling action is; outside of an engine, a first one of nobody."""
    found = ATTEMPT.get()
    return Attempt("", "", 1, secrets.token_hex(8), None, _ignore) if found is None else found


def _ignore(_: Any) -> None:
    """Nobody wants to know."""


def heartbeat(details: Any = None) -> None:
    """Tell how far the action is: the next attempt, if there has to be one, can go on from there.

    Cheap enough for a loop: what is told is kept at most once in a while. Outside of an engine it
    does nothing.
    """
    found = ATTEMPT.get()
    if found is not None:
        found.tell(details)
