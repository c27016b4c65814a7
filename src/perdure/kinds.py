"""`type` for values of users: of what it gives, the checkers of types take all as it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

kind_of: Callable[[Any], Any] = type
"""Gives the type of a value. It is `type` itself, and so as fast."""
