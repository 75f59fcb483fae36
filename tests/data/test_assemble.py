"""The attributes of a data set, made of tables as they come."""

import logging
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from teaser import Dataset
from teaser.data.dataset import assemble, describe, read_tables
from teaser.data.reading import Refusal, Table
from teaser.errors import DataError, TableError

# A header of three columns over rows that end with a tab; an entity cut at its semicolon; ids
# that are named otherwise; http pictures.
ITEMS = "Book_ID\tBook-Title\tPublisher\tImage-URL-S\tImage-URL-L\n" + "".join(
    f"{i}\tTitle {i}\tHouse {i % 3}\thttp://a.b/{i}s.jpg\thttp://a.b/{i}l.jpg\t\n"
    for i in range(1, 31)
)
CUT = "31\tThe Cats\tNorton &amp\t Company\thttp://a.b/s.jpg\thttp://a.b/l.jpg\t\n"
LONG = "32\tToo\tmany\tparts\there\tand\tthere\t\n"
RATINGS = "user\titem\trating\n" + "".join(
    f"{u}\t{i}\t{(u * i) % 10 + 1}.000000\n" for u in range(1, 9) for i in range(1, 32, u)
)
USERS = "User-ID\tLocation\tAge\n" + "".join(f"{u}\ttown\t{u % 2 + 20}\t\n" for u in range(1, 9))


@pytest.fixture
def books(tmp_path: Path) -> dict[str, Path]:
    texts = {"ratings.dat": RATINGS, "items.dat": ITEMS + CUT + LONG, "users.dat": USERS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name.partition(".")[0]: tmp_path / name for name in texts}


def test_tables_are_taken_as_they_lie(books: dict[str, Path], tmp_path: Path) -> None:
    found = Dataset.from_tables(books["ratings"], books["items"], users=books["users"])
    assert found.table.columns[:3] == ["Book_ID", "Book-Title", "Publisher"]
    assert found.table.filter(pl.col("Book_ID") == 31)["Publisher"].item() == "Norton & Company"
    assert found.rules.roles == {"title": "Book-Title", "picture": "Image-URL-L"}
    assert found.user_tags
    said = " ".join(found.lines())
    for part in (
        "joined where the semicolon of an HTML entity (&amp;) had cut them: line 32",
        "1 cell of the items had HTML entities",
        "--user user --item item --items-id Book_ID --users-id User-ID",
        "column 'rating' of ",
        "31 of 31 pictures in column 'Image-URL-L' are not shown by the site",
        "items: 1 row refused, more fields than the header, which has 5: line 33 has 7",
    ):
        assert part in said, part
    found.save(tmp_path / "d")
    assert Dataset.load(tmp_path / "d").lines() == found.lines()


def test_rows_that_could_not_be_read_are_in_the_counts() -> None:
    rows = Table(
        pl.DataFrame({"user_id": [1, 2], "item_id": [1, 1]}),
        refused=(Refusal("more fields", 3, ("line 9 has 4",)),),
    )
    report = Dataset.from_tables(rows).report
    assert report.rows == 5
    assert report.rows == report.interactions + sum(r.count for r in report.refused)


@pytest.mark.parametrize(
    ("options", "is_told"),
    [({}, True), ({"positive": "rating >= 7"}, False), ({"strength": "rating"}, False)],
)
def test_forgotten_ratings_are_told(
    books: dict[str, Path], options: dict[str, Any], is_told: bool
) -> None:
    found = Dataset.from_tables(books["ratings"], **options)
    assert any("--positive" in note for note in found.notes) == is_told


def test_forgotten_times_are_told() -> None:
    rows = {"user_id": [1, 2], "item_id": [1, 1], "date": ["2024-01-01", "2024-01-02"]}
    assert any("--time date" in note for note in Dataset.from_tables(rows).notes)
    assert Dataset.from_tables(rows, time="date").notes == ()


def test_words_that_may_be_no_ids_are_told() -> None:
    found = Dataset.from_tables({"user_id": ["ann", "nan"], "item_id": [1, 2]})
    assert any("with 'nan' in column 'user_id', taken as an id" in note for note in found.notes)


def test_errors_about_rows_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("user,item,day\n1,a,01/02/2024\n2,a,02/02/2024\n")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"time": "day"}, r"r\.csv: Column 'day' has dates .* row 1 \('01/02/2024'\)"),
        ({"positive": "day = x"}, r"r\.csv: No positive interaction is left"),
        ({"strength": "plays"}, r"r\.csv: Column 'plays', needed"),
    ]
    for options, said in cases:
        with pytest.raises(DataError, match=said):
            Dataset.from_tables(path, **options)
    with pytest.raises(DataError, match=r"^Column 'day' has dates"):
        Dataset.from_tables(pl.read_csv(path), time="day")


def test_warnings_are_logged(books: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="teaser.report"):
        Dataset.from_tables(books["ratings"])
    levels = {record.levelname for record in caplog.records}
    assert levels == {"WARNING", "INFO"}


def test_ids_may_be_named(books: dict[str, Path]) -> None:
    named: dict[str, Any] = {"user": "user", "item": "item"}
    named |= {"items_id": "Book_ID", "users_id": "User-ID"}
    found = Dataset.from_tables(books["ratings"], books["items"], users=books["users"], **named)
    assert not any("not named" in note for note in found.notes)
    with pytest.raises(TableError, match=r"'ISBN'.*Likely: Book_ID. Give items_id='Book_ID'"):
        Dataset.from_tables(books["ratings"], books["items"], items_id="ISBN")


def test_partitions_have_their_items_found_too(books: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    pl.read_csv(books["ratings"], separator="\t").write_parquet(tmp_path / "parts" / "a.parquet")
    columns: dict[str, Any] = {"user": "user", "item": "item"}
    found = Dataset.from_partitions(tmp_path / "parts", books["items"], **columns)
    assert found.table.columns[0] == "Book_ID"
    assert any("--items-id Book_ID" in note for note in found.notes)
    assert found.items_refused[0].count == 1


def test_attributes_are_those_of_a_data_set() -> None:
    tables = read_tables(
        {"user": [1, 2], "item": ["a", "b"]}, {"item": ["a"], "title": ["A"]}, None,
        encoding="utf-8",
    )  # fmt: skip
    found = assemble(tables, None, (None, None), None, None)
    assert Dataset(**found).items == ["a", "b"]
    chosen = pl.DataFrame({"item": ["a", "b"], "count": [1, 1]})
    assert describe(tables.items, chosen, "item", None)["items_without_metadata"] == 1
    assert describe(None, chosen, "item", None)["items_without_metadata"] == 2


@pytest.fixture
def folder(shared_data: Path) -> Path:
    if not (shared_data / "book-crossing").is_dir():
        pytest.skip("Book-Crossing is not among the public data sets of this machine")
    return shared_data / "book-crossing"


class TestBookCrossing:
    """The set as its authors publish it, untouched."""

    def test_it_needs_no_option(self, folder: Path) -> None:
        found = Dataset.from_tables(folder / "book_history.dat", folder / "items_info.dat")
        assert (found.n_users, found.n_items, found.X.nnz) == (2946, 17384, 272678)
        (refusal,) = found.items_refused
        assert refusal.count == 5
        assert found.items_without_metadata == 5
        assert found.rules.roles["picture"] == "Image-URL-L"
        assert not found.table["Publisher"].str.contains("&amp").any()

    def test_ratings_and_users_too(self, folder: Path) -> None:
        found = Dataset.from_tables(
            folder / "book_ratings.dat",
            folder / "items_info.dat",
            users=folder / "users_info.dat",
            positive="rating >= 7",
        )
        assert found.report.rows == 62656
        assert found.report.not_positive > 0
        assert {tag.feature for tag in found.user_tags} == {"Location", "Age"}
