"""A signal that was accepted is taken once, in its order, whoever owns the run by then."""

from __future__ import annotations

import asyncio

import pytest

from perdure.errors import RunOver, WrongType
from tests.app import flows
from tests.app.kit import crash, facts_of, fails, in_loop, on, reaches, until


def test_signals_are_taken_in_the_order_in_which_they_were_sent(place, world):
    async def test(app):
        handle = await app.start(flows.collects, 50)
        for number in range(50):
            await handle.signal("item", number)
        assert await handle.result() == list(range(50))

    on(place, test)


def test_a_signal_of_another_type_is_an_error_of_the_workflow(place, world):
    async def test(app):
        handle = await app.start(flows.typed_signal, "yes")
        await handle.signal("yes", "perhaps")
        await fails(handle, WrongType, "signal `yes`")
        other = await app.start(flows.typed_signal, "yes")
        await other.signal("yes", True)
        assert await other.result() is True

    on(place, test)


def test_signals_that_nobody_asks_for_wait(place, world, hold):
    async def test(app):
        let_go = hold("a")
        handle = await app.start(flows.step_then_collects, "a", 2)
        await handle.signal("other", 0)
        await handle.signal("item", 1)
        await handle.signal("item", 2)
        await reaches(handle, "Signalled", 3)
        let_go.set()
        assert await handle.result() == [1, 2]

    on(place, test)


def test_a_run_that_is_over_takes_no_signal(place, world):
    async def test(app):
        handle = await app.start(flows.straight, "a")
        await handle.result()
        with pytest.raises(RunOver, match="completed"):
            await handle.signal("item", 1)

    on(place, test)


def test_a_run_that_was_just_retried_takes_signals_at_once(place, world):
    async def test(app):
        handle = await app.start(flows.collects, 1)
        await handle.cancel()
        await fails(handle, asyncio.CancelledError)
        await handle.retry()
        await handle.signal("item", "after the retry")
        assert await handle.result() == ["after the retry"]

    on(place, test)


# --- keys: sent again at every moment at which it may be


def test_a_key_that_waits_is_not_taken_twice(place, world, hold):
    async def test(app):
        hold("a")
        handle = await app.start(flows.step_then_collects, "a", 2)
        for _ in range(3):
            await handle.signal("item", "once", key="k")
        await reaches(handle, "Signalled")
        await handle.signal("item", "twice", key="other")
        world.held["a"].set()
        assert await handle.result() == ["once", "twice"]

    on(place, test)


def test_a_key_that_was_taken_is_not_taken_again(place, world):
    async def test(app):
        handle = await app.start(flows.collects, 2)
        await handle.signal("item", "once", key="k")
        await reaches(handle, "Signalled")
        await handle.signal("item", "again", key="k")
        await handle.signal("item", "last")
        assert await handle.result() == ["once", "last"]

    on(place, test)


def test_a_key_that_is_sent_while_it_is_folded_is_taken_once(place, world, monkeypatch):
    """The flush that takes the message out is held up, and the sender tries again."""

    async def test(app):
        handle = await app.start(flows.collects, 2)
        node = app.owner.node
        written, go_on = node.writer.flush, asyncio.Event()

        async def held_up(batch):
            await go_on.wait()
            return await written(batch)

        monkeypatch.setattr(node.writer, "flush", held_up)
        await handle.signal("item", "once", key="k")
        await until(lambda: node.residents[handle.rid].run.seq == 2)
        await handle.signal("item", "again", key="k")
        await node.mail.read()
        go_on.set()
        await reaches(handle, "Signalled")
        await handle.signal("item", "late", key="k")
        await handle.signal("item", "last")
        assert await handle.result() == ["once", "last"]
        assert await facts_of(handle) == ["Started", "Signalled", "Signalled"]

    on(place, test)


@pytest.mark.parametrize("how", ["in order", "killed"])
@in_loop
async def test_a_key_is_known_to_the_next_owner(place, world, how):
    async with place.engine() as app:
        handle = await app.start(flows.collects, 2, id="one")
        await handle.signal("item", "once", key="k")
        await reaches(handle, "Signalled")
        if how == "killed":
            await crash(app)
    async with place.engine(serve=False) as client:
        handle = await client.get("one")
        await handle.signal("item", "again", key="k")
        async with place.engine():
            await handle.signal("item", "again", key="k")
            await handle.signal("item", "last", key="l")
            assert await handle.result() == ["once", "last"]


@in_loop
async def test_what_was_sent_while_nobody_served_is_taken_later_in_order(place, world):
    async with place.engine() as app:
        await app.start(flows.collects, 1_200, id="one")
    async with place.engine(serve=False) as client:
        handle = await client.get("one")
        for number in range(1_200):
            await client.leave(message(handle, number))
    async with place.engine() as app:
        assert await (await app.get("one")).result() == list(range(1_200))


def message(handle, number):
    from perdure.store.port import Message

    return Message(handle.rid, "signal", b'{"name":"item","value":%d}' % number)


def test_a_signal_wakes_a_run_that_has_left_the_memory(place, world):
    async def test(app):
        handles = [await app.start(flows.collects, 2) for _ in range(20)]
        for number in (1, 2):
            await until(lambda: not app.owner.node.residents)
            for each in handles:
                await each.signal("item", number)
        assert [await each.result() for each in handles] == [[1, 2]] * 20

    on(place, test, idle_s=0.01)


@pytest.mark.parametrize("body", [b"{}", b"\xff", b"[", b'{"name":1,"value":2}'])
@pytest.mark.parametrize("kind", ["signal", "cancel", "retry", "outcome", "start", "unheard-of"])
def test_a_message_that_cannot_be_read_keeps_no_other_from_being_taken(place, world, body, kind):
    from perdure.store.port import Message

    async def test(app):
        handle = await app.start(flows.collects, 1)
        if (kind, body) != ("cancel", b"{}"):
            await app.leave(Message(handle.rid, kind, body))
        await handle.signal("item", "fine")
        try:
            assert await handle.result() == ["fine"]
        except asyncio.CancelledError:
            assert kind == "cancel"

    on(place, test)


@in_loop
async def test_a_run_whose_workflow_is_not_known_here_waits_says_so_and_keeps_its_messages(
    place, world, monkeypatch
):
    from perdure import registry

    async with place.engine(serve=False) as client:
        handle = await client.start(flows.collects, 2, id="one")
        await handle.signal("item", "early")
        with monkeypatch.context() as elsewhere:
            elsewhere.delitem(registry._known, ("workflow", flows.collects.name))
            async with place.engine():
                while (info := await handle.info()).error is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
                assert info.status == "pending"
                assert "E105" in info.error
                await handle.signal("item", "late")
        async with place.engine():
            assert await handle.result() == ["early", "late"]
            assert (await handle.info()).error is None
