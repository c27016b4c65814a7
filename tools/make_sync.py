"""Write src/perdure/sync.py from the engine and its handles, for code without an event loop.

    python tools/make_sync.py            write it
    python tools/make_sync.py --check    say whether it is what it would be written as

Every public method of `Perdure` and `Handle` gets a twin with the same signature and docstring;
nothing is typed twice.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "perdure"
TARGET = SOURCE / "sync.py"

HEAD = '''"""The engine for code without an event loop: the same methods, each waits for its answer.

Written by tools/make_sync.py from app.py and client.py; do not change it by hand.
"""

from __future__ import annotations

import builtins
import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from perdure import app as _app
from perdure import client as _client
from perdure.app import Call
from perdure.client import Moment, RunInfo
from perdure.core.facts import Row
from perdure.core.picture import Picture
from perdure.core.policy import Seconds
from perdure.node.options import Options
from perdure.node.rehearsing import Rehearsal
from perdure.portal import Portal
from perdure.store.port import Report
from perdure.workflows import Workflow

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Handle(Generic[R_co]):
    """{handle}"""

    def __init__(self, portal: Portal, handle: _client.Handle[R_co]) -> None:
        self._portal = portal
        self._handle = handle
        self.id = handle.id
        self.rid = handle.rid

    def __repr__(self) -> str:
        return f"<run {{self.id}}>"

{handle_methods}

class Perdure:
    """{app}"""

    def __init__(
{init_arguments}
    ) -> None:
        self._portal = Portal()
        self._app = _app.Perdure({init_passed})

    def __repr__(self) -> str:
        return repr(self._app)

    def __enter__(self) -> Self:
        self._portal.open()
        try:
            self._portal.run(self._app.__aenter__())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let what is under way come to an end for a while, and hand the runs over."""
        try:
            self._portal.run(self._app.close())
        finally:
            self._portal.close()

{app_methods}
'''

LEFT_OUT = {"close", "leave", "changes", "store"}


def main(arguments: list[str]) -> int:
    """Write the twin, or compare."""
    text = _formatted(_text())
    if "--check" in arguments:
        return 0 if TARGET.read_text() == text else 1
    TARGET.write_text(text)
    return 0


def _text() -> str:
    app = _class(SOURCE / "app.py", "Perdure")
    handle = _class(SOURCE / "client.py", "Handle")
    init = next(each for each in app.body if getattr(each, "name", "") == "__init__")
    assert isinstance(init, ast.FunctionDef)
    return HEAD.format(
        handle=ast.get_docstring(handle),
        app=(ast.get_docstring(app) or "").replace("async with", "with"),
        handle_methods=_methods(handle, "_handle"),
        app_methods=_methods(app, "_app"),
        init_arguments=f"        {ast.unparse(init.args)}",
        init_passed=_passed(init.args),
    )


def _class(path: Path, name: str) -> ast.ClassDef:
    tree = ast.parse(path.read_text())
    return next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)


def _methods(cls: ast.ClassDef, inner: str) -> str:
    found: list[str] = []
    for each in cls.body:
        if isinstance(each, ast.AsyncFunctionDef) and _is_public(each.name):
            found += [_method(each, inner), ""]
    return "\n".join(found)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in LEFT_OUT


def _method(method: ast.AsyncFunctionDef, inner: str) -> str:
    is_overload = any(getattr(each, "id", "") == "overload" for each in method.decorator_list)
    told = ast.unparse(method.returns) if method.returns is not None else "None"
    is_iterator = told.startswith("AsyncIterator")
    told = told.replace("AsyncIterator", "Iterator").replace("list[", "builtins.list[")
    head = f"    def {method.name}({ast.unparse(method.args)}) -> {told}:"
    if is_overload:
        return f"    @overload\n{head} ..."
    call = f"self.{inner}.{method.name}({_passed(method.args)})"
    value = f"self._portal.{'iterate' if is_iterator else 'run'}({call})"
    if "Handle" in told:
        made = "Handle(self._portal, each)"
        value = (
            f"[{made} for each in {value}]"
            if told.startswith("builtins.list")
            else made.replace("each", value)
        )
    doc = ast.get_docstring(method, clean=False) or ""
    back = "" if told == "None" else "return "
    return f'{head}\n        """{doc}"""\n        {back}{value}'


def _passed(arguments: ast.arguments) -> str:
    plain = [each.arg for each in (*arguments.posonlyargs, *arguments.args)][1:]
    spread = [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    named = [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    words = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return ", ".join([*plain, *spread, *named, *words])


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", str(TARGET), "-"]
    for command in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        done = subprocess.run(
            [*ruff, *command, *name], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
