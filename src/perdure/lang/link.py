"""Linking: from a workflow to a program: captured, proved, checked and hashed.

The same workflow with the same globals gives an equal program; a changed global gives another.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from types import FunctionType
from typing import Any

from perdure.errors import Refused, SourceUnproved
from perdure.lang.capture import Capture, Place, is_user_module
from perdure.lang.diagnostics import ERROR, Diagnostic, at, render_all
from perdure.lang.fingerprint import fingerprints
from perdure.lang.lints import check_class, check_shared
from perdure.lang.program import Parts, Program, classes_of, decimals_now, is_users
from perdure.lang.recipes import World
from perdure.lang.rules import check_function, check_workflow
from perdure.lang.source import ModuleSource, source_of
from perdure.lang.telling import hash_of
from perdure.value_types import canonical

_CHANGEABLE = (list, dict, set, bytearray, deque, OrderedDict, defaultdict, Counter)


def _contents(value: Any) -> list[int] | bytes:
    """Give what tells whether a container was changed in place: the identities of its members."""
    if isinstance(value, bytearray):
        return bytes(value)
    members = [*value, *value.values()] if hasattr(value, "values") else value
    return [id(each) for each in members]


def _watched(capture: Capture) -> list[tuple[dict[str, Any], str]]:
    """Give every place where a name led to something captured."""
    spaces = [
        (vars(sys.modules[module]), name)
        for module, names in capture.spaces.items()
        if module in sys.modules
        for name in names
    ]
    views = [(vars(module), name) for module, names in capture.views.values() for name in names]
    return spaces + views


def name_of(function: Any) -> str:
    """Give the name by which every process knows a function: `orders:fulfil`."""
    return f"{canonical(function.__module__)}:{function.__qualname__}"


def link(function: FunctionType, world: World) -> Program:
    """Link a workflow, or raise `Refused` with everything that is wrong."""
    capture, main = _capture(function, world)
    errors = sorted(each for each in capture.found if each.severity == ERROR)
    if errors:
        raise _refused(function, "cannot be started", errors)
    name = name_of(function)
    parts = Parts(
        name,
        main,
        capture.recipes,
        {canonical(module): dict(names) for module, names in capture.spaces.items()},
        decimals_now(),
        fingerprints(classes_of(capture.recipes), lambda module: is_users(module, name)),
    )
    program = Program(parts, world, hash_of(parts, world))
    program.warnings = capture.found
    program.is_current = _Watch(capture).is_current
    return program


class _Watch:
    """Everything that a program captured, and what it was then."""

    def __init__(self, capture: Capture) -> None:
        self.alive = capture.alive
        self.places = _watched(capture)
        self.seen = self._now()

    def is_current(self) -> bool:
        """Whether all of it still is what it was."""
        return self._now() == self.seen

    def _now(self) -> list[Any]:
        seen: list[Any] = [id(space.get(name)) for space, name in self.places]
        seen += [_contents(value) for value in self.alive if type(value) in _CHANGEABLE]
        return seen


def diagnose(function: FunctionType, world: World) -> list[Diagnostic]:
    """Give everything that is wrong with a workflow, errors and warnings."""
    try:
        capture, _ = _capture(function, world)
    except SourceUnproved as error:
        return [
            Diagnostic(function.__code__.co_filename, 1, 0, 1, "L108", error.what, error.remedy)
        ]
    return sorted(set(capture.found))


def _capture(function: FunctionType, world: World) -> tuple[Capture, int]:
    world.prepare()
    capture = Capture(world)
    main = capture.whole(function)
    for captured, source, node in capture.functions:
        if node is not None:
            capture.found += check_function(captured, node, source, world.key_of)
        if captured is function and node is not None:
            capture.found += check_workflow(node, source) + _check_place(function, node, source)
    capture.found += _tails(capture)
    for cls, place in capture.classes.items():
        if is_user_module(cls.__module__):
            capture.found += check_class(cls, place, world) + check_shared(capture, cls, place)
    return capture, main


def _tails(capture: Capture) -> list[Diagnostic]:
    """Tell of every captured function that cannot be put into an image while it waits."""
    found: list[Diagnostic] = []
    sources = {id(source): source for _, source, _ in capture.functions}
    for source in sources.values():
        nodes = [node for _, each, node in capture.functions if each is source and node]
        for tail in source.tails:
            line = getattr(tail.node, "lineno", 0)
            if any(_holds(node, line) for node in nodes):
                what = f"`{tail.name}` cannot be put on disk while it waits: {tail.why}"
                how = "nothing is lost, its facts recover it; await before, and use what came"
                found.append(at(tail.node, source.file, source.lines, "L301", what, how))
    return found


def _holds(node: ast.AST, line: int) -> bool:
    return bool(getattr(node, "lineno", 0) <= line <= getattr(node, "end_lineno", 0))


def check_definition(function: FunctionType, world: World) -> None:
    """Check what can be seen when the decorator runs: the syntax, and names that exist by now."""
    try:
        source = source_of(function)
    except SourceUnproved:
        return  # linking says so, if the workflow is ever started
    nodes = source.nodes(function.__code__)
    if not nodes:
        return
    found = check_workflow(nodes[0], source)
    found += check_function(function, nodes[0], source, world.key_of)
    found += _check_place(function, nodes[0], source)
    errors = sorted(each for each in found if each.severity == ERROR)
    if errors:
        raise _refused(function, "is refused", errors)


def _refused(function: FunctionType, how: str, errors: list[Diagnostic]) -> Refused:
    text = f"workflow `{function.__qualname__}` {how}\n\n{render_all(errors)}"
    return Refused(text, diagnostics=errors)


def _check_place(function: FunctionType, node: ast.AST, source: ModuleSource) -> list[Diagnostic]:
    if "." not in function.__qualname__:
        return []
    return [
        at(
            node,
            source.file,
            source.lines,
            "L109",
            f"`{function.__qualname__}` is not at the top level of its module",
            "define the workflow there: other processes have to find it by name",
        )
    ]


__all__ = ["Place", "Program", "check_definition", "diagnose", "link", "name_of"]
