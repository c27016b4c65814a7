"""What an operator does to a run: retry it from the failed await, or move it to other code.

Each is one fact that carries an image: the log before it is history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

KINDS: dict[str, Callable[[Any, Any, Any], Awaitable[None]]] = {}
