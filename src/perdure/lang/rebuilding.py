"""A program again from its text: in another process, with other modules, years later.

The text is trusted: its code will run. What it refers to has to be here; what it captured comes
with it.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from perdure import values
from perdure.errors import BadProgram, PerdureError
from perdure.kinds import kind_of
from perdure.lang.fingerprint import fingerprints
from perdure.lang.makers import CONTAINERS, WHOLES, bare
from perdure.lang.program import Parts, Program, classes_of, is_users
from perdure.lang.recipes import (
    Bound,
    Cell,
    Frozen,
    Function,
    Instance,
    Items,
    Recipe,
    Same,
    View,
    Where,
    World,
)
from perdure.lang.source import stored_source
from perdure.lang.telling import FORMAT, MISSING, Told, found, hash_of
from perdure.value_types import live_module, shape_of


def rebuild(text: bytes, world: World) -> Program:
    """Give the program of a text that is trusted: its code will run.

    A class that was changed since is told in `changed`; what is not there any more is refused.
    """
    try:
        told = msgspec.json.decode(text)
        _check(told)
        program = _rebuilt(told, world)
    except PerdureError:
        raise
    except Exception as error:
        raise BadProgram(f"the text of a program is damaged: {error!r}") from error
    if program.hash != told["hash"]:
        raise BadProgram(
            f"`{program.name}` is {program.hash[:12]} here, and was {told['hash'][:12]}",
            remedy="something that it names has another value now: see `perdure programs --diff`",
        )
    return program


def _check(told: Told) -> None:
    if told["perdure"] != FORMAT:
        raise BadProgram(
            f"the text of the program is of format {told['perdure']}, and this is {FORMAT}",
            remedy="it was written by a newer Perdure: upgrade this one",
        )
    here = f"3.{sys.version_info[1]}"
    if told["python"] != here:
        raise BadProgram(
            f"`{told['name']}` was linked under Python {told['python']}, and this is {here}",
            remedy="its runs go on where that Python is, or are moved to a new program",
        )


def _rebuilt(told: Told, world: World) -> Program:
    world.prepare()
    for module in told["spaces"]:
        with contextlib.suppress(BadProgram):  # what was captured of it needs no module
            _import(module)
    for name in told["classes"]:
        _import(name.partition(":")[0])
    reading = Reading(told, world)
    recipes = [reading.recipe(each) for each in told["recipes"]]
    decimals = told["decimals"]
    parts = Parts(
        told["name"],
        told["main"],
        recipes,
        told["spaces"],
        None if decimals is None else (*decimals[:6], tuple(decimals[6])),
        told["classes"],
    )
    program = Program(parts, world, hash_of(parts, world))
    today = fingerprints(classes_of(recipes), lambda name: is_users(name, parts.name))
    changed = [name for name, was in parts.classes.items() if today.get(name) != was]
    program.changed = tuple(changed)
    return program


def _import(module: str) -> ModuleType:
    try:
        return live_module(module) or importlib.import_module(module)
    except ImportError as error:
        raise BadProgram(
            f"the program names the module `{module}`, which is not here: {error}",
            remedy="install it, or leave a module of that name behind",
        ) from error


class Reading:
    """Makes recipes again."""

    def __init__(self, told: Told, world: World) -> None:
        self.sources: dict[str, str] = told["sources"]
        self.world = world

    def recipe(self, told: Told) -> Recipe:
        """Make one recipe."""
        return _READ[told["is"]](self, told)

    def value(self, told: Told) -> Any:
        """Give a value that runs share."""
        ((form, content),) = list(told.items())[:1]
        return _FORMS[form](self, content, told)


# --- recipes, one function a kind


def _same(reading: Reading, told: Told) -> Recipe:
    return Same(reading.value(told["value"]))


def _bound(reading: Reading, told: Told) -> Recipe:
    if "key" in told:
        return Bound(reading.world.load(told["key"]))
    if "logger" in told:
        return Bound(logging.getLogger(told["logger"]))
    return Bound(reading.value(told["value"]))


def _container(reading: Reading, told: Told) -> Recipe:
    assert told["kind"] in CONTAINERS, told["kind"]
    return Items(told["kind"], _args(reading, told), tuple(told["members"]))


def _whole(reading: Reading, told: Told) -> Recipe:
    assert told["kind"] in WHOLES, told["kind"]
    return Frozen(told["kind"], _args(reading, told), tuple(told["members"]))


def _args(reading: Reading, told: Told) -> tuple[Any, ...]:
    return tuple([reading.value(each) for each in told["args"]])


def _object(reading: Reading, told: Told) -> Recipe:
    return Instance(reading.value(told["class"]), _pairs(told["state"]))


def _cell(_: Reading, told: Told) -> Recipe:
    return Cell(told["content"])


def _view(reading: Reading, told: Told) -> Recipe:
    return View(reading.value(told["module"]), _pairs(told["attributes"]))


def _function(reading: Reading, told: Told) -> Recipe:
    where = Where(*told["where"])
    source = stored_source(where.module, reading.sources[where.module])
    name, qualname = told["names"]
    defaults, kwdefaults = told["defaults"], told["kwdefaults"]
    return Function(
        source.lowered(where, reading.world),
        where,
        source,
        name,
        qualname,
        None if defaults is None else tuple(defaults),
        None if kwdefaults is None else _pairs(kwdefaults),
        tuple(told["cells"]),
        _pairs(told["attributes"]),
        told["doc"],
        source.annotations_of(where),
    )


# --- values, one function a form


def _name(_: Reading, name: str, __: Told) -> Any:
    _import(name.partition(":")[0])
    value = found(name)
    if value is MISSING:
        raise BadProgram(
            f"the program names `{name}`, which is not here any more",
            remedy="bring it back, or leave its old name behind as an alias",
        )
    return value


def _object_value(reading: Reading, told: Told, whole: Told) -> Any:
    made = bare(reading.value(told))
    state = {name: reading.value(each) for name, each in whole["state"].items()}
    shape_of(kind_of(made)).fill(made, state)
    return made


def _pairs(told: Any) -> tuple[tuple[str, int], ...]:
    return tuple([(name, at) for name, at in told])


_READ: dict[str, Callable[[Reading, Told], Recipe]] = {
    "same": _same,
    "bound": _bound,
    "container": _container,
    "whole": _whole,
    "object": _object,
    "cell": _cell,
    "view": _view,
    "function": _function,
}


def _tuple(reading: Reading, told: list[Told], _: Told) -> Any:
    return tuple([reading.value(each) for each in told])


def _callee(reading: Reading, told: Told, _: Told) -> Any:
    return reading.world.callee(told)


def _module(_: Reading, name: str, __: Told) -> Any:
    return _import(name)


def _data(_: Reading, told: Any, __: Told) -> Any:
    return values.decode(msgspec.json.encode(told))


def _regex(_: Reading, told: tuple[str, int], __: Told) -> Any:
    return re.compile(*told)


_FORMS: dict[str, Callable[[Reading, Any, Told], Any]] = {
    "tuple": _tuple,
    "callee": _callee,
    "module": _module,
    "name": _name,
    "global": _name,
    "data": _data,
    "regex": _regex,
    "object": _object_value,
}
