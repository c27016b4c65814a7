"""A run that waits in one version of a module, and is moved to another version of it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Raw

from perdure import values
from perdure.core import bindings, image
from perdure.core.effects import Dispatch
from perdure.core.facts import Completed, Signalled, Started, Upgraded
from perdure.core.moving import upgrade
from perdure.core.run import Run
from perdure.lang.diff import diff
from perdure.lang.rebuilding import rebuild
from perdure.lang.telling import text_of
from perdure.node.host import HOST
from tests.core.deploy_child import KEY

HEAD = """
import asyncio
from dataclasses import dataclass
from perdure import action, signal, workflow

@action
async def act(name, value=0): ...

"""


class Shop:
    """A module that is deployed again and again, under one name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    def deploy(self, text: str) -> Any:
        """Put a version of the module where the one before it was; give its program."""
        return self.flow(text).program()

    def flow(self, text: str) -> Any:
        """Do the same, and give its workflow."""
        (self.folder / f"{self.name}.py").write_text(HEAD + text)
        sys.modules.pop(self.name, None)
        importlib.invalidate_caches()
        return importlib.import_module(self.name).flow


@contextmanager
def shop(folder: Path) -> Iterator[Shop]:
    name = "shop_" + "".join(each for each in str(folder) if each.isalnum())[-40:]
    sys.path.insert(0, str(folder))
    was, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield Shop(folder, name)
    finally:
        sys.dont_write_bytecode = was
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)


class Driven:
    """A run whose calls are answered with what they were asked for."""

    def __init__(self, run: Run, waiting: list[Any], asked: list[Any]) -> None:
        self.run = run
        self.waiting = waiting
        self.asked = asked

    def feed(self, fact: Any) -> None:
        for effect in self.run.apply(fact).effects:
            if isinstance(effect, Dispatch):
                self.waiting.append(effect)
                self.asked.append(json.loads(bytes(effect.args))[0])

    def answer(self) -> None:
        """Answer the oldest call: the name that it was given, in capitals."""
        call = self.waiting.pop(0)
        (name, *_) = json.loads(bytes(call.args))[0]
        raw = Raw(json.dumps(name.upper()).encode())
        self.feed(Completed(self.run.now_us + 1, call.call, call.token, raw))

    def signal(self, name: str, value: Any) -> None:
        self.feed(Signalled(self.run.now_us + 1, name, Raw(values.encode(value))))

    def ended(self) -> Any:
        """Answer everything; give the result, and all that was ever asked for."""
        while self.run.outcome is None:
            self.answer()
        return self.run.result(), [each[0] for each in self.asked]


def begun(program: Any, answers: int = 0, args: tuple[Any, ...] = ()) -> Driven:
    """Begin a run and answer some of its calls."""
    driven = Driven(Run(program, HOST), [], [])
    raw = Raw(values.encode([list(args)]))
    driven.feed(Started(1_000_000, program.hash, raw, 7))
    for _ in range(answers):
        driven.answer()
    return driven


def moved(driven: Driven, new: Any, *, elsewhere: Any = None) -> Driven:
    """Move a run; `elsewhere` is the text of its program, as another process has it."""
    old = driven.run.program if elsewhere is None else rebuild(elsewhere, bindings)
    taken = image.take(driven.run, KEY)
    fact = Upgraded(driven.run.now_us + 1, new.hash, old.hash, driven.run.seq + 1, "ann")
    run, row, made = upgrade(taken, diff(old, new), fact, KEY, HOST)
    assert row.seq == run.seq == driven.run.seq + 1
    again = image.restore(new, made, KEY, HOST)
    run.drop()
    return Driven(again, list(driven.waiting), list(driven.asked))


def deployed_over(
    made: Shop, before: str, after: str, answers: int = 0, args: tuple[Any, ...] = ()
) -> Driven:
    """Begin a run on one version, deploy another, and move it there."""
    program = made.deploy(before)
    driven = begun(program, answers, args)
    text = text_of(program)
    try:
        return moved(driven, made.deploy(after), elsewhere=text)
    finally:
        driven.run.drop()
