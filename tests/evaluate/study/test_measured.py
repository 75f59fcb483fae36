"""Measured settings are kept by key, on disk at once, and read by the next run."""

import sqlite3
from pathlib import Path

import pytest

from teaser.errors import DataError
from teaser.evaluate.study.measured import open_settings
from teaser.evaluate.study.results import DialSetting

SETTING = DialSetting("remainder", {"remainder.l2": 30.0}, 0.25, 0.01, 0.5, 2.0, 0.6, {"viewed": 1})


def test_a_setting_is_found_by_its_key_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.dial.sqlite"
    with open_settings(path) as known:
        assert known.find("one") is None
        known.add("one", SETTING)
        with open_settings(path) as other:  # while the first is still open
            assert other.find("one") == SETTING
    with open_settings(path) as known:
        assert known.find("one") == SETTING
        assert known.find("two") is None


def test_without_a_file_nothing_is_kept() -> None:
    with open_settings(None) as known:
        known.add("one", SETTING)
        assert known.find("one") == SETTING
    with open_settings(None) as known:
        assert known.find("one") is None


def test_a_setting_of_another_version_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with open_settings(path) as known:
        known.add("one", SETTING)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE setting SET content = '{}'")
    connection.close()
    with open_settings(path) as known:
        assert known.find("one") is None


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_text("not a database, and long enough to be looked at" * 20)
    refused = pytest.raises(DataError, match=r"a\.sqlite cannot be used")
    with refused, open_settings(tmp_path / "a.sqlite"):
        pass
