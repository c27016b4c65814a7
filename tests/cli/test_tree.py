"""The tree of a run in a terminal: it fits, it hides nothing that matters, it obeys no data."""

from __future__ import annotations

import io
import json
import re

import msgspec
import pytest

from perdure.cli import following, tree
from perdure.cli.terminal import cells
from perdure.core.picture import Painter, Picture
from perdure.errors import BadProgram
from perdure.node.host import HOST
from perdure.testing import raises, returns, run_in_memory
from tests.core import picture_flows as flows


def pictures_of(flow, *args, script=None) -> list[Picture]:
    painter = Painter("order-42", flow.name, flow.program(), HOST)
    found = []
    for row in run_in_memory(flow, *args, script=script or {}).rows:
        painter.feed(row)
        found.append(painter.picture())
    return found


FAN = pictures_of(flows.fan, 500)
FAILED = pictures_of(flows.raises_inline)[-1]


@pytest.mark.parametrize("width", [12, 24, 40, 80, 200])
@pytest.mark.parametrize("picture", [FAN[0], FAN[250], FAN[-1], FAILED], ids=range(4))
def test_no_line_is_wider_than_the_terminal(picture: Picture, width: int) -> None:
    for line in tree.lines(picture, width=width)[1:]:
        assert cells(line) <= width, line


@pytest.mark.parametrize("height", [3, 5, 8, 24])
def test_what_is_under_way_stays_in_sight(height: int) -> None:
    drawn = tree.lines(FAN[250], width=80, height=height)
    assert len(drawn) <= height
    assert any("▶" in line for line in drawn[1:]) or height < 5
    assert "order-42" in drawn[0]


def test_huge_fan_outs_are_collapsed() -> None:
    drawn = "\n".join(tree.lines(FAN[250], width=100))
    assert "250 of 500" in drawn
    assert "495 more" in drawn
    assert len(drawn.splitlines()) < 20


def test_a_failure_is_told_with_its_cause_and_the_source_line() -> None:
    drawn = "\n".join(tree.lines(FAILED, width=100))
    assert "failed: LookupError: nothing under that name" in drawn
    assert "because of: KeyError: 'absent'" in drawn
    assert "picture_flows.py:" in drawn
    assert "raise LookupError" in drawn


def test_a_retry_says_its_attempt_and_when_it_comes() -> None:
    script = {flows.act: [raises(OSError("away"), "2s"), returns(1, "1s")]}
    waiting, done = pictures_of(flows.rounds, 1, script=script)[1:]
    assert re.search(r"act\(number\)  attempt 2, again at \d\d:\d\d:\d\d", _text(waiting))
    assert "act(number)  2 attempts, 4.0 s" in _text(done)


def _text(picture: Picture) -> str:
    return "\n".join(tree.lines(picture, width=120))


def test_who_carries_a_run_out_is_told_and_that_nobody_does() -> None:
    held = msgspec.structs.replace(FAN[0], holder="process 4711")
    left = msgspec.structs.replace(FAN[0], holder="nobody; process 4711 ended without a word")
    assert tree.lines(held, width=100)[0].endswith("process 4711")
    assert "▶ running  nobody; process 4711 ended without a word" in tree.lines(left, width=100)[0]


def test_colours_only_when_asked_for() -> None:
    assert "\x1b" not in _text(FAN[250])
    assert "\x1b[" in "\n".join(tree.lines(FAN[250], colour=True))


def test_text_of_users_moves_no_cursor() -> None:
    hostile = "a\x1b[2Jb\nc\r"
    painter = Painter(hostile, flows.fan.name, flows.fan.program(), HOST)
    script = {flows.act: [raises(ValueError(hostile))] * 3}
    for row in run_in_memory(flows.fan, 1, script=script).rows:
        painter.feed(row)
    for line in tree.lines(painter.picture(), width=100):
        assert line.isprintable(), line


def test_a_run_without_its_program_tells_why_and_its_facts() -> None:
    painter = Painter("r", "gone:flow", BadProgram("its code is gone"))
    for row in run_in_memory(flows.fan, 2).rows:
        painter.feed(row)
    drawn = _text(painter.picture())
    assert "its code is gone" in drawn
    assert "1 started, 2 completed" in drawn


def test_only_what_is_new_is_told_where_nothing_can_be_redrawn() -> None:
    out = io.StringIO()
    way = following.way_for(out)
    for picture in pictures_of(flows.rounds, 2):
        way.show(picture)
        way.tick()
    way.close()
    lines = out.getvalue().splitlines()
    assert sum("act(number)" in line for line in lines) == 3
    assert lines[-1] == "order-42  completed"
    assert "\x1b" not in out.getvalue()


def test_events_are_an_object_a_line_with_the_nodes_that_changed() -> None:
    out = io.StringIO()
    way = following.way_for(out, as_json=True)
    for picture in pictures_of(flows.rounds, 2):
        way.show(picture)
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [each["seq"] for each in events] == [1, 2, 3]
    assert [each["status"] for each in events] == ["running", "running", "completed"]
    assert "output" not in {node["kind"] for node in events[1]["nodes"]}


class Terminal(io.StringIO):
    """A terminal of 80 columns and 24 lines that keeps what is on it."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """Give what stands there after all that was written."""
        rows, at = [""], 0
        for token in re.findall(r"\x1b\[\??\d*[A-Za-z]|\n|\r|[^\x1b\n\r]+", self.getvalue()):
            if token == "\n":
                at += 1
                rows += [""] * (at + 1 - len(rows))
            elif token.startswith("\x1b[") and token.endswith("A"):
                at -= int(token[2:-1])
                assert at >= 0, "it moved above what it had drawn"
            elif token == "\x1b[J":
                rows = [*rows[:at], ""]
            elif token == "\x1b[2K":
                rows[at] = ""
            elif not token.startswith(("\x1b", "\r")):
                rows[at] += token
        return rows


def test_a_tree_is_drawn_over_itself(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    out = Terminal()
    way = following.way_for(out)
    shown = pictures_of(flows.fan, 40)
    for picture in shown:
        way.show(picture)
        way.tick()
        assert len(out.screen()) <= 24
    way.clear()
    out.write("a word of the run\n")
    way.close()
    assert out.screen() == ["a word of the run", *tree.lines(shown[-1], width=79), ""]
    assert out.getvalue().endswith("\x1b[?25h")
