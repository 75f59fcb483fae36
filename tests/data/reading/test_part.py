"""One partition: its pairs, its counts, its newest time, its matrix."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from teaser.data.condition import Conditions
from teaser.data.interactions import Strength, interaction_matrix
from teaser.data.partitions import Part, PartSize, Reader
from teaser.errors import DataError, TableError

FRAME = pl.DataFrame(
    {
        "u": ["b", "a", "b", "b"],
        "i": [2, 1, 1, 2],
        "stars": [5, 4, 1, 3],
        "day": [date(2024, 1, 1), date(2024, 1, 3), date(2025, 1, 1), date(2024, 1, 2)],
    }
)
IDS = pl.Series("item", [1, 2, 3])


@pytest.fixture
def path(tmp_path: Path) -> str:
    FRAME.write_parquet(tmp_path / "p.parquet")
    return str(tmp_path / "p.parquet")


def size(reader: Reader, path: str) -> PartSize:
    return reader.survey("p", path).size


def test_a_part_keeps_its_source_out_of_messages() -> None:
    assert repr(Part("p", "secret")) == "Part(name='p')"


def test_the_survey_counts_users_items_and_co_occurrences(path: str) -> None:
    found = Reader("u", "i", None).survey("p", path)
    assert (found.size.rows, found.size.users, found.size.interactions) == (4, 2, 3)
    assert found.size.bytes == Path(path).stat().st_size
    assert found.chosen.rows() == [(2, 1), (1, 2)]
    assert found.squares == 2**2 + 1
    assert len(found.user_hashes) == 2


def test_the_matrix_has_ones_or_strengths(path: str) -> None:
    plain = Reader("u", "i", None)
    assert plain.matrix(IDS, size(plain, path), "p", path).toarray().tolist() == [
        [1, 1, 0],
        [1, 0, 0],
    ]
    reader = Reader("u", "i", Conditions.parse("stars > 1"), Strength("stars"))
    found = reader.matrix(IDS, size(reader, path), "p", path)
    assert found.toarray().tolist() == [[0, 5, 0], [4, 0, 0]]


def test_the_newest_time_is_that_of_rows_that_count(path: str) -> None:
    strength = Strength(time="day", half_life=1.0)
    reader = Reader("u", "i", Conditions.parse("stars > 1"), strength)
    assert reader.newest("p", path) == date(2024, 1, 3).toordinal() * 86_400 - 719_163 * 86_400
    nobody = Reader("u", "i", Conditions.parse("stars > 9"), strength)
    assert nobody.newest("p", path) == -float("inf")


def test_a_user_is_found_by_hash(path: str) -> None:
    wanted = int(pl.Series(["a"]).hash(0)[0])
    assert Reader("u", "i", None).user_of(wanted, "p", path) == "a"


def test_errors_name_the_part(path: str) -> None:
    with pytest.raises(TableError, match="part 7: Column 'w', needed for"):
        Reader("u", "i", None, Strength("w")).pairs("part 7", path)
    with pytest.raises(TableError, match="part 7 is missing"):
        Reader("u", "i", None).pairs("part 7", path + "x")
    reader = Reader("u", "i", None)
    with pytest.raises(DataError, match="part 7 has 1 items that are not in the data set"):
        reader.matrix(IDS.head(1), size(reader, path), "part 7", path)


def test_pairs_become_a_matrix() -> None:
    pairs = pl.DataFrame({"user": ["y", "x"], "item": [3, 1], "strength": [0.5, 2.0]})
    X = interaction_matrix(pairs, pl.Series(["x", "y"]), IDS)
    assert X.toarray().tolist() == [[2, 0, 0], [0, 0, 0.5]]
    plain = interaction_matrix(pairs.drop("strength"), pl.Series(["x", "y"]), IDS)
    assert plain.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
