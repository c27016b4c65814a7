"""The text of modules, proved to be what was imported, and its code as a run executes it.

The text is compiled and its code objects compared with the live ones; it is never trusted.
"""

from __future__ import annotations
import __future__ as future_features

import ast
import hashlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from perdure.errors import SourceUnproved
from perdure.lang.lower import Tail, compiled, lower, with_units
from perdure.lang.recipes import Where, World
from perdure.value_types import canonical, live_module

Key = tuple[str, int]
"""What a function is found by in a module: its qualified name and its first line."""


_FUTURE = sum(
    getattr(future_features, name).compiler_flag for name in future_features.all_feature_names
)


class ModuleSource:
    """One module: its text, its tree, and its functions as they are run inside of a run."""

    def __init__(self, name: str, file: str, text: str) -> None:
        self.name = name
        self.file = file
        self.text = text
        self.lines = text.splitlines()
        self.tree = ast.parse(text, file)
        self.tails: list[Tail] = []
        self.lean = False
        self._live: dict[tuple[int, int], dict[Key, list[CodeType]]] = {}
        self._lowered: dict[tuple[bool, int], dict[Key, list[CodeType]]] = {}
        self._nodes: dict[Key, list[ast.AST]] | None = None
        self._trees: dict[str, str] = {}

    def nodes(self, code: CodeType) -> list[ast.AST]:
        """Give the definitions that `code` may come from: one, unless lambdas share a line."""
        return self._nodes_of((code.co_qualname, code.co_firstlineno))

    def _nodes_of(self, key: Key) -> list[ast.AST]:
        if self._nodes is None:
            self._nodes = {}
            for each, node in _definitions(self.tree, ""):
                self._nodes.setdefault(each, []).append(node)
        return self._nodes.get(key, [])

    def where(self, code: CodeType) -> Where:
        """Say where the text of a live function stands, after proving that it is its own."""
        code = original_of(code)
        name, line = key = _key(code)
        flags = code.co_flags & (_FUTURE | _ITERABLE)
        return Where(canonical(self.name), name, line, self._place(code, key), flags)

    def lowered(self, where: Where, world: World, *, own_sets: bool = True) -> CodeType:
        """Give the restorable code of a function.

        With `own_sets` it builds the sets of the run, which only code on its namespace can.
        """
        flags = where.flags & _FUTURE
        if (own_sets, flags) not in self._lowered:
            self._lowered[own_sets, flags] = self._lower(flags, world, own_sets=own_sets)
        codes = self._lowered[own_sets, flags].get((where.qualname, where.line), [])
        if where.place >= len(codes):
            raise SourceUnproved(f"there is no `{where.qualname}` at {self.file}:{where.line}")
        lowered = codes[where.place]
        if where.flags & _ITERABLE:
            lowered = lowered.replace(co_flags=lowered.co_flags | _ITERABLE)
        return lowered

    def text_of(self, where: Where) -> str:
        """Give the lines of a function as they are written."""
        node: Any = self.node_of(where)
        last = len(self.lines) if node is None else int(node.end_lineno)
        return "\n".join(self.lines[where.line - 1 : last])

    def tree_of(self, name: str) -> str:
        """Give the trees of all classes and functions of a name as text; empty: there are none."""
        if name not in self._trees:
            self._trees[name] = "".join(
                ast.dump(node)
                for node in ast.walk(self.tree)
                if isinstance(node, _NAMED) and node.name == name
            )
        return self._trees[name]

    def annotations_of(self, where: Where) -> dict[str, str]:
        """Give the annotations of a function as text, as under `from __future__`."""
        node: Any = self.node_of(where)
        arguments = getattr(node, "args", None)
        if arguments is None or isinstance(node, ast.Lambda):
            return {}
        every = [*arguments.posonlyargs, *arguments.args, arguments.vararg]
        every += [*arguments.kwonlyargs, arguments.kwarg]
        given = [(each.arg, each.annotation) for each in every if each is not None]
        given.append(("return", node.returns))
        return {name: ast.unparse(each) for name, each in given if each is not None}

    def place_of(self, code: CodeType) -> tuple[int, int]:
        """Say where the definition stands that restorable code of this module was made from."""
        unit: Any = next((each for each in code.co_consts if hasattr(each, "place")), None)
        if unit is not None:
            place: tuple[int, int] = unit.place
            return place
        key = _key(code)
        for codes in self._lowered.values():
            for node, each in zip(self._nodes_of(key), codes.get(key, ()), strict=False):
                if each is code:
                    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return code.co_firstlineno, -1

    def definitions(self, qualname: str) -> Iterator[tuple[int, ast.AST]]:
        """Give the definitions of a qualified name, each with the line that it begins at."""
        for (name, line), node in _definitions(self.tree, ""):
            if name == qualname:
                yield line, node

    def node_of(self, where: Where) -> ast.AST | None:
        """Give the tree of a function."""
        nodes = self._nodes_of((where.qualname, where.line))
        return nodes[min(where.place, len(nodes) - 1)] if nodes else None

    def _place(self, code: CodeType, key: Key) -> int:
        """Give which of the functions of a key a live one is; one that is none is not proved."""
        plain = code.replace(co_flags=code.co_flags & ~_ITERABLE)
        live = self._live_codes(code.co_flags & _FUTURE, sys.flags.optimize).get(key, [])
        place = next((i for i, each in enumerate(live) if each == plain), None)
        if place is None:
            raise SourceUnproved(
                f"the text of {self.file} is not that of `{code.co_qualname}` as it was imported",
                remedy=_why_unproved(self.name),
            )
        return place

    def _lower(self, flags: int, world: World, *, own_sets: bool) -> dict[Key, list[CodeType]]:
        tree = ast.parse(self.text, self.file)
        if own_sets:
            tree = ast.fix_missing_locations(_OwnSets().visit(tree))
        made = lower(tree, lean=self.lean)
        self.tails = made.tails
        code = compiled(made, lambda tree: self._compile(tree, flags, 0))
        name = canonical(self.name)
        units = [world.unit(name, each.outline, own=own_sets) for each in made.functions]
        code = with_units(code, units)
        return _by_key(code)

    def _live_codes(self, flags: int, optimize: int) -> dict[Key, list[CodeType]]:
        if (flags, optimize) not in self._live:
            self._live[flags, optimize] = _by_key(self._compile(self.text, flags, optimize))
        return self._live[flags, optimize]

    def _compile(self, what: Any, flags: int, optimize: int) -> CodeType:
        code: CodeType = compile(
            what, self.file, "exec", flags=flags, dont_inherit=True, optimize=optimize
        )
        return code


def _by_key(whole: CodeType) -> dict[Key, list[CodeType]]:
    found: dict[Key, list[CodeType]] = {}
    for code in _functions(whole):
        found.setdefault(_key(code), []).append(code)
    return found


_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_originals: dict[int, tuple[CodeType, CodeType]] = {}


def made_in_place(lowered: CodeType, original: CodeType) -> None:
    """Remember which code a function had before it was given restorable code."""
    _originals[id(lowered)] = (lowered, original)


def original_of(code: CodeType) -> CodeType:
    """Give the code that a live function was imported with."""
    found = _originals.get(id(code))
    return code if found is None else found[1]


_ITERABLE = inspect.CO_ITERABLE_COROUTINE
"""What `types.coroutine` adds to code; no text compiles to it."""


def _key(code: CodeType) -> Key:
    # Up to 3.11 a lambda in a set comprehension is named after it, and ours is a list's.
    return code.co_qualname.replace("<setcomp>", "<listcomp>"), code.co_firstlineno


def _why_unproved(module: str) -> str:
    loader = type(getattr(sys.modules.get(module), "__loader__", None)).__module__
    if loader.startswith("_pytest"):
        return "pytest rewrites the asserts of test modules: give the workflow a module of its own"
    return "it was edited after the import, or is made by a tool: import it again"


_HIDDEN = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name not in _HIDDEN:
                yield constant
            yield from _functions(constant)


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[Key, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield (prefix + child.name, first), child
            inner = f"{prefix}{child.name}.<locals>."
        elif isinstance(child, ast.Lambda):
            yield (prefix + "<lambda>", child.lineno), child
            inner = f"{prefix}<lambda>.<locals>."
        elif isinstance(child, ast.ClassDef):
            inner = f"{prefix}{child.name}."
        yield from _definitions(child, inner)


class _OwnSets(ast.NodeTransformer):
    """Makes `{a, b}` and `{x for x in xs}` build the set of the run, which keeps its order."""

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return _build_set(ast.Tuple(node.elts, ast.Load()), node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        self.generic_visit(node)
        # `{f(x) for x in xs}` hashes each member before the next is made, and may fail there.
        name = ast.copy_location(ast.Name(MEMBER_NAME, ast.Load()), node.elt)
        member = ast.copy_location(ast.Call(name, [node.elt], []), node.elt)
        return _build_set(ast.ListComp(member, node.generators), node)


def _build_set(members: ast.expr, node: ast.expr) -> ast.AST:
    name = ast.copy_location(ast.Name(SET_NAME, ast.Load()), node)
    return ast.copy_location(ast.Call(name, [ast.copy_location(members, node)], []), node)


SET_NAME = ".set"
"""Where the code of a run finds its sets; no source can spell it."""

MEMBER_NAME = ".member"


def member(value: Any) -> Any:
    """Give a member of a set that is being made, or raise because it has no hash."""
    hash(value)
    return value


# --- finding the text of a module

_sources: dict[str, ModuleSource] = {}


def stored_source(name: str, text: str) -> ModuleSource:
    """Give the source of a module from the text that a program keeps: maybe not today's text."""
    live = live_module(name)
    if live is not None and _readable(live) == text:
        return module_source(live)
    key = f"{name}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if key not in _sources:
        shown = f"{name.rpartition('.')[2]}.py@{key.rpartition('@')[2][:4]}"
        linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
        _sources[key] = ModuleSource(name, shown, text)
    return _sources[key]


def _readable(module: ModuleType) -> str | None:
    try:
        return _text_of(module)
    except SourceUnproved:
        return None


def source_of(function: FunctionType) -> ModuleSource:
    """Give the source of the module that a function was defined in."""
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    if module is None or getattr(module, "__dict__", None) is not function.__globals__:
        raise SourceUnproved(
            f"`{function.__qualname__}` belongs to no imported module",
            remedy="define it in a file that is imported",
        )
    return module_source(module)


def module_source(module: ModuleType) -> ModuleSource:
    """Give the source of a module, read again when it has changed."""
    name = module.__name__
    text = _text_of(module)
    known = _sources.get(name)
    if known is None or known.text != text:
        file = getattr(module, "__file__", None) or f"<{name}>"
        known = _sources[name] = ModuleSource(name, file, text)
    return known


def _text_of(module: ModuleType) -> str:
    loader: Any = getattr(module, "__loader__", None)
    get_source: Callable[[str], str | None] | None = getattr(loader, "get_source", None)
    text: str | None = None
    if get_source is not None:
        try:
            text = get_source(getattr(loader, "name", None) or module.__name__)
        except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
            text = None
    if text is None and getattr(module, "__file__", None):
        text = "".join(linecache.getlines(module.__file__ or "")) or None
    if text is None:
        raise SourceUnproved(
            f"module `{module.__name__}` has no readable source",
            remedy="workflows cannot be defined in a REPL, by `exec`, or in a bare .pyc",
        )
    return text
