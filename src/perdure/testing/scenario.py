"""Given, when, then: one run, driven fact by fact, and what each fact causes.

given(fulfil, order).then(calls("charge", order))
    .when(completes("charge", "paid")).then(calls("ship", 1), calls("ship", 2))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from perdure import values
from perdure.core.effects import Arm, Disarm, Dispatch, Finished, Revoke, Say, arguments_of
from perdure.core.facts import AnyFact, Cancelled, Completed, Failed, Fired, Lost, Signalled
from perdure.core.policy import Seconds, microseconds
from perdure.core.run import Run
from perdure.errors import WrongFact
from perdure.testing.memory import START_US, MemoryRun, started
from perdure.workflows import Workflow

Stimulus = Callable[["Scenario"], AnyFact]
Expected = tuple[Any, ...]


class Scenario:
    """A run that a test drives by hand."""

    def __init__(
        self, workflow: Workflow[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.memory = MemoryRun(workflow)
        self.now_us = START_US
        self.caused: list[Expected] = []
        self._apply(started(self.memory, args, kwargs))

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.memory.run

    def when(self, *stimuli: Stimulus) -> Scenario:
        """Let things happen, in this order."""
        self.caused = []
        for stimulus in stimuli:
            self._apply(stimulus(self))
        return self

    def then(self, *expected: Expected) -> Scenario:
        """Hold what was caused since the last `when` against what is expected, in order."""
        assert self.caused == list(expected), (
            f"\n  expected: {_lines(expected)}\n  caused:   {_lines(self.caused)}"
        )
        return self

    def _apply(self, fact: AnyFact) -> None:
        applied = self.run.apply(fact)
        self.memory.keep(applied.row, applied.effects)
        self.caused += [
            seen for effect in applied.effects if (seen := self._seen(effect)) is not None
        ]

    def _seen(self, effect: Any) -> Expected | None:
        return _SEEN[type(effect)](self, effect)

    def open_call(self, action: Any) -> tuple[int, int]:
        """Give number and token of the oldest open call of an action."""
        name = _short(action if isinstance(action, str) else str(action.name))
        for call in self.run.calls.values():
            if _short(call.target.name) == name:
                return call.call, call.token
        raise WrongFact(
            f"the run waits for no call of `{name}`", remedy=f"it waits for {self._waits()}"
        )

    def _waits(self) -> str:
        return ", ".join(_short(call.target.name) for call in self.run.calls.values()) or "nothing"


def given(workflow: Workflow[Any, Any], *args: Any, **kwargs: Any) -> Scenario:
    """Start a run that the test drives."""
    return Scenario(workflow, args, kwargs)


# --- what can happen


def completes(action: Any, value: Any = None) -> Stimulus:
    """The oldest open call of `action` returns `value`."""
    raw = Raw(values.encode(value, "value"))
    return lambda scenario: Completed(scenario.now_us, *scenario.open_call(action), raw)


def fails(action: Any, error: BaseException) -> Stimulus:
    """An attempt of the oldest open call of `action` raises `error`."""
    raw = Raw(values.encode_error(error))
    return lambda scenario: Failed(scenario.now_us, *scenario.open_call(action), raw)


def is_lost(action: Any) -> Stimulus:
    """The process that makes the oldest open call of `action` dies."""
    return lambda scenario: Lost(scenario.now_us, *scenario.open_call(action))


def fires() -> Stimulus:
    """Time passes until the next timer is due."""

    def stimulus(scenario: Scenario) -> AnyFact:
        due_us = scenario.run.timers.next_due_us()
        if due_us is None:
            raise WrongFact("the run waits for no timer")
        scenario.now_us = max(scenario.now_us, due_us)
        return Fired(scenario.now_us, min(scenario.run.timers.armed.values(), key=_due).number)

    return stimulus


def passes(seconds: Seconds, then: Stimulus) -> Stimulus:
    """Something happens after so much time."""

    def stimulus(scenario: Scenario) -> AnyFact:
        scenario.now_us += microseconds(seconds)
        return then(scenario)

    return stimulus


def arrives(signal: str, value: Any = None, *, key: str | None = None) -> Stimulus:
    """A signal arrives."""
    raw = Raw(values.encode(value, f"signal {signal}"))
    return lambda scenario: Signalled(scenario.now_us, signal, raw, key)


def is_cancelled(reason: str = "") -> Stimulus:
    """Somebody cancels the run."""
    return lambda scenario: Cancelled(scenario.now_us, reason)


def _due(timer: Any) -> tuple[int, int]:
    return timer.due_us, timer.number


# --- what can be expected


def calls(action: Any, *args: Any, **kwargs: Any) -> Expected:
    """An attempt of a call of `action` is dispatched."""
    return ("calls", _short(action if isinstance(action, str) else str(action.name)), args, kwargs)


def waits(seconds: Seconds) -> Expected:
    """A timer is armed."""
    return ("waits", microseconds(seconds) / 1_000_000)


def stops_waiting() -> Expected:
    """A timer is no longer wanted."""
    return ("stops waiting",)


def revokes() -> Expected:
    """The holder of a call is told that nobody waits any more."""
    return ("revokes",)


def says(text: str) -> Expected:
    """A line is printed or logged."""
    return ("says", text)


def ends(value: Any = None) -> Expected:
    """The run completes."""
    return ("completed", value)


def ends_with(error: type[BaseException], status: str = "failed") -> Expected:
    """The run ends with an error of this class."""
    return (status, error)


def _dispatched(_: Scenario, effect: Dispatch) -> Expected:
    args, kwargs = arguments_of(effect.args)
    return ("calls", _short(effect.target), tuple(args), kwargs)


def _finished(_: Scenario, effect: Finished) -> Expected:
    if effect.status == "completed":
        return (effect.status, values.decode(bytes(effect.value)))
    return (effect.status, type(values.decode_error(bytes(effect.value))))


_SEEN: dict[type[Any], Callable[[Scenario, Any], Expected | None]] = {
    Dispatch: _dispatched,
    Revoke: lambda _, __: ("revokes",),
    Arm: lambda scenario, effect: ("waits", (effect.due_us - scenario.run.now_us) / 1_000_000),
    Disarm: lambda _, __: ("stops waiting",),
    Say: lambda _, effect: ("says", effect.text),
    Finished: _finished,
}


def _short(name: str) -> str:
    return name.rpartition(":")[2]


def _lines(seen: Any) -> str:
    return "".join(f"\n    {each}" for each in seen) or "nothing"
