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


def _factories(cls: Any) -> Iterator[tuple[str, Any]]:
    plain = getattr(cls, "__dataclass_fields__", {})
    models = getattr(cls, "__pydantic_fields__", {})
    for name, field in {**plain, **models}.items():
        factory = getattr(field, "default_factory", None)
        if factory is not None and factory is not dataclasses.MISSING:
            yield name, factory


def _is_now(factory: Any) -> bool:
    owner = getattr(factory, "__self__", None)
    return inspect.isbuiltin(factory) and inspect.isclass(owner) and owner.__module__ == "datetime"
