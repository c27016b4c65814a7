"""Programs with statements put in between, and runs that are moved to them after a fact."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from perdure.core import image
from perdure.core.facts import AnyFact
from perdure.core.moving import moved
from perdure.errors import NotNow
from perdure.lang.diff import Difference
from perdure.node.host import HOST
from perdure.testing.memory import Engine
from tests.differential.restoring import KEY

MARK = "print('mark', {})"
ONE_IN = 3
"""Of how many places one gets a statement."""


def marked(text: str, seed: int) -> str:
    """Give a program that does the same, and says in between how far it is."""
    tree = ast.parse(text)
    marks = _Marks(random.Random(seed))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            marks.function(node)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Marks:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.made = 0

    def function(self, node: Any) -> None:
        node.body = self.block(node.body)

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for each in statements:
            if self.choose.randrange(ONE_IN) == 0 and not isinstance(each, ast.Nonlocal):
                self.made += 1
                out += ast.parse(MARK.format(self.made)).body
            self.inside(each)
            out.append(each)
        return out

    def inside(self, node: Any) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return  # it has its turn
        for name in ("body", "orelse", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, self.block(getattr(node, name)))
        for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.inside(each)


class Watched:
    """What a run had said after each of its facts; and its move, if it is moved."""

    def __init__(self, difference: Difference | None = None, at: int = 0) -> None:
        self.difference = difference
        self.at = at
        self.said: dict[int, int] = {}
        self.tail = ""
        """Why the run could not be put into an image there, if it could not."""

    def fed(self, engine: Engine) -> None:
        """A fact was folded."""
        memory = engine.memory
        run = memory.run
        self.said[run.seq] = len(memory.printed)
        over = run.outcome is not None or run.broken is not None
        if self.difference is None or run.seq != self.at or over:
            return
        try:
            taken = image.take(run, KEY)
        except NotNow as why:
            self.tail = why.what
            return
        made = moved(taken, self.difference, KEY, HOST)
        image.restore(made.program, image.take(made, KEY), KEY, HOST).drop()
        made.outlines = run.outlines
        memory.run = made
        run.drop()


@contextmanager
def watching(watched: Watched) -> Iterator[None]:
    """Have the run of the next program in memory watched."""
    feed = Engine.feed

    def feed_and_watch(engine: Engine, fact: AnyFact) -> None:
        feed(engine, fact)
        try:
            watched.fed(engine)
        except Exception as error:  # noqa: BLE001 — the loop would only log it
            engine._fail(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "feed", feed_and_watch)
        yield
