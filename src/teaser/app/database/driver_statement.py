"""A statement for the driver of SQLite: compiled once, and without the layers above the driver."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Dialect, Insert
from sqlalchemy.exc import IntegrityError


class DriverStatement:
    """An insertion, ready for a connection of the driver.

    Parameters
    ----------
    statement
        The insertion; its parameters have names.
    dialect
        That of SQLite.
    """

    def __init__(self, statement: Insert, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        # What turns each value into one of the driver, in the order of the text.
        self._parameters: list[tuple[str, Callable[[Any], Any] | None]] = [
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup or ()
        ]

    def run(self, connection: sqlite3.Connection, given: Mapping[str, Any]) -> int:
        """Run it with values by name; return the number of rows.

        Raises
        ------
        IntegrityError
            That of SQLAlchemy, if a constraint is broken.
        """
        values = [
            given[name] if convert is None else convert(given[name])
            for name, convert in self._parameters
        ]
        try:
            return connection.execute(self._text, values).rowcount
        except sqlite3.IntegrityError as error:
            raise IntegrityError(self._text, None, error) from error
