"""Recipes: how each thing that a program captured is built for one run. Frozen data.

A run gets copies of what can change (module data, defaults, functions and their cells) and
references to what cannot. Nothing here looks at a live module: that was done when linking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import CellType, CodeType, FunctionType, MemberDescriptorType
from typing import Any, NamedTuple, Protocol

from perdure.errors import NotHere
from perdure.lang.makers import CONTAINERS, WHOLES, bare


class Where(NamedTuple):
    """Where the text of a function stands."""

    module: str
    """The module, by the name that every process knows it by."""
    qualname: str
    line: int
    place: int
    """Which of the functions of that name and line it is: lambdas may share both."""
    flags: int
    """What its module imported from `__future__`, and whether `types.coroutine` made it one."""


class Source(Protocol):
    """What a function needs of the text of its module."""

    text: str

    def text_of(self, where: Where) -> str:
        """Give the lines of a function as they are written."""
        ...


class World(Protocol):
    """What names of the outside mean inside of a run; linking is told, it does not know."""

    def is_bound(self, value: Any) -> bool:
        """Whether a run sees something else in the place of `value`."""
        ...

    def key_of(self, value: Any) -> str | None:
        """Give the `module:name` by which a value is bound or refused."""
        ...

    def prepare(self) -> None:
        """Make ready what every program needs."""
        ...

    def callee_of(self, value: Any) -> dict[str, Any] | None:
        """Give what tells an action or a workflow, its policy included, or `None`."""
        ...

    def callee(self, told: dict[str, Any]) -> Any:
        """Give the action or the workflow that was told, under the policy that was told."""
        ...

    def load(self, key: str) -> Any:
        """Give what a `module:name` leads to that is bound or refused."""
        ...

    def logger_of(self, value: Any) -> str | None:
        """Give the name of a logger, or `None`."""
        ...

    def unit(self, module: str, outline: Any, *, own: bool) -> Any:
        """Give what the code of a restorable function finds its helpers in.

        `own` says that it runs on the namespace of the run, not on that of its module.
        """
        ...

    def bind(self, run: Any, value: Any) -> Any:
        """Give what `value` is inside of `run`."""
        ...

    def builtins_of(self, run: Any, views: Callable[[str], Any]) -> dict[str, Any]:
        """Give the builtins of a run; `views` gives what a user's module is in it, or `None`."""
        ...


class Builder:
    """Builds the things of one run; each recipe once, so that identity and cycles survive."""

    def __init__(self, run: Any, world: World, recipes: list[Recipe]) -> None:
        self.run = run
        self.world = world
        self.recipes = recipes
        self.built: dict[int, Any] = {}
        self.spaces: dict[str, dict[str, Any]] = {}

    def every(self) -> list[Any]:
        """Give the things that all recipes make, in order."""
        return [self.get(index) for index in range(len(self.recipes))]

    def get(self, index: int) -> Any:
        """Give the thing that a recipe makes."""
        if index not in self.built:
            self.recipes[index].build(self, index)
        return self.built[index]


class Recipe(Protocol):
    """How one thing is built."""

    def build(self, builder: Builder, index: int) -> None:
        """Put the thing into `builder.built[index]`, before anything that may refer back to it."""
        ...


@dataclass(frozen=True, slots=True)
class Same:
    """By reference: it cannot change, or belongs to all runs."""

    value: Any

    def build(self, builder: Builder, index: int) -> None:
        """Refer to it."""
        builder.built[index] = self.value


@dataclass(frozen=True, slots=True)
class Bound:
    """What the outside world is replaced by."""

    value: Any

    def build(self, builder: Builder, index: int) -> None:
        """Ask the world."""
        builder.built[index] = builder.world.bind(builder.run, self.value)


@dataclass(frozen=True, slots=True)
class Items:
    """A container: its kind, what that is told, and the members that are put into it."""

    kind: str
    args: tuple[Any, ...]
    members: tuple[int, ...]

    def build(self, builder: Builder, index: int) -> None:
        """Make it empty, then fill it: a member may refer to it."""
        make, fill = CONTAINERS[self.kind]
        made = builder.built[index] = make(*self.args)
        fill(made, [builder.get(member) for member in self.members], *self.args)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A tuple, a frozenset, a partial: made of its members in one go."""

    kind: str
    args: tuple[Any, ...]
    members: tuple[int, ...]

    def build(self, builder: Builder, index: int) -> None:
        """Build the members first; one of them may lead back here, and have made it."""
        members = [builder.get(member) for member in self.members]
        if index not in builder.built:
            builder.built[index] = WHOLES[self.kind](members, *self.args)


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a user's class, copied without running any of its code."""

    cls: type
    state: tuple[tuple[str, int], ...]

    def build(self, builder: Builder, index: int) -> None:
        """Make it bare, then give it its attributes."""
        made = builder.built[index] = bare(self.cls)
        own = getattr(made, "__dict__", None)
        for name, member in self.state:
            value = builder.get(member)
            slot = getattr(made.__class__, name, None)
            if own is None or isinstance(slot, MemberDescriptorType):
                object.__setattr__(made, name, value)
            else:
                own[name] = value


@dataclass(frozen=True, slots=True)
class Cell:
    """A variable that functions share."""

    content: int | None

    def build(self, builder: Builder, index: int) -> None:
        """Make it empty, then fill it."""
        cell = builder.built[index] = CellType()
        if self.content is not None:
            cell.cell_contents = builder.get(self.content)


@dataclass(slots=True)
class Function:
    """A function of the user's, on the namespace of the run."""

    code: CodeType
    """What runs: restorable."""
    where: Where
    """Where its text stands."""
    source: Source
    """The module that it is of; a program is hashed by the lines of its functions."""
    name: str
    qualname: str
    defaults: tuple[int, ...] | None = None
    kwdefaults: tuple[tuple[str, int], ...] | None = None
    cells: tuple[int, ...] = ()
    attributes: tuple[tuple[str, int], ...] = ()
    doc: str | None = None
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])

    def build(self, builder: Builder, index: int) -> None:
        """Make it with the code that was proved, and defaults of its own."""
        cells = tuple(builder.get(cell) for cell in self.cells)
        if index in builder.built:
            return  # a cell led back here, and made it
        space = builder.spaces[self.where.module]
        made = FunctionType(self.code, space, self.name, None, cells)
        builder.built[index] = made
        made.__qualname__ = self.qualname
        made.__doc__ = self.doc
        made.__annotations__ = dict(self.annotations)
        if self.defaults is not None:
            made.__defaults__ = tuple(builder.get(each) for each in self.defaults)
        if self.kwdefaults is not None:
            made.__kwdefaults__ = {name: builder.get(each) for name, each in self.kwdefaults}
        for name, member in self.attributes:
            setattr(made, name, builder.get(member))


@dataclass(frozen=True, slots=True)
class View:
    """A user's module as a run sees it: captured where the program names it."""

    module: Any
    attributes: tuple[tuple[str, int], ...]

    def build(self, builder: Builder, index: int) -> None:
        """Make a view whose attributes are built when they are asked for."""
        parts: dict[str, Callable[[], Any]] = {
            name: partial(builder.get, member) for name, member in self.attributes
        }
        bind = partial(builder.world.bind, builder.run)
        builder.built[index] = ModuleView(self.module, parts, bind)


_REFERENCES = (type(None), bool, int, float, complex, str, bytes, type, Enum)
"""Kinds of what no run can change: a view gives the module's own."""


class ModuleView:
    """Stands for a user's module inside of a run."""

    _perdure_view: tuple[Any, dict[str, Callable[[], Any]], Callable[[Any], Any]]

    def __init__(
        self, module: Any, parts: dict[str, Callable[[], Any]], bind: Callable[[Any], Any]
    ) -> None:
        own = {"_perdure_view": (module, parts, bind), "__name__": module.__name__}
        for name, value in (own | {"__doc__": module.__doc__}).items():
            object.__setattr__(self, name, value)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """What `vars(module)` gives: all that the module has, as the run sees it."""
        return {name: getattr(self, name) for name in dir(self) if name[:2] != "__"}

    def __dir__(self) -> list[str]:
        return dir(self._perdure_view[0])

    def __getattr__(self, name: str) -> Any:
        module, parts, bind = self._perdure_view
        value = parts[name]() if name in parts else bind(getattr(module, name))
        if name in vars(module) and name not in parts and not _is_reference(name, value):
            raise NotHere(
                f"`{module.__name__}.{name}` was not named when the workflow was linked",
                remedy="name it in the workflow, or choose it from a dict that holds it",
            )
        object.__setattr__(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotHere(
            f"`{self.__name__}.{name} = …` would not reach the module",
            remedy="every run has a namespace of its own: keep it in a variable of the workflow",
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} as its run sees it>"


def _is_reference(name: str, value: Any) -> bool:
    """Whether all runs may have the same: it cannot change, or is what a module says of itself."""
    return name.startswith("__") or isinstance(value, _REFERENCES)


def references(recipe: Recipe) -> tuple[int, ...]:
    """Give the recipes of what a thing holds: not the globals that its code names."""
    match recipe:
        case Items() | Frozen():
            return recipe.members
        case Instance():
            return tuple(at for _, at in recipe.state)
        case Cell():
            return () if recipe.content is None else (recipe.content,)
        case View():
            return tuple(at for _, at in recipe.attributes)
        case Function():
            pairs = (*(recipe.kwdefaults or ()), *recipe.attributes)
            return (*(recipe.defaults or ()), *recipe.cells, *(at for _, at in pairs))
        case _:
            return ()
