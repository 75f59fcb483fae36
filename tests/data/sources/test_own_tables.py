"""The tables that are proposed for a folder that fits no reader."""

import gzip
from pathlib import Path

import polars as pl

from teaser.data.sources.folder import propose_tables


def test_the_first_lines_tell_interactions_and_items(tmp_path: Path) -> None:
    (tmp_path / "a users.dat").write_text("User-ID\tAge\n1\t30\n")
    (tmp_path / "info.dat").write_text("Book_ID\tBook-Title\n1\tA book\n")
    (tmp_path / "later.txt").write_text("user;item;rating\n1;1;5\n")
    with gzip.open(tmp_path / "history.dat.gz", "wt") as file:
        file.write("user\titem\n1\t1\n")
    assert propose_tables(tmp_path) == (
        f"Name two tables: teaser prepare {tmp_path}/history.dat.gz {tmp_path}/info.dat --out DATA."
        " There are interactions in later.txt too."
    )


def test_parquet_files_tell_by_their_columns_and_names_are_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "my shop"
    folder.mkdir()
    pl.DataFrame({"customer_id": [1], "product_id": [2]}).write_parquet(folder / "sales.parquet")
    (folder / "broken.parquet").write_bytes(b"no")
    (folder / "broken.csv.gz").write_bytes(b"no")
    (folder / "long.txt").write_text("user_id,item_id," + "x" * 20_000)
    assert propose_tables(folder) == (
        f"Name the table of interactions: teaser prepare '{folder}/sales.parquet' --out DATA."
    )


def test_without_a_header_the_kind_of_tables_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    proposed = propose_tables(tmp_path)
    assert proposed.startswith("Name two tables: teaser prepare ")
    assert f"{tmp_path}/INTERACTIONS {tmp_path}/ITEMS" in proposed
    (tmp_path / "a.csv").unlink()
    assert propose_tables(tmp_path) == ""
