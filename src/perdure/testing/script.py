"""What the world answers in a test: values, errors, losses, each after so much virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perdure.core.effects import Dispatch, arguments_of
from perdure.core.policy import Seconds, microseconds
from perdure.errors import NotAWorkflow
from perdure.registry import names


class Answer(msgspec.Struct, frozen=True):
    """How one attempt of a call ends."""

    after_us: int
    value: Any = None
    error: BaseException | None = None
    lost: bool = False


def returns(value: Any = None, after: Seconds = 0) -> Answer:
    """The attempt returns `value`."""
    return Answer(microseconds(after, "after"), value=value)


def raises(error: BaseException | type[BaseException], after: Seconds = 0) -> Answer:
    """The attempt raises `error`."""
    raised = error() if isinstance(error, type) else error
    return Answer(microseconds(after, "after"), error=raised)


def loses(after: Seconds = 0) -> Answer:
    """The process that makes the attempt dies."""
    return Answer(microseconds(after, "after"), lost=True)


Scripted = Answer | Sequence[Any] | Callable[..., Any] | Any
"""An answer; a list of them, one for each attempt, the last for all that follow; a function
of the arguments that gives one; or a plain value, which is returned."""


class Script:
    """The answers of a test, by action."""

    def __init__(self, given: Mapping[Any, Scripted] | None) -> None:
        self.entries: dict[str, Scripted] = {
            _name(key): value for key, value in (given or {}).items()
        }
        self.turns: dict[str, Iterator[Any]] = {}
        self.unused = set(self.entries)

    def answer(self, dispatch: Dispatch) -> Answer | None:
        """Give the answer to a dispatch; `None`: the action has to be run."""
        key = dispatch.target
        if key not in self.entries:
            key = dispatch.target.rpartition(":")[2]
        if key not in self.entries:
            return None
        self.unused.discard(key)
        entry: Any = self.entries[key]
        if issubclass(type(entry), list):
            entry = self._turn(dispatch.target, entry)
        if callable(entry) and not isinstance(entry, Answer):
            args, kwargs = arguments_of(dispatch.args)
            entry = entry(*args, **kwargs)
        return entry if isinstance(entry, Answer) else returns(entry)

    def check(self) -> None:
        """Refuse a name that no action has: a slip of the pen would run the real body."""
        known = {name for _, name in names()} | {name.rpartition(":")[2] for _, name in names()}
        for name in self.unused - known:
            raise NotAWorkflow(
                f"the script answers `{name}`, and no action or workflow has that name",
                remedy="give the action itself, or its name as `module:name`",
            )

    def _turn(self, name: str, entries: list[Any]) -> Any:
        turns = self.turns.setdefault(name, iter(entries))
        return next(turns, entries[-1])


def _name(key: Any) -> str:
    return key if isinstance(key, str) else str(key.name)
