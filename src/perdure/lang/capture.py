"""Capturing: from a live function to recipes for everything that it can reach.

Looks at live objects and changes none; what it cannot vouch for becomes a diagnostic.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import io
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any, cast

from perdure.errors import SourceUnproved
from perdure.lang.containers import CAPTURERS
from perdure.lang.diagnostics import Diagnostic, at
from perdure.lang.makers import COPIED, DICT, LIST, SET, codes_named
from perdure.lang.names import (
    asked_names,
    asked_owners,
    attribute_names,
    global_names,
    import_module,
    imported_modules,
)
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
)
from perdure.lang.source import ModuleSource, module_source, source_of

ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type(...),
    type(NotImplemented),
)

_STDLIB = tuple(
    path
    for key in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_path(key))
)


def is_user_module(name: str) -> bool:
    """Whether a module is the user's: neither standard library, nor installed, nor Perdure's."""
    module = sys.modules.get(name)
    if module is None:
        return False
    if name == "perdure" or name.startswith("perdure."):
        return bool(getattr(module, "__perdure_captured__", False))
    file = getattr(module, "__file__", None)
    if file is None:
        return (
            getattr(module, "__loader__", None) is not None and name not in sys.builtin_module_names
        )
    return not (file.startswith("<frozen") or str(file).startswith(_STDLIB))


def is_of_package(module: str, package: str) -> bool:
    """Whether a module belongs to a workflow's package; what Perdure holds says so for itself."""
    return module.partition(".")[0] == package != "perdure"


class Place:
    """Where the thing being captured was named, for diagnostics."""

    def __init__(self, source: ModuleSource, node: ast.AST | None, name: str) -> None:
        self.source = source
        self.node = node
        self.name = name

    def diagnostic(self, code: str, message: str, remedy: str) -> Diagnostic:
        """Point at the first use of the name in its function."""
        node = self.node
        used = [
            each
            for each in (ast.walk(node) if node is not None else ())
            if isinstance(each, ast.Name) and each.id == self.name
        ]
        target = used[0] if used else node or ast.Pass(lineno=1, col_offset=0)
        return at(target, self.source.file, self.source.lines, code, message, remedy)


class Capture:
    """All that one program reaches, by identity."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.recipes: list[Any] = []
        self.index: dict[int, int] = {}
        self.alive: list[Any] = []
        self.spaces: dict[str, dict[str, int]] = {}
        self.functions: list[tuple[types.FunctionType, ModuleSource, ast.AST | None]] = []
        self.classes: dict[type, Place] = {}
        self.views: dict[int, tuple[types.ModuleType, dict[str, int]]] = {}
        self.names: set[str] = set()
        self.open: set[int] = set()
        self.own = ""
        self.found: list[Diagnostic] = []

    def whole(self, function: types.FunctionType) -> int:
        """Capture a workflow and all that it reaches."""
        source = source_of(function)
        self.own = source.name.partition(".")[0]
        index = self.capture(function, Place(source, None, function.__name__))
        while self._fill_views():
            pass
        for position, (module, attributes) in self.views.items():
            self.recipes[position] = View(module, tuple(attributes.items()))
        return index

    def is_user(self, module: str) -> bool:
        """Whether a module is the user's, or of the package of the workflow, wherever that lies."""
        return is_of_package(module, self.own) or is_user_module(module)

    def capture(self, value: Any, place: Place) -> int:
        """Give the index of the recipe of `value`."""
        known = self.index.get(id(value))
        if known is not None:
            return known
        position = len(self.recipes)
        self.index[id(value)] = position
        self.alive.append(value)
        self.recipes.append(None)
        self.recipes[position] = self._recipe(value, place, position)
        return position

    def _recipe(self, value: Any, place: Place, position: int) -> Recipe | None:
        kind: type = value.__class__
        if kind in ATOMS or isinstance(value, enum.Enum):
            return Same(value)
        if self.world.is_bound(value):
            return Bound(value)
        capturer = _CAPTURERS.get(kind)
        if capturer is not None:
            return capturer(self, value, place)
        if isinstance(value, types.ModuleType):
            return self._module(value, position)
        if isinstance(value, type):
            self.classes.setdefault(value, place)
            return Same(value)
        problem = _problem(value)
        if problem is not None:
            self.found.append(
                place.diagnostic(problem[0], f"`{place.name}` {problem[1]}", problem[2])
            )
            return Same(value)
        if _is_named_tuple(value):
            members = self._each(value, place) or ()
            return Frozen("namedtuple", (value.__class__,), members)
        if kind in COPIED or self.is_user(kind.__module__):
            return self._instance(value, place)
        return Same(value)

    # --- functions

    def function(self, value: types.FunctionType, place: Place) -> Recipe:
        """Capture a function: the user's with proved code, a library's if it wraps the user's."""
        name = value.__globals__.get("__name__", "")
        if not self.is_user(name):
            return self._wrapper(value, place)
        try:
            source = module_source(sys.modules[name])
            where = source.where(value.__code__)
            code = source.lowered(where, self.world)
        except SourceUnproved as error:
            line = value.__code__.co_firstlineno
            at_line = Place(
                place.source, place.node or ast.Pass(lineno=line, col_offset=0), place.name
            )
            self.found.append(at_line.diagnostic("L108", error.what, error.remedy))
            return Same(value)
        nodes = source.nodes(value.__code__)
        node = nodes[0] if nodes else None
        self.functions.append((value, source, node))
        self._globals(value, code, source, node)
        inside = functools.partial(Place, source, node)
        return Function(
            code,
            where,
            source,
            value.__name__,
            value.__qualname__,
            self._each(value.__defaults__, inside("default")),
            self._pairs(value.__kwdefaults__, inside("default")),
            tuple(self._cell(cell, inside("closure")) for cell in value.__closure__ or ()),
            self._pairs(value.__dict__, inside("attribute")) or (),
            value.__doc__,
            value.__annotations__,
        )

    def _globals(
        self,
        value: types.FunctionType,
        code: types.CodeType,
        source: ModuleSource,
        node: ast.AST | None,
    ) -> None:
        space = self.spaces.setdefault(value.__globals__["__name__"], {})
        for name in global_names(code):
            if name in space:
                continue
            if name in value.__globals__:
                space[name] = -1  # named already, so that recursion ends
                space[name] = self.capture(value.__globals__[name], Place(source, node, name))
            elif not hasattr(builtins, name) and name[:1] != ".":
                place = Place(source, node, name)
                message = f"`{name}` is defined nowhere in `{source.name}`"
                self.found.append(place.diagnostic("L204", message, "define or import it"))
        self.names.update(attribute_names(code))
        self.names.update(asked_names(node))
        self._modules(value.__globals__, source, node)

    def _modules(self, space: dict[str, Any], source: ModuleSource, node: ast.AST | None) -> None:
        """Capture the modules that a function imports; note which it may ask for any name."""
        imported: list[types.ModuleType] = []
        for name in imported_modules(node, space.get("__package__") or ""):
            module = import_module(name)
            if module is not None and self.is_user(name):
                imported.append(module)
                self.capture(module, Place(source, node, name))
        owners = [_found(each, space) for each in asked_owners(node)]
        self.open.update(id(each) for each in owners if isinstance(each, types.ModuleType))
        if None in owners:  # a name of its own: it may be any of the modules that it imports
            self.open.update(id(each) for each in imported)

    def _wrapper(self, value: types.FunctionType, place: Place) -> Recipe:
        name = value.__globals__.get("__name__", "")
        contents = [_content(cell) for cell in value.__closure__ or ()]
        simple = all(isinstance(each, (types.FunctionType, type, *ATOMS)) for each in contents)
        wraps = any(
            isinstance(each, types.FunctionType)
            and self.is_user(each.__globals__.get("__name__", ""))
            for each in contents
        )
        if not (simple and wraps):
            return Same(value)
        cells = [self._cell(cell, place) for cell in value.__closure__ or ()]
        held = {name: each for name, each in vars(value).items() if name != "__wrapped__"}
        told = (value.__name__, value.__qualname__, value.__module__, value.__doc__)
        words = tuple((value.__kwdefaults__ or {}).items())
        args = (_library_code(name, value), name, told, value.__defaults__, words, tuple(held))
        members = (*cells, *(each for _, each in self._pairs(held, place) or ()))
        return Frozen("wrapper", args, members)

    def _cell(self, cell: types.CellType, place: Place) -> int:
        known = self.index.get(id(cell))
        if known is None:
            known = self.index[id(cell)] = len(self.recipes)
            self.alive.append(cell)
            self.recipes.append(None)
            content = _content(cell)
            self.recipes[known] = Cell(None if content is _EMPTY else self.capture(content, place))
        return known

    def _each(self, values: Any, place: Place) -> tuple[int, ...] | None:
        return None if values is None else tuple(self.capture(each, place) for each in values)

    def _pairs(self, values: Any, place: Place) -> tuple[tuple[str, int], ...] | None:
        if values is None:
            return None
        return tuple((name, self.capture(each, place)) for name, each in values.items())

    # --- modules, objects

    def _module(self, module: types.ModuleType, position: int) -> Recipe | None:
        if module.__name__ != "perdure" and not self.is_user(module.__name__):
            return Same(module)
        self.views[position] = (module, {})
        return None

    def _fill_views(self) -> bool:
        """Capture what the program names of the modules that it names; say whether that was new."""
        before = len(self.recipes)
        for module, attributes in list(self.views.values()):
            place = Place(module_source(module), None, module.__name__)
            names = self.names.intersection(vars(module))
            if id(module) in self.open:
                names.update(each for each in vars(module) if _may_be_asked(each, module))
            for name in sorted(names.difference(attributes)):
                attributes[name] = self.capture(vars(module)[name], place)
        return len(self.recipes) > before

    def _instance(self, value: Any, place: Place) -> Recipe:
        self.classes.setdefault(value.__class__, place)
        for base in (DICT, LIST, SET):
            if issubclass(value.__class__, base):
                return self._subclass(value, base, place)
        if issubclass(value.__class__, _BY_VALUE) or hasattr(value.__class__, "__perdure__"):
            return Same(value)
        state = dict(_state(value))
        if not state:
            return Same(value)
        parts = self._pairs(state, place) or ()
        if _is_frozen(value) and all(isinstance(self.recipes[part], Same) for _, part in parts):
            return Same(value)
        return Instance(value.__class__, parts)

    def _subclass(self, value: Any, base: Any, place: Place) -> Recipe:
        """Capture an object of a user's class that is a list, a dict or a set besides."""
        flat: list[Any] = [*value]
        if base is DICT:
            flat = [each for pair in _pairs_of(value) for each in pair]
        state = dict(_state(value))
        members = tuple(self.capture(each, place) for each in (*flat, *state.values()))
        args = (value.__class__, len(flat), tuple(state))
        return Items(f"subclass of {base.__name__}", args, members)


def _found(expression: ast.expr, space: dict[str, Any]) -> Any:
    """Give what a dotted name leads to from the globals of a function, or `None`."""
    if isinstance(expression, ast.Name):
        return space.get(expression.id)
    if isinstance(expression, ast.Attribute):
        owner = _found(expression.value, space)
        return vars(owner).get(expression.attr) if isinstance(owner, types.ModuleType) else None
    return None


def _may_be_asked(name: str, module: types.ModuleType) -> bool:
    """Whether a run can have what a module holds, if it asks for it by a name that it makes up."""
    return not name.startswith("__") and _problem(vars(module)[name]) is None


def _is_named_tuple(value: object) -> bool:
    kind = type(value)
    return isinstance(value, tuple) and hasattr(kind, "_fields")


_BY_VALUE = (BaseException, tuple, str, int, float)
_EMPTY = object()


def _content(cell: types.CellType) -> Any:
    return getattr(cell, "cell_contents", _EMPTY) if _is_filled(cell) else _EMPTY


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 — asking raises when there is nothing
    except ValueError:
        return False
    return True


def _pairs_of(value: Any) -> list[tuple[Any, Any]]:
    return [(key, DICT.__getitem__(value, key)) for key in DICT.__iter__(value)]


def _is_frozen(value: Any) -> bool:
    params: Any = getattr(value.__class__, "__dataclass_params__", None)
    return getattr(params, "frozen", False) is True


def _state(value: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    for name in cast("list[str]", _slotnames(type(value))):
        if hasattr(value, name):
            yield name, getattr(value, name)


def _library_code(module: str, function: types.FunctionType) -> Any:
    """Name the code of a function that a library made; the code itself, if no name leads to it."""
    code = function.__code__
    found = list(codes_named(module, code.co_qualname))
    place = next((i for i, each in enumerate(found) if each is code), None)
    return code if place is None else (code.co_qualname, place)


def _problem(value: Any) -> tuple[str, str, str] | None:
    """Say why a module-level object cannot be part of a run, if it cannot."""
    kind: type = value.__class__
    if kind.__module__.startswith("asyncio."):
        return "L106", f"is a `{kind.__name__}` of the module", "make it inside of the workflow"
    if isinstance(value, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
        return "L107", "is a generator that all runs would share", "make it inside of the workflow"
    if isinstance(value, io.IOBase):
        return "L107", "is an open file", "open it inside of an @action"
    if kind.__module__ in ("_thread", "threading", "_socket", "socket", "multiprocessing.context"):
        return "L107", f"is a `{kind.__qualname__}`", "use it inside of an @action"
    if kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__"):
        return "L107", "is an iterator that all runs would share", "make it inside of the workflow"
    return None


_CAPTURERS: dict[type, Callable[[Any, Any, Any], Recipe]] = {
    types.FunctionType: Capture.function,
    **CAPTURERS,
}
