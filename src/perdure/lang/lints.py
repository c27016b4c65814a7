"""Warnings about classes that a workflow refers to: they stay references, and run as they are."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from perdure.lang.capture import Place
from perdure.lang.diagnostics import Diagnostic
from perdure.lang.recipes import World

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


def _factories(cls: type) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(cls):
        made: Any = cls
        for field in dataclasses.fields(made):
            if field.default_factory is not dataclasses.MISSING:
                yield field.name, field.default_factory
    fields: Any = getattr(cls, "__pydantic_fields__", None)
    if fields is not None:
        for name, info in fields.items():
            if getattr(info, "default_factory", None) is not None:
                yield name, info.default_factory


def _is_now(factory: Any) -> bool:
    owner = getattr(factory, "__self__", None)
    return inspect.isbuiltin(factory) and inspect.isclass(owner) and owner.__module__ == "datetime"
