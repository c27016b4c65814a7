"""Images: what comes back, what does not load, and that dropping runs nothing of the user's."""

from __future__ import annotations

import gc
import re
import sys
import types
from typing import Any

import pytest
from msgspec import Raw

from perdure import values
from perdure.core import image
from perdure.core.effects import Dispatch, Finished
from perdure.core.facts import Completed, Fired, Signalled, Started
from perdure.core.run import Run
from perdure.errors import BadImage, Broken, NotNow
from perdure.node.host import HOST
from perdure.workflows import Workflow
from tests.core import image_flows as flows

KEY = bytes(range(32))


def start(flow: Workflow[Any, Any], *args: Any, seed: int = 7) -> tuple[Run, list[Any]]:
    run = Run(flow.program(), HOST)
    raw = Raw(values.encode([list(args)]))
    applied = run.apply(Started(1_000_000, flow.program().hash, raw, seed))
    return run, list(applied.effects)


def answer(run: Run, effect: Dispatch) -> list[Any]:
    """Give a call back its first argument."""
    args = values.decode(bytes(effect.args))[0]
    raw = Raw(values.encode(args[0] if args else None))
    return list(run.apply(Completed(run.now_us + 1, effect.call, effect.token, raw)).effects)


def again(run: Run) -> Run:
    """Take the run down and bring it back."""
    taken = image.take(run, KEY)
    run.drop()
    return image.restore(run.program, taken, KEY, HOST)


def calls(effects: list[Any]) -> list[Dispatch]:
    return [each for each in effects if isinstance(each, Dispatch)]


# --- what comes back


def test_a_run_comes_back_with_all_that_it_holds() -> None:
    run, effects = start(flows.many_things)
    while run.outcome is None:
        run = again(run)
        effects = answer(run, calls(effects)[0])
    settings = {"rate": 3, "names": ["a", "b"]}
    expected = (True, True, True, [2, 3, 4], True, settings, True, "de", 2, True, 2)
    assert run.result() == expected
    assert flows.SETTINGS == {"rate": 3, "names": ["a"]}


def test_signals_timers_locks_and_queues_come_back() -> None:
    run, effects = start(flows.listening)
    run = again(run)
    run.apply(Signalled(2_000_000, "go", Raw(b"4"), "key"))
    run = again(run)
    effects = list(run.apply(Signalled(2_000_001, "stop", Raw(b'"x"'))).effects)
    assert any(isinstance(each, Finished) for each in effects)
    assert run.result() == [4, 5, "x"]


def test_a_timer_that_came_back_fires() -> None:
    run, _ = start(flows.listening)
    run = again(run)
    due_us = run.timers.next_due_us()
    assert due_us is not None
    (number,) = run.timers.armed
    run.apply(Fired(due_us, number))
    assert run.status == "failed"


def test_a_restored_run_gives_the_same_image() -> None:
    run, _ = start(flows.listening)
    restored = again(run)
    taken = image.take(restored, KEY)
    assert image.take(again(restored), KEY) == taken


def test_an_image_is_the_same_in_size_however_long_the_run_was() -> None:
    run, effects = start(flows.counting, 3_000)
    sizes = []
    while run.outcome is None:
        if run.seq in (10, 2_900):
            sizes.append(len(image.take(run, KEY)))
        effects = answer(run, calls(effects)[0])
    assert sizes[1] <= sizes[0] + 32


# --- what is refused


def test_what_cannot_be_written_down_is_said() -> None:
    run, _ = start(flows.in_star)
    why = "`in_star` is not restorable"
    with pytest.raises(NotNow, match=re.escape(why)):
        image.take(run, KEY)


def test_an_ended_run_that_was_dropped_takes_nothing() -> None:
    run, effects = start(flows.counting, 2)
    run.drop()
    with pytest.raises(Broken, match="dropped"):
        answer(run, calls(effects)[0])


def _opened(event: str, _: Any) -> None:
    if _WATCHED and event in ("import", "os.system", "subprocess.Popen", "open"):
        _SEEN.append(event)


_WATCHED: list[bool] = []
_SEEN: list[str] = []


def test_no_changed_image_loads() -> None:
    run, _ = start(flows.many_things)
    other, _ = start(flows.listening)
    taken, foreign = image.take(run, KEY), image.take(other, KEY)
    broken = [
        taken[:i] + bytes([taken[i] ^ 1 << (i % 8)]) + taken[i + 1 :] for i in range(len(taken))
    ]
    broken += [taken[:i] for i in range(len(taken))]
    broken += [taken[:i] + foreign[i:] for i in range(0, min(len(taken), len(foreign)), 7)]
    sys.addaudithook(_opened)
    _WATCHED.append(True)
    try:
        for each in broken:
            if each != taken:
                with pytest.raises(BadImage):
                    image.restore(run.program, each, KEY, HOST)
    finally:
        _WATCHED.clear()
    assert _SEEN == []


def test_an_image_loads_under_its_own_key_program_and_python_only() -> None:
    run, _ = start(flows.listening)
    taken = image.take(run, KEY)
    with pytest.raises(BadImage, match="under this key"):
        image.restore(run.program, taken, bytes(32), HOST)
    with pytest.raises(BadImage, match="another program"):
        image.restore(flows.counting.program(), taken, KEY, HOST)


# --- dropping


@pytest.mark.parametrize("where", ["with", "except", "gather", "group", "finally", "wait_for"])
def test_dropping_runs_nothing_of_the_users(where: str) -> None:
    flows.TOUCHED.clear()
    run, effects = start(flows.in_cleanup, where)
    if where == "finally":
        effects = answer(run, calls(effects)[0])
    taken = image.take(run, KEY)
    run.drop()
    del run
    gc.collect()
    assert flows.TOUCHED == []
    restored = image.restore(flows.in_cleanup.program(), taken, KEY, HOST)
    while restored.outcome is None:
        for call in calls(effects):
            effects = answer(restored, call)
    assert restored.status == "completed", restored.error
    assert flows.TOUCHED[-1] == "finally"


def _living() -> int:
    gc.collect()
    kinds = (types.CoroutineType, types.FrameType, types.GeneratorType)
    return sum(isinstance(each, kinds) for each in gc.get_objects())


def test_dropped_runs_leave_no_frames() -> None:
    start(flows.in_cleanup, "gather")[0].drop()
    before = _living()
    for number in range(500):
        where = ("with", "gather", "finally", "group")[number % 4]
        run, effects = start(flows.in_cleanup, where)
        if where == "finally":
            answer(run, calls(effects)[0])
        taken = image.take(run, KEY)
        run.drop()
        if number % 10 == 0:
            image.restore(run.program, taken, KEY, HOST).drop()
    assert _living() <= before + 5
