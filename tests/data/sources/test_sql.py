"""Databases, patterns of files, several tables of items, kinds of interactions, lists a line."""

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pytest

from teaser import Dataset, read_table
from teaser.cli.prepare import PrepareRequest, prepare_data
from teaser.data.sources.sql import read_queries, read_query
from teaser.errors import ParameterError, TableError

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))
from soak.postgres import Postgres  # noqa: E402

sys.path.remove(str(ROOT / "benchmarks"))

SEEN = "select person as user_id, film as item_id from seen where hour > '10:30' and film like 'f%'"
FILMS = "select film as item_id, name as title, genre from films"
TABLES = """
create table seen (person text, film text, hour text);
create table films (film text, name text, genre text);
insert into seen values ('a','f1','11:00'), ('a','f2','11:00'), ('b','f1','12:00'),
    ('b','f3','12:00'), ('c','f2','12:00'), ('c','f3','09:00');
insert into films values ('f1','One','drama'), ('f2','Two','comedy'), ('f3','Three','drama');
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres("-c fsync=off") as started:
        with psycopg.connect(host=str(started.folder), user="postgres") as connection:
            connection.execute(TABLES)
        yield started


@pytest.fixture
def url(tmp_path: Path) -> str:
    path = tmp_path / "films.db"
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    connection.close()
    return f"sqlite:///{path}"


def prepare(source: str, folder: Path) -> Dataset:
    request = PrepareRequest(query_interactions=SEEN, query_items=FILMS)
    return prepare_data([source], folder, request)[0]


def check(dataset: Dataset) -> None:
    assert dataset.report.interactions == 5
    assert sorted(map(str, dataset.tags)) == ["genre=comedy", "genre=drama"]


def test_queries_of_sqlite_make_a_data_set(url: str, tmp_path: Path) -> None:
    check(prepare(url, tmp_path / "d"))


def test_queries_of_postgresql_make_a_data_set(server: Postgres, tmp_path: Path) -> None:
    check(prepare(server.url, tmp_path / "d"))


def test_queries_of_duckdb_make_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "films.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES)
    check(prepare(str(path), tmp_path / "d"))
    check(prepare(f"duckdb:///{path}", tmp_path / "e"))


def test_all_queries_see_the_database_as_it_was_at_the_first(server: Postgres) -> None:
    with psycopg.connect(host=str(server.folder), user="postgres", autocommit=True) as other:
        other.execute("create table news (n int)")
        other.execute("insert into news values (1)")
        # The second row comes after the first query began, and before the second one.
        other.execute("create extension if not exists dblink")
        change = f"select dblink_exec('host={server.folder} user=postgres dbname=postgres', "
        change += "'insert into news values (2)')"
        first = f"select n, ({change}) from news"  # noqa: S608
        found = read_queries(server.url, {"interactions": first, "items": "select n from news"})
    assert found["items"].frame["n"].to_list() == [1]


def test_messages_have_neither_name_nor_password() -> None:
    address = "postgresql://marianne:hush%40hush@127.0.0.1:1/shop"
    with pytest.raises(TableError, match=r"127.0.0.1/shop cannot be reached") as error:
        read_query(address, "select 1")
    assert "hush" not in str(error.value)
    assert "marianne" not in str(error.value)
    with pytest.raises(ParameterError, match="cannot be read") as unread:
        read_query("postgresql://marianne:hush@host:port/shop", "select 1")
    assert "hush" not in str(unread.value)


def test_a_query_that_fails_is_named_with_the_reason(url: str) -> None:
    with pytest.raises(TableError, match=r"query of the items failed: no such table: missing_one"):
        read_queries(url, {"items": "select * from missing_one"})
    with pytest.raises(TableError, match="selects no rows"):
        read_query(url, "select * from films where genre = 'none'")
    with pytest.raises(TableError, match="more than one column 'film'"):
        read_query(url, "select s.film, f.film from seen s join films f on s.film = f.film")
    with pytest.raises(TableError, match="There is no SQLite file"):
        read_query("sqlite:///nowhere.db", "select 1")
    assert not Path("nowhere.db").exists()


def test_a_missing_driver_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="needs the package"):
        read_query("mysql://host/shop", "select 1")
    with pytest.raises(ParameterError, match="knows no database 'mongo'"):
        read_query("mongo://host/shop", "select 1")
    with pytest.raises(ParameterError, match="--query-interactions"):
        prepare_data(["sqlite:///x.db"], tmp_path / "d", PrepareRequest())


def test_files_of_a_pattern_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("user_id,item_id\n1,7\n2,8\n")
    (tmp_path / "2.csv").write_text("user_id,item_id\n3,x\n")
    assert read_table(str(tmp_path / "*.csv"))["item_id"].to_list() == ["7", "8", "x"]
    (tmp_path / "3.csv").write_text("user,item_id\n3,x\n")
    with pytest.raises(TableError, match="need the same ones"):
        read_table(str(tmp_path / "*.csv"))
    with pytest.raises(TableError, match="No file matches"):
        read_table(str(tmp_path / "*.parquet"))


def test_an_address_is_read_as_polars_does(tmp_path: Path) -> None:
    pl.DataFrame({"user_id": [1], "item_id": [2]}).write_parquet(tmp_path / "a.parquet")
    assert read_table(f"file://{tmp_path}/a.parquet").rows() == [(1, 2)]
    with pytest.raises(TableError, match="cannot be read"):
        read_table(f"file://{tmp_path}/b.csv")


def test_further_tables_of_items_are_joined_by_their_ids(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("user_id,item_id\n1,7\n1,8\n2,7\n")
    (tmp_path / "t.csv").write_text("item_id,title,genre\n7,Heat,crime\n8,Big,comedy\n")
    (tmp_path / "m.csv").write_text("item_id,mood,title\n8,light,Large\n7,dark,Warm\n9,odd,Nine\n")
    paths = [tmp_path / name for name in ("i.csv", "t.csv", "m.csv")]
    dataset, _ = prepare_data(paths, tmp_path / "d", PrepareRequest())
    assert dataset.table["mood"].to_list() == ["dark", "light"]
    assert dataset.table["title (m)"].to_list() == ["Warm", "Large"]
    assert any("1 item that the first table does not have" in line for line in dataset.lines())


def test_each_kind_of_interaction_has_its_strength() -> None:
    rows = pl.DataFrame(
        {
            "user_id": [1, 1, 2, 2],
            "item_id": [7, 8, 7, 8],
            "event": ["view", "purchase", "cart", "return"],
        }
    )
    kinds = {"view": 1, "cart": 3, "purchase": 5}
    dataset = Dataset.from_tables(rows, strength="event", kinds=kinds)
    assert dataset.X.toarray().ravel() == pytest.approx([1 / 3, 5 / 3, 1, 0])
    assert dataset.report.refused[0].count == 1
    same = Dataset.from_tables(rows, strength="event", kinds="view=1,cart=3, purchase=5")
    assert (same.X != dataset.X).nnz == 0
    with pytest.raises(ParameterError, match="none of the kinds seen"):
        Dataset.from_tables(rows, strength="event", kinds="seen=1")
    with pytest.raises(ParameterError, match="--kinds view=1"):
        Dataset.from_tables(rows, strength="event", kinds="view")
    with pytest.raises(ParameterError, match="--strength event"):
        Dataset.from_tables(rows, kinds=kinds)


@pytest.mark.parametrize("text", ["3 7 8 9\n1 8\n\n2 7 9\n", "7 8 9\n8\n\n7 9\n"])
def test_one_list_of_items_a_line_is_recognised(text: str, tmp_path: Path) -> None:
    (tmp_path / "users.dat").write_text(text)
    dataset = Dataset.from_tables(tmp_path / "users.dat")
    assert dataset.history(1) == [7, 8, 9]
    assert dataset.history(4) == [7, 9]
    assert dataset.n_users == 3


def test_a_password_with_an_at_sign_is_in_no_message() -> None:
    with pytest.raises(ParameterError, match="%40") as found:
        read_query("postgresql://shop:pa@secret@127.0.0.1/shop", "select 1")
    assert "secret" not in str(found.value)
