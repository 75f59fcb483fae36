"""prepare and partition: tables, generated events, refused options, rules."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import refused, said
from conftest import small_tables

from teaser import Dataset, Rules
from teaser.cli.prepare import PrepareRequest, prepare_data
from teaser.errors import ArtifactError, ParameterError


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    interactions, items = small_tables()
    interactions.write_csv(tmp_path / "i.csv")
    items.write_csv(tmp_path / "t.csv")
    return [tmp_path / "i.csv", tmp_path / "t.csv"]


def prepare(paths: list[Path], folder: Path, **options: Any) -> tuple[Dataset, Path]:
    return prepare_data(paths, folder, PrepareRequest(**options))


def test_edited_rules_are_not_written_over(
    paths: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = prepare(paths, tmp_path / "d")
    first.write_text(first.read_text() + "# mine")
    _, second = prepare(paths, tmp_path / "d")
    assert first.read_text().endswith("# mine")
    assert second == first
    assert "is kept" in " ".join(capsys.readouterr().err.split())
    _, third = prepare(paths, tmp_path / "d", rules=first)
    assert third == first
    assert first.read_text().endswith("# mine")


def test_rules_that_nobody_edited_are_inferred_again(
    paths: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = prepare(paths, tmp_path / "d")
    before = first.read_text()
    items = pl.read_csv(paths[1]) if paths[1].suffix == ".csv" else pl.read_parquet(paths[1])
    grown = items.with_columns(pl.Series("floor", ["ground", "first"] * (items.height // 2)))
    grown.write_parquet(tmp_path / "grown.parquet")
    dataset, second = prepare([paths[0], tmp_path / "grown.parquet"], tmp_path / "d")
    assert second == first
    assert "floor" not in before
    assert "floor" in {rule.column for rule in Rules.read(first).tags}
    assert Rules.read(first).tags == dataset.rules.tags
    assert "is kept" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [
        (0, {"source": "events", "positive": "rating >= 4"}, "--positive does not go with"),
        (1, {"seed": 4}, "--seed does not go with"),
        (2, {"imdb": Path("x")}, "--imdb does not go with these tables"),
        (2, {"half_life": 3.0}, "needs the time of each interaction"),
        (2, {"counts": "twice"}, "counts must be 'once' or 'log'"),
        (2, {"local_cluster": 2}, "--local-cluster does not go with"),
        (2, {"source": "ml-1m"}, "Found 2 paths and --source ml-1m"),
        (0, {}, "Found 0 paths"),
        (1, {"source": "ml-1m"}, "is one file, and --source ml-1m reads the folder"),
        (1, {"items_columns": "a,b"}, "--items-columns does not go with"),
        (2, {"users_id": "a"}, "--users-id does not go with"),
        (2, {"columns": "a,a"}, "columns must be a list of different names"),
    ],
)
def test_an_option_without_effect_is_refused(
    paths: list[Path], tmp_path: Path, count: int, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        prepare((paths * 2)[:count], tmp_path / "d", **options)
    assert not (tmp_path / "d").exists()


def test_interactions_alone_become_a_data_set(paths: list[Path], tmp_path: Path) -> None:
    dataset, written = prepare(paths[:1], tmp_path / "d")
    assert (dataset.n_items, dataset.n_tags) == (40, 0)
    assert Rules.read(written).tags == ()
    text = said("prepare", paths[0], "-o", tmp_path / "e")
    assert "no column became a tag" in " ".join(text.split())
    said("partition", paths[0], "-o", tmp_path / "p")
    parted, _ = prepare([tmp_path / "p"], tmp_path / "f")
    assert sorted(parted.items) == sorted(dataset.items)


def test_an_option_of_tables_is_refused_for_a_public_data_set(tmp_path: Path) -> None:
    (tmp_path / "ml").mkdir()
    with pytest.raises(ParameterError, match="--item does not go with a public data set"):
        prepare([tmp_path / "ml"], tmp_path / "d", item="i")


def test_a_folder_that_cannot_be_written_is_noticed_before_reading(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="holds other files"):
        prepare([tmp_path / "none.csv", tmp_path / "none.csv"], tmp_path)


def test_the_events_need_no_files(tmp_path: Path) -> None:
    words = ("--source", "events", "--start", "2031-03-01", "--seed", 1)
    assert "9,000 users" in said("prepare", *words, "--out", tmp_path / "events")
    dates = Dataset.load(tmp_path / "events").table["date"].cast(str)
    assert "2031-03-01" <= min(dates) < max(dates) <= "2032-03-01"
    for start in ("yesterday", "2026-13-01"):
        text = refused("prepare", "--source", "events", "--start", start, "--out", tmp_path / "e")
        assert f"--start must be a date such as 2026-01-31, found {start!r}" in text


def test_bad_tables_are_one_sentence(shop: Path, tmp_path: Path) -> None:
    ratings, items = shop / "ratings.csv", shop / "items.parquet"
    out = ("--out", tmp_path / "d")
    assert "'userId'" in refused("prepare", ratings, items, *out, "--user", "userId")
    assert "No positive" in refused("prepare", ratings, items, *out, "--positive", "rating > 9")
    assert "no file" in refused("prepare", "nowhere.csv", items, *out)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "empty" in refused("prepare", empty, items, *out)
    latin = tmp_path / "latin.csv"
    latin.write_bytes("user_id,item_id\n1,caf\xe9\n".encode("latin-1"))
    assert "utf-8" in refused("prepare", latin, items, *out)
    assert not (tmp_path / "d").exists()


class TestStrangersTables:
    """Options for tables as they come."""

    ROWS = "1::10::5\n1::11::2\n2::10::4\n"
    MOVIES = "10::Heat (1995)::Action|Crime\n11::Big (1988)::Comedy\n"

    @pytest.fixture
    def movies(self, tmp_path: Path) -> list[Path]:
        (tmp_path / "r.dat").write_text(self.ROWS)
        (tmp_path / "m.dat").write_text(self.MOVIES)
        (tmp_path / "u.dat").write_text("1::F\n2::M\n")
        return [tmp_path / name for name in ("r.dat", "m.dat", "u.dat")]

    def test_names_are_asked_for_where_there_is_no_header(
        self, movies: list[Path], tmp_path: Path
    ) -> None:
        words: list[Any] = ["prepare", *movies[:2], "--users", movies[2], "-o", tmp_path / "d"]
        for option, proposed, named in (
            ("--columns", "user_id,item_id,rating", "user_id,item_id,rating"),
            ("--items-columns", "item_id,title,column_3", "item_id,title,genres"),
            ("--users-columns", "user_id,column_2", "user_id,gender"),
        ):
            text = " ".join(refused(*words).split())
            assert "looks like data, not names" in text
            assert f"{option} {proposed} " in text
            words += [option, named]
        text = " ".join(said(*words).split())
        assert "--positive" in text
        found = Dataset.load(tmp_path / "d")
        assert {tag.feature for tag in found.tags} == {"genres", "year"}
        assert {tag.feature for tag in found.user_tags} == {"gender"}
