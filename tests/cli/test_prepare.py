"""prepare and partition: tables, generated events, refused options, rules."""

from pathlib import Path
from typing import Any

import numpy as np
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


def test_two_tables_become_a_data_set_with_its_rules(paths: list[Path], tmp_path: Path) -> None:
    dataset, written = prepare(paths, tmp_path / "d")
    assert written == tmp_path / "d" / "rules.toml"
    assert Rules.read(written).tags == dataset.rules.tags
    assert Dataset.load(tmp_path / "d").items == dataset.items


def test_edited_rules_are_not_written_over(
    paths: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = prepare(paths, tmp_path / "d")
    first.write_text(first.read_text() + "# mine")
    _, second = prepare(paths, tmp_path / "d")
    assert first.read_text().endswith("# mine")
    assert second.name == "rules.inferred.toml"
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
    assert not (tmp_path / "d" / "rules.inferred.toml").exists()


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [
        (0, {"source": "events", "positive": "rating >= 4"}, "--positive does not go with"),
        (0, {"source": "events", "user": "u"}, "--user does not go with the generated events"),
        (0, {"source": "events", "users": "u.csv"}, "--users does not go with"),
        (1, {"seed": 4}, "--seed does not go with"),
        (1, {"start": "2026-01-01"}, "--start does not go with"),
        (2, {"imdb": Path("x")}, "--imdb does not go with tables"),
        (2, {"half_life": 3.0}, "needs the time of each interaction"),
        (2, {"counts": "twice"}, "counts must be 'once' or 'log'"),
        (0, {"source": "events", "strength": "x"}, "--strength does not go with"),
        (2, {"local_cluster": 2}, "--local-cluster does not go with .* not in partitions"),
        (2, {"user_rules": Path("x")}, "--user-rules does not go with .* without --users"),
        (2, {"source": "ml-1m"}, "Found 2 paths and --source ml-1m"),
        (3, {}, "Found 3 paths"),
        (0, {}, "Found 0 paths"),
        (1, {"source": "ml-1m"}, "is one file, and --source ml-1m reads the folder"),
        (1, {"items_columns": "a,b"}, "--items-columns does not go with interactions with"),
        (1, {"long": "a,b"}, "--long does not go with"),
        (1, {"items_id": "a"}, "--items-id does not go with"),
        (2, {"users_id": "a"}, "--users-id does not go with a data set without --users"),
        (2, {"users_columns": "a"}, "--users-columns does not go with"),
        (2, {"columns": "a,a"}, "columns must be a list of different names"),
        (0, {"source": "events", "delimiter": ";"}, "--delimiter does not go with"),
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


def test_strengths_are_made_as_asked(paths: list[Path], tmp_path: Path) -> None:
    rows = pl.read_csv(paths[0])
    rows = rows.with_columns(when=pl.lit("2024-01-01"), weight=pl.col("rating") / 2)
    rows.with_columns(when=pl.lit("2024-01-08")).vstack(rows).write_csv(paths[0])
    options = ("--strength", "weight", "--counts", "log", "--time", "when", "--half-life", "7")
    text = said("prepare", *paths, "-o", tmp_path / "d", *options)
    assert "weight x 2^(-age / 7 days), age counted from 2024-01-08" in " ".join(text.split())
    found = Dataset.load(tmp_path / "d")
    wanted = np.sort(np.log1p(0.75 * rows["rating"].unique().to_numpy()))
    ratios = np.unique(found.X.data) / found.X.data.min()
    np.testing.assert_allclose(ratios, wanted / wanted[0], rtol=1e-6)
    assert found.X.data.mean() == pytest.approx(1.0)


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

    def test_names_are_asked_for_all_tables_at_once(
        self, movies: list[Path], tmp_path: Path
    ) -> None:
        words: list[Any] = ["prepare", *movies[:2], "--users", movies[2], "-o", tmp_path / "d"]
        options = {
            "--columns": ("user_id,item_id,rating", "user_id,item_id,rating"),
            "--items-columns": ("item_id,title,column_3", "item_id,title,genres"),
            "--users-columns": ("user_id,column_2", "user_id,gender"),
        }
        for first in (self.ROWS, f"1::1::5\n{self.ROWS}"):
            # Names that are data may be the same twice.
            movies[0].write_text(first)
            text = " ".join(refused(*words).split())
            assert "looks like data, not names" in text
            for option, (proposed, _) in options.items():
                assert f"{option} {proposed} " in text
        for option, (_, named) in options.items():
            words += [option, named]
        text = " ".join(said(*words).split())
        assert "--positive" in text
        found = Dataset.load(tmp_path / "d")
        assert {tag.feature for tag in found.tags} == {"genres", "year"}
        assert {tag.feature for tag in found.user_tags} == {"gender"}

    def test_long_form_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "r.csv").write_text("user,movie\n1,7\n2,8\n")
        (tmp_path / "t.csv").write_text("movie,who,tag\n7,1,fun\n7,2,dark\n8,1,fun\n")
        paths = [tmp_path / "r.csv", tmp_path / "t.csv"]
        assert "--long movie,tag" in refused("prepare", *paths, "-o", tmp_path / "d")
        dataset, _ = prepare(paths, tmp_path / "d", long="movie,tag")
        assert dataset.table["tag"].to_list() == [["fun", "dark"], ["fun"]]
