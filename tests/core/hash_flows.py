"""A workflow that reaches one global of every kind; tests replace them, and look at its hash."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perdure import action, workflow

ON = True
OFF = False
VALUE: Any = None


class Mode(enum.Enum):
    FAST = 1
    SAFE = 2


@dataclass(frozen=True)
class Rate:
    percent: int


@dataclass
class Account:
    name: str

    def greet(self) -> str:
        return f"hello {self.name}"

    def leave(self) -> str:
        return f"bye {self.name}"


@dataclass
class Shop:
    name: str


@action
async def act(value: Any = None) -> Any:
    return value


@action(name="tests.core.hash_flows:act", timeout=5)
async def hurried(value: Any = None) -> Any:
    return value


def one(left: int = 1, *, right: int = 2) -> int:
    return left + right


def other(left: int = 1, *, right: int = 2) -> int:
    return left - right


def swapped(left: int = 2, *, right: int = 1) -> int:
    return left + right


def adder(number: int) -> Callable[[int], int]:
    def add(other: int) -> int:
        return number + other

    return add


@workflow
async def looks() -> Any:
    return [ON, OFF, VALUE.price, VALUE.half]
