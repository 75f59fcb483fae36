"""Tables from databases: any SQLAlchemy URL, or DuckDB."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl

from teaser.data.reading import Table, first_line
from teaser.errors import ParameterError, TableError

# Addresses of files, which polars reads; any other scheme is that of a database.
_STORES = "s3 s3a gs gcs az azure abfs abfss adl adls http https hf file hdfs".split()  # noqa: SIM905
_DUCKDB = (".duckdb", ".ddb")
# Databases in which one transaction sees one state of all tables, if it is asked to.
_SNAPSHOTS = {"postgresql": "REPEATABLE READ", "mysql": "REPEATABLE READ", "mssql": "SNAPSHOT"}
# What to install where a package is not called as the module that is missing.
_EXTRAS = {"psycopg": "'teaser-recommender[sql,postgres]'", "MySQLdb": "mysqlclient"}


def is_database(source: object) -> bool:
    """Whether a source is the URL of a database, or a DuckDB file."""
    text = str(source)
    scheme, found, _ = text.partition("://")
    if not found:
        return text.endswith(_DUCKDB)
    return isinstance(source, str) and scheme.lower() not in _STORES


def read_query(url: str, query: str) -> pl.DataFrame:
    """Return the rows that a query selects from a database.

    Parameters
    ----------
    url
        A SQLAlchemy URL such as `postgresql://user:password@host/shop` or `sqlite:///shop.db`; or
        a DuckDB file, `shop.duckdb` or `duckdb:///shop.duckdb`.
    query
        What to select, in the database's own SQL.
    """
    return read_queries(url, {"data": query})["data"].frame


def read_queries(url: str, queries: dict[str, str]) -> dict[str, Table]:
    """Return a table for each query, all read in one transaction.

    Tables that change meanwhile are read as they were at its start, where the database can do so.
    Messages have neither user name nor password.

    Parameters
    ----------
    url
        As for `read_query`.
    queries
        What to select, by what it holds (interactions, items, users).
    """
    text = str(url)
    is_duckdb = text.startswith("duckdb:") or text.endswith(_DUCKDB)
    found = {}
    with (_open_duckdb if is_duckdb else _open_sqlalchemy)(text) as database:
        for what, query in queries.items():
            try:
                names, rows = database.fetch(query)
            except database.error as error:
                why = _said(error, database.secrets)
                raise TableError(
                    f"The query of the {what} failed: {why}. The query is {query!r} "
                    f"(--query-{what})."
                ) from None
            if not names:
                raise TableError(
                    f"The query of the {what} returns no rows: {query!r}. Give a select "
                    f"(--query-{what})."
                )
            found[what] = _table(names, rows, what, database.name)
    return found


@dataclass(frozen=True)
class _Database:
    """An open database: its name in messages, and what returns names and rows of a query."""

    name: str
    fetch: Callable[[str], tuple[list[str], Sequence[Sequence[Any]]]]
    error: type[Exception]
    secrets: Sequence[str] = ()


@contextmanager
def _open_sqlalchemy(url: str) -> Iterator[_Database]:
    if find_spec("sqlalchemy") is None:
        raise ParameterError(
            "Reading a database needs SQLAlchemy: pip install 'teaser-recommender[sql]'."
        )
    import sqlalchemy as sa

    try:
        address = sa.make_url(url)
        if "@" in (address.host or ""):  # the end of a password, which no message may have
            raise ValueError
    except (sa.exc.ArgumentError, ValueError):
        # The text may hold a password, so that it is not shown.
        raise ParameterError(
            "The address of the database cannot be read. Write it as "
            "postgresql://user:password@host:5432/name or sqlite:///file.db; signs such as @ and / "
            "in a password are written %40 and %2F."
        ) from None
    backend = address.get_backend_name()
    if address.drivername in ("postgres", "postgresql"):
        backend, address = "postgresql", address.set(drivername="postgresql+psycopg")
    name = f"{backend}://{address.host or ''}/{address.database or ''}"
    if backend == "sqlite" and address.database and not Path(address.database).is_file():
        raise TableError(f"There is no SQLite file {address.database}.")
    secrets = [str(address.password or ""), *map(str, address.query.values())]
    isolation = {"isolation_level": _SNAPSHOTS[backend]} if backend in _SNAPSHOTS else {}
    try:
        engine = sa.create_engine(address, poolclass=sa.pool.NullPool, **isolation)
        connection = engine.connect()
    except sa.exc.NoSuchModuleError:
        raise ParameterError(
            f"SQLAlchemy knows no database {backend!r}. Install the package of its dialect, or "
            "write postgresql://, mysql://, sqlite:/// or duckdb:///."
        ) from None
    except ModuleNotFoundError as error:
        package = _EXTRAS.get(str(error.name), str(error.name))
        raise ParameterError(
            f"Reading {backend} needs the package {error.name}: pip install {package}."
        ) from None
    except sa.exc.SQLAlchemyError as error:
        raise TableError(
            f"The database {name} cannot be reached: {_said(error, secrets)}. Check its address, "
            "name and password."
        ) from None

    def fetch(query: str) -> tuple[list[str], Sequence[Any]]:
        # A colon is part of the query, not the name of a parameter.
        result = connection.execute(sa.text(query.replace(":", r"\:")))
        return (list(result.keys()), result.fetchall()) if result.returns_rows else ([], [])

    with connection:
        if backend == "sqlite":
            # Python's driver begins no transaction before a select.
            connection.exec_driver_sql("BEGIN")
        yield _Database(name, fetch, sa.exc.SQLAlchemyError, secrets)


@contextmanager
def _open_duckdb(url: str) -> Iterator[_Database]:
    if find_spec("duckdb") is None:
        raise ParameterError("Reading DuckDB needs its package: pip install duckdb.")
    import duckdb

    path = url.removeprefix("duckdb:///")
    if not Path(path).is_file():
        raise TableError(f"There is no DuckDB file {path}.")
    try:
        connection = duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        raise TableError(f"{path} cannot be opened: {first_line(error)}.") from error

    def fetch(query: str) -> tuple[list[str], Sequence[Any]]:
        result = connection.execute(query)
        return [column[0] for column in result.description or ()], result.fetchall()

    with connection:
        connection.begin()
        yield _Database(f"duckdb:///{path}", fetch, duckdb.Error)


def _table(names: list[str], rows: Sequence[Sequence[Any]], what: str, where: str) -> Table:
    """Return the rows of a result; values that no table can hold become texts."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TableError(
            f"The query of the {what} has more than one column {twice!r}. Name the columns that "
            f"are needed, with others as another name: select r.{twice}, m.{twice} as other."
        )
    if not rows:
        raise TableError(f"The query of the {what} selects no rows of {where}.")
    columns = [
        pl.Series(name, [_plain(cell) for cell in cells], strict=False)
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    ]
    return Table(pl.DataFrame(columns), f"the {what} of {where}")


def _plain(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return float(cell)
    return str(cell) if isinstance(cell, UUID | dict) else cell


def _said(error: Exception, secrets: Sequence[str]) -> str:
    """Return what the database said, without secrets."""
    text = first_line(getattr(error, "orig", None) or error)
    text = re.sub(r"^\(\S+\) ", "", text)
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return re.sub(r'(for user|role) "[^"]*"', r"\1 ***", text)
