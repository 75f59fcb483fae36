"""A data set: from tables, immutable, saved and loaded whole."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES as TABLE_RULES
from data.three_users import INTERACTIONS, ITEMS, RULES, assert_same, chosen, three_users
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from teaser import Dataset, artifact
from teaser.data.matrix import Ids, binary_matrix, pack, unpack
from teaser.data.reading import Refusal, Table
from teaser.data.rules import Category, ListOf, Rules
from teaser.errors import ArtifactError, DataError, ParameterError, TableError, UnknownNameError


@pytest.fixture
def dataset() -> Dataset:
    return three_users()


def carried(dataset: Dataset) -> set[tuple[Any, str]]:
    """Return which item carries which tag, by name."""
    return {
        (dataset.items[i], str(dataset.tags[j])) for i, j in zip(*dataset.S.nonzero(), strict=True)
    }


class TestFromTables:
    def test_matrices_say_who_chose_what_and_what_carries_what(self, dataset: Dataset) -> None:
        assert chosen(dataset) == {("ann", "a"), ("bob", "b"), ("cy", "z")}
        assert carried(dataset) == {
            ("a", "genre=jazz"),
            ("a", "genre=rock"),
            ("a", "year=1990s"),
            ("b", "genre=jazz"),
            ("b", "year=2000s"),
            ("c", "year=2010s"),
        }

    def test_items_come_as_described_and_then_the_undescribed(self, dataset: Dataset) -> None:
        assert dataset.items == ["a", "b", "c", "z"]
        assert dataset.items_without_metadata == 1
        assert dataset.table["title"].to_list() == ["Alpha", "Beta", "Gamma", None]
        assert dataset.table.columns[0] == "item_id"

    def test_everything_left_out_is_told(self, dataset: Dataset) -> None:
        assert dataset.lines() == [
            "6 rows read: 3 interactions of 3 users with 3 items",
            "1 row not positive, 1 duplicate merged",
            "1 row refused, user_id is missing: row 6 (None)",
            "items: 1 row refused, the item is described twice, the first row is kept: row 4 ('a')",
            "4 items: 1 without metadata, 1 not chosen",
            "5 tags: 2 genre, 3 year",
            "1 item has no tag",
            "warning: 4 tags on one item alone, where nothing can be learned from other items: "
            "genre=rock, year=1990s, year=2000s, year=2010s. Raise min_items",
        ]

    @given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
    def test_matrices_are_binary_and_canonical_whatever_the_duplicates(
        self, pairs: list[tuple[int, int]]
    ) -> None:
        interactions = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
        items = pl.DataFrame({"item_id": range(5), "g": [["x", "x"], ["y"], [], ["x", "y"], None]})
        dataset = Dataset.from_tables(interactions, items, rules=[ListOf("g")])
        assert chosen(dataset) == set(pairs)
        for matrix in (dataset.X, dataset.S):
            assert set(matrix.data) == {1.0}
            assert matrix.has_canonical_format
        assert dataset.X.nnz == dataset.report.interactions == len(set(pairs))
        assert dataset.report.duplicates == len(pairs) - len(set(pairs))


class TestWithoutTags:
    def test_items_may_be_those_of_the_interactions(self, tmp_path: Path) -> None:
        found = Dataset.from_tables(INTERACTIONS)
        assert found.items == ["a", "b", "z"]
        assert chosen(found) == {("ann", "a"), ("bob", "b"), ("ann", "b"), ("cy", "z")}
        assert "3 items: 3 without metadata, 0 not chosen" in found.lines()
        assert found.table.columns == ["item_id"]
        found.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), found)


class TestBadInput:
    def test_a_role_on_a_missing_column(self) -> None:
        with pytest.raises(TableError, match=r"'titel', needed for the role 'title'.*Closest"):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=Rules(RULES, {"title": "titel"}))


class TestImmutable:
    def test_the_matrices_are_read_only(self, dataset: Dataset) -> None:
        for matrix in (dataset.X, dataset.S):
            before = matrix.toarray()
            for part in (matrix.data, matrix.indices, matrix.indptr):
                with pytest.raises(ValueError, match="read-only"):
                    part[0] = 1
            np.testing.assert_array_equal(matrix.toarray(), before)


class TestUserFeatures:
    def test_it_has_features_of_its_users(self, known: Dataset) -> None:
        assert list(map(str, known.user_tags)) == ["camp=c0", "camp=c1", "camp=c2"]
        wanted = [[int(str(u)[1:]) % 3 == j for j in range(3)] for u in known.users]
        assert known.Q is not None
        assert_array_equal(known.Q.toarray(), wanted)
        assert known.describe()["user_tags"] == {"camp": 3}
        assert any("310 rows of users: 300" in line for line in known.lines())

    def test_saved_and_loaded_it_knows_the_same(self, known: Dataset, tmp_path: Path) -> None:
        known.save(tmp_path / "d")
        loaded = Dataset.load(tmp_path / "d")
        assert known.Q is not None
        assert loaded.Q is not None
        assert_array_equal(loaded.Q.toarray(), known.Q.toarray())
        assert loaded.user_tags == known.user_tags
        assert loaded.lines() == known.lines()
        assert loaded.user_features is not None
        assert known.user_features is not None
        assert loaded.user_features.rules == known.user_features.rules
        assert loaded.user_features.report == known.user_features.report

    def test_a_saved_set_without_its_features_is_refused(
        self, known: Dataset, tmp_path: Path
    ) -> None:
        known.save(tmp_path / "d")
        content = artifact.read(tmp_path / "d")
        arrays = {name: a for name, a in content.arrays.items() if not name.startswith("Q.")}
        artifact.write(
            tmp_path / "d", kind="dataset", settings=content.settings, arrays=arrays,
            tables=content.tables,
        )  # fmt: skip
        with pytest.raises(ArtifactError, match="matrix Q"):
            Dataset.load(tmp_path / "d")

    def test_rules_without_users_are_refused(
        self, tables: tuple[pl.DataFrame, pl.DataFrame]
    ) -> None:
        with pytest.raises(ParameterError, match="without a table of users"):
            Dataset.from_tables(*tables, rules=TABLE_RULES, user_rules=[Category("camp")])


# A header of three columns over rows that end with a tab; an entity cut at its semicolon; ids
# that are named otherwise; http pictures.
BOOKS = "Book_ID\tBook-Title\tPublisher\tImage-URL-S\tImage-URL-L\n" + "".join(
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
    texts = {"ratings.dat": RATINGS, "items.dat": BOOKS + CUT + LONG, "users.dat": USERS}
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


class TestIncompleteFolders:
    """A folder that says it holds a data set, with every checksum right, may still hold none."""

    @pytest.fixture
    def content(self, dataset: Dataset, tmp_path: Path) -> dict[str, Any]:
        dataset.save(tmp_path / "d")
        found = artifact.read(tmp_path / "d")
        return {
            "kind": found.kind,
            "settings": found.settings,
            "arrays": {name: np.array(array) for name, array in found.arrays.items()},
            "tables": found.tables,
        }

    @pytest.mark.parametrize(
        ("place", "name"),
        [
            ("settings", "rules"),
            ("settings", "report"),
            ("settings", "tag_report"),
            ("settings", "skipped"),
            ("arrays", "X.indices"),
            ("arrays", "S.indptr"),
            ("tables", "users"),
            ("tables", "items"),
            ("tables", "tags"),
        ],
    )
    def test_a_missing_part(
        self, content: dict[str, Any], tmp_path: Path, place: str, name: str
    ) -> None:
        del content[place][name]
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match=f"{name.split('.')[0]}.* Make it again"):
            Dataset.load(tmp_path / "e")


class TestStrengths:
    ROWS = pl.DataFrame(
        {
            "user_id": ["ann", "ann", "bob", "ann", "cy", "cy"],
            "item_id": ["a", "a", "a", "b", "c", "b"],
            "plays": [2.0, 3.0, 5.0, 1.0, 0.0, -1.0],
            "day": [
                "2024-01-11",
                "2024-01-01",
                "2023-12-22",
                "2024-01-11",
                "2024-01-11",
                "2024-01-11",
            ],
        }
    )

    def entries(self, **options: Any) -> dict[tuple[Any, Any], float]:
        X = (found := Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, **options)).X.tocoo()
        assert X.dtype == np.float32
        places = zip(X.row.tolist(), X.col.tolist(), X.data.tolist(), strict=True)
        return {(found.users[u], found.items[i]): value for u, i, value in places}

    def test_rows_decay_before_they_are_merged(self) -> None:
        # Ages of 0, 10, 20 and 0 days: factors of 1, 1/2, 1/4 and 1.
        found = self.entries(time="day", half_life=10)
        wanted = {("ann", "a"): 1, ("bob", "a"): 0.25, ("ann", "b"): 1, ("cy", "c"): 1,
                  ("cy", "b"): 1}  # fmt: skip
        assert found == pytest.approx({pair: 5 * x / 4.25 for pair, x in wanted.items()})
        found = self.entries(strength="plays", counts="log", time="day", half_life=10)
        logs = {("ann", "a"): np.log(4.5), ("bob", "a"): np.log(2.25), ("ann", "b"): np.log(2)}
        mean = sum(logs.values()) / 3
        assert found == pytest.approx({pair: x / mean for pair, x in logs.items()})

    def test_their_unit_makes_no_difference(self) -> None:
        def made(factor: float, **options: Any) -> Dataset:
            plays = self.ROWS.with_columns(pl.col("plays") * factor)
            return Dataset.from_tables(plays, ITEMS, rules=RULES, strength="plays", **options)

        found = made(1.0)
        assert found.X.data.mean() == pytest.approx(1.0)
        for factor in (1e-30, 3.0, 1e30):
            np.testing.assert_allclose(made(factor).X.data, found.X.data, rtol=1e-6)
        assert "; divided by their mean, " in found.report.strength

    def test_equal_ones_are_none_and_a_huge_one_is_said(self) -> None:
        def made(plays: list[float]) -> Dataset:
            rows = self.ROWS.with_columns(plays=pl.Series(plays))
            return Dataset.from_tables(rows, ITEMS, rules=RULES, strength="plays")

        equal = made([0.3] * 6)
        assert set(equal.X.data.tolist()) == {1.0}
        assert any("same strength" in note for note in equal.notes)
        with pytest.raises(DataError, match=r"No positive interaction is left.*6 rows of strength"):
            made([0.0] * 6)
        users = {"user_id": list(range(3000)), "item_id": ["a", "b", "c"] * 1000}
        rows = pl.DataFrame(users | {"plays": [3e38] + [1.0] * 2999})
        huge = Dataset.from_tables(rows, ITEMS, rules=RULES, strength="plays")
        assert huge.X.nnz == 3000
        assert (huge.X.data > 0).all()
        said = "the largest strength is 3,000 times the mean, and drowns others"
        assert any(said in note for note in huge.notes)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"half_life": 9}, "half-life of 9 days needs the time"),
            (
                {"half_life": 0, "time": "day"},
                "half_life must be a finite number above 0, found 0",
            ),
            ({"counts": "sum"}, "counts must be 'once' or 'log', found 'sum'"),
        ],
    )
    def test_settings_are_checked_before_anything_is_read(
        self, options: dict[str, Any], problem: str
    ) -> None:
        for make in (Dataset.from_tables, Dataset.from_partitions):
            with pytest.raises(ParameterError, match=problem):
                make("nowhere.csv", "nowhere.csv", **options)


class TestTimes:
    ROWS = pl.DataFrame(
        {
            "user_id": ["ann", "bob", "ann", "ann", "cy", "cy"],
            "item_id": ["b", "a", "a", "b", "c", "a"],
            "when": ["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-09", "2024-02-01", "soon"],
            "plays": [1.0, 2.0, 1.0, 0.0, 1.0, 1.0],
        }
    )

    def dataset(self, **options: Any) -> Dataset:
        return Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, time="when", **options)

    @staticmethod
    def days(dataset: Dataset) -> dict[tuple[Any, Any], float]:
        """Return who chose what on which day of 2024, from the entries as they are stored."""
        assert dataset.times is not None
        of = np.repeat(np.arange(dataset.n_users), np.diff(dataset.X.indptr))
        first = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
        return {
            (dataset.users[u], dataset.items[i]): (t - first) / 86_400
            for u, i, t in zip(of, dataset.X.indices, dataset.times, strict=True)
        }

    def test_a_choice_without_a_time_is_kept(self, tmp_path: Path) -> None:
        rows = {"user_id": ["ann"] * 3, "item_id": ["a", "b", "c"]}
        found = Dataset.from_tables(rows | {"when": ["2024-01-02", "", "2024-01-01"]}, time="when")
        assert found.history("ann") == ["b", "c", "a"]
        assert any("1 interaction without a time" in line for line in found.lines())
        found.save(tmp_path / "d")
        again = Dataset.load(tmp_path / "d")
        assert again.history("ann") == ["b", "c", "a"]
        assert again.lines() == found.lines()


class TestHistory:
    def test_items_are_in_order_of_time(self) -> None:
        rows = TestTimes.ROWS.with_columns(when=pl.Series(range(1_700_000_006, 1_700_000_000, -1)))
        found = Dataset.from_tables(rows, ITEMS, rules=RULES, time="when")
        assert found.history("ann") == ["a", "b"]
        assert found.history("cy") == ["a", "c"]

    def test_strengths_come_with_their_items(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES, strength="plays")
        # The mean of 2, 1, 1, 1 and 1 is 1.2.
        assert found.history("bob") == pytest.approx({"a": 2 / 1.2})
        assert found.history("ann") == pytest.approx({"a": 1 / 1.2, "b": 1 / 1.2})

    def test_an_unknown_user(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES)
        with pytest.raises(
            UnknownNameError, match=r"Unknown user 'annn'; the data set has 3 users. Closest: ann"
        ):
            found.history("annn")
        with pytest.raises(
            UnknownNameError,
            match=r"3 users\. User ids are texts, such as 'ann'\.$",
        ):
            found.history(17)
        rows = pl.DataFrame({"user_id": [17, 18], "item_id": [1, 1]})
        with pytest.raises(
            UnknownNameError,
            match=r"2 users\. User ids are whole numbers, such as 17\.$",
        ):
            Dataset.from_tables(rows).history("nobody")

    def test_partitions_know_no_users(self, tmp_path: Path) -> None:
        TestTimes.ROWS.write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"in partitions.*from_tables"):
            Dataset.from_partitions(tmp_path).history("ann")


class TestIds:
    @given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(), unique_by=str))
    def test_every_name_is_found_at_its_position(self, names: list[int | str]) -> None:
        ids = Ids(names)
        assert [ids.index_of(name) for name in names] == list(range(len(names)))


MATRIX = binary_matrix(pl.Series([0, 2, 0]), pl.Series([3, 1, 0]), (3, 4))


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("indptr", [0, 3, 0, 0]),  # scipy takes it for empty, and reads beyond the end
        ("indptr", [0, 2, 1, 3]),
        ("indptr", [1, 2, 2, 3]),
        ("indptr", [0, 2, 2, 9]),
        ("indptr", [0, -1, 2, 3]),
        ("indices", [0, 3, 4]),
        ("indices", [0, -1, 1]),
        ("indices", [0, 3]),
        ("data", [1.0, 2.0]),
    ],
)
def test_parts_that_do_not_fit_are_refused(part: str, content: list[Any]) -> None:
    parts = {**pack("X", MATRIX * 2), f"X.{part}": np.array(content)}
    with pytest.raises(ArtifactError, match="matrix X is not whole"):
        unpack("X", parts, (3, 4))
