"""A program: a linked workflow as data, from which every run builds a namespace of its own.

Made by linking, from live objects, or from its own text, in a process with other modules.
"""

from __future__ import annotations

import decimal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

from perdure.errors import NotHere
from perdure.lang.capture import is_of_package, is_user_module
from perdure.lang.diagnostics import Diagnostic
from perdure.lang.inplace import Codes, restorable_classes
from perdure.lang.names import every_code
from perdure.lang.recipes import Bound, Builder, Function, Instance, Recipe, Same, View, World
from perdure.lang.source import MEMBER_NAME, SET_NAME, member
from perdure.ordered import OrderedSet
from perdure.value_types import live_module

Decimals = tuple[int, str, int, int, int, int, tuple[str, ...]]
"""Precision, rounding, bounds of exponents, capitals, clamp, and what is trapped."""


class Parts(NamedTuple):
    """What a program is made of."""

    name: str
    main: int
    recipes: list[Recipe]
    spaces: dict[str, dict[str, int]]
    """By module, the globals that its captured code names, and their recipes."""
    decimals: Decimals | None
    classes: dict[str, str]
    """The user's classes that it refers to, each with the fingerprint of its source."""


class Program:
    """A linked workflow: everything that its runs are made of."""

    def __init__(self, parts: Parts, world: World, hash_: str) -> None:
        self.parts = parts
        self.name = parts.name
        self.world = world
        self.recipes = parts.recipes
        self.hash = hash_
        self.codes = _codes(parts.recipes)
        self.class_codes = _class_codes(parts, world)
        self.mutable = [at for at, each in enumerate(self.recipes) if not isinstance(each, _FIXED)]
        self.referred = [each.value for each in self.recipes if isinstance(each, Same)]
        self.views = {
            each.module.__name__: at
            for at, each in enumerate(self.recipes)
            if isinstance(each, View)
        }
        self.warnings: list[Diagnostic] = []
        self.changed: tuple[str, ...] = ()
        """Classes that are not what they were when the program was linked."""
        self.is_current: Callable[[], bool] = _always
        """Whether everything that was captured still is what it was."""

    def __repr__(self) -> str:
        return f"<program {self.name} {self.hash[:12]}>"

    def prepare(self) -> None:
        """Set what the program found set where it was linked: the precision of decimals."""
        if self.parts.decimals is not None:
            decimal.setcontext(context_of(self.parts.decimals))

    def instantiate(self, run: Any) -> Space:
        """Build the workflow's function for one run, with all that it reaches."""
        builder = Builder(run, self.world, self.recipes)
        own_builtins = self.world.builtins_of(run, partial(_view, builder, self))
        for module in self.parts.spaces:
            live = live_module(module)
            builder.spaces[module] = {
                "__name__": module,
                "__builtins__": own_builtins,
                "__package__": getattr(live, "__package__", module.rpartition(".")[0]),
                "__spec__": getattr(live, "__spec__", None),
                SET_NAME: OrderedSet,
                MEMBER_NAME: member,
            }
        for module, names in self.parts.spaces.items():
            space = builder.spaces[module]
            for name, index in names.items():
                space[name] = builder.get(index)
        return Space(builder.get(self.parts.main), builder.spaces, builder.every())


class Space(NamedTuple):
    """What one run has of its program: its function, namespaces, and what the recipes made."""

    main: Callable[..., Coroutine[Any, Any, Any]]
    modules: dict[str, dict[str, Any]]
    built: list[Any]


_FIXED = (Same, Bound, View)
"""Recipes of things that a run cannot change."""


def _always() -> bool:
    return True


def _view(builder: Builder, program: Program, module: str) -> Any:
    """Give what a user's module is inside of a run; `None` for the module of a library."""
    if module in program.views:
        return builder.get(program.views[module])
    if is_users(module, program.name):
        raise NotHere(
            f"`{module}` was not imported when the workflow was linked",
            remedy="import it under its name, at the top of the module or where it is used",
        )
    return None


# --- code


def _codes(recipes: list[Recipe]) -> list[CodeType]:
    """Give all code that the program captured, in an order that every process comes to."""
    tops = [each.code for each in recipes if isinstance(each, Function)]
    return list({id(each): each for code in tops for each in every_code(code)}.values())


def classes_of(recipes: list[Recipe]) -> list[type]:
    """Give the classes that recipes refer to, and those of the objects that they make."""
    found: dict[type, None] = {}
    for recipe in recipes:
        if isinstance(recipe, Same):
            value: Any = recipe.value
            found[value if isinstance(value, type) else value.__class__] = None
        elif isinstance(recipe, Instance):
            found[recipe.cls] = None
        else:
            arguments: tuple[Any, ...] = getattr(recipe, "args", ())
            found.update({each: None for each in arguments if isinstance(each, type)})
    return list(found)


def is_users(module: str, name: str) -> bool:
    """Whether a module is the user's, or of the package of the workflow of that name."""
    package = name.partition(":")[0].partition(".")[0]
    return is_of_package(module, package) or is_user_module(module)


def _class_codes(parts: Parts, world: World) -> Codes:
    """Give the code of the methods of the user's classes, which stay where they are."""
    modules: dict[str, None] = {}
    for module in parts.spaces:
        live = live_module(module)
        if live is not None:
            modules[live.__name__] = None
    for cls in classes_of(parts.recipes):
        modules.update(dict.fromkeys(each.__module__ for each in cls.__mro__))
    found: Codes = {}
    for name in modules:
        live = sys.modules.get(name)
        if live is not None and is_users(name, parts.name):
            found.update(restorable_classes(live, world))
    return found


# --- decimals


def decimals_now() -> Decimals | None:
    """Tell the context of decimals if a module has changed it, as some do at import."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return None if repr(context) == repr(decimal.Context()) else _told(context)


def _told(context: decimal.Context) -> Decimals:
    trapped = tuple(kind.__name__ for kind, is_on in context.traps.items() if is_on)
    return (
        context.prec, context.rounding, context.Emin, context.Emax, context.capitals,
        context.clamp, trapped,
    )  # fmt: skip


def context_of(told: Decimals) -> decimal.Context:
    """Make the context of decimals that was told."""
    prec, rounding, low, high, capitals, clamp, trapped = told
    traps = [getattr(decimal, name) for name in trapped]
    return decimal.Context(prec, rounding, low, high, capitals, clamp, [], traps)
