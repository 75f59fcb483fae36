"""fit and estimate: what they write and print, extensions, memory, earlier models."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import refused, run, said
from conftest import RULES

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.evaluate.choose import RECIPES
from teaser.model import estimate as module
from teaser.testing import example_dataset


@pytest.fixture(scope="module")
def whole(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set in memory."""
    folder = tmp_path_factory.mktemp("data") / "whole"
    dataset.save(folder)
    return folder


@pytest.fixture(scope="module")
def parted(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The same in partitions."""
    folder = tmp_path_factory.mktemp("data")
    write_partitions(tables[0], folder / "parts", user="user_id", item="item_id", parts=3)
    Dataset.from_partitions(folder / "parts", tables[1], rules=RULES).save(folder / "parted")
    return folder / "parted"


def test_a_fit_begins_from_an_earlier_model(whole: Path, tmp_path: Path) -> None:
    words = ("--recipe", "paper", "--tol", "1e-6", "--json")
    cold = json.loads(said("fit", whole, "-o", tmp_path / "a", *words))
    again = ("--start", tmp_path / "a", *words)
    warm = json.loads(said("fit", whole, "-o", tmp_path / "b", *again))
    assert warm["iterations"] < cold["iterations"]
    first, second = (teaser.load(tmp_path / name) for name in "ab")
    np.testing.assert_allclose(second.encoder_, first.encoder_, atol=1e-5)


@pytest.mark.parametrize("settings", [["--gram", "dense"], ["--solver", "admm"], []])
@pytest.mark.parametrize("place", ["whole", "parted"])
def test_what_does_not_fit_is_refused_however_it_is_held(
    place: str,
    settings: list[str],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "memory_of_machine", lambda: 10_000)
    heard = refused("fit", request.getfixturevalue(place), "-o", tmp_path / "m", *settings)
    assert "this machine has 10 kB" in heard
    assert "items x tags" in heard
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("address", ["", "nonsense", "http://127.0.0.1:80", "tcp://"])
def test_what_is_no_address_is_refused_at_once(address: str, parted: Path, tmp_path: Path) -> None:
    heard = refused("fit", parted, "-o", tmp_path / "m", "--scheduler", address)
    assert "is not the address of a scheduler, such as tcp://HOST:PORT" in heard


def test_options_of_an_extension_switch_it_on(shop: Path, tmp_path: Path) -> None:
    words = ("--decoder-l2", 2, "--decoder-rounds", 2, "--sparse-density", 0.4)
    said("fit", shop / "data", "--out", tmp_path / "m", *words)
    model = teaser.load(tmp_path / "m", Teaser)
    assert model.decoder == teaser.extensions.LearnedDecoder(l2=2.0, rounds=2)
    assert model.sparse == teaser.extensions.SparseEncoder(density=0.4)
    assert model.remainder is None
    assert model.encoder_.nnz == int(0.4 * model.encoder_.shape[0] * model.encoder_.shape[1])
    weights = model.decoder_.data[model.decoder_.indices < len(model.tags_) - 1]
    assert np.abs(weights - 1).max() > 0.01


def test_json_goes_alone_to_stdout(shop: Path, tmp_path: Path) -> None:
    words = ("--recipe", "paper", "--json")
    found = json.loads(said("fit", shop / "data", "--out", tmp_path / "m", *words))
    assert found["converged"] is True
    assert found["parameters"]["l2_weights"] == 200.0


def test_what_it_writes_is_the_model_of_the_library(shop: Path) -> None:
    library = Teaser(l2_weights=5, l2_encoder=5).fit(Dataset.load(shop / "data"))
    assert teaser.load(shop / "model").recommend(["i3"]) == library.recommend(["i3"])


def test_not_converging_is_a_warning(shop: Path, tmp_path: Path) -> None:
    result = run("fit", shop / "data", "-o", tmp_path / "m", "--tol", "1e-5", "--max-iter", 1)
    assert result.exit_code == 0
    assert "warning: Stopped after 1 iterations" in result.stderr


def test_bad_parameters_write_nothing(shop: Path, tmp_path: Path) -> None:
    for words, name in (
        (("--l2-weights", 0), "l2_weights"),
        (("--solver", "sgd"), "solver"),
        (("--seed", -1), "rng"),
        (("--sparse-density", 0), "sparse.density"),
        (("--remainder-neighbours", 0, "--gram", "sparse"), "gram='sparse'"),
        (("--remainder-neighbours", 0, "--sparse"), "sparse"),
    ):
        assert name in refused("fit", shop / "data", "--out", tmp_path / "m", *words)
        assert not (tmp_path / "m").exists()


def test_estimate_says_memory_and_time(shop: Path) -> None:
    assert "GB" in said("estimate", shop / "data")
    found = json.loads(said("estimate", shop / "data", "--gram", "dense", "--json"))
    assert found["gram"] == "dense"
    assert found["total_memory"] == sum(found["memory"].values())


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with enough people to hold some out."""
    folder = tmp_path_factory.mktemp("data") / "many"
    example_dataset(n_users=500).save(folder)
    return folder


@pytest.fixture(scope="module")
def chosen(many: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model that was chosen, and what the command printed."""
    folder = tmp_path_factory.mktemp("model") / "m"
    return folder, said("fit", many, "--out", folder)


def test_a_fit_without_penalties_chooses_and_says_why(many: Path, chosen: tuple[Path, str]) -> None:
    folder, printed = chosen
    model = teaser.load(folder, Teaser)
    assert model.recipe_ is not None
    assert model.recipe_.tried
    for text in ("nDCG@100", "of EASE", "general", *RECIPES, "on 50 held-out people"):
        assert text in printed
    assert model.recipe_.why in " ".join(printed.split())
    assert model.dataset_path_ == str(many)
    library = teaser.fit(Dataset.load(many))
    assert library.recipe_ is not None
    assert library.recipe_.chosen == model.recipe_.chosen
    np.testing.assert_array_equal(library.encoder_, model.encoder_)


def test_given_options_hold_for_the_chosen_recipe(many: Path, tmp_path: Path) -> None:
    words = ("--recipe", "weighted", "--tol", 1e-4, "--weights-user-power", 0.3, "--seed", 4)
    said("fit", many, "-o", tmp_path / "m", *words)
    model = teaser.load(tmp_path / "m", Teaser)
    assert model.weights == teaser.extensions.Weights(user_power=0.3)
    assert (model.tol, model.rng) == (1e-4, 4)
    assert model.recipe_ is not None
    assert {t.name for t in model.recipe_.tried} == {"Popularity", "EASE", "weighted"}


def test_a_damaged_model_can_be_fitted_anew(shop: Path, tmp_path: Path) -> None:
    words = ("--l2-weights", 5, "--discovered-grains", 8)
    said("fit", shop / "data", "-o", tmp_path / "m", *words)
    next((tmp_path / "m").glob("groups-*.parquet")).unlink()
    result = run("fit", shop / "data", "-o", tmp_path / "m", *words)
    assert result.exit_code == 0
    assert "Its groups are not kept" in result.stderr
    assert names(tmp_path / "m")


def names(folder: Path) -> set[str]:
    groups = teaser.load(folder, Teaser).groups_
    assert groups is not None
    return {group.tag.value for group in groups.groups}


def test_new_items_are_added(shop: Path, tmp_path: Path) -> None:
    new = teaser.load(shop / "model").table_.head(2)
    name = new.columns[0]
    new = new.with_columns(pl.Series(name, ["new1", "new2"]))
    new.write_parquet(tmp_path / "new.parquet")
    told = said("add", shop / "model", tmp_path / "new.parquet", "--out", tmp_path / "more")
    assert "2 items added to 40 items" in told
    assert "explain" in told
    more = teaser.load(tmp_path / "more")
    assert {"new1", "new2"} <= {r.item_id for r in more.recommend(["i2"], k=42)}
    said_again = refused("add", tmp_path / "more", tmp_path / "new.parquet", "-o", tmp_path / "x")
    assert "new1" in said_again


def test_new_items_may_lack_columns_and_without_tags_general_appeal_places_them(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "new.csv").write_text("item_id,town\nnew1,Ghent\nnew2,\n")
    told = said("add", shop / "model", tmp_path / "new.csv", "--out", tmp_path / "more")
    assert "no column 'type'" in caplog.text
    assert "2 items added to 40 items" in told
    assert "1 item without a known tag: placed by general appeal" in told
