"""Runs that sleep outside of the memory are woken, however many are due at once."""

from __future__ import annotations

import asyncio
import time

from perdure import Call, Options, Perdure
from perdure.bench import flows

MANY = 2_500
"""More than the alarms that are kept unasked."""


async def slept(path):
    options = Options(residents_max=10, idle_s=0.2)
    async with Perdure(path / "runs.db", options=options) as app:
        due_s = time.time() + 3
        calls = [Call(flows.sleeps_of, (due_s + at / MANY,)) for at in range(MANY)]
        runs = [
            run for at in range(0, MANY, 500) for run in await app.start_many(calls[at : at + 500])
        ]
        return [await run.result("60s") for run in runs]


def test_none_of_many_that_are_due_within_a_second_is_forgotten(tmp_path):
    assert len(asyncio.run(slept(tmp_path))) == MANY
