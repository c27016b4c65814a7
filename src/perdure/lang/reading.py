"""From a live workflow to its graph: finds its tree, and says what the names in it mean."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.capture import is_user_module
from perdure.lang.graph import Graph
from perdure.lang.graph_build import graph_of
from perdure.lang.graph_meaning import Meaning
from perdure.lang.recipes import World
from perdure.lang.rules import MISSING, Scope
from perdure.lang.source import source_of

_MARKED = {"action": "action", "workflow": "child"}

_KINDS: dict[str, str] = {
    "asyncio:sleep": "timer",
    "asyncio:gather": "gather",
    "asyncio:wait": "gather",
    "asyncio:as_completed": "gather",
    "asyncio:create_task": "task",
    "asyncio:ensure_future": "task",
    "asyncio:TaskGroup": "group",
    "asyncio:timeout": "timeout",
    "asyncio:timeout_at": "timeout",
}


def graph(function: FunctionType, name: str, world: World) -> Graph:
    """Give the graph of a workflow, for reading."""
    source = source_of(function)
    nodes = source.nodes(function.__code__)
    tree = nodes[0] if nodes else None
    if not isinstance(tree, ast.AsyncFunctionDef):
        raise SourceUnproved(f"`{name}` is not found in {source.file}", remedy="import it again")
    scope = Scope(tree, function.__globals__, world.key_of)
    return graph_of(tree, name=name, file=source.file, resolve=_resolver(scope))


def _resolver(scope: Scope) -> Callable[[ast.expr], Meaning | None]:
    def resolve(callee: ast.expr) -> Meaning | None:
        options = _options(callee)
        if options is not None:
            inner = resolve(options)
            return inner and Meaning(inner.kind, inner.name, _keywords(callee))
        value = scope.resolve(callee)
        return None if value is MISSING else _meaning(value, ast.unparse(callee), scope)

    return resolve


def _options(callee: ast.expr) -> ast.expr | None:
    """Give `charge` of `charge.options(retry=5)`."""
    if (
        isinstance(callee, ast.Call)
        and isinstance(callee.func, ast.Attribute)
        and callee.func.attr == "options"
    ):
        return callee.func.value
    return None


def _keywords(callee: ast.expr) -> str:
    assert isinstance(callee, ast.Call)
    return ", ".join(f"{word.arg} {ast.unparse(word.value)}" for word in callee.keywords)


def _meaning(value: Any, name: str, scope: Scope) -> Meaning | None:
    mark = getattr(value, "__perdure__", None)
    if isinstance(mark, str):
        return Meaning(_MARKED.get(mark, mark), name, _policy(value))
    kind = _KINDS.get(scope.key_of(value) or "")
    if kind is not None:
        return Meaning(kind, name)
    if inspect.iscoroutinefunction(value) and is_user_module(getattr(value, "__module__", "")):
        return Meaning("helper", name)
    return None


def _policy(value: Any) -> str:
    policy = getattr(value, "policy", None)
    if policy is None:
        return ""
    parts = [f"retry {policy.retry.attempts}"] if policy.retry.attempts > 1 else []
    if policy.timeout_us is not None:
        parts.append(f"timeout {policy.timeout_us / 1_000_000:g}s")
    if policy.queue:
        parts.append(f"queue {policy.queue}")
    return ", ".join(parts)
