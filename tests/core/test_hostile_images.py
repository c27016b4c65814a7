"""Images that were changed, foreign, or made to do harm: none loads, and none reaches outside."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import types

import pytest

from perdure import value_errors
from perdure.core import image
from perdure.errors import BadImage, NotNow
from perdure.node.host import HOST
from tests.core import image_flows as flows
from tests.core.elsewhere import ROOT
from tests.core.hostile_child import signed
from tests.core.test_image import KEY, again, answer, calls, start


@pytest.mark.timeout(300)
def test_of_twenty_images_changed_in_every_byte_none_loads_and_none_reaches_outside() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.hostile_child"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["images"] == 20
    assert told["tried"] > 20_000
    assert told["loaded"] == 0
    assert told["keyless"] == []
    assert told["keyed"] == []


def test_an_image_of_a_newer_format_or_of_another_python_is_no_image() -> None:
    run, _ = start(flows.counting, 3)
    payload = image.take(run, KEY)[16:]
    for at in (3, 5):  # the version of the format, and that of lowering
        newer = signed(payload[:at] + bytes([payload[at] + 1]) + payload[at + 1 :])
        with pytest.raises(BadImage, match="another version of Perdure"):
            image.restore(run.program, newer, KEY, HOST)
    other = signed(payload[:4] + bytes([payload[4] + 1]) + payload[5:])
    with pytest.raises(BadImage, match=f"of Python 3.{sys.version_info[1] + 1}"):
        image.restore(run.program, other, KEY, HOST)


def test_an_image_beyond_the_limit_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = start(flows.many_things)
    size = len(image.take(run, KEY)) - 16
    monkeypatch.setattr(image, "LIMITS", types.SimpleNamespace(image_bytes_max=size))
    image.take(run, KEY)
    monkeypatch.setattr(image, "LIMITS", types.SimpleNamespace(image_bytes_max=size - 1))
    with pytest.raises(NotNow, match=r"the image takes \d"):
        image.take(run, KEY)


def test_exceptions_come_back_with_all_that_hangs_on_them() -> None:
    run, effects = start(flows.in_handlers)
    while run.outcome is None:
        run = again(run)
        effects = answer(run, calls(effects)[0])
    assert run.status == "failed"
    error = run.error
    assert isinstance(error, ExceptionGroup)
    shown = flows.told_of(error)
    assert shown == flows.EXPECTED, shown


def test_where_an_exception_was_raised_before_is_kept_with_it() -> None:
    run, effects = start(flows.in_handlers)
    while run.outcome is None:
        run = again(run)
        effects = answer(run, calls(effects)[0])
    assert isinstance(run.error, ExceptionGroup)
    second = run.error.exceptions[0]
    assert second.__cause__ is second.__context__
    assert second.__cause__ is not None
    assert "in raises_first" in value_errors.where_raised(second.__cause__)


def _living() -> int:
    gc.collect()
    kinds = (types.CoroutineType, types.FrameType, types.GeneratorType, types.AsyncGeneratorType)
    return sum(isinstance(each, kinds) for each in gc.get_objects())


@pytest.mark.timeout(300)
def test_ten_thousand_runs_imaged_and_dropped_leave_no_frames_and_touch_nothing() -> None:
    start(flows.in_cleanup, "gather")[0].drop()
    flows.TOUCHED.clear()
    before = _living()
    for number in range(10_000):
        where = ("with", "gather", "finally", "group", "wait_for")[number % 5]
        run, effects = start(flows.in_cleanup, where)
        if where == "finally":
            answer(run, calls(effects)[0])
        image.take(run, KEY)
        run.drop()
    assert _living() <= before + 5
    assert flows.TOUCHED == []
