"""What an engine is in a process that was forked off from its own: nothing.

A fork has the engine's memory, its connections and its loop, and none of its rights. It writes to
no store, and a body of an action that returns in it ends it.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

FORKED: list[int] = []
"""Not empty in a process that was forked off from one with an engine."""

_nodes: weakref.WeakSet[Any] = weakref.WeakSet()


def keep_from_forks(node: Any) -> None:
    """Have a node end in every process that is forked off."""
    _nodes.add(node)


def _in_child() -> None:
    for node in list(_nodes):
        FORKED.append(os.getpid())
        node.pipeline.fence()
        node.residents.clear()
        if not node.loop.is_closed():
            node.loop.call_soon(os._exit, 0)
    _nodes.clear()


os.register_at_fork(after_in_child=_in_child)
