"""The actions and workflows of this process, by the names that every process knows them by."""

from __future__ import annotations

import weakref
from typing import Any

from perdure.errors import NotAWorkflow

_known: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()


def register(kind: str, name: str, thing: Any) -> None:
    """Make an action or a workflow known; the newest of a name counts."""
    _known[kind, name] = thing


def lookup(kind: str, name: str) -> Any:
    """Give the action or workflow of a name."""
    found = _known.get((kind, name))
    if found is None:
        raise NotAWorkflow(
            f"no {kind} `{name}` is known in this process",
            remedy="import the module that defines it",
        )
    return found


def names() -> list[tuple[str, str]]:
    """Give kind and name of everything that is known."""
    return list(_known)
