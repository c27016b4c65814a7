"""Which files are opened, which are made, and which are refused with a code and left alone."""

from __future__ import annotations

import os
import sqlite3

import apsw
import pytest

from perdure import errors
from perdure.store.sqlite import SqliteStore, opening, places
from perdure.store.sqlite.lock import take
from tests.store.kit import closing, run


def refused(path, code, **how):
    with pytest.raises(errors.PerdureError) as caught:
        SqliteStore.open(path, **how)
    assert caught.value.code == code, caught.value
    assert str(path) in str(caught.value) or str(path.parent) in str(caught.value)


def test_a_new_file_is_made_and_opened_again(tmp_path):
    with closing(SqliteStore.open(tmp_path / "s.db")) as store:
        first = store.identity
    with closing(SqliteStore.open(str(tmp_path / "s.db"))) as store:
        assert store.identity == first
    assert len(first.store_id) == 32


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "s.db").touch()
    with closing(SqliteStore.open(tmp_path / "s.db")):
        pass


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    refused(tmp_path / "no" / "s.db", "E501")
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "s.db", "E501")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    refused(tmp_path, "E501")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_what_may_not_be_written_to_is_refused(tmp_path):
    with closing(SqliteStore.open(tmp_path / "s.db")):
        pass
    (tmp_path / "s.db").chmod(0o400)
    refused(tmp_path / "s.db", "E501")
    (tmp_path / "s.db").chmod(0o600)
    tmp_path.chmod(0o500)
    refused(tmp_path / "s.db", "E501")
    tmp_path.chmod(0o700)


def test_a_file_without_rights_is_refused(tmp_path, monkeypatch):
    (tmp_path / "s.db").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused(tmp_path / "s.db", "E501")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    (tmp_path / "s.db").write_bytes(b"plain text, and long enough to be read as a header" * 100)
    before = (tmp_path / "s.db").read_bytes()
    refused(tmp_path / "s.db", "E502")
    assert (tmp_path / "s.db").read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / "s.db")
    other.execute("create table t (x)")
    other.commit()
    other.close()
    before = (tmp_path / "s.db").read_bytes()
    refused(tmp_path / "s.db", "E502")
    assert (tmp_path / "s.db").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["s.db"]


def test_a_newer_generation_is_refused(tmp_path):
    with closing(SqliteStore.open(tmp_path / "s.db")):
        pass
    connection = apsw.Connection(str(tmp_path / "s.db"))
    connection.execute("pragma user_version = 99")
    connection.close()
    refused(tmp_path / "s.db", "E503")


@pytest.mark.parametrize("in_use", [False, True])
def test_an_older_generation_is_led_forward_unless_it_is_in_use(tmp_path, monkeypatch, in_use):
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path)) as store:
        first = store.identity
    script = "create table more (x int) strict; pragma user_version = 2;"
    monkeypatch.setattr(opening, "MIGRATIONS", opening.MIGRATIONS | {2: script})
    monkeypatch.setattr(opening, "GENERATION", 2)
    lock = take(str(path)) if in_use else None
    if lock is not None:
        refused(path, "E508")
        lock.release()
    with closing(SqliteStore.open(path)) as store:
        assert store.identity == first
    connection = apsw.Connection(str(path))
    assert list(connection.execute("select count(*) from more")) == [(0,)]
    assert connection.pragma("user_version") == 2
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path)):
        pass
    script = "create table more (x int); pragma user_version = 2; create table more (x int);"
    with monkeypatch.context() as patched:
        patched.setattr(opening, "MIGRATIONS", opening.MIGRATIONS | {2: script})
        patched.setattr(opening, "GENERATION", 2)
        with pytest.raises(Exception, match="more already exists"):
            SqliteStore.open(path)
    with closing(SqliteStore.open(path)):
        pass


def test_another_environment_is_refused(tmp_path):
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path, environment="production")):
        pass
    refused(path, "E504", environment="staging")
    refused(path, "E504")
    for name in ("production", None):
        with closing(SqliteStore.open(path, environment=name)) as store:
            assert run(store.examine(thorough=False)).environment == "production"


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/x /mnt/shared nfs4 rw 0 0
//server/y /mnt/with\\040space cifs rw 0 0
/dev/vdb /mnt/shared/local xfs rw 0 0
tmpfs /mnt/shared tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/s.db", "ext4"),
        ("/mnt/with space/s.db", "cifs"),
        ("/mnt/shared/local/s.db", "xfs"),
        ("/mnt/shared/s.db", "tmpfs"),
        ("/mnt/sharedother/s.db", "ext4"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_nearest_mount(path, kind):
    assert places.file_system(path, MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "_mounts", lambda: "server:/ / nfs4 rw 0 0\n")
    refused(tmp_path / "s.db", "E505")


def test_a_damaged_file_is_a_coded_error_and_the_thorough_examination_says_so(tmp_path):
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path)):
        pass
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(errors.StoreDamaged):
        SqliteStore.open(path)


def test_a_file_system_without_write_ahead_logging_is_refused(tmp_path, monkeypatch):
    from perdure.store.sqlite import line

    monkeypatch.setitem(line.SQL, "use_wal", "PRAGMA journal_mode = DELETE")
    refused(tmp_path / "s.db", "E510")
