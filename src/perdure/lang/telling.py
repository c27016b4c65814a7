"""The text of a program: what it captured and what it refers to, as plain data.

The text names what a program refers to, and holds what it captured: data by value, functions by
the source of their modules. The hash of a program is that of its text without these sources: every
function counts with its own lines only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from types import BuiltinMethodType, ModuleType
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.errors import NotEncodable, NotStorable
from perdure.kinds import kind_of
from perdure.lang.program import Parts, Program
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
    World,
    references,
)
from perdure.value_types import canonical, live_module, shape_of

FORMAT = 1
"""Raised when a text of today could not be read by the code of yesterday."""

_HEAP_TYPE = 1 << 9
_encode = msgspec.json.Encoder().encode

Told = dict[str, Any]


def hash_of(parts: Parts, world: World) -> str:
    """Give what identifies a program: two that differ anywhere differ here."""
    return sha256(_encode(Telling(parts, world).program())).hexdigest()


def text_hash(function: Function) -> str:
    """Give what identifies the lines of one function, wherever in its module they stand."""
    text = function.source.text_of(function.where)
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def text_of(program: Program) -> bytes:
    """Give the text of a program, or say what in it cannot be written down."""
    telling = Telling(program.parts, program.world)
    told = telling.program()
    if telling.untold:
        raise NotStorable(
            f"`{program.name}` cannot be kept as text: {'; '.join(telling.untold)}",
            remedy="give it a name at the top level of its module, or make it plain data",
        )
    return _encode({"perdure": FORMAT, "hash": program.hash, **told, "sources": _sources(program)})


def _sources(program: Program) -> dict[str, str]:
    return {
        each.where.module: each.source.text
        for each in program.recipes
        if isinstance(each, Function)
    }


# --- telling


class Telling:
    """Tells one program as plain data; what cannot be told is kept in `untold`."""

    def __init__(self, parts: Parts, world: World) -> None:
        self.parts = parts
        self.world = world
        self.untold: list[str] = []
        self.globals = dict(self._globals())

    def _globals(self) -> Iterator[tuple[int, str]]:
        """Give the name of every recipe that is a global of a module."""
        for module, names in self.parts.spaces.items():
            yield from ((at, f"{module}:{name}") for name, at in names.items())
        for recipe in self.parts.recipes:
            if isinstance(recipe, View):
                module = canonical(recipe.module.__name__)
                yield from ((at, f"{module}:{name}") for name, at in recipe.attributes)

    def _holder(self, at: int) -> str:
        """Give the name of a global that is or holds what a recipe makes."""
        for first, name in self.globals.items():
            reached, waiting = {first}, [first]
            while waiting:
                more = set(references(self.parts.recipes[waiting.pop()])) - reached
                reached |= more
                waiting += more
            if at in reached:
                return name
        return "something that it names"

    def program(self) -> Told:
        """Tell all of it but the sources."""
        parts = self.parts
        return {
            "name": parts.name,
            "python": f"3.{sys.version_info[1]}",
            "main": parts.main,
            "spaces": parts.spaces,
            "recipes": [self.recipe(at, each) for at, each in enumerate(parts.recipes)],
            "decimals": parts.decimals,
            "classes": parts.classes,
        }

    def recipe(self, at: int, recipe: Recipe) -> Told:
        """Tell one recipe."""
        kind: Any = type(recipe)
        return {"is": _KINDS[kind], **_TELL[kind](self, at, recipe)}

    def value(self, value: Any, at: int = -1) -> Told:
        """Tell a value that runs share; `at` is the recipe that it stands in."""
        for tell in _VALUES:
            told = tell(self, value)
            if told is not None:
                return told
        name = self.globals.get(at)
        if name is not None and found(name) is value:
            return {"global": name}
        kind: Any = value.__class__
        if not kind.__flags__ & _HEAP_TYPE or _is_of_the_library(kind):
            return self._unknown(value, at)
        held = shape_of(kind).take(value)
        state = {name: self.value(each, at) for name, each in held.items()}
        return {"object": self.value(kind, at), "state": state}

    def _unknown(self, value: Any, at: int) -> Told:
        kind: Any = value.__class__
        where = self._holder(at)
        shown = f"{kind.__module__}.{kind.__qualname__}"
        self.untold.append(f"`{where}` is or holds a `{shown}`")
        return {"unknown": f"{shown} {getattr(value, '__name__', '')}"}


# --- one function a kind of recipe


def _same(telling: Telling, at: int, recipe: Same) -> Told:
    return {"value": telling.value(recipe.value, at)}


def _bound(telling: Telling, at: int, recipe: Bound) -> Told:
    value = recipe.value
    key = telling.world.key_of(value)
    if key is not None:
        return {"key": key}
    logger = telling.world.logger_of(value)
    if logger is not None and not hasattr(value, "process"):
        return {"logger": logger}
    return {"value": telling.value(value, at)}


def _made(telling: Telling, at: int, recipe: Items | Frozen) -> Told:
    args = [telling.value(each, at) for each in recipe.args]
    return {"kind": recipe.kind, "args": args, "members": recipe.members}


def _instance(telling: Telling, at: int, recipe: Instance) -> Told:
    return {"class": telling.value(recipe.cls, at), "state": recipe.state}


def _cell(_: Telling, __: int, recipe: Cell) -> Told:
    return {"content": recipe.content}


def _view(telling: Telling, at: int, recipe: View) -> Told:
    return {"module": telling.value(recipe.module, at), "attributes": recipe.attributes}


def _function(_: Telling, __: int, recipe: Function) -> Told:
    return {
        "where": recipe.where,
        "text": text_hash(recipe),
        "names": (recipe.name, recipe.qualname),
        "defaults": recipe.defaults,
        "kwdefaults": recipe.kwdefaults,
        "cells": recipe.cells,
        "attributes": recipe.attributes,
        "doc": recipe.doc,
    }


_KINDS: dict[type, str] = {
    Same: "same",
    Bound: "bound",
    Items: "container",
    Frozen: "whole",
    Instance: "object",
    Cell: "cell",
    View: "view",
    Function: "function",
}

_TELL: dict[type, Callable[[Telling, int, Any], Told]] = {
    Same: _same,
    Bound: _bound,
    Items: _made,
    Frozen: _made,
    Instance: _instance,
    Cell: _cell,
    View: _view,
    Function: _function,
}


# --- values: one function a form, the first that fits


def _tuple(telling: Telling, value: Any) -> Told | None:
    kind = kind_of(value)
    return {"tuple": [telling.value(each) for each in value]} if kind is tuple else None


def _callee(telling: Telling, value: Any) -> Told | None:
    told = telling.world.callee_of(value)
    return None if told is None else {"callee": told}


def _module(_: Telling, value: Any) -> Told | None:
    return {"module": canonical(value.__name__)} if isinstance(value, ModuleType) else None


def _named(_: Telling, value: Any) -> Told | None:
    """Tell a class, or a function of a library, that is found by its own name."""
    qualname = getattr(value, "__qualname__", None)
    if not isinstance(qualname, str):
        return None
    owner = getattr(value, "__self__", None)
    module = getattr(value, "__module__", None) or getattr(owner, "__module__", None)
    names = [f"perdure:{qualname}", f"{canonical(str(module))}:{qualname}"]
    name = next((each for each in names if _is_same(found(each), value)), None)
    return None if name is None else {"name": name}


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(other, BuiltinMethodType) and bool(one == other))


def _plain(_: Telling, value: Any) -> Told | None:
    if not _holds_anything(value):
        return None  # it is known by its identity, as sentinels are
    try:
        return {"data": Raw(values.encode(value))}
    except NotEncodable:
        return None


def _holds_anything(value: Any) -> bool:
    kind = kind_of(value)
    if _is_of_the_library(kind):
        return kind is not object
    native = next(each for each in kind.__mro__ if not each.__flags__ & _HEAP_TYPE)
    return native is not object or bool(shape_of(kind).take(value))


def _is_of_the_library(kind: type) -> bool:
    """Whether a class is of the standard library, which may hold more than can be seen."""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _pattern(_: Telling, value: Any) -> Told | None:
    pattern: Any = value
    return {"regex": (pattern.pattern, pattern.flags)} if kind_of(value) is re.Pattern else None


_VALUES = (_tuple, _callee, _module, _named, _plain, _pattern)


def found(name: str) -> Any:
    """Give what a name leads to in this process now, without asking a module's `__getattr__`."""
    module, _, path = name.partition(":")
    live = live_module(module)
    first, *rest = path.split(".")
    found: Any = vars(live).get(first, MISSING) if live is not None else MISSING
    for part in rest:
        found = getattr(found, part, MISSING)
    return found


MISSING = object()
