"""The key of a store is made once, durably, and refused when it is not a secret."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from perdure.errors import BadKey
from perdure.store.keys import key_of


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path):
    store = str(tmp_path / "s.db")
    key = key_of(store, {})
    assert len(key) == 32
    assert key_of(store, {}) == key
    assert stat.S_IMODE(os.stat(store + ".key").st_mode) == 0o600
    assert os.listdir(tmp_path) == ["s.db.key"]


def test_two_stores_have_two_keys(tmp_path):
    assert key_of(str(tmp_path / "a"), {}) != key_of(str(tmp_path / "b"), {})


def test_many_that_come_at_once_get_the_same_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: key_of(str(tmp_path / "s.db"), {}), range(32)))
    assert len(set(keys)) == 1


def test_the_environment_goes_first(tmp_path):
    assert key_of(str(tmp_path / "s.db"), {"PERDURE_KEY": "ab" * 32}) == b"\xab" * 32
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "zz" * 32, "secretsecret"])
def test_what_is_no_key_is_refused_and_not_told(tmp_path, text):
    with pytest.raises(BadKey) as caught:
        key_of(str(tmp_path / "s.db"), {"PERDURE_KEY": text})
    assert not text or text not in str(caught.value)
    file = tmp_path / "t.db.key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(BadKey):
        key_of(str(tmp_path / "t.db"), {})


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_reach_is_refused(tmp_path, mode):
    store = str(tmp_path / "s.db")
    key_of(store, {})
    os.chmod(store + ".key", mode)
    with pytest.raises(BadKey, match="others"):
        key_of(store, {})


def test_a_key_that_cannot_be_made_is_a_coded_error(tmp_path):
    with pytest.raises(BadKey, match="E509"):
        key_of(str(tmp_path / "none" / "s.db"), {})
