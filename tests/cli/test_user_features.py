"""The command line with what is known of people: prepare, fit, profile, recommend, explain."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import refused, run, said
from conftest import small_tables

from teaser import Dataset, Rules, Teaser, load

RULES = '[[tags]]\nkind = "category"\ncolumn = "camp"\n'


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a club, its data set and its model."""
    folder = tmp_path_factory.mktemp("club")
    interactions, items = small_tables()
    interactions.write_csv(folder / "visits.csv")
    items.write_csv(folder / "items.csv")
    films = interactions.filter(pl.col("item_id").str.slice(1).cast(pl.Int64) % 2 == 1)
    counts = films.group_by("user_id").len()
    users = interactions.select("user_id").unique(maintain_order=True)
    users = users.join(counts, on="user_id", how="left", maintain_order="left")
    users = users.with_columns(
        camp=pl.when(pl.col("len") > 3).then(pl.lit("cinema")).otherwise(pl.lit("music")),
        town=pl.when(pl.col("len") > 1).then(pl.lit("Ghent")).otherwise(pl.lit("Liège")),
    )
    users.select("user_id", "camp", "town").write_csv(folder / "users.csv")
    (folder / "user_rules.toml").write_text(RULES)
    said(*_prepare(folder, "data"), "--user-rules", folder / "user_rules.toml")
    said("fit", folder / "data", "--out", folder / "model", "--l2-weights", 5, "--l2-encoder", 5)
    return folder


def _prepare(folder: Path, name: str) -> list[Any]:
    tables = [folder / "visits.csv", folder / "items.csv"]
    return ["prepare", *tables, "--out", folder / name, "--users", folder / "users.csv"]


class TestPrepare:
    def test_it_reports_and_writes_inferred_rules(self, club: Path, tmp_path: Path) -> None:
        words = _prepare(club, "data")
        words[4] = tmp_path / "data"
        text = said(*words)
        assert "300 rows of users: 300 with interactions, 0 without" in text
        assert "4 user tags: 2 camp, 2 town" in text
        written = tmp_path / "data" / "user_rules.toml"
        assert str(written) in text.replace("\n", "")
        assert "pass the file with --user-rules" in written.read_text()
        people = Dataset.load(tmp_path / "data").user_features
        assert people is not None
        assert Rules.read(written).tags == people.rules.tags

    def test_edited_rules_are_kept(self, club: Path, tmp_path: Path) -> None:
        words = _prepare(club, "data")
        words[4] = tmp_path / "data"
        said(*words)
        written = tmp_path / "data" / "user_rules.toml"
        written.write_text(RULES)
        result = run(*words)
        assert "user_rules.inferred.toml beside it" in " ".join(result.stderr.split())
        assert written.read_text() == RULES
        said(*words, "--user-rules", written)
        assert {t.feature for t in Dataset.load(tmp_path / "data").user_tags} == {"camp"}

    def test_rules_without_users_are_refused(self, club: Path, tmp_path: Path) -> None:
        words = _prepare(club, "data")[:3]
        text = refused(*words, "--out", tmp_path / "d", "--user-rules", club / "user_rules.toml")
        assert "--user-rules has no meaning for a data set without --users" in text

    def test_events_have_no_users_of_ours(self, club: Path, tmp_path: Path) -> None:
        words = ["prepare", "--source", "events", "--out", tmp_path / "d"]
        text = refused(*words, "--users", club / "users.csv")
        assert "--users has no meaning for the generated events" in text

    def test_partitions_know_no_users(self, club: Path, tmp_path: Path) -> None:
        said("partition", club / "visits.csv", "--out", tmp_path / "parts")
        words = ["prepare", tmp_path / "parts", club / "items.csv", "--out", tmp_path / "d"]
        text = refused(*words, "--users", club / "users.csv")
        assert "--users has no meaning for interactions in partitions" in text

    def test_users_of_another_place_are_one_sentence(self, club: Path, tmp_path: Path) -> None:
        (tmp_path / "u.csv").write_text("user_id,camp\nx1,music\nx2,cinema\n")
        words = _prepare(club, "data")
        words[4], words[6] = tmp_path / "d", tmp_path / "u.csv"
        assert "None of the 300 users with interactions" in refused(*words)

    def test_a_public_data_set_tells_of_its_users_if_asked(self, tmp_path: Path) -> None:
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

    def test_one_that_tells_nothing_says_so(self, tmp_path: Path) -> None:
        folder = tmp_path / "ml"
        folder.mkdir()
        rows = [f"{u},{1 + (u + i) % 9},5.0" for u in range(1, 21) for i in range(4)]
        (folder / "ratings.csv").write_text("userId,movieId,rating\n" + "\n".join(rows))
        movies = [f"{i},Film {i} (1990),{('Drama', 'Comedy')[i % 2]}" for i in range(1, 10)]
        (folder / "movies.csv").write_text("movieId,title,genres\n" + "\n".join(movies))
        text = refused("prepare", folder, "--out", tmp_path / "d", "--users", "source")
        assert "movielens tells nothing of its users" in text


class TestAsking:
    def test_a_model_learns_from_them_unless_told_not_to(self, club: Path, tmp_path: Path) -> None:
        assert len(load(club / "model", Teaser).user_tags_) == 2
        said("fit", club / "data", "--out", tmp_path / "m", "--no-people")
        assert load(tmp_path / "m", Teaser).user_tags_ == ()

    def test_a_profile_comes_from_features_alone(self, club: Path) -> None:
        words = ["profile", club / "model", "--person", "camp=music"]
        found = json.loads(said(*words, "--json"))
        assert found["people"] == ["camp=music"]
        assert found["certainty"] == pytest.approx(0.4)
        assert found["affinities"]["type=concert"] > 0
        assert "0 items seen, 0 presses, 1 features known" in said(*words)
        assert "features known" not in said("profile", club / "model")

    def test_lists_follow_features(self, club: Path) -> None:
        films = {}
        for camp in ("music", "cinema"):
            words = ["recommend", club / "model", "--person", f"camp={camp}", "-k", 8, "--json"]
            films[camp] = sum(int(r["item_id"][1:]) % 2 for r in json.loads(said(*words)))
        assert films["music"] < 4 < films["cinema"]

    def test_an_explanation_adds_up(self, club: Path) -> None:
        words = ["explain", club / "model", "i2", "-i", "i4", "--person", "camp=music"]
        found = json.loads(said(*words, "--json"))
        assert sum(found["contributions"].values()) == pytest.approx(found["score"])
        without = json.loads(said(*words[:-2], "--json"))
        assert found["score"] != pytest.approx(without["score"])

    def test_origins_name_features(self, club: Path) -> None:
        words = ["explain", club / "model", "--tag", "type=concert", "-i", "i4"]
        text = said(*words, "--person", "camp=music")
        assert "your camp: music" in text
        assert "Event 4  i4" in text
        parts = json.loads(said(*words, "--person", "camp=music", "--json"))
        assert [set(p) for p in parts] == [{"item_id", "part"}, {"person", "part"}]
        assert parts[1]["person"] == "camp=music"
        assert f"{sum(p['part'] for p in parts):+.5f}" in text

    def test_unknown_features_are_one_sentence(self, club: Path) -> None:
        text = refused("recommend", club / "model", "--person", "camp=musik")
        assert "Unknown tag camp=musik. Closest: camp=music" in text
