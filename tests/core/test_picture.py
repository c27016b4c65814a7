"""Pictures of runs: every node as the log leads to it, counted, timed, and with what went wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.core import bindings
from perdure.core.facts import Retried, Row, Stopped
from perdure.core.picture import NodeView, Painter, Picture, to_data
from perdure.core.picture.shown import PARTS_MAX
from perdure.core.run import Run
from perdure.errors import BadProgram
from perdure.lang.rebuilding import rebuild
from perdure.lang.telling import text_of
from perdure.node.host import HOST
from perdure.testing import MemoryRun, cancel_at, raises, returns, run_in_memory, signal_at
from perdure.workflows import Workflow
from tests.core import picture_flows as flows


def painter_of(flow: Workflow[Any, Any]) -> Painter:
    return Painter("run", flow.name, flow.program(), HOST)


def pictures(flow: Workflow[Any, Any], rows: list[Row]) -> list[Picture]:
    """Give the picture after every row."""
    painter = painter_of(flow)
    found = []
    for row in rows:
        painter.feed(row)
        found.append(painter.picture())
    return found


def last(flow: Workflow[Any, Any], memory: MemoryRun) -> Picture:
    shown = pictures(flow, memory.rows)[-1]
    assert shown.why == ""
    return shown


def node(picture: Picture, label: str) -> NodeView:
    found = [each for each in picture.nodes if label in each.label]
    assert found, f"{label} is not among {[each.label for each in picture.nodes]}"
    return found[0]


def statuses(picture: Picture, *labels: str) -> list[str]:
    return [node(picture, label).status for label in labels]


def test_a_gather_counts_what_has_arrived() -> None:
    memory = run_in_memory(
        flows.fan, 3, script={flows.act: [returns(each, f"{each}s") for each in (1, 2, 3)]}
    )
    shown = pictures(flows.fan, memory.rows)
    gates = [node(each, "asyncio.gather").gate for each in shown]
    assert gates == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert statuses(shown[1], "for number", "act(number)", "gather") == [
        "running", "running", "waiting",
    ]  # fmt: skip
    assert [part.status for part in node(shown[1], "act(number)").parts] == [
        "completed", "running", "running",
    ]  # fmt: skip
    assert statuses(shown[-1], "for number", "act(number)", "gather", "return") == ["completed"] * 4


def test_calls_on_one_line_have_a_node_each() -> None:
    memory = run_in_memory(flows.two_of_one_kind)
    shown = last(flows.two_of_one_kind, memory)
    assert [node(shown, f"act('{each}')").done for each in "ab"] == [1, 1]


def test_a_retry_waits_and_is_counted() -> None:
    memory = run_in_memory(
        flows.rounds, 1, script={flows.act: [raises(OSError("away"), "2s"), returns(1, "1s")]}
    )
    begun, failed, done = pictures(flows.rounds, memory.rows)
    assert (node(begun, "act(").status, node(begun, "act(").attempts) == ("running", 1)
    assert (node(failed, "act(").status, node(failed, "act(").attempts) == ("waiting", 2)
    assert node(failed, "act(").note.startswith("again at ")
    assert (node(done, "act(").status, node(done, "act(").attempts) == ("completed", 2)
    began, ended = node(done, "act(").began, node(done, "act(").ended
    assert began is not None
    assert ended is not None
    assert (ended - began).total_seconds() == 4  # two seconds, one of waiting, one second


def test_a_loop_counts_its_rounds() -> None:
    shown = pictures(flows.rounds, run_in_memory(flows.rounds, 3).rows)
    assert [node(each, "for number").rounds for each in shown] == [1, 2, 3, 3]
    assert [node(each, "act(").done for each in shown] == [0, 1, 2, 3]
    assert statuses(shown[1], "for number", "act(", "return") == ["running", "running", "pending"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("one", ["completed", "skipped", "skipped", "skipped", "completed"]),
        ("two", ["skipped", "completed", "skipped", "completed", "skipped"]),
        ("three", ["skipped", "skipped", "completed", "skipped", "skipped"]),
    ],
)
def test_what_is_not_taken_is_skipped(kind: str, said: list[str]) -> None:
    shown = last(flows.arms, run_in_memory(flows.arms, kind))
    labels = ("act(1)", "other(2)", "return 'none'", "return 'second'", "return 'first'")
    assert statuses(shown, *labels) == said


def test_what_may_still_come_is_pending() -> None:
    first = pictures(flows.caught, run_in_memory(flows.caught).rows)[0]
    assert statuses(first, "try", "act(", "except", "other(", "return 'mended'") == [
        "running", "running", "pending", "pending", "pending",
    ]  # fmt: skip


def test_an_exception_leads_to_its_handler() -> None:
    memory = run_in_memory(flows.caught, script={flows.act: [raises(ValueError("no"))] * 3})
    shown = last(flows.caught, memory)
    assert statuses(
        shown, "act(", "except", "other(", "return 'mended'", "return 'well'"
    ) == ["failed", "completed", "completed", "completed", "skipped"]  # fmt: skip
    trouble = node(shown, "act(").trouble
    assert trouble is not None
    assert (trouble.kind, trouble.text) == ("ValueError", "no")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([raises(ValueError("no"))] * 3, ["failed", "completed", "completed"]),
        ([returns(1)], ["completed", "skipped", "completed"]),
    ],
)
def test_a_handler_that_waits_for_nothing_is_passed_or_not(
    answers: list[Any], said: list[str]
) -> None:
    memory = run_in_memory(flows.shrugged, script={flows.act: answers})
    shown = last(flows.shrugged, memory)
    assert statuses(shown, "act(", "except ValueError", "other(") == said


def test_a_failure_is_told_with_its_cause_and_the_line_of_the_user() -> None:
    shown = last(flows.raises_inline, run_in_memory(flows.raises_inline))
    assert shown.status == "failed"
    trouble = shown.trouble
    assert trouble is not None
    assert trouble.place is not None
    assert trouble.cause is not None
    assert (trouble.kind, trouble.cause.kind, trouble.is_direct) == (
        "LookupError",
        "KeyError",
        True,
    )
    assert trouble.place.file.endswith("picture_flows.py")
    assert trouble.place.source.startswith("raise LookupError")
    assert [each.kind for each in shown.nodes if each.status == "failed"] == ["output"]


def test_helpers_are_told_below_the_node_that_called_them() -> None:
    memory = run_in_memory(flows.through_helpers, events=[signal_at("1m", "go", "on")])
    shown = pictures(flows.through_helpers, memory.rows)
    before, after = node(shown[-2], "outer("), node(shown[-1], "outer(")
    assert [(part.what, part.status) for part in before.parts] == [
        ("act", "completed"), ("other", "completed"), ("signal 'go'", "waiting"),
    ]  # fmt: skip
    assert [part.place.partition(":")[0] for part in before.parts] == ["outer", "inner", "inner"]
    assert (before.status, after.status) == ("waiting", "completed")
    assert {part.status for part in after.parts} == {"completed"}


def test_who_loses_a_race_is_cancelled() -> None:
    script = {flows.act: [returns(1, "1s"), returns(2, "9s")]}
    shown = last(flows.first_wins, run_in_memory(flows.first_wins, script=script))
    assert statuses(shown, "act('quick')", "act('slow one')") == ["completed", "cancelled"]


def test_a_group_counts_anew_in_every_round() -> None:
    shown = pictures(flows.groups, run_in_memory(flows.groups, 2).rows)
    assert [node(each, "end of the group").gate for each in shown] == [
        (0, 2), (1, 2), (0, 2), (1, 2), (2, 2),
    ]  # fmt: skip
    assert node(shown[1], "end of the group").status == "waiting"


def test_what_was_started_is_followed_beside_the_flow() -> None:
    shown = pictures(flows.started, run_in_memory(flows.started).rows)
    assert statuses(shown[0], "early = ", "other('between')") == ["running", "running"]
    assert (
        statuses(shown[-1], "early = ", "one = ", "two = ", "end of the group", "return")
        == ["completed"] * 5
    )


def test_a_signal_that_does_not_come_is_cancelled_and_its_handler_taken() -> None:
    shown = last(flows.patient, run_in_memory(flows.patient))
    assert statuses(shown, "signal(", "except TimeoutError", "return 'nobody") == [
        "cancelled", "completed", "completed",
    ]  # fmt: skip


def test_a_cancelled_run_says_where_it_stood() -> None:
    shown = last(flows.patient, run_in_memory(flows.patient, events=[cancel_at("5s")]))
    assert shown.status == "cancelled"
    assert statuses(shown, "signal(", "except TimeoutError") == ["cancelled", "skipped"]


def test_a_child_is_named_by_its_run() -> None:
    first = pictures(flows.family, run_in_memory(flows.family).rows)[0]
    assert (node(first, "fan(2)").status, node(first, "fan(2)").note) == (
        "running", "run memory/1",
    )  # fmt: skip


def test_a_fan_out_of_thousands_names_a_few() -> None:
    memory = run_in_memory(flows.fan, 2_000)
    painter = painter_of(flows.fan)
    for row in memory.rows[:1_001]:
        painter.feed(row)
    shown = node(painter.picture(), "act(number)")
    assert (shown.begun, shown.done) == (2_000, 1_000)
    assert (len(shown.parts), shown.more) == (PARTS_MAX, 2_000 - PARTS_MAX)
    assert len(json.dumps(to_data(painter.picture()))) < 10_000


def test_a_row_costs_nothing_of_what_was_before() -> None:
    painter = painter_of(flows.groups)
    kept = []
    for row in run_in_memory(flows.groups, 80).rows:
        painter.feed(row)
        kept.append((len(painter.stays), len(painter.births.of), len(painter.places.known_ways)))
    assert kept[10] == kept[100] == kept[150]


def test_what_a_retry_undid_leaves_the_picture() -> None:
    failing = run_in_memory(flows.caught, script={flows.act: [raises(ValueError("no"))] * 3})
    rows = failing.rows[:4]  # the third failure, which the flow caught, is undone
    run = Run(flows.caught.program(), HOST)
    for row in rows[:3]:
        run.apply(row.fact, row.recorded)
    retried = run.apply(Retried(rows[-1].fact.at_us, 3, 5, run.calls_made, call=1)).row
    shown = pictures(flows.caught, [*rows, retried])
    assert statuses(shown[3], "act(", "except") == ["failed", "running"]
    assert statuses(shown[4], "act(", "except") == ["running", "pending"]
    assert (shown[4].why, shown[4].seq) == ("", 5)


def test_a_stopped_run_says_why() -> None:
    rows = run_in_memory(flows.rounds, 2).rows[:2]
    stop = Row(3, Stopped(rows[-1].fact.at_us, "E302", "it went another way"), 0)
    shown = pictures(flows.rounds, [*rows, stop])[-1]
    assert (shown.status, shown.why) == ("stopped", "it went another way")
    assert node(shown, "act(").status == "running"


def test_a_log_that_cannot_be_folded_tells_its_facts_and_why() -> None:
    rows = run_in_memory(flows.rounds, 3).rows
    other = Row(2, rows[1].fact, rows[1].digest ^ 1)
    shown = pictures(flows.rounds, [rows[0], other, *rows[2:]])[-1]
    assert "fact 2 cannot be folded here" in shown.why
    assert shown.facts == {"started": 1, "completed": 3}
    assert (shown.seq, shown.recent[-1]) == (4, "call 3 completed")


def test_without_its_program_a_run_tells_its_facts_and_why() -> None:
    painter = Painter("run", "orders:fulfil", BadProgram("it is not here"))
    for row in run_in_memory(flows.rounds, 1).rows:
        painter.feed(row)
    shown = painter.picture()
    assert (shown.nodes, shown.facts) == ([], {"started": 1, "completed": 1})
    assert "it is not here" in shown.why
    painter.close()


def test_a_program_from_its_text_gives_the_same_picture() -> None:
    rows = run_in_memory(flows.through_helpers, events=[signal_at("1m", "go", "on")]).rows
    again = rebuild(text_of(flows.through_helpers.program()), bindings)
    painter = Painter("run", flows.through_helpers.name, again, HOST)
    for row, live in zip(rows, pictures(flows.through_helpers, rows), strict=True):
        painter.feed(row)
        assert painter.picture() == live
