"""Runs from the command line: started, found, asked, told, on a real file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import apsw
import pytest

from perdure.store.port import checksum
from perdure.sync import Perdure
from tests.cli import shop
from tests.cli.kit import Shell

SHOP = "tests.cli.shop"


@pytest.fixture
def shell(tmp_path: Path, capsys) -> Shell:
    return Shell(tmp_path / "runs.db", capsys)


# --- run


def test_a_run_is_served_to_its_end_and_its_result_printed(shell: Shell) -> None:
    said = shell("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a")
    assert (said.code, said.out, said.err) == (0, "charged 5\nreceipt 5, 0 lines\n", "")


def test_for_programs_there_is_one_object_and_nothing_beside_it(shell: Shell) -> None:
    said = shell("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a", "--json")
    assert said.object == {
        "run": "a", "workflow": f"{SHOP}:fulfil", "status": "completed",
        "result": "receipt 5, 0 lines", "error": None, "facts": 2, "attrs": {},
    }  # fmt: skip
    assert said.err == "charged 5\n"


def test_arguments_become_what_the_workflow_says_that_they_are(shell: Shell) -> None:
    lines = json.dumps([{"item": "lamp", "count": 2}, {"item": "chair"}])
    said = shell("run", f"{SHOP}:fulfil", "--arg", "total=5", "--arg", f"lines={lines}")
    assert said.out.endswith("receipt 5, 3 lines\n")


def test_arguments_that_are_called_like_our_own_are_the_workflows(shell: Shell) -> None:
    said = shell("run", f"{SHOP}:named", "--arg", 'id="x"', "--arg", 'attrs="y"', "--id", "mine")
    assert (said.code, said.out) == (0, "x y\n")


def test_an_argument_is_read_from_a_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "total.json").write_text("7")
    said = shell("run", f"{SHOP}:fulfil", "--arg", f"total=@{tmp_path / 'total.json'}")
    assert said.out.endswith("receipt 7, 0 lines\n")


@pytest.mark.parametrize("held", ["canary", '"canary"', '["canary", 5]'])
def test_what_a_file_holds_is_never_told(shell: Shell, tmp_path: Path, held: str) -> None:
    (tmp_path / "secret").write_text(held)
    said = shell("run", f"{SHOP}:fulfil", "--arg", f"total=@{tmp_path / 'secret'}")
    assert said.code == 2
    assert "canary" not in said.out + said.err


@pytest.mark.parametrize(
    ("given", "printed"),
    [("1", "1"), ('"two\\nlines"', "two\nlines"), ("[1, null]", "[1, None]"), ("null", "None")],
)
def test_results_are_shown_as_people_read_them(shell: Shell, given: str, printed: str) -> None:
    assert shell("run", f"{SHOP}:plain", "--arg", f"value={given}").out == f"{printed}\n"


def test_an_action_in_a_process_of_its_own_finds_its_module(shell: Shell) -> None:
    assert shell("run", f"{SHOP}:twice", "--arg", "number=4").out == "8\n"


def test_the_exit_code_says_how_a_run_ended(shell: Shell) -> None:
    said = shell("run", f"{SHOP}:fails", "--arg", 'why="too \\u001b[2J late"', "--id", "a")
    assert (said.code, said.out, said.err) == (1, "", "failed: ValueError: too \\x1b[2J late\n")
    shell("start", f"{SHOP}:approve", "--arg", "total=1", "--id", "b")
    assert shell("cancel", "b", "--reason", "enough").code == 0
    said = shell("run", f"{SHOP}:approve", "--id", "b")
    assert (said.code, said.err) == (3, "cancelled: CancelledError: enough\n")


def test_a_run_that_the_engine_has_stopped_has_a_code_of_its_own(shell: Shell) -> None:
    with Perdure(shell.store) as app:
        app.start(shop.approve, 1, id="a")
    connection = apsw.Connection(str(shell.store))
    [(rid, seq, body)] = connection.execute("SELECT rid, seq, body FROM facts")
    other = re.sub(rb'"digest":\d+', b'"digest":7', body)
    connection.execute(
        "UPDATE facts SET body = ?, crc = ?, image = NULL", (other, checksum(rid, seq, other))
    )
    connection.close()
    shell("signal", "a", "approval", '"yes"')  # so that somebody looks at it
    said = shell("run", f"{SHOP}:approve", "--id", "a")
    assert (said.code, said.out) == (4, "")
    assert re.match("stopped: Diverged: E302 ", said.err)
    assert shell("result", "a", "--json").code == 4


def test_a_run_is_found_again_by_its_id(shell: Shell) -> None:
    given = ("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a")
    first, again = shell(*given), shell(*given)
    assert again.out == first.out.removeprefix("charged 5\n")
    assert shell("run", f"{SHOP}:fulfil", "--id", "a").out == again.out
    other = shell("run", f"{SHOP}:fulfil", "--arg", "total=6", "--id", "a")
    assert (other.code, other.err[:14]) == (2, "perdure: E602 ")
    other = shell("run", f"{SHOP}:approve", "--id", "a")
    assert (other.code, other.err[:14]) == (2, "perdure: E602 ")


def test_a_run_that_code_has_started_is_the_same_run(shell: Shell) -> None:
    with Perdure(shell.store) as app:
        app.start(shop.fulfil, 5, id="a").result(60)
    said = shell("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a")
    assert (said.code, said.out) == (0, "receipt 5, 0 lines\n")


# --- start, signal, cancel, retry, result


def test_a_signal_is_taken_by_who_serves_later(shell: Shell) -> None:
    said = shell("start", f"{SHOP}:approve", "--arg", "total=3", "--id", "a", "--attr", "who=me")
    assert (said.code, said.out) == (0, "a\n")
    assert shell("result", "a").code == 5
    assert shell("signal", "a", "approval", '"yes"', "--key", "k").out == "left for run a: signal\n"
    assert shell("signal", "a", "approval", '"again"', "--key", "k").code == 0
    assert shell("run", f"{SHOP}:approve", "--id", "a").out == "yes 3\n"
    said = shell("result", "a", "--json")
    assert (said.code, said.object["result"], said.object["attrs"]) == (0, "yes 3", {"who": "me"})


def test_waiting_has_an_end(shell: Shell) -> None:
    shell("start", f"{SHOP}:approve", "--arg", "total=3", "--id", "a")
    said = shell("result", "a", "--timeout", "50ms")
    assert (said.code, said.out, said.err) == (5, "", "run a is pending\n")
    assert shell("result", "a", "--timeout", "50ms", "--json").object["status"] == "pending"


def test_only_runs_that_did_not_end_well_are_retried(shell: Shell) -> None:
    shell("run", f"{SHOP}:fails", "--arg", 'why="x"', "--id", "a")
    shell("run", f"{SHOP}:plain", "--id", "b")
    assert shell("retry", "a", "--json").object == {"run": "a", "left": "retry"}
    assert shell("run", f"{SHOP}:fails", "--id", "a").code == 1
    assert shell("retry", "b").err.startswith("perdure: E603 ")


# --- list


def test_runs_are_listed_newest_first_and_by_what_is_asked(shell: Shell) -> None:
    shell("run", f"{SHOP}:plain", "--id", "one", "--attr", "who=ann")
    shell("run", f"{SHOP}:fails", "--arg", 'why="a\\u009bb"', "--id", "two")
    shell("start", f"{SHOP}:approve", "--arg", "total=1", "--id", "three", "--attr", "who=bob")

    def listed(*asked: str) -> list[str]:
        return [each["run"] for each in shell("list", "--json", *asked).objects]

    assert listed() == ["three", "two", "one"]
    assert listed("--status", "failed") == ["two"]
    assert listed("--status", "failed", "--status", "completed") == ["two", "one"]
    assert listed("--workflow", f"{SHOP}:approve") == ["three"]
    assert listed("--attr", "who=ann") == ["one"]
    assert listed("--limit", "1") == ["three"]
    assert listed("--since", "1h") == ["three", "two", "one"]
    assert listed("--until", "1h") == []
    assert listed("--since", "2000-01-01", "--until", "2000-01-02T00:00+01:00") == []
    said = shell("list")
    head, *lines = said.out.splitlines()
    assert head.split() == ["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", "FACTS"]
    assert lines[0].endswith("who=bob")
    assert lines[1].endswith("ValueError: a\\x9bb")
    assert shell("list", "--until", "1h").out == "no runs\n"


# --- log


def test_the_log_tells_facts_and_what_they_caused(shell: Shell) -> None:
    shell("run", f"{SHOP}:fulfil", "--arg", "total=5", "--id", "a")
    day, *lines = (line.strip() for line in shell("log", "a").out.splitlines())
    assert len(day) == len("2026-01-01")
    line = shop.fulfil.function.__code__.co_firstlineno + 2
    words = [it.split()[2:] if it[0].isdigit() else it.split() for it in lines]
    assert words == [
        ["started", "fulfil(5)"],
        ["→", "call", "1", "charge(5)", "at", f"fulfil:{line}"],
        ["completed", "call", "1", "charge", "=", "'receipt", "5'"],
        ["→", "print:", "charged", "5"],
        ["→", "completed:", "'receipt", "5,", "0", "lines'"],
    ]
    told = shell("log", "a", "--json").objects
    assert [each["fact"]["fact"] for each in told] == ["started.1", "completed.1"]
    assert [[it["effect"] for it in each["effects"]] for each in told] == [
        ["dispatch.1"], ["say.1", "finished.1"],
    ]  # fmt: skip
    assert len(shell("log", "a", "--tail", "1", "--json").objects) == 1
    assert [each["effects"] for each in shell("log", "a", "--facts-only", "--json").objects] == [
        None, None,
    ]  # fmt: skip


def test_a_retry_is_taken_up_by_who_runs_it_again_and_told_in_the_log(
    shell: Shell, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    given = ("run", f"{SHOP}:reads", "--arg", f'path="{there}"', "--id", "a")
    assert shell(*given).code == 1
    there.write_text("now")
    assert shell(*given).code == 1
    shell("retry", "a")
    assert shell(*given).out == "now\n"
    said = shell("log", "a", "--json")
    assert said.err == ""
    kinds = [each["fact"]["fact"].partition(".")[0] for each in said.objects]
    assert kinds == ["started", "failed", "retried", "completed"]
    assert [it["effect"] for it in said.objects[-2]["effects"]] == ["dispatch.1"]


def test_the_log_of_code_that_failed_itself_is_told_after_a_retry(shell: Shell) -> None:
    given = ("run", f"{SHOP}:fails", "--arg", 'why="x"', "--id", "a")
    shell(*given)
    shell("retry", "a")
    assert shell(*given).code == 1
    said = shell("log", "a", "--json")
    assert said.err == ""
    kinds = [each["fact"]["fact"].partition(".")[0] for each in said.objects]
    assert kinds == ["started", "retried", "started"]
    assert said.objects[-1]["effects"][0]["status"] == "failed"


def test_a_log_whose_text_was_forged_is_told_without_what_it_caused(shell: Shell) -> None:
    shell("run", f"{SHOP}:plain", "--id", "a")
    # Another hash and text: nothing in this process is that program.
    forged = apsw.Connection(str(shell.store))
    forged.execute("UPDATE programs SET hash = 'f00', text = CAST('{}' AS BLOB)")
    forged.execute("UPDATE facts SET body = CAST(replace(CAST(body AS TEXT), "
                   "substr(CAST(body AS TEXT), instr(CAST(body AS TEXT), '\"program\":') + 11, 64),"
                   " 'f00') AS BLOB)")  # fmt: skip
    [(rid, seq, body)] = forged.execute("SELECT rid, seq, body FROM facts")
    forged.execute("UPDATE facts SET crc = ?", (checksum(rid, seq, body),))
    forged.close()
    said = shell("log", "a")
    assert (said.code, said.out.split()[3:5]) == (0, ["started", "plain()"])
    assert "E107" in said.err
    assert shell("programs").code == 1
    assert shell("programs", "--json").object["text"] == "forged"
    said = shell("programs", "show", "f00")
    assert (said.code, said.out) == (1, "{}\n")
    assert "not written under the key" in said.err


# --- keeping house


def test_programs_are_listed_with_their_runs_and_shown(shell: Shell) -> None:
    shell("run", f"{SHOP}:fulfil", "--arg", "total=5")
    shell("run", f"{SHOP}:fulfil", "--arg", "total=6")
    told = shell("programs", "--json").object
    assert (told["workflow"], told["runs"], told["text"]) == (f"{SHOP}:fulfil", 2, "genuine")
    assert shell("programs").out.splitlines()[1].split()[1:] == [f"{SHOP}:fulfil", "2", "genuine"]
    said = shell("programs", "show", told["hash"][:6])
    assert json.loads(said.out)["hash"] == told["hash"]
    assert "async def fulfil(total" in shell("programs", "show", told["hash"], "--source").out
    assert shell("programs", "show", "zz").err.startswith("perdure: E608 ")


def test_a_copy_is_a_store(shell: Shell, tmp_path: Path) -> None:
    shell("run", f"{SHOP}:plain", "--id", "a")
    copy = tmp_path / "copy.db"
    assert shell("backup", str(copy)).code == 0
    assert Shell(copy, shell.capsys)("list", "--json").object["run"] == "a"
    assert shell("backup", str(copy)).err.startswith("perdure: E501 ")


def test_pruned_runs_keep_their_ends(shell: Shell) -> None:
    shell("run", f"{SHOP}:plain", "--arg", "value=1", "--id", "a")
    assert shell("prune", "--older-than", "1d").out == "0 runs pruned\n"
    assert shell("prune", "--older-than", "0s", "--json").object == {"pruned": 1}
    assert shell("result", "a").out == "1\n"
    said = shell("log", "a")
    assert (said.out, said.err) == ("", "run a has no facts any more: they were pruned\n")
