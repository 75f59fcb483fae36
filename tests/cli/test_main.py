"""The command line as a stranger meets it: what it prints, where, and how it fails."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import refused, run, said

import teaser

RULES = """
[roles]
title = "title"
[[tags]]
kind = "category"
column = "type"
[[tags]]
kind = "category"
column = "town"
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, a data set and a model, all made by the command line."""
    from conftest import small_tables

    folder = tmp_path_factory.mktemp("shop")
    interactions, items = small_tables()
    interactions.write_csv(folder / "ratings.csv")
    items.write_parquet(folder / "items.parquet")
    (folder / "rules.toml").write_text(RULES)
    said(
        "prepare", folder / "ratings.csv", folder / "items.parquet", "--out", folder / "data",
        "--positive", "rating >= 4", "--rules", folder / "rules.toml",
    )  # fmt: skip
    said("fit", folder / "data", "--out", folder / "model", "--l2-weights", 5, "--l2-encoder", 5)
    return folder


class TestPrepare:
    def test_it_reports_and_shows_the_inferred_rules(self, shop: Path, tmp_path: Path) -> None:
        text = said("prepare", shop / "ratings.csv", shop / "items.parquet", "-o", tmp_path / "d")
        assert "interactions of 300 users" in text
        assert "[[tags]]" in text
        assert 'column = "labels"' in text
        written = (tmp_path / "d" / "rules.toml").read_text()
        assert written in text
        assert teaser.Rules.read(tmp_path / "d" / "rules.toml").tags

    def test_the_written_rules_can_be_edited_and_used(self, shop: Path, tmp_path: Path) -> None:
        said("prepare", shop / "ratings.csv", shop / "items.parquet", "-o", tmp_path / "a")
        rules = tmp_path / "a" / "rules.toml"
        edited = tmp_path / "edited.toml"
        edited.write_text(
            rules.read_text().replace('column = "town"', 'column = "town"\nfeature = "place"')
        )
        said(
            "prepare",
            shop / "ratings.csv",
            shop / "items.parquet",
            "-o",
            tmp_path / "b",
            "--rules",
            edited,
        )
        assert "place=Ghent" in said("info", tmp_path / "b", "--find", "ghent")

    def test_json_says_the_same_to_programs(self, shop: Path, tmp_path: Path) -> None:
        found = json.loads(
            said(
                "prepare",
                shop / "ratings.csv",
                shop / "items.parquet",
                "-o",
                tmp_path / "d",
                "--json",
            )
        )
        assert found["users"] == 300
        assert found["items"] == 40
        assert found["tags"]["town"] == 3

    def test_the_events_need_no_files(self, tmp_path: Path) -> None:
        text = said("prepare", "--source", "events", "--out", tmp_path / "events")
        assert "9,000 users" in text

    def test_a_public_data_set_is_recognised(self, tmp_path: Path) -> None:
        folder = tmp_path / "ml"
        folder.mkdir()
        ratings = {"userId": [1, 1, 2], "movieId": [1, 2, 1], "rating": [5.0, 4.0, 4.5]}
        pl.DataFrame({**ratings, "timestamp": [1, 2, 3]}).write_csv(folder / "ratings.csv")
        titles = ["One (1990)", "Two (1991)", "Three (1990)"]
        films = {"movieId": [1, 2, 3], "title": titles, "genres": ["Drama|War"] * 3}
        pl.DataFrame(films).write_csv(folder / "movies.csv")
        assert "2 users" in said("prepare", folder, "--out", tmp_path / "d")

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_the_wrong_number_of_paths_is_explained(
        self, shop: Path, tmp_path: Path, count: int
    ) -> None:
        error = refused("prepare", *[shop / "ratings.csv"] * count, "--out", tmp_path / "d")
        assert "two files" in error or "not a folder" in error or "folder" in error

    def test_bad_tables_are_one_sentence(self, shop: Path, tmp_path: Path) -> None:
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


class TestFit:
    def test_weights_are_learned_and_the_encoder_thinned_on_demand(
        self, shop: Path, tmp_path: Path
    ) -> None:
        words = ("--decoder", "learned", "--l2-decoder", 2, "--rounds", 2, "--density", 0.4)
        said("fit", shop / "data", "--out", tmp_path / "m", *words)
        model = teaser.load(tmp_path / "m", teaser.Teaser)
        assert model.decoder == teaser.LearnedDecoder(l2=2.0, rounds=2)
        assert model.encoder_.nnz == int(0.4 * model.encoder_.shape[0] * model.encoder_.shape[1])
        weights = model.decoder_.data[model.decoder_.indices < len(model.tags_) - 1]
        assert np.abs(weights - 1).max() > 0.01

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("--l2-decoder", 5), "--l2-decoder has no meaning"),
            (("--rounds", 2), "--rounds has no meaning"),
            (("--decoder", "weights"), "decoder must be one of tags, learned"),
            (("--density", 0), "sparse.density must be"),
        ],
    )
    def test_options_that_contradict_each_other_are_refused(
        self, shop: Path, tmp_path: Path, words: tuple[Any, ...], text: str
    ) -> None:
        assert text in refused("fit", shop / "data", "--out", tmp_path / "m", *words)
        assert not (tmp_path / "m").exists()

    def test_it_says_beforehand_what_it_takes(self, shop: Path, tmp_path: Path) -> None:
        result = run("fit", shop / "data", "--out", tmp_path / "m")
        assert "memory" in result.stderr
        assert "time" in result.stderr
        assert "iterations, residual" in result.stdout

    def test_json_goes_alone_to_stdout(self, shop: Path, tmp_path: Path) -> None:
        found = json.loads(said("fit", shop / "data", "--out", tmp_path / "m", "--json"))
        assert found["converged"] is True
        assert found["parameters"]["l2_weights"] == 200.0

    def test_what_it_writes_is_the_model_of_the_library(self, shop: Path) -> None:
        library = teaser.Teaser(l2_weights=5, l2_encoder=5).fit(teaser.Dataset.load(shop / "data"))
        assert teaser.load(shop / "model").recommend(["i3"]) == library.recommend(["i3"])

    def test_not_converging_is_a_warning(self, shop: Path, tmp_path: Path) -> None:
        result = run("fit", shop / "data", "-o", tmp_path / "m", "--tol", "1e-5", "--max-iter", 1)
        assert result.exit_code == 0
        assert "warning: Stopped after 1 iterations" in result.stderr

    @pytest.mark.parametrize(
        ("option", "value"),
        [("--l2-weights", 0), ("--l2-encoder", -3), ("--solver", "sgd"), ("--dtype", "int8")],
    )
    def test_bad_settings_write_nothing(
        self, shop: Path, tmp_path: Path, option: str, value: Any
    ) -> None:
        error = refused("fit", shop / "data", "--out", tmp_path / "m", option, value)
        assert option.strip("-").replace("-", "_") in error
        assert not (tmp_path / "m").exists()

    def test_a_folder_with_other_files_is_left_alone(self, shop: Path, tmp_path: Path) -> None:
        (tmp_path / "diary.txt").write_text("mine")
        assert "holds other files" in refused("fit", shop / "data", "--out", tmp_path)
        assert [p.name for p in tmp_path.iterdir()] == ["diary.txt"]


def test_a_result_of_another_kind_is_not_replaced(shop: Path) -> None:
    assert "holds a dataset" in refused("fit", shop / "data", "--out", shop / "data")
    tables = (shop / "ratings.csv", shop / "items.parquet")
    assert "holds a Teaser" in refused("prepare", *tables, "--out", shop / "model")
    assert teaser.Dataset.load(shop / "data").n_users


def test_a_bad_seed_is_one_sentence(shop: Path, tmp_path: Path) -> None:
    assert "rng must be" in refused("fit", shop / "data", "-o", tmp_path / "m", "--seed", -1)


def test_estimate_says_memory_and_time(shop: Path) -> None:
    assert "GB" in said("estimate", shop / "data")
    found = json.loads(said("estimate", shop / "data", "--gram", "dense", "--json"))
    assert found["gram"] == "dense"
    assert found["total_memory"] == sum(found["memory"].values())


class TestAsking:
    def test_a_profile_is_drawn(self, shop: Path) -> None:
        text = said("profile", shop / "model", "-i", "i2", "-i", "i6", "--press", "town=Liège:+2")
        assert "Ghent" in text
        assert "+2" in text
        assert "2 items seen, 2 presses" in text

    def test_a_profile_is_json(self, shop: Path) -> None:
        found = json.loads(
            said("profile", shop / "model", "-i", "i2,i6", "--press", "town=Liège", "--json")
        )
        library = teaser.load(shop / "model").profile(["i2", "i6"], {"town=Liège": 1})
        assert found["history"] == ["i2", "i6"]
        assert found["affinities"] == {str(t): a for t, a in library.affinities.items()}
        assert found["impacts"] == library.impacts

    def test_a_list_has_signed_reasons(self, shop: Path) -> None:
        text = said("recommend", shop / "model", "--history", "i2,i6", "-k", 30)
        assert "Event" in text
        assert "+" in text
        assert "-" in text

    def test_a_list_is_json(self, shop: Path) -> None:
        found = json.loads(
            said(
                "recommend",
                shop / "model",
                "-i",
                "i2",
                "-k",
                3,
                "-p",
                "type=film:-2",
                "--scale",
                "paper",
                "--json",
            )
        )
        library = teaser.load(shop / "model").recommend(
            ["i2"], {"type=film": -2}, k=3, steering=teaser.Steering(scale="paper")
        )
        assert [r["item_id"] for r in found] == [r.item_id for r in library]
        assert found[0]["reasons"][0]["share"] == library[0].reasons[0].share
        assert found[0]["reasons"][0]["sentence"] == library[0].reasons[0].sentence()

    def test_viewed_items_and_reasons_against_are_options(self, shop: Path) -> None:
        words = ("recommend", shop / "model", "-i", "i2", "-k", 100, "--json")
        assert len(json.loads(said(*words))) == 39
        every = json.loads(said(*words, "--with-history", "--no-negative"))
        assert len(every) == 40
        assert all(reason["share"] > 0 for r in every for reason in r["reasons"])

    def test_an_explanation_adds_up(self, shop: Path) -> None:
        text = said("explain", shop / "model", "i4", "-i", "i2")
        assert "because of your affinity of" in text
        assert "score" in text
        found = json.loads(said("explain", shop / "model", "i4", "-i", "i2", "--json"))
        assert sum(r["contribution"] for r in found["reasons"]) == pytest.approx(found["score"])

    def test_the_origin_of_an_affinity(self, shop: Path) -> None:
        text = said("explain", shop / "model", "--tag", "town=Ghent", "-i", "i2,i6")
        assert "Event 6" in text
        found = json.loads(
            said("explain", shop / "model", "--tag", "town=Ghent", "-i", "i2,i6", "--json")
        )
        assert {row["item_id"] for row in found} == {"i2", "i6"}

    def test_one_thing_is_explained_at_a_time(self, shop: Path) -> None:
        assert "either an item or --tag" in refused("explain", shop / "model", "-i", "i2")
        assert "either" in refused("explain", shop / "model", "i4", "--tag", "town=Ghent")

    def test_info_finds_items_and_tags(self, shop: Path) -> None:
        assert "Teaser" in said("info", shop / "model")
        assert "dataset" in said("info", shop / "data")
        found = json.loads(said("info", shop / "model", "--find", "event 12", "--json"))
        assert found == {"items": {"i12": "Event 12"}, "tags": []}

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (("-i", "i2,zz"), "Unknown item 'zz'"),
            (("-i", "i2", "-p", "town=Gent:+1"), "Closest: town=Ghent"),
            (("-i", "i2", "-p", "town=Ghent:+7"), "out of range"),
            (("-i", "i2", "-p", "Ghent"), "feature=value"),
            (("-i", "i2", "-k", "0"), "k must be"),
            (("-i", "i2", "--scale", "big"), "scale must be"),
        ],
    )
    def test_bad_questions_are_one_sentence(
        self, shop: Path, words: tuple[str, ...], part: str
    ) -> None:
        assert part in refused("recommend", shop / "model", *words)

    def test_no_model_is_one_sentence(self, shop: Path, tmp_path: Path) -> None:
        assert "does not exist" in refused("recommend", tmp_path / "none")
        assert "not a model" in refused("recommend", shop / "data")
        assert "not a data set" in refused("fit", shop / "model", "--out", tmp_path / "m")


def test_the_demonstration_shows_profile_list_and_presses(tmp_path: Path) -> None:
    text = said("demo", "--out", tmp_path / "m")
    for part in ("What the model learned", "What it recommends", "Three presses of +", "goes from"):
        assert part in text
    assert teaser.load(tmp_path / "m").recommend([], k=1)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_plain_terminal_is_enough(shop: Path, encoding: str) -> None:
    command = Path(sys.executable).with_name("teaser")
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["profile", "-i", "i2"], ["recommend", "-i", "i2", "--json"]):
        done = subprocess.run(
            [command, words[0], shop / "model", *words[1:]],
            capture_output=True,
            check=False,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode(encoding)
        assert ("=" in text) if words[0] == "profile" else json.loads(text)


def test_the_installed_command_ends_with_code_2_and_no_traceback(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("teaser")
    done = subprocess.run(
        [command, "info", tmp_path / "nothing"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"teaser {teaser.__version__}"
    module = subprocess.run(
        [sys.executable, "-m", "teaser", "--version"], capture_output=True, text=True, check=True
    )
    assert module.stdout == version.stdout


@pytest.fixture(scope="module")
def both(shop: Path) -> Path:
    """A model with a remainder, made by the command line."""
    said(
        "fit", shop / "data", "--out", shop / "both", "--l2-weights", 5, "--l2-encoder", 5,
        "--l2-remainder", 20, "--remainder-share", 0.95,
    )  # fmt: skip
    return shop / "both"


class TestRemainder:
    """A model whose viewed items are reasons too."""

    def test_what_it_writes_is_the_model_of_the_library(self, shop: Path, both: Path) -> None:
        remainder = teaser.Remainder(l2=20.0, share=0.95)
        data = teaser.Dataset.load(shop / "data")
        wanted = teaser.Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=remainder).fit(data)
        found = teaser.load(both, teaser.Teaser)
        assert (found.remainder_ != wanted.remainder_).nnz == 0
        about = json.loads(said("info", both, "--json"))
        assert about["remainder"]["entries"] == wanted.remainder_.nnz

    def test_both_kinds_of_reasons_are_printed(self, both: Path) -> None:
        assert "% viewed Event 1" in said("recommend", both, "-i", "i1,i5")
        text = said("explain", both, "i3", "-i", "i1,i5")
        assert "Viewed" in text
        assert "% because you viewed Event" in text

    def test_json_adds_up_at_every_place_of_the_dial(self, both: Path) -> None:
        for balance in (0, 0.3, 0.5, 1):
            found = json.loads(
                said("explain", both, "i3", "-i", "i1,i5", "--balance", balance, "--json")
            )
            tags, viewed = found["contributions"], found.get("viewed", {})
            total = sum(tags.values()) + sum(viewed.values())
            assert total == pytest.approx(found["score"])
            assert bool(viewed) == (balance > 0)
            assert any(tags.values()) == (balance < 1)
        (first, *_) = json.loads(said("recommend", both, "-i", "i1", "--balance", 1, "--json"))
        assert all(reason["item_id"] == "i1" for reason in first["reasons"])

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (("--l2-remainder", 0), "remainder.l2 must be a finite number above 0"),
            (("--remainder-share", 0.5), "means nothing without a remainder"),
            (("--l2-remainder", 5, "--gram", "sparse"), "as an array, found gram='sparse'"),
            (("--l2-remainder", 5, "--density", 0.1), "together with sparse"),
        ],
    )
    def test_bad_settings_write_nothing(
        self, shop: Path, tmp_path: Path, words: tuple[Any, ...], what: str
    ) -> None:
        assert what in refused("fit", shop / "data", "--out", tmp_path / "m", *words)
        assert not (tmp_path / "m").exists()

    def test_a_bad_balance_is_one_sentence(self, both: Path) -> None:
        text = refused("recommend", both, "-i", "i1", "--balance", 2)
        assert "balance must be a number from 0 to 1" in text
