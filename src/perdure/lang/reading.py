"""From a workflow, live or as a program, to its graph: finds its tree, says what names mean."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any, cast

import msgspec

from perdure.errors import SourceUnproved
from perdure.lang.capture import is_user_module
from perdure.lang.graph import Graph
from perdure.lang.graph_build import graph_of
from perdure.lang.graph_meaning import Meaning
from perdure.lang.program import Program
from perdure.lang.recipes import Bound, Function, Same, View, World
from perdure.lang.rules import MISSING, Scope
from perdure.lang.source import ModuleSource, source_of

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
    return _drawn(nodes[0] if nodes else None, function.__globals__, name, source.file, world)


def graph_of_program(program: Program) -> Graph:
    """Give the graph of a program, as it was when it was linked: it needs no module of today."""
    main = main_of(program)
    source = cast("ModuleSource", main.source)
    names = program.parts.spaces.get(main.where.module, {})
    space = {name: _stand_in(program, at) for name, at in names.items()}
    graph = _drawn(source.node_of(main.where), space, main.name, source.file, program.world)
    return msgspec.structs.replace(graph, name=program.name)


def main_of(program: Program) -> Function:
    """Give the function that a program is the workflow of."""
    main = program.recipes[program.parts.main]
    assert isinstance(main, Function), main
    return main


def _drawn(
    tree: ast.AST | None, space: dict[str, Any], name: str, file: str, world: World
) -> Graph:
    if not isinstance(tree, ast.AsyncFunctionDef):
        raise SourceUnproved(f"`{name}` is not found in {file}", remedy="import it again")
    scope = Scope(tree, space, world.key_of)
    return graph_of(tree, name=name, file=file, resolve=_resolver(scope))


def _stand_in(program: Program, at: int) -> Any:
    """Give what tells the meaning of a name as well as what a run would build for it."""
    recipe = program.recipes[at]
    if isinstance(recipe, (Same, Bound)):
        return recipe.value
    if isinstance(recipe, Function):
        cells = tuple(CellType() for _ in recipe.code.co_freevars)
        space = {"__name__": recipe.where.module}
        made = FunctionType(recipe.code, space, recipe.name, None, cells)
        for name, part in recipe.attributes:
            setattr(made, name, _stand_in(program, part))
        return made
    if isinstance(recipe, View):
        module = ModuleType(recipe.module.__name__)
        vars(module).update({name: _stand_in(program, part) for name, part in recipe.attributes})
        return module
    return None


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
