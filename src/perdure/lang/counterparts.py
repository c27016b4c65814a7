"""Counterparts: what of the things that a program builds for its runs another program builds too.

By the names of modules' globals, and from there by what they hold. What can change has to have a
counterpart, for runs may have changed it; a function has the one that it was paired with. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perdure.lang.diff import Difference
from perdure.lang.recipes import Cell, Frozen, Function, Instance, Items, Recipe, Same, View, World

_BUILT_ANEW = frozenset({"random", "bytearray", "array", "cache", "wrapper"})
"""Things made in one go that have an identity of their own; others are values."""

_MAPPINGS = frozenset({"dict", "OrderedDict", "Counter", "defaultdict", "subclass of dict"})


def counterparts(difference: Difference) -> dict[int, int]:
    """Give the number that each recipe of the old program has in the new one, if it has one."""
    old, new = difference.old.program, difference.new.program
    matching = _Matching(difference)
    # Functions that go by another name come last: what has its name has precedence.
    waiting = [(old.parts.main, new.parts.main), *_globals(difference), *matching.functions()]
    waiting.reverse()
    found: dict[int, int] = {}
    while waiting:
        one, other = waiting.pop()
        if one not in found and matching.same_kind(old.recipes[one], new.recipes[other]):
            found[one] = other
            waiting += _parts(old.recipes, one, new.recipes, other)
    return {at: to for at, to in found.items() if matching.moves(old.recipes[at])}


def _globals(difference: Difference) -> Iterator[tuple[int, int]]:
    old, new = difference.old.program, difference.new.program
    for module, names in old.parts.spaces.items():
        there = new.parts.spaces.get(module, {})
        yield from ((at, there[name]) for name, at in names.items() if name in there)
    for module, at in old.views.items():
        if module in new.views:
            yield at, new.views[module]


class _Matching:
    """Tells which recipes make the same thing."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        self.world: World = difference.old.program.world

    def functions(self) -> Iterator[tuple[int, int]]:
        """Give the functions that go by another name now."""
        new = {
            id(each.code): at
            for at, each in enumerate(self.difference.new.program.recipes)
            if isinstance(each, Function)
        }
        for at, each in enumerate(self.difference.old.program.recipes):
            if isinstance(each, Function) and not each.cells:
                code = self.difference.code(each.code)
                if id(code) in new:
                    yield at, new[id(code)]

    def same_kind(self, old: Recipe, new: Recipe) -> bool:
        """Whether one thing can stand for the other."""
        one: Any = old
        other: Any = new
        if type(one) is not type(other):
            return False
        if isinstance(one, Function):
            return self.difference.code(one.code) is other.code
        if isinstance(one, (Items, Frozen)):
            return one.kind == other.kind and bool(one.args == other.args)
        if isinstance(one, Instance):
            return one.cls is other.cls
        if isinstance(one, Same):
            return self._is_same_callee(one.value, other.value)
        return isinstance(one, (Cell, View))

    def _is_same_callee(self, old: Any, new: Any) -> bool:
        one, other = self.world.callee_of(old), self.world.callee_of(new)
        if one is None or other is None:
            return False
        return (one["kind"], one["name"]) == (other["kind"], other["name"])

    @staticmethod
    def moves(recipe: Recipe) -> bool:
        """Whether what a run has of this is replaced by its counterpart."""
        return not isinstance(recipe, Frozen) or recipe.kind in _BUILT_ANEW


def _parts(
    old_recipes: list[Recipe], old: int, new_recipes: list[Recipe], new: int
) -> Iterator[tuple[int, int]]:
    """Give what belongs together of what two things hold."""
    one, other = (dict(_named(old_recipes, old)), dict(_named(new_recipes, new)))
    return ((at, other[name]) for name, at in one.items() if name in other)


def _named(recipes: list[Recipe], at: int) -> Iterator[tuple[Any, int]]:
    """Give what a thing holds, each by what it is known by in there."""
    recipe: Any = recipes[at]
    if isinstance(recipe, Function):
        yield from ((("default", i), each) for i, each in enumerate(recipe.defaults or ()))
        yield from ((("word", name), each) for name, each in recipe.kwdefaults or ())
        yield from zip(recipe.code.co_freevars, recipe.cells, strict=True)
        yield from ((("attribute", name), each) for name, each in recipe.attributes)
    elif isinstance(recipe, Items) and recipe.kind in _MAPPINGS:
        yield from _entries(recipes, recipe)
    elif isinstance(recipe, (Items, Frozen)):
        yield from enumerate(recipe.members)
    elif isinstance(recipe, Instance):
        yield from recipe.state
    elif isinstance(recipe, View):
        yield from recipe.attributes
    elif isinstance(recipe, Cell) and recipe.content is not None:
        yield "content", recipe.content


def _entries(recipes: list[Recipe], recipe: Items) -> Iterator[tuple[Any, int]]:
    members = recipe.members[1:] if recipe.kind == "defaultdict" else recipe.members
    for key, value in zip(members[::2], members[1::2], strict=False):
        known: Any = recipes[key]
        yield (repr(known.value) if isinstance(known, Same) else key), value
