"""A log is folded to the same state elsewhere: with other hashes, in another zone and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perdure.core.facts import decode_row, encode_row
from perdure.core.refold import fold_again, refold
from perdure.core.run import Run
from perdure.errors import Broken, Diverged, WrongFact
from perdure.node.host import HOST
from perdure.testing import cancel_at, loses, raises, returns, run_in_memory, signal_at
from perdure.testing.memory import MemoryRun
from tests.core import elsewhere, flows, refold_flows
from tests.core.fold import Folded, completed

BASKET = refold_flows.Basket("b", {"p", "q", "r"})
SIGNALS = [signal_at(1, "a", BASKET), signal_at(2, "b", 2), signal_at(3, "a", {"name": "n"})]
FLAKY = [raises(OSError("x"), 1), loses(1), raises(OSError("y"), 1), returns({"z", "y"}, 1)]

HOW: dict[str, dict[str, Any]] = {
    "signals": {"events": SIGNALS},
    "timers": {"zone": "America/New_York"},
    "draws": {"seed": 99},
    "ids": {"seed": 7},
    "clocks": {"zone": "Asia/Kolkata"},
    "sets": {},
    "module_sets": {},
    "dicts": {},
    "records": {},
    "gathers": {"script": {"flaky": FLAKY, "act": lambda value: returns(value, len(str(value)))}},
    "retries": {"script": {"flaky": [raises(OSError("no"), 1)] * 4 + FLAKY}, "seed": 3},
    "parents": {},
    "speaks": {},
    "races": {},
    "fails": {},
    "groups": {},
    "caches": {},
    "cancelled": {"events": [cancel_at(5, "enough")]},
}

ENVIRONMENTS = [
    {"PYTHONHASHSEED": "4051", "TZ": "Pacific/Auckland"},
    {"PYTHONHASHSEED": "20031", "TZ": "America/Los_Angeles", "LC_ALL": "C"},
]


@pytest.fixture(scope="module")
def here() -> dict[str, MemoryRun]:
    """Every workflow, carried out in this process."""
    return {name: run_in_memory(getattr(refold_flows, name), **how) for name, how in HOW.items()}


@pytest.fixture(scope="module", params=ENVIRONMENTS, ids=lambda env: env["TZ"])
def there(request: Any, here: dict[str, MemoryRun], tmp_path_factory: Any) -> dict[str, Any]:
    """Their logs, folded in another."""
    jobs = [
        {
            "flow": f"tests.core.refold_flows:{name}",
            "log": [encode_row(row).decode() for row in memory.rows],
        }
        for name, memory in here.items()
    ]
    answers = elsewhere.ask(jobs, cwd=tmp_path_factory.mktemp("elsewhere"), **request.param)
    return dict(zip(here, answers, strict=True))


@pytest.mark.parametrize("name", HOW)
def test_a_log_is_folded_to_the_same_state_elsewhere(name: str, here: Any, there: Any) -> None:
    digests = [row.digest for row in here[name].rows]
    assert there[name] == elsewhere.summary(here[name].run, digests)


@pytest.mark.parametrize("name", HOW)
def test_a_log_is_folded_to_the_same_state_here(name: str, here: Any) -> None:
    again = here[name].refold()
    digests = [row.digest for row in here[name].rows]
    assert elsewhere.summary(again, digests) == elsewhere.summary(here[name].run, digests)


def test_the_flows_did_what_they_are_there_for(here: Any) -> None:
    """The refold is not the same because nothing happened."""
    ends = {name: memory.status for name, memory in here.items()}
    assert {name for name, status in ends.items() if status == "failed"} == {"fails"}
    assert {name for name, status in ends.items() if status == "cancelled"} == {"cancelled"}
    assert all(len(memory.rows) > 1 for memory in here.values())
    assert sum(len(row.recorded) for row in here["records"].rows) == 3
    assert len(here["retries"].rows) == 9


# --- logs that do not fit


def rows() -> list[Any]:
    return Folded(flows.two_in_a_row).feed(completed(1), completed(2, call=2)).rows


def test_half_a_log_is_half_a_run() -> None:
    run = refold(flows.two_in_a_row.program(), rows()[:2], HOST)
    assert (run.status, list(run.calls)) == ("running", [2])


@pytest.mark.parametrize("order", [(0, 2), (1,), (0, 0), (0, 1, 1)], ids=str)
def test_a_log_with_a_gap_or_out_of_order_is_refused(order: tuple[int, ...]) -> None:
    kept = rows()
    with pytest.raises(WrongFact, match="the log has a gap, or is out of order"):
        refold(flows.two_in_a_row.program(), [kept[place] for place in order], HOST)


def test_a_log_of_another_program_is_refused() -> None:
    with pytest.raises(WrongFact, match="a run goes on with the program that it was started on"):
        refold(flows.one.program(), rows(), HOST)


def altered(row: Any, **changes: Any) -> Any:
    line = encode_row(row)
    for old, new in changes.values():
        line = line.replace(old, new)
    return decode_row(line)


def test_a_fact_that_no_longer_fits_diverges_with_the_reason() -> None:
    kept = rows()
    kept[1] = altered(kept[1], call=(b'"call":1', b'"call":7'))
    with pytest.raises(Diverged, match=r"fact 2 \(completed\)[^$]*now: .*refused now: E301 call 7"):
        refold(flows.two_in_a_row.program(), kept, HOST)


def test_a_run_that_diverged_takes_no_further_fact() -> None:
    kept = rows()
    run = Run(flows.two_in_a_row.program(), HOST)
    fold_again(run, kept[0])
    with pytest.raises(Diverged):
        fold_again(
            run,
            altered(
                kept[1],
                value=(b'"value":1', b'"value":1,"x":0'),
                d=(str(kept[1].digest).encode(), b"1"),
            ),
        )
    with pytest.raises((Broken, Diverged)):
        fold_again(run, kept[2])


def test_a_run_that_refused_a_fact_of_its_log_takes_no_further_fact() -> None:
    kept = rows()
    run = Run(flows.two_in_a_row.program(), HOST)
    fold_again(run, kept[0])
    with pytest.raises(Diverged):
        fold_again(run, altered(kept[1], call=(b'"call":1', b'"call":7')))
    with pytest.raises((Broken, Diverged)):
        fold_again(run, kept[1])


def test_a_failure_is_the_same_wherever_the_code_lies(here: Any) -> None:
    finished = here["fails"].effects[-1]
    assert str(Path(refold_flows.__file__).parent) not in bytes(finished.value).decode()
