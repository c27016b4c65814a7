"""Inside of a run, time and chance are those of the run, lines are effects, the rest is refused."""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
import time
import uuid
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec import structs

from perdure import now, record
from perdure.core.effects import Say
from perdure.core.refold import refold
from perdure.errors import Diverged, NotHere
from perdure.node.host import HOST
from perdure.testing import crash_everywhere, run_in_memory
from tests.core import elsewhere
from tests.core import world_flows as flows
from tests.core.fold import Folded, completed


def gives(flow: Any, *args: Any, result: Any, **how: Any) -> Any:
    """The run gives `result`, and its log gives it again."""
    memory = run_in_memory(flow, *args, **how)
    assert memory.result() == result
    assert memory.refold().result() == result
    return memory


# --- time


def times_of(at: dt.datetime, zone: dt.tzinfo) -> list[str]:
    local, naive = at.astimezone(zone), at.astimezone(zone).replace(tzinfo=None)
    two = at.astimezone(dt.timezone(dt.timedelta(hours=2)))
    utc = at.replace(tzinfo=None)
    days = [str(naive)] * 3 + [str(utc), str(local.date()), str(at), str(two), str(at)]
    stamp = [str(at.timestamp()), str(round(at.timestamp()) * 10**9)]
    return [*days, *stamp, at.strftime("%H:%M:%S"), local.strftime("%H:%M:%S")]


START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ZONES = {"UTC": dt.UTC, "+05:30": dt.timezone(dt.timedelta(hours=5, minutes=30))} | {
    name: ZoneInfo(name) for name in ("America/New_York", "Asia/Tokyo")
}


@pytest.mark.parametrize("zone", ZONES)
def test_every_clock_tells_the_time_of_the_run_in_its_zone(zone: str) -> None:
    later = START + dt.timedelta(seconds=90)
    both = [times_of(START, ZONES[zone]), times_of(later, ZONES[zone])]
    gives(flows.tells_time, result=both, zone=zone)


def test_what_measures_time_measures_that_of_the_run() -> None:
    gives(flows.measures, result=[2.5] * 3)


def test_the_classes_of_datetime_are_what_they_are() -> None:
    result = run_in_memory(flows.uses_the_classes).result()
    assert result == [True, True, True, False, *[True] * 10]


def test_a_class_is_one_whatever_it_is_called() -> None:
    gives(flows.one_class_by_two_names, result=[True] * 3)


def test_the_classes_of_datetime_match() -> None:
    gives(flows.matches_the_classes, result=["datetime", "date", "other"])


@pytest.fixture(params=["UTC", "Asia/Tokyo"])
def _machine(request: Any, monkeypatch: Any) -> Any:
    """The zone of the machine, whatever that of the run is."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_machine")
def test_a_time_from_a_timestamp_is_in_the_zone_of_the_run() -> None:
    local = "1969-12-31 19:00:00"
    gives(flows.local_from_a_timestamp, result=local, zone="America/New_York")


NAIVE = "a datetime is an object of C: what its methods take for local time, no run can say"


@pytest.mark.usefixtures("_machine")
@pytest.mark.xfail(strict=True, reason=NAIVE)
@pytest.mark.parametrize("flow", [flows.exact_from_a_naive_time, flows.timestamp_of_a_naive_time])
def test_a_naive_time_is_in_the_zone_of_the_run(flow: Any) -> None:
    exact = str(dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC))
    gives(flow, result=exact, zone="America/New_York")


def test_a_subclass_tells_the_time_of_the_run() -> None:
    gives(flows.later_now, result=True)


def test_subclasses_of_time_keep_their_own_methods() -> None:
    result = [
        "Later 2025-12-31 19:00:00",
        "Later 2026-01-01 00:00:00+00:00",
        "Later 1969-12-31 19:00:00",
        "Later 1970-01-01 00:00:00+00:00",
        "Later 2000-01-01 00:00:00",
        "Day 2025-12-31",
        "Day 1969-12-31",
        True,
    ]
    gives(flows.subclasses_of_time, result=result, zone="America/New_York")
    crash_everywhere(flows.subclasses_of_time)


def test_outside_of_a_run_now_is_now() -> None:
    assert abs(now() - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)


# --- chance


def test_chance_is_a_function_of_the_seed() -> None:
    first = run_in_memory(flows.draws, seed=7)
    again, other = run_in_memory(flows.draws, seed=7), run_in_memory(flows.draws, seed=8)
    assert first.result() == again.result() == first.refold().result()
    assert first.result() != other.result()


def test_a_draw_is_none_of_the_process() -> None:
    state = random.getstate()
    run_in_memory(flows.draws)
    assert random.getstate() == state


def test_a_seed_of_the_users_means_what_it_means() -> None:
    expected = random.Random(5).random()
    gives(flows.seeds, result=[expected, expected])


def test_ids_that_are_no_chance_are_left_alone() -> None:
    space = uuid.uuid5(uuid.NAMESPACE_DNS, "perdure")
    gives(flows.named_ids, result=[space, uuid.UUID(int=5), 4])


# --- the console


def said(memory: Any) -> list[tuple[str, int, str]]:
    lines = [effect for effect in memory.effects if isinstance(effect, Say)]
    return [(line.text, line.level, line.logger) for line in lines]


def test_lines_and_logs_are_effects_in_order(capsys: Any, caplog: Any) -> None:
    assert said(gives(flows.speaks, result=None)) == [
        ("one-2", 0, ""),
        ("a and b", 20, "shop.orders"),
        ("to stderr", 0, "stderr"),
        ("1", 40, "other"),
        ("five", 10, "shop.orders.deep"),
        ("six", 30, "root"),
        ("", 0, ""),
    ]
    assert (capsys.readouterr().out, caplog.records) == ("", [])


def test_an_exception_is_logged_with_its_last_line() -> None:
    assert said(run_in_memory(flows.speaks_of_errors)) == [
        ("caught\nValueError: inside", 40, "shop.orders")
    ]


def test_what_is_printed_into_a_file_of_the_flow_stays_there() -> None:
    assert said(gives(flows.writes_to_memory, result="kept 1\ntoo\n")) == []


def test_what_is_written_to_standard_output_is_an_effect(capsys: Any) -> None:
    memory = run_in_memory(flows.writes_to_stdout)
    assert memory.printed == ["first", "second", "third"]
    assert capsys.readouterr().out == ""


def test_half_a_line_is_shown_whatever_the_fact() -> None:
    assert run_in_memory(flows.writes_half_a_line).printed == ["first", "second"]


def test_what_a_method_prints_is_an_effect(capsys: Any) -> None:
    memory = run_in_memory(flows.a_method_prints)
    assert memory.printed[:1] == ["from a method"]
    assert capsys.readouterr().out == ""


def test_what_a_method_prints_to_stderr_is_an_effect() -> None:
    assert run_in_memory(flows.a_method_prints).printed == ["from a method", "to stderr"]


# --- what lies outside


@pytest.mark.parametrize("number", range(len(flows.TRICKS)))
def test_what_lies_outside_is_refused_however_it_is_reached(number: int) -> None:
    gives(flows.tries, number, result=NotHere.code)


@pytest.mark.xfail(strict=True, reason="a path is a value, whose own methods reach the disk")
def test_what_a_path_reaches_is_refused() -> None:
    gives(flows.reads_a_path, result=NotHere.code)


def test_what_lies_outside_may_be_recorded() -> None:
    gives(flows.records_what_lies_outside, result=[True, True, None, True, None, 0])


def test_the_environment_may_be_searched_in_a_record() -> None:
    gives(flows.records_a_search_in_the_environment, result=[True, True])


def test_a_refusal_says_what_to_write_instead() -> None:
    text = r"^E102 `open` was called in a workflow; move it into an @action, or "
    with pytest.raises(NotHere, match=text):
        Folded(flows.opens).run.result()


def test_a_refusal_says_the_same_in_every_process() -> None:
    job = {"flow": "tests.core.world_flows:what_open_is"}
    answers = [elsewhere.ask([job], PYTHONHASHSEED=str(seed))[0] for seed in range(5)]
    assert len({(each["value"], each["program"]) for each in answers}) == 1


# --- record


@pytest.fixture
def witness(monkeypatch: Any) -> list[str]:
    notes: list[str] = []
    monkeypatch.setattr(flows.Witness, "notes", notes)
    return notes


RESULT = ["a", "bb", "LookupError('c')", [1, 2]]


def test_what_is_recorded_is_called_once_and_given_again(witness: list[str]) -> None:
    memory = run_in_memory(flows.records)
    assert (memory.result(), witness) == (RESULT, ["a", "b", "c"])
    assert memory.refold().result() == RESULT
    assert witness == ["a", "b", "c"]


def test_what_is_recorded_stands_in_the_row_of_its_fact() -> None:
    memory = run_in_memory(flows.records)
    assert [len(row.recorded) for row in memory.rows] == [2, 2]


def test_what_cannot_be_written_cannot_be_recorded() -> None:
    assert run_in_memory(flows.records_what_no_one_can_write).result() == "E201"


def test_what_could_not_be_recorded_could_not_be_recorded_then_either() -> None:
    gives(flows.records_what_no_one_can_write, result="E201")


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_log_with_more_or_fewer_records_diverges(count: int) -> None:
    row = run_in_memory(flows.records).rows[0]
    altered = structs.replace(row, recorded=(row.recorded * 2)[:count])
    with pytest.raises(Diverged, match=r"^E302 fact 1 "):
        refold(flows.records.program(), [altered], HOST)


def test_outside_of_a_run_a_record_is_a_call() -> None:
    assert record(os.getpid) == os.getpid()


def test_the_console_is_left_as_it_was() -> None:
    before = sys.stdout, sys.stderr
    Folded(flows.writes_to_stdout).feed(completed())
    assert (sys.stdout, sys.stderr) == before
