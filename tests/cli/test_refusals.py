"""Whatever is wrong with a command, it is told in one line with a code, and nothing is made."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from perdure.cli import main
from perdure.sync import Perdure
from tests.cli import shop
from tests.cli.kit import perdure

SHOP = "tests.cli.shop"
DEEP = "[" * 100_000
MODULES = {
    "broken": "x = 1\n1 / 0\n",
    "typo": "def f(:\n",
    "leaves": "raise SystemExit(3)\n",
    "lacks": "import not_there_at_all\n",
    "empty": "",
    "json": "",  # another module is called so
    "bad_action": "from perdure import action\n@action(retry=-1)\nasync def a(): ...\n",
    "says": "raise ValueError('two\\nlines \\x1b[2J')\n",
}
ON_STORE = [
    # --- which run
    ("E601", ["result", "nobody"]),
    ("E601", ["log", "nobody"]),
    ("E601", ["signal", "nobody", "go"]),
    ("E601", ["cancel", "no\nbody\x1b[31m"]),
    ("E601", ["retry", ""]),
    ("E601", ["upgrade", "nobody\udcff"]),
    ("E603", ["signal", "done", "go"]),
    ("E603", ["cancel", "done"]),
    ("E603", ["retry", "done"]),
    ("E602", ["run", f"{SHOP}:plain", "--arg", "value=2", "--id", "done"]),
    ("E602", ["start", f"{SHOP}:plain", "--arg", "value=2", "--id", "done"]),
    ("E602", ["run", f"{SHOP}:fails", "--id", "done"]),
    # --- which workflow
    ("E105", ["run", "no_such_module:flow"]),
    ("E105", ["run", "no_such.module:flow"]),
    ("E105", ["run", "nowhere.py:flow"]),
    ("E105", ["run", f"{SHOP}:nothing"]),
    ("E105", ["run", f"{SHOP}:charge"]),
    ("E105", ["run", f"{SHOP}:Line"]),
    ("E105", ["run", SHOP]),
    ("E105", ["run", f"{SHOP}:plain:plain"]),
    ("E105", ["run", ":flow"]),
    ("E105", ["run", ""]),
    ("E105", ["run", "..shop:flow"]),
    ("E105", ["run", "a b:flow"]),
    ("E105", ["run", "broken:flow"]),
    ("E105", ["run", "typo:flow"]),
    ("E105", ["run", "typo.py:flow"]),
    ("E105", ["run", "leaves:flow"]),
    ("E105", ["run", "lacks:flow"]),
    ("E105", ["run", "says:flow"]),
    ("E105", ["run", "json.py:flow"]),
    ("E401", ["run", "bad_action:flow"]),
    ("E105", ["worker", "no_such_module"]),
    ("E105", ["start", f"{SHOP}:nothing"]),
    # --- which arguments
    ("E701", ["run", f"{SHOP}:fulfil"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "totl=1"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total=1", "--arg", "total=2"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "=1"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total="]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total=A-1"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total={'a': 1}"]),
    ("E701", ["run", f"{SHOP}:fulfil", "--arg", "total=\x1b[2J\n"]),
    ("E701", ["run", f"{SHOP}:plain", "--arg", "value=NaN"]),
    ("E701", ["run", f"{SHOP}:plain", "--arg", f"value={DEEP}"]),
    ("E701", ["run", f"{SHOP}:plain", "--arg", "value=@no-such-file"]),
    ("E701", ["run", f"{SHOP}:plain", "--arg", "value=@."]),
    ("E701", ["run", f"{SHOP}:plain", "--arg", "value=@noise"]),
    ("E204", ["run", f"{SHOP}:fulfil", "--arg", 'total="5"']),
    ("E204", ["run", f"{SHOP}:fulfil", "--arg", "total=1", "--arg", 'lines=[{"count": 1}]']),
    ("E202", ["start", f"{SHOP}:plain", "--arg", "value=" + "[" * 600 + "]" * 600]),
    ("E701", ["start", f"{SHOP}:plain", "--attr", "who"]),
    ("E701", ["start", f"{SHOP}:plain", "--attr", "a=1", "--attr", "a=2"]),
    ("E500", ["start", f"{SHOP}:plain", "--id", ""]),
    ("E500", ["run", f"{SHOP}:plain", "--id", "a\nb"]),
    ("E500", ["start", f"{SHOP}:plain", "--id", "x" * 501]),
    ("E701", ["signal", "open", "go", "{"]),
    ("E701", ["signal", "open", "go", "yes"]),
    # --- options
    ("E701", ["list", "--status", "sleeping"]),
    ("E701", ["list", "--limit", "0"]),
    ("E701", ["list", "--limit", "many"]),
    ("E701", ["list", "--limit", "1" * 30]),
    ("E701", ["list", "--since", "yesterday"]),
    ("E701", ["list", "--until", "2026-13-01"]),
    ("E701", ["list", "--since", "9" * 40 + "d"]),
    ("E701", ["list", "--attr", "who"]),
    ("E701", ["list", "--colour"]),
    ("E701", ["list", "stray"]),
    ("E701", ["log", "done", "--tail", "-1"]),
    ("E701", ["log"]),
    ("E401", ["result", "open", "--timeout", "soon"]),
    ("E401", ["worker", SHOP, "--drain", "soon"]),
    ("E401", ["worker", SHOP, "--keep", "-"]),
    ("E401", ["prune", "--older-than", "30"]),
    ("E401", ["prune", "--older-than", "a month"]),
    ("E401", ["prune", "--older-than", "9999999d"]),
    ("E701", ["prune", "--older-than", "-3d"]),
    ("E701", ["prune"]),
    ("E608", ["programs", "show", "zzz"]),
    ("E701", ["programs", "show"]),
    ("E701", ["programs", "hide", "a"]),
    ("E501", ["backup", "there"]),
    ("E501", ["backup", "no-such-folder/copy.db"]),
    ("E501", ["backup", "folder"]),
    ("E504", ["list", "--env", "production"]),
    ("E504", ["run", f"{SHOP}:plain", "--env", "production"]),
]  # fmt: skip
ELSEWHERE = [
    ("E701", []),
    ("E701", ["no-such-command"]),
    ("E701", ["--no-such-option"]),
    ("E701", ["completion", "tcsh"]),
    ("E701", ["bench", "nothing"]),
    ("E105", ["check", "broken"]),
    ("E105", ["graph", "empty:flow"]),
    ("E501", ["list"]),
    ("E501", ["list", "--store", "no-such.db"]),
    ("E501", ["doctor", "--store", ""]),
    ("E501", ["result", "a", "--store", ":memory:"]),
    ("E501", ["list", "--store", "void.db"]),
    ("E501", ["list", "--store", "folder"]),
    ("E501", ["run", f"{SHOP}:plain", "--store", "folder"]),
    ("E501", ["run", f"{SHOP}:plain", "--store", "no-such-folder/a.db"]),
    ("E501", ["list", "--store", "pipe"]),
    ("E502", ["list", "--store", "noise"]),
    ("E502", ["run", f"{SHOP}:plain", "--store", "noise"]),
    ("E502", ["list", "--store", "foreign.db"]),
    ("E503", ["list", "--store", "newer.db"]),
    ("E503", ["worker", SHOP, "--store", "newer.db"]),
    ("E506", ["log", "done", "--store", "torn.db"]),
    ("E313", ["log", "done", "--store", "forged.db"]),
    ("E509", ["list", "--store", "open-key.db"]),
    ("E500", ["run", f"{SHOP}:plain", "--store", "postgres://here/runs"]),
]  # fmt: skip


def _named(given: str | list[str]) -> str:
    return given if isinstance(given, str) else " ".join(given)[:40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Make a folder in which everything is that can be wrong with a file."""
    folder: Path = tmp_path_factory.mktemp("odd")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "there").write_text("")
    (folder / "void.db").write_text("")
    (folder / "noise").write_bytes(b"\xff\x00nothing that anybody wrote\n" * 200)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    _store(folder / "runs.db")
    apsw.Connection(str(folder / "foreign.db")).execute("CREATE TABLE theirs (a)")
    _spoilt(folder / "newer.db", lambda it: it.execute("PRAGMA user_version = 99"))
    _spoilt(folder / "torn.db", lambda it: it.execute("DROP TABLE facts"))
    _spoilt(folder / "forged.db", lambda it: it.execute("UPDATE facts SET crc = crc + 1"))
    _store(folder / "open-key.db")
    (folder / "open-key.db.key").chmod(0o644)
    return folder


def _store(path: Path) -> None:
    with Perdure(path) as app:
        app.start(shop.plain, 1, id="done").result(60)
        app.start(shop.approve, 1, id="open")


def _spoilt(path: Path, spoil: Callable[[apsw.Connection], object]) -> None:
    _store(path)
    connection = apsw.Connection(str(path))
    spoil(connection)
    connection.close()


@pytest.fixture
def here(folder: Path, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PERDURE_STORE", raising=False)
    return folder


def refused(code: str, given: list[str], capsys) -> None:
    assert main(given) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(rf"perdure: {code} [^\n]+\n", said.err), said.err
    assert said.err.removesuffix("\n").isprintable()
    assert len(said.err) < 1_000


@pytest.mark.parametrize(("code", "given"), ON_STORE, ids=_named)
def test_what_is_wrong_is_one_line_with_a_code(code, given, here, capsys) -> None:
    refused(code, [*given, "--store", "runs.db"], capsys)


@pytest.mark.parametrize(("code", "given"), ELSEWHERE, ids=_named)
def test_what_is_wrong_with_the_store_is_one_line_with_a_code(code, given, here, capsys) -> None:
    before = {each.name for each in here.iterdir()}
    refused(code, given, capsys)
    assert {each.name for each in here.iterdir()} - before <= {"__pycache__"}


def test_what_is_wrong_is_told_in_a_process_as_well(here) -> None:
    for given in (
        ["worker", "empty"],
        ["run", "broken:flow"],
        ["list", "--store", "noise"],
        ["run", "\udcff"],
    ):
        done = perdure(*given, cwd=here)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(r"perdure: E\d{3} [^\n]+\n", done.stderr), done.stderr
