"""Workflows with an impurity that no check can see: each shows in the second fact."""

from __future__ import annotations

import time
import uuid
import zoneinfo
from dataclasses import dataclass, field
from typing import Any

from perdure import action, workflow

PLACES = dict.fromkeys(["pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"], 1)


@dataclass
class Order:
    item: str
    number: uuid.UUID = field(default_factory=uuid.uuid4)


class Watch:
    def shows(self) -> float:
        return time.time()


class Basket:
    def names(self) -> list[str]:
        return list({"pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"})


@action
async def act(value: Any = None) -> Any:
    return value


@workflow
async def fresh_ids() -> None:
    await act("pure")
    await act(Order("pear"))


@workflow
async def library_sets() -> None:
    await act("pure")
    await act(list(zoneinfo.available_timezones())[:5])


@workflow
async def sets_of_methods() -> None:
    await act("pure")
    await act(Basket().names())


@workflow
async def sets_of_views() -> None:
    await act("pure")
    await act(list(PLACES.keys() & dict.fromkeys(PLACES, 2).keys()))


@workflow
async def clocks_of_classes() -> None:
    await act("pure")
    await act(Watch().shows())
