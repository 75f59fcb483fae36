"""Settings of a dial that were measured, kept in a file so that a stopped run resumes."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from teaser.errors import DataError
from teaser.evaluate.study.results import DialSetting
from teaser.evaluate.study.typed import TypedError, from_plain

_TABLE = "CREATE TABLE IF NOT EXISTS setting (key TEXT PRIMARY KEY, content TEXT NOT NULL)"


class MeasuredSettings:
    """Measured settings by key; in memory alone where no file is given.

    A key stands for all that a setting depends on: data, split, parameters and metric.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(_TABLE)

    def find(self, key: str) -> DialSetting | None:
        """Return the setting of a key, or None where it was not measured."""
        query = "SELECT content FROM setting WHERE key = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        try:
            return None if row is None else from_plain(DialSetting, json.loads(row[0]), "")
        except (TypedError, ValueError):
            return None  # of another version: it is measured again

    def add(self, key: str, setting: DialSetting) -> None:
        """Keep a setting; it is on disk when this returns."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, json.dumps(asdict(setting)))
            )


@contextmanager
def open_settings(path: Path | None) -> Iterator[MeasuredSettings]:
    """Open the file of measured settings; it is made where there is none."""
    try:
        with closing(sqlite3.connect(":memory:" if path is None else path)) as connection:
            yield MeasuredSettings(connection)
    except sqlite3.DatabaseError as error:
        raise DataError(
            f"The measured settings in {path} cannot be used: {error}. Move the file away to "
            "measure all of them again."
        ) from error
