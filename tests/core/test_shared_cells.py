"""Variables that functions of a module share: a run that comes back shares them as before."""

from __future__ import annotations

import pytest

from perdure.core import image
from perdure.node.host import HOST
from tests.core.deploy_child import KEY
from tests.core.moving_kit import Driven, begun, deployed_over, shop


@pytest.fixture
def made(tmp_path):
    with shop(tmp_path) as it:
        yield it


COUNTER = """
def make():
    count = 0
    async def step(name):
        nonlocal count
        count += 1
        got = await act(name)
        count += 10
        return got, count
    return step

step = make()

@workflow
async def flow():
    return await step("a"), await step("b")
"""

METHODS = """
class Base:
    async def close(self):
        return await act("base")

class Box(Base):
    async def close(self):
        return await super().close(), await act("box")

@workflow
async def flow():
    return await Box().close()
"""


def come_back(driven):
    again = image.restore(driven.run.program, image.take(driven.run, KEY), KEY, HOST)
    driven.run.drop()
    return Driven(again, driven.waiting, driven.asked)


@pytest.mark.parametrize("answers", [0, 1])
@pytest.mark.parametrize("text", [COUNTER, METHODS], ids=["closure", "super"])
def test_a_run_in_functions_that_share_variables_comes_back(made, text, answers):
    program = made.deploy(text)
    assert come_back(begun(program, answers)).ended() == begun(program).ended()


def test_what_a_frame_and_its_function_share_is_shared_after_a_move(made):
    after = COUNTER.replace("got = await", "print(name)\n        got = await")
    ended = (("A", 11), ("B", 22)), ["a", "b"]
    assert deployed_over(made, COUNTER, after).ended() == ended
