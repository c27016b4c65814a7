"""What tests put in the place of helpers. A module of its own: pytest does not rewrite it."""

from __future__ import annotations


def half(amount: int) -> int:
    return amount // 2
