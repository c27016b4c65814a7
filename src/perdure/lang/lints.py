"""What is said of classes that a workflow refers to: they stay references, and run as they are."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.capture import Capture, Place
from perdure.lang.diagnostics import Diagnostic
from perdure.lang.names import global_names
from perdure.lang.recipes import Instance, Items, World
from perdure.lang.rules import CHANGES
from perdure.lang.source import module_source

_FRESH = frozenset(
    {"uuid:uuid1", "uuid:uuid4", "time:time", "time:time_ns", "time:monotonic", "random:random"}
)


def check_class(cls: type, place: Place, world: World) -> list[Diagnostic]:
    """Warn of what makes objects of a class differ from one fold to the next."""
    found = [
        place.diagnostic(
            "L202",
            f"`{cls.__qualname__}.{field}` is drawn afresh whenever one is built",
            f"pass `{field}=…` where the workflow builds it, from the run's own clock and seed",
        )
        for field, factory in _factories(cls)
        if world.key_of(factory) in _FRESH or _is_now(factory)
    ]
    if "__del__" in vars(cls):
        found.append(
            place.diagnostic(
                "L203",
                f"`{cls.__qualname__}.__del__` may run early, late or twice",
                "close it explicitly, or keep it in an @action",
            )
        )
    return found


def _factories(cls: Any) -> Iterator[tuple[str, Any]]:
    fields: list[tuple[str, Any]] = []
    for name in ("__dataclass_fields__", "__pydantic_fields__"):
        known: Any = getattr(cls, name, None)
        fields += known.items() if issubclass(known.__class__, dict) else ()
    for name, field in fields:
        factory = getattr(field, "default_factory", None)
        if factory is not None and factory is not dataclasses.MISSING:
            yield name, factory


def _is_now(factory: Any) -> bool:
    owner = getattr(factory, "__self__", None)
    return inspect.isbuiltin(factory) and inspect.isclass(owner) and owner.__module__ == "datetime"


# --- what a class and a run would both use, each its own


def check_shared(capture: Capture, cls: type, place: Place) -> list[Diagnostic]:
    """Refuse module data that a method of a class and the run would change in two places.

    Captured functions see the run's own copy, methods of classes the module's: as long as
    nobody changes it, nobody can tell.
    """
    module = sys.modules.get(cls.__module__)
    copied = _copied_names(capture, cls.__module__)
    found: list[Diagnostic] = []
    for function in _methods(cls):
        for name in copied.intersection(global_names(function.__code__)):
            if module is not None and _is_changed(name, module):
                message = (
                    f"`{name}` is the run's own, but `{function.__qualname__}` uses the module's"
                )
                remedy = f"pass `{name}` to the class, or keep it in the workflow"
                found.append(place.diagnostic("L110", message, remedy))
    return found


def _copied_names(capture: Capture, module: str) -> set[str]:
    space = capture.spaces.get(module, {})
    return {name for name, at in space.items() if isinstance(capture.recipes[at], Items | Instance)}


def _methods(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if isinstance(inner, FunctionType):
            yield inner


def _is_changed(name: str, module: ModuleType) -> bool:
    """Whether anything in the module changes what a name stands for, as far as its text says."""
    try:
        tree = module_source(module).tree
    except SourceUnproved:
        return True
    return any(_changes(node, name) for body in _bodies(tree) for node in ast.walk(body))


def _bodies(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node


def _changes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in CHANGES and _names(node.func.value, name)
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        return _names(node.value, name)
    return isinstance(node, ast.AugAssign) and _names(node.target, name)


def _names(node: ast.AST, name: str) -> bool:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name
