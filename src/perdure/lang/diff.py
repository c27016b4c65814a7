"""The difference of two programs, as a run sees it that waits in one and should go on in the other.

Says of every await of the old program which one it is in the new program, which variables go with
it and which ones it has to bring; or why there is none. Reads the texts that programs keep: nothing
of either runs.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from perdure.lang.aligning import Aligned, Position, aligned, position
from perdure.lang.names import every_code
from perdure.lang.needing import Needs
from perdure.lang.pairing import Pair, paired, renamed_in, with_names
from perdure.lang.program import Program
from perdure.lang.recipes import Function, Where
from perdure.lang.shape import FUNCTIONS, bound_names
from perdure.lang.source import ModuleSource, module_source
from perdure.value_types import live_module

Place = tuple[str, bool, Position]
"""A module, whether its code is the run's own, and where in it a definition stands."""


class Landing(NamedTuple):
    """Where a frame stands that is moved, and what it takes along."""

    code: CodeType
    at: int
    names: dict[str, str]
    """The name that each local has from now on; one that is missing is not taken along."""
    needed: dict[str, int]
    """Locals that the old code did not need here and the new code does, and where it reads them."""


class Stays(NamedTuple):
    """A frame, or a function that a run holds, that cannot be moved, and why."""

    function: str
    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"`{self.function}` at {self.file}:{self.line}: {self.why}"


class _Known(NamedTuple):
    """A code object, and the module whose text it was made from."""

    code: CodeType
    source: ModuleSource
    place: Place


class Side:
    """One of two programs: its code, by where it stands."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.sources: dict[str, ModuleSource] = {}
        self.flags: dict[str, int] = {}
        self.known: dict[int, _Known] = {}
        self.at: dict[Place, CodeType] = {}
        for each in program.recipes:
            if isinstance(each, Function):
                source: Any = each.source
                self.sources.setdefault(each.where.module, source)
                self.flags[each.where.module] = each.where.flags
                self.learn(each.code, source, each.where.module, own=True)

    def learn(self, top: CodeType, source: ModuleSource, module: str, *, own: bool) -> None:
        """Take code and all that is inside of it among what is known."""
        for code in every_code(top):
            place = (module, own, source.place_of(code))
            self.at.setdefault(place, code)
            self.known[id(code)] = _Known(code, source, place)

    def learn_methods(self) -> None:
        """Take the methods of today's classes among what is known."""
        for name, code in self.program.class_codes.items():
            module = live_module(name.partition(":")[0])
            if module is not None:
                source = module_source(module)
                self.sources.setdefault(name.partition(":")[0], source)
                self.learn(code, source, name.partition(":")[0], own=False)

    def method(self, name: str) -> CodeType | None:
        """Give the code of a method as it was, by the name that an image has for it."""
        module, _, rest = name.partition(":")
        qualname, _, mark = rest.partition("#")
        text_mark, _, number = mark.partition(".")
        source = self.sources.get(module)
        if source is None:
            return None
        for line, _ in source.definitions(qualname):
            where = Where(module, qualname, line, 0, self.flags[module])
            text = source.text_of(where).encode(errors="surrogatepass")
            if f"{zlib.crc32(text):08x}" == text_mark:
                code = source.lowered(where, self.program.world, own_sets=False)
                self.learn(code, source, module, own=False)
                return list(every_code(code))[int(number)]
        return None


class Difference:
    """What lies between two programs."""

    def __init__(self, old: Program, new: Program) -> None:
        self.old = Side(old)
        self.new = Side(new)
        self.new.learn_methods()
        self._modules: dict[str, dict[Position, Pair]] = {}
        self._functions: dict[tuple[str, Position], FunctionDiff] = {}

    def pairs(self, module: str) -> dict[Position, Pair]:
        """Give the definitions of a module that both programs have."""
        if module not in self._modules:
            old, new = self.old.sources.get(module), self.new.sources.get(module)
            self._modules[module] = {} if old is None or new is None else paired(old.tree, new.tree)
        return self._modules[module]

    def renamed(self, module: str) -> dict[str, str]:
        """Give the functions of a module that go by another name."""
        pairs = [each for each in self.pairs(module).values() if hasattr(each.old, "name")]
        return {each.old.name: each.new.name for each in pairs if each.old.name != each.new.name}

    def function(self, known: _Known) -> FunctionDiff | None:
        """Give the difference of the function that code is, or is inside of."""
        module, _, place = known.place
        pairs = [
            each
            for each in self.pairs(module).values()
            if isinstance(each.old, FUNCTIONS) and _holds(each.old, place)
        ]
        if not pairs:
            return None
        return self.function_at(module, max(position(each.old) for each in pairs))

    def function_at(self, module: str, place: Position) -> FunctionDiff:
        """Give the difference of the function that stood there, which has its counterpart."""
        key = module, place
        if key not in self._functions:
            self._functions[key] = FunctionDiff(self.pairs(module)[place], self.renamed(module))
        return self._functions[key]

    # --- what a run asks

    def code(self, code: CodeType) -> CodeType | Stays:
        """Give the code that a function has from now on."""
        known = self.old.known[id(code)]
        module, own, place = known.place
        function = self.function(known)
        if function is not None:
            stands = function.place_of(place)
            found = None if stands is None else self.new.at.get((module, own, stands))
            if found is not None:
                return found
        return self._stays(code, known.place[2][0], "there is no such function in the new code")

    def landing(self, code: CodeType, at: int) -> Landing | Stays:
        """Say where a frame goes on that stands at an await of the old program."""
        found = self.code(code)
        old: Any = unit_in(code)
        site = old.sites[at]
        if isinstance(found, Stays):
            return found._replace(line=site.line)
        new: Any = unit_in(found)
        function = self.function(self.old.known[id(code)])
        assert function is not None
        target = function.site(old, at, new)
        if isinstance(target, str):
            return self._stays(code, site.line, target)
        hidden = _hidden(old.sites[at].hidden, new.sites[target].hidden)
        if hidden is None:
            why = "what the statements around it keep for themselves is not the same any more"
            return self._stays(code, site.line, why)
        had: list[str] = [*old.saved[at], *old.cells]
        names = {name: function.names.get(name, name) for name in had}
        whole = old.place == position(function.pair.old)  # a comprehension is as it was
        needed = function.needed(site, new.sites[target]) if whole else {}
        return Landing(found, target, names | hidden, needed)

    def stays(self, code: CodeType | None, at: int | None, why: str) -> Stays:
        """Say that a frame at an await cannot be moved, or a function that is held."""
        assert code is not None
        line = self.old.known[id(code)].place[2][0] if at is None else unit_in(code).sites[at].line
        return self._stays(code, line, why)

    def _stays(self, code: CodeType, line: int, why: str) -> Stays:
        source = self.old.known[id(code)].source
        return Stays(code.co_qualname, source.file.rpartition("/")[2], line, why)


class FunctionDiff:
    """What lies between two versions of one function."""

    def __init__(self, pair: Pair, renamed: dict[str, str]) -> None:
        self.pair = pair
        self.names: dict[str, str] = {}
        """Variables that go by another name."""
        self.every: dict[str, str] = {}
        """The same, and the functions that it may name."""
        if not isinstance(pair.old, ast.Lambda):
            own = bound_names(pair.old)
            others = {name: to for name, to in renamed.items() if name not in own}
            self.names = renamed_in(Pair(with_names(pair.old, others), pair.new))
            self.every = others | self.names
        self._aligned: Aligned | None = None
        self._needs: tuple[Needs, Needs] | None = None

    @property
    def aligned(self) -> Aligned:
        """Which await is which."""
        if self._aligned is None:
            self._aligned = aligned(with_names(self.pair.old, self.every), self.pair.new)
        return self._aligned

    @property
    def needs(self) -> tuple[Needs, Needs]:
        """Which variables each version needs where."""
        if self._needs is None:
            renamed = with_names(self.pair.old, self.every)
            self._needs = Needs(renamed), Needs(self.pair.new)
        return self._needs

    def place_of(self, place: Position) -> Position | None:
        """Give where the function stands now, or a comprehension of it that stood there."""
        if place == position(self.pair.old):
            return position(self.pair.new)
        return self.aligned.places.get(place)

    def site(self, old: Any, at: int, new: Any | None) -> int | str:
        """Give the number that an await has now, or why it has none."""
        stood = old.sites[at]
        place = stood.line, stood.column
        target = self.aligned.places.get(place)
        if target is None:
            return self.aligned.reasons.get(place, "the statement around it was changed")
        if new is None:
            return "what the function has become cannot be put into an image"
        nth = [each for each, site in _sites(old) if (site.line, site.column) == place].index(at)
        there = [each for each, site in _sites(new) if (site.line, site.column) == target]
        if nth >= len(there) or new.sites[there[nth]].kind != stood.kind:
            return "the statement around it was changed"
        return there[nth]

    def needed(self, stood: Any, stands: Any) -> dict[str, int]:
        """Give the variables that the new code needs from there on, and the old one did not."""
        old, new = self.needs
        before = old.after.get((stood.line, stood.column), frozenset())
        after = new.after.get((stands.line, stands.column), frozenset())
        return {name: new.line_of(name, stands.line) for name in sorted(after - before)}

    @property
    def variables(self) -> tuple[list[str], list[str]]:
        """Give the variables that were added, and those that were removed."""
        old = [self.names.get(each, each) for each in bound_names(self.pair.old)]
        new = list(bound_names(self.pair.new))
        return [n for n in new if n not in old], [n for n in old if n not in new]


def diff(old: Program, new: Program) -> Difference:
    """Give the difference of two programs."""
    return Difference(old, new)


def unit_in(code: CodeType) -> Any:
    """Give what a restorable function knows of its awaits; `None` if it is not restorable."""
    return next((each for each in code.co_consts if hasattr(each, "saved")), None)


def _sites(unit: Any) -> Iterator[tuple[int, Any]]:
    return ((at, site) for at, site in enumerate(unit.sites) if site is not None)


def _hidden(old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, str] | None:
    """Give the names that hidden locals have now: each kind stands for one construct around."""
    if [each.rstrip(_DIGITS) for each in old] != [each.rstrip(_DIGITS) for each in new]:
        return None
    return dict(zip(old, new, strict=True))


_DIGITS = "0123456789"


def _holds(node: Any, place: Position) -> bool:
    return position(node) <= place <= (node.end_lineno, node.end_col_offset)
