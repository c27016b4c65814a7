"""From what a user types, `module:flow`, to the workflow."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from perdure.errors import NotAWorkflow, PerdureError
from perdure.workflows import Workflow


def shown(file: str) -> str:
    """Give a path as seen from here, where it lies below."""
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, or a file by its path, from the current folder."""
    if name.endswith(".py"):
        path = Path(name).resolve()
        sys.path.insert(0, str(path.parent))
        name = path.stem
    else:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except PerdureError:
        raise
    except ModuleNotFoundError as error:
        raise NotAWorkflow(
            f"there is no module `{error.name}`",
            remedy=f"looked in {Path.cwd()} and in what is installed",
        ) from error
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise NotAWorkflow(
            f"importing `{name}` failed: {type(error).__name__}: {error}",
            remedy=f"look at {place.filename}:{place.lineno}",
        ) from error


def workflows_of(module: ModuleType) -> list[Workflow[Any, Any]]:
    """Give the workflows that a module defines, in the order of its text."""
    found: dict[int, Workflow[Any, Any]] = {}
    for value in vars(module).values():
        if issubclass(type(value), Workflow) and value.function.__module__ == module.__name__:
            found[id(value)] = value
    return sorted(found.values(), key=lambda flow: flow.function.__code__.co_firstlineno)


def load_workflow(name: str) -> Workflow[Any, Any]:
    """Give the workflow that `module:flow` names."""
    module_name, _, flow_name = name.partition(":")
    module = load_module(module_name)
    known = [flow.function.__name__ for flow in workflows_of(module)]
    if not flow_name and len(known) == 1:
        flow_name = known[0]
    value: Any = getattr(module, flow_name, None)
    if not issubclass(type(value), Workflow):
        there = ", ".join(f"{module_name}:{each}" for each in known) or "none"
        raise NotAWorkflow(f"`{name}` is not a workflow", remedy=f"workflows there: {there}")
    flow: Workflow[Any, Any] = value
    return flow
