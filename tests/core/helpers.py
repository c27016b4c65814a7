"""A module of the user's that workflows reach through `import helpers; helpers.fn()`."""

from __future__ import annotations

CALLS: list[str] = []
RATE = 2


def note(text: str) -> list[str]:
    CALLS.append(text)
    return list(CALLS)


def price(amount: int) -> int:
    return amount * RATE
