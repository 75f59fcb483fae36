"""recommend and similar: lists, filters, boosts, files, all users, and how they refuse."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import refused, run, said
from conftest import small_tables

import teaser
from teaser import Category, Dataset, Steering, Teaser
from teaser.baselines import EASE
from teaser.extensions import Remainder
from teaser.steer import similar


def test_a_list_is_json(shop: Path) -> None:
    words = ("-i", "i2", "--k", 3, "-p", "type=film:-2", "--scale", "paper", "--json")
    found = json.loads(said("recommend", shop / "model", *words))
    library = teaser.load(shop / "model").recommend(
        ["i2"], {"type=film": -2}, k=3, steering=teaser.Steering(scale="paper")
    )
    assert [r["item_id"] for r in found] == [r.item_id for r in library]
    assert found[0]["reasons"][0]["share"] == library[0].reasons[0].share
    assert found[0]["general_share"] == library[0].general_share
    assert "general" in said("recommend", shop / "model", "-i", "i2")
    assert found[0]["reasons"][0]["sentence"] == library[0].reasons[0].sentence()


def ids(*words: object) -> list[str]:
    return [r["item_id"] for r in json.loads(said("recommend", *words, "--json"))]


def test_filters_are_those_of_the_library(shop: Path) -> None:
    model = teaser.load(shop / "model")
    words = (shop / "model", "-i", "i2", "-k", 40)
    found = ids(*words, "--items", "i3,i5", "--items", "i8", "--exclude", "i5")
    assert found == [r.item_id for r in model.recommend(["i2"], items=["i3", "i8"])]
    ghent = [r.item_id for r in model.recommend(["i2"], k=40, where={"town": "Ghent"})]
    assert ids(*words, "--where", "town=Ghent") == ghent
    assert ids(*words, "--where", "town in Ghent,Liège", "--where", "town != Liège") == ghent
    both = [r.item_id for r in model.recommend(["i2"], k=40, where={"town": ["Ghent", "Liège"]})]
    assert ids(*words, "--where", "town=Ghent", "--where", "town=Liège") == both


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with neighbours that learned from user features."""
    folder = tmp_path_factory.mktemp("club") / "model"
    interactions, items = small_tables()
    users = interactions.select("user_id").unique(maintain_order=True)
    users = users.with_columns(camp=pl.Series(["a", "b", "b"] * (len(users) // 3)))
    data = Dataset.from_tables(interactions, items, users=users, user_rules=[Category("camp")])
    Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=10)).fit(data).save(
        folder
    )
    return folder


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--about", "camp=a"), {"about": ["camp=a"]}),
        (("--balance", "0.9"), {"steering": Steering(balance=0.9)}),
        (("--boost", "i9:100", "--boost", "Ghent:1"), {"boost": {"i9": 100, "town=Ghent": 1}}),
        (("-p", "Ghent:+2", "-p", "film:-3"), {"presses": {"Ghent": 2, "film": -3}}),
        (("--include-history",), {"exclude_history": False}),
        (("-i", "nope", "--unknown", "ignore"), {}),
    ],
)
def test_options_mean_what_they_do_in_the_library(
    club: Path, words: tuple[str, ...], asked: dict[str, Any]
) -> None:
    wanted = teaser.load(club).recommend(["i2", "i6"], k=40, **asked)
    assert ids(club, "-i", "i2,i6", "-k", 40, *words) == [r.item_id for r in wanted]
    first = json.loads(said("recommend", club, "-i", "i2,i6", "-k", 1, *words, "--json"))[0]
    assert first["score"] == pytest.approx(wanted[0].score)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--boost", "i9"), "ID_OR_TAG:number"),
        (("--boost", "i9:inf"), "finite"),
        (("--boost", "nothing:1"), "'nothing'"),
        (("--where", "twon=Ghent"), "Closest: town"),
        (("--items", "nope"), "Unknown item 'nope'"),
        (("--reasons",), "--reasons"),
        (("--device", "cuda"), "--device"),
        (("--out", "list.txt"), ".parquet, .csv or .jsonl"),
        (("--out", "nodir/list.csv"), "There is no folder nodir"),
        (("--items", "i3:0.5"), "--items takes items alone"),
    ],
)
def test_what_cannot_be_asked_is_said(shop: Path, words: tuple[str, ...], told: str) -> None:
    assert told in refused("recommend", shop / "model", "-i", "i2", *words)


def test_the_history_of_a_user_is_found(shop: Path) -> None:
    data = Dataset.load(shop / "data")
    model = teaser.load(shop / "model")
    wanted = [r.item_id for r in model.recommend(data.history("u7"), k=10)]
    assert ids(shop / "model", "--user", "u7", "--data", shop / "data") == wanted
    assert ids(shop / "model", "--user", "u7") == wanted  # the data set of the fit
    told = refused("recommend", shop / "model", "--user", "u7x", "--data", shop / "data")
    assert "u7" in told
    told = refused("recommend", shop / "model", "-i", "i2", "--user", "u7", "--data", shop / "data")
    assert "--history" in told


def test_titles_stand_wherever_ids_do(shop: Path) -> None:
    model = shop / "model"
    for title, item in (
        (("recommend", model, "-i", "event 2,Event 6:0.5", "--exclude", "Event 5"),
         ("recommend", model, "-i", "i2,i6:0.5", "--exclude", "i5")),
        (("recommend", model, "-i", "Event 2", "--boost", "event 9:3", "--boost", "Ghent:1"),
         ("recommend", model, "-i", "i2", "--boost", "i9:3", "--boost", "Ghent:1")),
        (("similar", model, "EVENT 2"), ("similar", model, "i2")),
        (("profile", model, "-i", "Event 2"), ("profile", model, "-i", "i2")),
        (("explain", model, "Event 4", "-i", "Event 2"), ("explain", model, "i4", "-i", "i2")),
        (("compare", model, "Event 4", "event 7", "-i", "Event 2"),
         ("compare", model, "i4", "i7", "-i", "i2")),
        (("say", model, "more Ghent", "--apply", "-i", "Event 2"),
         ("say", model, "more Ghent", "--apply", "-i", "i2")),
    ):  # fmt: skip
        assert said(*title) == said(*item)
    assert "Closest: Event 22 (i22)" in refused("explain", model, "Evnt 22", "-i", "i2")


@pytest.mark.parametrize("name", ["list.parquet", "list.csv", "list.jsonl"])
def test_a_list_is_written_as_a_table(shop: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    result = run("recommend", shop / "model", "-i", "i2", "-k", 4, "--out", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("4 rows in")
    readers: dict[str, Any] = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".jsonl": pl.read_ndjson,
    }
    frame = readers[path.suffix](path)
    wanted = teaser.load(shop / "model").recommend(["i2"], k=4)
    assert frame["item_id"].to_list() == [r.item_id for r in wanted]
    reasons = frame["reasons"].to_list()[0]
    first = json.loads(reasons)[0] if name == "list.csv" else reasons[0]
    assert first["share"] == pytest.approx(wanted[0].reasons[0].share)


def test_all_users_are_written_to_one_file(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    text = said(
        "recommend", shop / "model", "--all", shop / "data", "-k", 3, "--out", path,
        "--where", "town=Ghent", "--reasons",
    )  # fmt: skip
    data, model = Dataset.load(shop / "data"), teaser.load(shop / "model")
    frame = pl.read_parquet(path)
    assert f"{frame.height} rows of {data.n_users} users" in text.replace(",", "")
    user = data.users[5]
    wanted = model.recommend(data.history(user), k=3, where={"town": "Ghent"}).to_frame()
    own = frame.filter(frame["user_id"] == user)
    assert own["item_id"].to_list() == wanted["item_id"].to_list()
    assert "reasons" in frame.columns
    assert "--out" in refused("recommend", shop / "model", "--all", shop / "data")
    told = refused("recommend", shop / "model", "--all", shop / "data", "-i", "i2", "--out", path)
    assert "--history" in told
    told = refused("recommend", shop / "model", "--all", shop / "data", "--out", path, "--json")
    assert "--json does not go with --all" in told


def test_a_file_of_histories_is_listed(shop: Path, tmp_path: Path) -> None:
    table = pl.DataFrame({"user_id": ["ann", "ann", "bert"], "item_id": ["i2", "i6", "i3"]})
    table.write_parquet(tmp_path / "histories.parquet")
    words = ("recommend", shop / "model", "--all", tmp_path / "histories.parquet", "-k", 3)
    told = said(*words, "--out", tmp_path / "lists.parquet")
    assert "6 rows of 2 users" in told
    found = pl.read_parquet(tmp_path / "lists.parquet")
    model = teaser.load(shop / "model")
    wanted = model.recommend_batch([["i2", "i6"], ["i3"]], k=3).to_frame(["ann", "bert"])
    assert found["item_id"].to_list() == wanted["item_id"].to_list()
    table[[2, 0, 1]].write_parquet(tmp_path / "histories.parquet")
    said(*words, "--out", tmp_path / "others.parquet")
    others = pl.read_parquet(tmp_path / "others.parquet")
    assert others.sort("user_id", maintain_order=True).equals(found)
    (tmp_path / "histories.parquet").write_text("no parquet")
    assert "cannot be read" in refused(*words, "--out", tmp_path / "lists.parquet")


def test_a_model_without_tags_lists_too(shop: Path, tmp_path: Path) -> None:
    model = EASE(l2=5.0).fit(Dataset.load(shop / "data"))
    model.save(tmp_path / "ease")
    found = ids(tmp_path / "ease", "-i", "i2", "--where", "type=film")
    assert found == [r.item_id for r in model.recommend(["i2"], k=10, where={"type": "film"})]
    assert "--press" in refused("recommend", tmp_path / "ease", "-i", "i2", "-p", "type=film")
    assert "teaser fit" in refused("similar", tmp_path / "ease", "i2")


def test_similar_items_share_tags(shop: Path, tmp_path: Path) -> None:
    wanted = similar(teaser.load(shop / "model", teaser.Teaser), "i2", k=3)
    text = said("similar", shop / "model", "i2", "-k", 3)
    assert str(wanted[0].title) in text
    found = json.loads(said("similar", shop / "model", "i2", "-k", 3, "--json"))
    assert [s["item_id"] for s in found] == [s.item_id for s in wanted]
    assert sum(found[0]["shared"].values()) == pytest.approx(1.0)
    said("similar", shop / "model", "i2", "-k", 3, "--out", tmp_path / "similar.csv")
    assert pl.read_csv(tmp_path / "similar.csv").height == 3
    assert "Closest" in refused("similar", shop / "model", "i2x")
