"""prepare and partition: tables, public data sets, generated events; refused options; rules."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import refused, run, said
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


def test_free_text_is_left_out_and_taken_in_by_a_rule(paths: list[Path], tmp_path: Path) -> None:
    items = pl.read_csv(paths[1])
    story = [f"an evening of {kind} that nobody will soon forget" for kind in items["type"]]
    items.with_columns(pl.Series("story", story)).write_csv(paths[1])
    text = " ".join(said("prepare", *paths, "-o", tmp_path / "d").split())
    assert "'story' is free text and was left out" in text
    assert '[[tags]], kind = "text", column = "story"' in text
    assert all(tag.feature != "story" for tag in Dataset.load(tmp_path / "d").tags)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[tags]]\nkind = "text"\ncolumn = "story"\nmax_share = 0.9\n')
    dataset, _ = prepare(paths, tmp_path / "e", rules=rules)
    assert {str(tag) for tag in dataset.tags} >= {"story=concert"}
    assert not any("free text" in note for note in dataset.notes)


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


def test_dislikes_are_kept_beside_the_interactions(paths: list[Path], tmp_path: Path) -> None:
    rows = pl.read_csv(paths[0])
    stars = rows["rating"].to_list()
    low, high = min(stars), max(stars)
    rules = ("--positive", f"rating >= {high}", "--negative", f"rating <= {low}")
    text = " ".join(said("prepare", *paths, "-o", tmp_path / "d", *rules).split())
    found = Dataset.load(tmp_path / "d")
    assert found.disliked is not None
    assert f"{found.disliked.nnz:,} disliked items of" in text
    user = next(n for n, row in enumerate(found.disliked.toarray()) if row.any())
    history = found.history(found.users[user])
    assert isinstance(history, dict)
    assert min(history.values()) == -0.125
    same = ("--positive", f"rating >= {high}", "--negative", f"rating >= {high}")
    assert "positive by" in refused("prepare", *paths, "-o", tmp_path / "e", *same)
    said("partition", paths[0], "-o", tmp_path / "p")
    text = refused("prepare", tmp_path / "p", "-o", tmp_path / "f", *rules)
    assert "--negative does not go with interactions in partitions" in " ".join(text.split())


def test_a_folder_that_cannot_be_written_is_noticed_before_reading(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(ArtifactError, match="holds other files"):
        prepare([tmp_path / "none.csv", tmp_path / "none.csv"], tmp_path)


CAMP = '[[tags]]\nkind = "category"\ncolumn = "camp"\n'


def with_users(club: Path, folder: Path) -> list[Any]:
    tables = (club / "visits.csv", club / "items.csv")
    return ["prepare", *tables, "--out", folder, "--users", club / "users.csv"]


def test_the_written_rules_can_be_edited_and_used(shop: Path, tmp_path: Path) -> None:
    said("prepare", shop / "ratings.csv", shop / "items.parquet", "-o", tmp_path / "a")
    rules = tmp_path / "a" / "rules.toml"
    edited = tmp_path / "edited.toml"
    edited.write_text(
        rules.read_text().replace('column = "town"', 'column = "town"\nfeature = "place"')
    )
    tables = (shop / "ratings.csv", shop / "items.parquet")
    said("prepare", *tables, "-o", tmp_path / "b", "--rules", edited)
    assert "place=Ghent" in said("info", tmp_path / "b", "--find", "ghent")


def test_the_events_need_no_files(tmp_path: Path) -> None:
    words = ("--source", "events", "--start", "2031-03-01", "--seed", 1)
    assert "9,000 users" in said("prepare", *words, "--out", tmp_path / "events")
    dates = Dataset.load(tmp_path / "events").table["date"].cast(str)
    assert "2031-03-01" <= min(dates) < max(dates) <= "2032-03-01"
    for start in ("yesterday", "2026-13-01"):
        text = refused("prepare", "--source", "events", "--start", start, "--out", tmp_path / "e")
        assert f"--start must be a date such as 2026-01-31, found {start!r}" in text


def test_a_public_data_set_is_recognised(tmp_path: Path) -> None:
    folder = tmp_path / "ml"
    folder.mkdir()
    ratings = {"userId": [1, 1, 2], "movieId": [1, 2, 1], "rating": [5.0, 4.0, 4.5]}
    pl.DataFrame({**ratings, "timestamp": [1, 2, 3]}).write_csv(folder / "ratings.csv")
    titles = ["One (1990)", "Two (1991)", "Three (1990)"]
    films = {"movieId": [1, 2, 3], "title": titles, "genres": ["Drama|War"] * 3}
    pl.DataFrame(films).write_csv(folder / "movies.csv")
    assert "2 users" in said("prepare", folder, "--out", tmp_path / "d")


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


def test_it_reports_and_writes_inferred_rules(club: Path, tmp_path: Path) -> None:
    words = with_users(club, tmp_path / "data")
    text = said(*words)
    assert "300 rows of users: 300 " in text
    assert ": 2 camp, 2 town" in text
    written = tmp_path / "data" / "user_rules.toml"
    assert str(written) in text.replace("\n", "")
    assert "pass the file with --user-rules" in written.read_text()
    people = Dataset.load(tmp_path / "data").user_features
    assert people is not None
    assert Rules.read(written).tags == people.rules.tags


def test_edited_rules_are_kept(club: Path, tmp_path: Path) -> None:
    words = with_users(club, tmp_path / "data")
    said(*words)
    written = tmp_path / "data" / "user_rules.toml"
    written.write_text(CAMP)
    result = run(*words)
    assert "user_rules.inferred.toml beside it" in " ".join(result.stderr.split())
    assert written.read_text() == CAMP
    said(*words, "--user-rules", written)
    assert {t.feature for t in Dataset.load(tmp_path / "data").user_tags} == {"camp"}


def test_users_of_another_place_are_one_sentence(club: Path, tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("user_id,camp\nx1,music\nx2,cinema\n")
    words = with_users(club, tmp_path / "d")
    words[-1] = tmp_path / "u.csv"
    assert "None of the 300 users" in refused(*words)


def test_a_public_data_set_tells_of_its_users_if_asked(tmp_path: Path) -> None:
    folder = tmp_path / "ml"
    folder.mkdir()
    ratings = [f"{u}::{1 + (u + i) % 9}::5::0" for u in range(1, 41) for i in range(4)]
    (folder / "ratings.dat").write_text("\n".join(ratings))
    movies = [f"{i}::Film {i} (1990)::{('Drama', 'Comedy')[i % 2]}" for i in range(1, 10)]
    (folder / "movies.dat").write_text("\n".join(movies))
    users = [f"{u}::{'FM'[u % 2]}::25::{u % 2}::12345" for u in range(1, 41)]
    (folder / "users.dat").write_text("\n".join(users))
    silent = json.loads(said("prepare", folder, "--out", tmp_path / "a", "--json"))
    assert silent["user_tags"] == {}
    words = ["prepare", folder, "--out", tmp_path / "b", "--users", "source"]
    told = json.loads(said(*words, "--json"))
    assert told["user_tags"] == {"age": 1, "gender": 2, "occupation": 2}


def test_the_next_command_names_the_columns_too(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    renamed = tables[0].rename({"user_id": "who", "item_id": "what"})
    renamed.write_csv(tmp_path / "rows.csv")
    columns = ("--user", "who", "--item", "what")
    heard = said("partition", tmp_path / "rows.csv", "-o", tmp_path / "parts", *columns)
    assert "ITEMS --out DATA --user who --item what" in heard
    same = ("--user", "who", "--item", "who")
    heard = refused("partition", tmp_path / "rows.csv", "-o", tmp_path / "other", *same)
    assert "'who'" in heard


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

    @pytest.mark.parametrize(
        ("count", "options", "message"),
        [
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
        self, paths: list[Path], tmp_path: Path, count: int, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ParameterError, match=message):
            prepare(paths[:count], tmp_path / "d", **options)
