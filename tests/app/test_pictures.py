"""What a handle shows of a run: from the log of a store, here or elsewhere, live and afterwards."""

from __future__ import annotations

import asyncio
import os

import pytest

from perdure import Options, Perdure
from perdure.core.facts import Retried
from tests.app import flows
from tests.core.moving_kit import shop


def in_engine(path, test):
    async def main():
        options = Options(drain_s=0.05)
        async with asyncio.timeout(20), Perdure(path / "runs.db", options=options) as app:
            return await test(app)

    return asyncio.run(main())


def statuses(picture, kind):
    return [each.status for each in picture.nodes if each.kind == kind]


def test_pictures_follow_a_run_to_its_end(tmp_path, world):
    async def test(app):
        world.held["b"] = asyncio.Event()
        handle = await app.start(flows.straight, "a", "b", id="a")
        seen = []
        async for picture in handle.pictures():
            seen.append((picture.seq, picture.status, statuses(picture, "action")[0]))
            if picture.seq == 2:
                world.held["b"].set()
        return seen

    seen = in_engine(tmp_path, test)
    assert seen[-1] == (3, "completed", "completed")
    assert (2, "running", "running") in seen


def test_a_picture_of_what_was(tmp_path, world):
    async def test(app):
        handle = await app.start(flows.straight, "a", "b", id="a")
        await handle.result()
        early, late = await handle.picture(1), await handle.picture()
        assert (early.seq, early.status, statuses(early, "output")) == (1, "running", ["pending"])
        assert (late.seq, late.status, statuses(late, "output")) == (3, "completed", ["completed"])

    in_engine(tmp_path, test)


def test_a_failed_run_names_what_led_to_it_and_a_retry_takes_it_back(tmp_path, world):
    async def test(app):
        world.broken.add("ship")
        handle = await app.start(flows.with_cleanup, "ship", id="a")
        with pytest.raises(RuntimeError):
            await handle.result()
        failed = await handle.picture()
        assert failed.trouble is not None
        assert failed.trouble.cause is not None
        assert (failed.trouble.kind, failed.trouble.cause.kind) == (
            "RuntimeError", "ConnectionError",
        )  # fmt: skip
        assert failed.trouble.cause.place.file.endswith("flows.py")
        world.broken.clear()
        await handle.retry()
        await handle.result()
        mended = await handle.picture()
        assert any(isinstance(row.fact, Retried) for row in await handle.facts())
        assert (mended.status, mended.why, mended.trouble) == ("completed", "", None)
        assert "failed" not in {each.status for each in mended.nodes}

    in_engine(tmp_path, test)


def test_a_client_draws_the_run_of_another_process(tmp_path, world):
    """From the text in the store: the program is not asked of the modules of this process."""

    async def test(app):
        handle = await app.start(flows.straight, "a", id="a")
        await handle.result()
        async with Perdure(tmp_path / "runs.db", serve=False) as client:
            theirs = await (await client.get("a")).picture()
        assert theirs == await handle.picture()

    in_engine(tmp_path, test)


BEFORE = """
@action
async def twice(value):
    return value * 2

@workflow
async def flow(first):
    begun = await twice(first)
    many = asyncio.gather(twice(1), signal("go", int))
    got = await many
    return ["old", begun, got]
"""
AFTER = BEFORE.replace(
    'return ["old", begun, got]', 'more = await twice(got[1])\n    return ["new", begun, more]'
)


def test_a_run_that_moved_to_other_code_keeps_what_was_counted(tmp_path):
    async def test(app, made):
        handle = await app.start(made.flow(BEFORE), 1, id="a")
        async for row in handle.watch():
            if row.seq >= 3:
                break
        before = await handle.picture()
        made.deploy(AFTER)
        await handle.upgrade()
        moved = await handle.picture()
        await handle.signal("go", 7)
        assert await handle.result() == ["new", 2, 14]
        after = await handle.picture()
        assert [each.why for each in (before, moved, after)] == [""] * 3
        assert labels(moved) == [*labels(before)[:-1], "more = twice(got[1])", labels(after)[-1]]
        told = [(each.label, each.status) for each in moved.nodes if each.kind != "output"]
        assert told[: len(before.nodes) - 1] == [
            (each.label, each.status) for each in before.nodes if each.kind != "output"
        ]
        assert [each.begun for each in moved.nodes][:-2] == [each.begun for each in before.nodes][
            :-1
        ]
        assert {each.status for each in after.nodes} == {"completed"}
        assert sum(each.done for each in after.nodes if "twice(first)" in each.label) == 1

    with shop(tmp_path / "code") as made:
        made.folder.mkdir()
        in_engine(tmp_path, lambda app: test(app, made))


def labels(picture):
    return [each.label for each in picture.nodes]


def test_of_a_run_whose_facts_were_pruned_the_end_is_left(tmp_path, world):
    async def test(app):
        world.broken.add("a")
        handle = await app.start(flows.straight, "a", id="a")
        with pytest.raises(ConnectionError):
            await handle.result()
        await asyncio.sleep(0.01)
        assert await app.prune("1ms") == 1
        shown = await handle.picture()
        assert (shown.status, shown.nodes) == ("failed", [])
        assert "prune" in shown.why
        assert shown.trouble is not None

    in_engine(tmp_path, test)


def test_a_run_that_has_not_begun_has_a_picture_and_then_a_better_one(tmp_path, world):
    async def test(app):
        async with Perdure(tmp_path / "other.db", serve=False) as client:
            handle = await client.start(flows.straight, "a", id="a")
            first = await handle.picture()
            assert (first.status, first.nodes, first.why) == ("pending", [], "")
            following = asyncio.create_task(_all(handle))
            async with Perdure(tmp_path / "other.db", options=Options(drain_s=0.05)):
                seen = await following
        assert (seen[0].status, seen[-1].status) == ("pending", "completed")
        assert statuses(seen[-1], "action") == ["completed"]

    in_engine(tmp_path, test)


async def _all(handle):
    return [picture async for picture in handle.pictures()]


def test_who_follows_a_run_sees_who_carries_it_out_and_that_nobody_does(tmp_path, world):
    async def test(app):
        world.held["a"] = asyncio.Event()
        handle = await app.start(flows.straight, "a", id="a")
        async with Perdure(tmp_path / "runs.db", serve=False) as client:
            pictures = (await client.get("a")).pictures()
            seen = await anext(pictures)
            assert seen.holder == f"process {os.getpid()}"
            await app.close()
            while not seen.holder.startswith("nobody"):
                seen = await anext(pictures)
            assert seen.status == "running"
            await pictures.aclose()
        assert handle.id == "a"

    in_engine(tmp_path, test)
