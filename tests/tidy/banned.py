"""What code must not do: hidden inputs in the pure layers, dangerous doors and bad habits anywhere.

Each breach has a short name, such as `import time` or `exec()`. A table of exceptions maps
(module, breach) to a reason; an exception that nothing needs any more is a breach itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from tests.tidy.tree import Finding, Module

Exceptions = Mapping[tuple[str, str], str]

PURE = ("lang", "core")
PURE_IMPORTS = frozenset(
    {"asyncio", "random", "secrets", "socket", "subprocess", "threading", "time"}
)
PURE_CALLS = frozenset({"input", "open", "print"})
PURE_NAMES = frozenset(
    {
        "date.today",
        "datetime.now",
        "datetime.today",
        "datetime.utcnow",
        "os.environ",
        "os.getenv",
        "os.urandom",
        "uuid.uuid1",
        "uuid.uuid4",
    }
)
IMPORTS = frozenset({"_pickle", "cloudpickle", "dill", "marshal", "pickle", "shelve"})
CALLS = frozenset({"compile", "eval", "exec", "print"})
NAMES = frozenset({"inspect.getsource", "inspect.getsourcelines"})
WORDS = re.compile(r"\b(TODO|FIXME|XXX)\b")
MAKERS = frozenset({"bytearray", "defaultdict", "deque", "dict", "list", "set"})
LAST_RESORT = "with a good reason: ALLOWED in tests/test_tidy.py"
BROAD = frozenset({"BaseException", "Exception"})

Breach = tuple[str, int]
"""The name of what was done, and the line."""


def banned(modules: Sequence[Module], exceptions: Exceptions) -> list[Finding]:
    """Every breach that the table of exceptions does not allow, and every idle exception."""
    found: list[Finding] = []
    used: set[tuple[str, str]] = set()
    for module in modules:
        for what, line in breaches(module):
            key = _allowed_by(module.inner, what, exceptions)
            if key is None:
                found.append(Finding(module.path, line, f"{what} is banned here; {LAST_RESORT}"))
            else:
                used.add(key)
    present = {module.inner: module.path for module in modules}
    found += [
        Finding(present[inner], 1, f"does not need its exception for {what}: drop it")
        for inner, what in exceptions
        if inner in present and (inner, what) not in used
    ]
    return found


def _allowed_by(inner: str, what: str, exceptions: Exceptions) -> tuple[str, str] | None:
    """The exception that covers a breach: itself, or `head.*` for a whole module's names."""
    whole = (inner, what.partition(".")[0] + ".*")
    return next((key for key in ((inner, what), whole) if key in exceptions), None)


def breaches(module: Module) -> Iterator[Breach]:
    """Everything in a module that some rule bans."""
    aliases = _aliases(module.tree)
    for node in ast.walk(module.tree):
        yield from _imports(module, node)
        yield from _calls(module, node, aliases)
        yield from _names(module, node, aliases)
        yield from _habits(node)
    for number, line in enumerate(module.text.splitlines(), 1):
        for word in WORDS.findall(line):
            yield word, number


def _aliases(tree: ast.Module) -> dict[str, str]:
    """What the imported names of a module stand for, in full."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _is_pure(module: Module) -> bool:
    return module.top in PURE


def _imports(module: Module, node: ast.AST) -> Iterator[Breach]:
    match node:
        case ast.Import(names=names):
            heads = [alias.name.split(".")[0] for alias in names]
        case ast.ImportFrom(module=str(base), level=0):
            heads = [base.split(".")[0]]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _is_import_call(node):
            heads = [name.split(".")[0]]
        case _:
            return
    for head in heads:
        if head in IMPORTS or (head in PURE_IMPORTS and _is_pure(module)):
            yield f"import {head}", getattr(node, "lineno", 0)


def _is_import_call(node: ast.Call) -> bool:
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return name in {"import_module", "__import__"}


def _calls(module: Module, node: ast.AST, aliases: Mapping[str, str]) -> Iterator[Breach]:
    if not isinstance(node, ast.Call):
        return
    name = _dotted(node.func, aliases).removeprefix("builtins.")
    if name == "print" and module.top == "cli":
        return
    if name in CALLS or (name in PURE_CALLS and _is_pure(module)):
        yield f"{name}()", node.lineno
    if _is_pure(module) and name == "random.Random" and not (node.args or node.keywords):
        yield "random.Random() without a seed", node.lineno
    if name == "contextlib.suppress" and any(_is_broad(argument) for argument in node.args):
        yield "an error swallowed", node.lineno
    if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("execute"):
        yield from _formatted_sql(node)


def _formatted_sql(node: ast.Call) -> Iterator[Breach]:
    match node.args[:1]:
        case [ast.JoinedStr() | ast.BinOp()] | [ast.Call(func=ast.Attribute(attr="format"))]:
            yield "formatted SQL", node.lineno


def _names(module: Module, node: ast.AST, aliases: Mapping[str, str]) -> Iterator[Breach]:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        full = [f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Attribute):
        full = [_dotted(node, aliases)]
    else:
        return
    for name in full:
        last_two = ".".join(name.split(".")[-2:])
        line = getattr(node, "lineno", 0)
        if last_two in NAMES or (last_two in PURE_NAMES and _is_pure(module)):
            yield last_two, line
        elif _is_pure(module) and name.startswith("random.") and name != "random.Random":
            yield name, line


def _dotted(node: ast.AST, aliases: Mapping[str, str]) -> str:
    """`a.b.c` as text, its head replaced by what was imported under that name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(aliases.get(node.id, node.id))
    return ".".join(reversed(parts))


def _habits(node: ast.AST) -> Iterator[Breach]:
    if isinstance(node, ast.ExceptHandler):
        if node.type is None:
            yield "a bare except", node.lineno
        if _is_broad(node.type) and all(_does_nothing(statement) for statement in node.body):
            yield "an error swallowed", node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None and _is_mutable(default):
                yield "a mutable default argument", default.lineno


def _is_broad(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_is_broad(element) for element in node.elts)
    return node is None or getattr(node, "id", "") in BROAD


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass | ast.Continue) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _is_mutable(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in MAKERS
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(node, displays)
