"""Poisonous actions: each run has an outcome that says what it was, and all others go on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from perdure import Perdure
from tests.real.poison import become, engine
from tests.real.poisons import CHANGES, LOST, POISONS, innocent

LATEST_S = 100
KILLS = {name for name, kinds in POISONS.items() if LOST in kinds.values()} | {"stop_loop"}
"""What ends the process that it is taken in."""


def taken(folder: Path, *rounds: list[str]) -> tuple[dict[str, str], int, int]:
    """Have poisons taken at once; give outcomes, deaths, and how many innocent runs ended."""

    async def main() -> tuple[dict[str, str], int, int]:
        file = folder / "runs.db"
        async with engine(folder) as made, Perdure(file, serve=False) as client:
            outcomes: dict[str, str] = {}
            for names in rounds:
                outcomes |= await become(client, names, LATEST_S)
            after = await client.start(innocent, id="after")
            assert await after.result(LATEST_S) == ["loop", "thread"]
            ended = await client.list(status="completed", limit=10_000)
            assert not await client.list(status=["failed", "stopped"], workflow=innocent.name)
            return outcomes, made.deaths, len(ended)

    outcomes = asyncio.run(main())
    with closing(sqlite3.connect(folder / "runs.db")) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    return outcomes


def named(poisons: Iterable[str]) -> list[str]:
    """Name each poison for each kind of worker."""
    return [f"{each}_{kind}" for each in sorted(poisons) for kind in POISONS[each]]


def expected(names: Iterable[str]) -> dict[str, str]:
    """Say what the table says."""
    split = {name: name.rpartition("_") for name in names}
    return {name: POISONS[poison][kind] for name, (poison, _, kind) in split.items()}


@pytest.mark.slow
def test_poison_that_leaves_its_process_alive_harms_its_own_run_alone(tmp_path: Path) -> None:
    first, last = named(POISONS.keys() - KILLS - CHANGES), named(CHANGES)
    outcomes, deaths, ended = taken(tmp_path, first, last)
    assert outcomes == expected([*first, *last])
    assert deaths == 0
    assert ended > 10


@pytest.mark.slow
def test_poison_that_kills_its_process_is_convicted_and_nobody_else_is(tmp_path: Path) -> None:
    names = named(KILLS)
    outcomes, deaths, ended = taken(tmp_path, names)
    assert outcomes == expected(names)
    assert 3 <= deaths <= 12
    assert ended > 10
