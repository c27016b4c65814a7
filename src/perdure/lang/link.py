"""Linking: from a workflow to a program: captured, proved, checked and hashed.

The same workflow with the same globals gives an equal program; a changed global gives another.
"""

from __future__ import annotations

import ast
import decimal
import hashlib
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Coroutine
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from perdure import values
from perdure.errors import NotEncodable, Refused, SourceUnproved
from perdure.lang.capture import Capture, Place, is_user_module
from perdure.lang.diagnostics import ERROR, Diagnostic, at, render_all
from perdure.lang.inplace import restorable_classes
from perdure.lang.lints import check_class, check_shared
from perdure.lang.names import every_code
from perdure.lang.recipes import Bound, Builder, Cell, Function, Recipe, Same, View, World
from perdure.lang.rules import check_function, check_workflow
from perdure.lang.source import MEMBER_NAME, SET_NAME, ModuleSource, member, source_of
from perdure.ordered import OrderedSet

MAIN = "__main__"


class Program:
    """A linked workflow: everything that its runs are made of."""

    def __init__(self, name: str, capture: Capture, main: int) -> None:
        self.name = name
        self.world = capture.world
        self.recipes: list[Recipe] = capture.recipes
        self.spaces = {module: dict(names) for module, names in capture.spaces.items()}
        self.main = main
        self.alive = capture.alive
        self.warnings: list[Diagnostic] = capture.found
        self.decimals = _decimal_context()
        self.hash = _hash(self)
        self.codes = _codes(capture)
        self.mutable = [at for at, each in enumerate(self.recipes) if not isinstance(each, _FIXED)]
        self.views = {module.__name__: at for at, (module, _) in capture.views.items()}
        self._watched = _watched(capture)
        self._seen = self._globals()

    def __repr__(self) -> str:
        return f"<program {self.name} {self.hash[:12]}>"

    def prepare(self) -> None:
        """Set what the program found set where it was linked: the precision of decimals."""
        if self.decimals is not None:
            decimal.setcontext(self.decimals.copy())

    def is_current(self) -> bool:
        """Whether everything that was captured still is what it was."""
        return self._globals() == self._seen

    def _globals(self) -> list[Any]:
        seen: list[Any] = [id(space.get(name)) for space, name in self._watched]
        seen += [_contents(value) for value in self.alive if type(value) in _CHANGEABLE]
        return seen

    def instantiate(self, run: Any) -> Space:
        """Build the workflow's function for one run, with all that it reaches."""
        builder = Builder(run, self.world, self.recipes)
        own_builtins = self.world.builtins_of(run, partial(_view, builder, self.views))
        for module in self.spaces:
            builder.spaces[module] = {
                "__name__": canonical(module),
                "__builtins__": own_builtins,
                "__package__": _package_of(module),
                "__spec__": getattr(sys.modules.get(module), "__spec__", None),
                SET_NAME: OrderedSet,
                MEMBER_NAME: member,
            }
        for module, names in self.spaces.items():
            space = builder.spaces[module]
            for name, index in names.items():
                space[name] = builder.get(index)
        return Space(builder.get(self.main), builder.spaces, builder.every())


class Space(NamedTuple):
    """What one run has of its program: its function, namespaces, and what the recipes made."""

    main: Callable[..., Coroutine[Any, Any, Any]]
    modules: dict[str, dict[str, Any]]
    built: list[Any]


_FIXED = (Same, Bound, View)
"""Recipes of things that a run cannot change."""


def _codes(capture: Capture) -> list[CodeType]:
    """Give all code that a run may execute and that is the user's: captured, or of classes."""
    found: dict[int, CodeType] = {}
    modules: dict[str, None] = dict.fromkeys(capture.spaces)
    for cls in capture.classes:
        modules.update(dict.fromkeys(each.__module__ for each in cls.__mro__))
    tops = [each.code for each in capture.recipes if isinstance(each, Function)]
    for name in modules:
        if capture.is_user(name):
            tops += restorable_classes(name, capture.world)
    for code in tops:
        found.update((id(each), each) for each in every_code(code))
    return list(found.values())


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


def _decimal_context() -> decimal.Context | None:
    """Give the context of decimals if a module has changed it, as some do at import."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return None if repr(context) == repr(decimal.Context()) else context


def _view(builder: Builder, views: dict[str, int], module: str) -> Any:
    return builder.get(views[module]) if module in views else None


def _package_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__package__", None)


def canonical(module: str) -> str:
    """Give the name by which every process knows a module: `__main__` is a file or package, too."""
    if module != MAIN:
        return module
    main = sys.modules[MAIN]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    file = str(getattr(main, "__file__", None) or MAIN)
    return file.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def name_of(function: Any) -> str:
    """Give the name by which every process knows a function: `orders:fulfil`."""
    return f"{canonical(function.__module__)}:{function.__qualname__}"


def link(function: FunctionType, world: World) -> Program:
    """Link a workflow, or raise `Refused` with everything that is wrong."""
    capture, main = _capture(function, world)
    errors = sorted(each for each in capture.found if each.severity == ERROR)
    if errors:
        raise _refused(function, "cannot be started", errors)
    return Program(name_of(function), capture, main)


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


# --- the hash


def _hash(program: Program) -> str:
    digest = hashlib.sha256(f"{program.name} {sys.version_info[:2]}".encode())
    digest.update(repr(program.decimals).encode())
    for module, names in program.spaces.items():
        digest.update(f"{canonical(module)} {names}\n".encode())
    for recipe in program.recipes:
        digest.update(_recipe_text(program, recipe).encode(errors="surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


def _recipe_text(program: Program, recipe: Any) -> str:
    """Say what a recipe is in words that are the same in every process."""
    if isinstance(recipe, Function):
        own = (recipe.defaults, recipe.kwdefaults, recipe.cells, recipe.attributes)
        return f"def {canonical(recipe.module)}:{recipe.qualname} {_code_text(recipe.plain)} {own}"
    if isinstance(recipe, Same):
        return _value_text(recipe.value)
    if isinstance(recipe, Bound):
        return f"bound {program.world.key_of(recipe.value) or _value_text(recipe.value)}"
    if isinstance(recipe, View):
        return f"view {recipe.module.__name__} {recipe.attributes}"
    if isinstance(recipe, Cell):
        return f"cell {recipe.content}"
    parts = getattr(recipe, "members", None) or getattr(recipe, "state", ())
    return f"{type(recipe).__name__} {_maker_text(recipe.make)} {parts}"


def _maker_text(make: Any) -> str:
    """Say what a maker makes: its name, and what it was given."""
    if isinstance(make, partial):
        given = [*make.args, *make.keywords.values()]
        shown = ", ".join(_value_text(each) for each in given)
        return f"{_maker_text(make.func)}({shown})"
    return getattr(make, "__qualname__", type(make).__qualname__)


_ATOMS = (bool, int, float, complex, str, bytes, type(None))


def _value_text(value: Any) -> str:
    if issubclass(type(value), tuple):
        return f"({', '.join(_value_text(each) for each in value)})"
    if type(value) in _ATOMS:
        return repr(value)
    if hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '')}:{value.__qualname__}"
    try:
        return values.encode(value).decode()
    except NotEncodable:
        kind: type = value.__class__
        return f"a {kind.__module__}:{kind.__qualname__} {getattr(value, '__name__', '')}"


def _code_text(code: CodeType) -> str:
    constants = ",".join(
        _code_text(each) if isinstance(each, CodeType) else _constant_text(each)
        for each in code.co_consts
    )
    lines = f"{code.co_firstlineno} {code.co_linetable.hex()}"
    names = f"{code.co_names}{code.co_varnames}{code.co_flags}"
    return f"{code.co_code.hex()}({constants})({names})({lines})"


def _constant_text(constant: Any) -> str:
    if issubclass(type(constant), frozenset):
        return "frozenset" + ",".join(sorted(map(repr, constant)))
    return repr(constant)


__all__ = ["Place", "Program", "canonical", "check_definition", "diagnose", "link", "name_of"]
