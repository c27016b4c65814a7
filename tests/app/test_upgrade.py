"""A waiting run moves to other code in one fact, or is refused and goes on as it was."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from perdure import Options, Perdure
from perdure.core.facts import Lost, Retried, Started, Stopped, Upgraded
from perdure.core.run import Run
from perdure.errors import NotUpgraded, RunOver, RunStopped
from tests.app.upgrade_gate import Gate
from tests.core.moving_kit import shop

V1 = """
@action
async def twice(value):
    return value * 2

@action(retry=1)
async def fails(value):
    raise ValueError(value)

async def wait(name):
    got = await signal(name, int)
    return got

@workflow
async def flow(first):
    begun = await twice(first)
    got = await wait("go")
    return ["old", begun, got]
"""
V2 = V1.replace(
    'return ["old", begun, got]', 'more = await twice(got)\n    return ["new", begun, more]'
)
V3 = V1.replace("got = await signal(name, int)", "got = 5")
FAILS = V1.replace('return ["old"', 'await fails(got)\n    return ["new"')


@pytest.fixture
def made(tmp_path):
    with shop(tmp_path / "code") as it:
        it.folder.mkdir()
        yield it


@pytest.fixture(params=["file", "memory"])
def place(request, tmp_path):
    return tmp_path / "runs.db" if request.param == "file" else ":memory:"


def in_engine(place, test, **more):
    async def main():
        options = Options(drain_s=0.05, **more)
        async with asyncio.timeout(30), Perdure(place, options=options) as app:
            return await test(app)

    return asyncio.run(main())


async def so_many_facts(handle, number):
    async for row in handle.watch():
        if row.seq >= number:
            return


async def waiting(app, made, text=V1):
    handle = await app.start(made.flow(text), 1, id="a")
    await so_many_facts(handle, 2)
    return handle


def test_a_waiting_run_goes_on_with_the_new_code(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V2)
        await handle.upgrade(actor="ann")
        await handle.signal("go", 7)
        assert await handle.result() == ["new", 2, 14]
        return await handle.facts()

    facts = in_engine(place, test)
    moved = next(row.fact for row in facts if isinstance(row.fact, Upgraded))
    started = facts[0].fact
    assert isinstance(started, Started)
    assert (moved.seq, moved.actor, moved.before) == (3, "ann", started.program)
    assert moved.program != started.program


def test_a_run_that_cannot_be_moved_goes_on_as_it_was_and_says_why(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V3)
        with pytest.raises(NotUpgraded, match=r"`wait` at .*`got = await signal\(name, int\)`"):
            await handle.upgrade()
        info = await handle.info()
        assert (info.status, info.facts) == ("running", 2)
        assert info.error is not None
        assert "E314" in info.error
        await handle.signal("go", 7)
        assert await handle.result() == ["old", 2, 7]
        assert not [row for row in await handle.facts() if isinstance(row.fact, Upgraded)]

    in_engine(place, test)


def test_an_upgrade_can_be_rehearsed_and_nothing_happens(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V3)
        found = await handle.rehearse_upgrade()
        assert not found.moves
        assert "`got = await signal(name, int)` is not in the new code" in found.why
        made.deploy(V2)
        found = await handle.rehearse_upgrade()
        assert (found.moves, found.why) == (True, "")
        assert "variable more is new" in found.difference
        await handle.signal("go", 7)
        assert await handle.result() == ["old", 2, 7]
        with pytest.raises(RunOver):
            await handle.rehearse_upgrade()

    in_engine(place, test)


def test_a_refusal_is_told_when_the_run_has_left_the_memory(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V3)
        for _ in range(3):
            with pytest.raises(NotUpgraded):
                await handle.upgrade()
            await asyncio.sleep(0)
        assert "E314" in (await handle.info()).error

    in_engine(place, test, residents_max=0, idle_s=0.0)


def test_asking_twice_is_moved_twice_and_once_it_is_over_refused(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V2)
        await handle.upgrade()
        await handle.upgrade()
        await handle.signal("go", 1)
        assert await handle.result() == ["new", 2, 2]
        with pytest.raises(RunOver):
            await handle.upgrade()

    in_engine(place, test)


def test_a_run_can_be_looked_at_on_both_sides(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(V2)
        await handle.upgrade()
        await handle.signal("go", 7)
        await handle.result()
        found = {}
        for seq in (1, 2, 3, 4):
            (task,) = (await handle.at(seq)).tasks
            found[seq] = [each.function for each in task.frames]
            found[-seq] = task.frames[0].variables
        return found

    found = in_engine(place, test)
    assert [found[seq] for seq in (1, 2, 3, 4)] == [
        ["flow"],
        ["flow", "wait"],
        ["flow", "wait"],
        ["flow"],
    ]
    assert found[-2] == found[-3] == {"first": 1, "begun": 2}
    assert found[-4] == {"first": 1, "begun": 2, "got": 7}


def test_a_run_that_fails_after_it_was_moved_goes_on_from_the_await_that_failed(made, place):
    async def test(app):
        handle = await waiting(app, made)
        made.deploy(FAILS)
        await handle.upgrade()
        await handle.signal("go", 7)
        with pytest.raises(ValueError, match="7"):
            await handle.result()
        await handle.retry()
        with pytest.raises(ValueError, match="7"):
            await handle.result()
        return await handle.facts()

    facts = in_engine(place, test)
    (retried,) = [row.fact for row in facts if isinstance(row.fact, Retried)]
    assert (retried.back_to, retried.call) == (4, 2)


WORKING = """
from tests.app.upgrade_gate import Gate

@action
async def held(value):
    return await Gate.here.passed(value)

@workflow
async def child(value):
    return await signal("child", int) + value

@workflow
async def flow():
    task = asyncio.create_task(child(1))
    sleeping = asyncio.create_task(asyncio.sleep(0.05, "slept"))
    got = await held("x")
    return ["old", got, await task, await sleeping]
"""


def test_what_is_under_way_stays_under_way(made, place):
    async def test(app):
        gate = Gate.here = Gate()
        handle = await app.start(made.flow(WORKING), id="a")
        await gate.entered.wait()
        made.deploy(WORKING.replace('return ["old"', 'again = await held("y")\n    return [again'))
        await handle.upgrade()
        gate.open.set()
        await (await app.get("a/2")).signal("child", 5)
        assert await handle.result() == ["Y", "X", 6, "slept"]
        assert gate.values == ["x", "y"]
        assert not [row for row in await handle.facts() if isinstance(row.fact, Lost)]

    in_engine(place, test)


CLEANUP = V1.replace(
    '    return ["old", begun, got]',
    '    try:\n        await wait("more")\n'
    '    finally:\n        await wait("end")\n    return ["old"]',
)


def test_a_retry_may_go_back_to_the_code_of_before(made, tmp_path):
    async def goes_back(app):
        handle = await waiting(app, made, CLEANUP)
        await handle.signal("go", 1)
        await so_many_facts(handle, 3)
        await handle.cancel()
        await so_many_facts(handle, 4)
        made.deploy(CLEANUP.replace("old", "new"))
        await handle.upgrade()
        await handle.signal("end", 1)
        with pytest.raises(asyncio.CancelledError):
            await handle.result()
        await handle.retry()
        await so_many_facts(handle, 8)  # the signal that had come is there again

    async def ends(app):
        handle = await app.get("a")
        await handle.signal("more", 2)
        return await handle.result()

    in_engine(tmp_path / "runs.db", goes_back)
    assert in_engine(tmp_path / "runs.db", ends) == ["old"]


def test_the_row_of_a_move_has_the_run_however_large_it_is(made, tmp_path):
    large = V1.replace("begun = await", "kept = list(range(5_000))\n    begun = await")

    async def moves(app):
        await waiting(app, made, large)
        made.deploy(large.replace('["old"', '["new", len(kept)'))
        await (await app.get("a")).upgrade()

    async def ends(app):
        handle = await app.get("a")
        await handle.signal("go", 7)
        return await handle.result()

    in_engine(tmp_path / "runs.db", moves)
    with sqlite3.connect(tmp_path / "runs.db") as file:
        found = file.execute("select seq, length(image) > 5000 from facts order by seq").fetchall()
    file.close()
    assert found == [(1, 1), (2, None), (3, 1)]
    assert in_engine(tmp_path / "runs.db", ends) == ["new", 5_000, 2, 7]


def test_a_moved_run_comes_back_after_a_restart(made, tmp_path):
    place = tmp_path / "runs.db"

    async def moves(app):
        handle = await waiting(app, made)
        made.deploy(V2)
        await handle.upgrade()

    async def ends(app):
        handle = await app.get("a")
        await handle.signal("go", 7)
        return await handle.result()

    in_engine(place, moves)
    made.deploy(V1)  # it stays on the code that it was moved to
    assert in_engine(place, ends) == ["new", 2, 14]


@pytest.mark.parametrize("image", ["lost", "bad"])
def test_a_moved_run_without_its_image_stops_visibly(made, tmp_path, image):
    place = tmp_path / "runs.db"

    async def moves(app):
        handle = await waiting(app, made)
        made.deploy(V2)
        await handle.upgrade()

    async def stops(app):
        handle = await app.get("a")
        await handle.signal("go", 7)
        with pytest.raises(RunStopped, match="was moved to other code in row 3"):
            await handle.result()
        assert isinstance((await handle.facts())[-1].fact, Stopped)

    in_engine(place, moves)
    with sqlite3.connect(place) as file:
        spoiled = None if image == "lost" else b"x" * 40
        assert file.execute("update facts set image = ? where seq = 3", (spoiled,)).rowcount == 1
    file.close()
    in_engine(place, stops)


class Broken(Exception):
    """Of the engine."""


def test_a_stopped_run_is_moved_and_goes_on_with_what_had_come(made, place, monkeypatch):
    def breaks(run, fact):
        run.broken = Broken("the engine failed")
        raise run.broken

    async def test(app):
        handle = await waiting(app, made)
        with monkeypatch.context() as broken:
            broken.setattr(Run, "_fold", breaks)
            await handle.signal("go", 7)
            with pytest.raises(RunStopped, match="the engine failed"):
                await handle.result()
        made.deploy(V3)
        with pytest.raises(NotUpgraded, match="`wait` at "):
            await handle.upgrade()
        made.deploy(V2)
        await handle.upgrade()
        assert await handle.result() == ["new", 2, 14]

    in_engine(place, test)
