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


def see_here() -> None:
    """Let modules of the current folder be imported, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, or a file by its path, from the current folder."""
    if name.endswith(".py"):
        return _load_file(Path(name).resolve(), name)
    if not all(part.isidentifier() for part in name.split(".")):
        raise NotAWorkflow(
            f"`{name}` is no name of a module", remedy="write shop.orders, or shop/orders.py"
        )
    see_here()
    return _import(name)


def _load_file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        raise NotAWorkflow(f"there is no file `{name}`", remedy=f"looked in {path.parent}")
    sys.path.insert(0, str(path.parent))
    module = _import(path.stem)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path:
        raise NotAWorkflow(
            f"`{name}` cannot be imported: another module is called `{path.stem}`",
            remedy="give the file another name",
        )
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except PerdureError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _failed(name, error) from error
        raise NotAWorkflow(
            f"there is no module `{error.name}`",
            remedy=f"looked in {Path.cwd()} and in what is installed",
        ) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> NotAWorkflow:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return NotAWorkflow(
        f"importing `{name}` failed: {type(error).__name__}: {error}",
        remedy=f"look at {place.filename}:{place.lineno}",
    )


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
