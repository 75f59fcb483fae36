"""The commands of studies: evaluate, tune, report; the fit command that they print."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import refused, said

from teaser import Dataset, Teaser, load
from teaser.cli.evaluate import fit_command
from teaser.evaluate.study.plan import DataPlan, SplitPlan, Study
from teaser.evaluate.study.propose import open_study
from teaser.evaluate.study.results import DialResults, StudyResults, read_results
from teaser.model.shared_fit import make_model

FOUND: list[dict[str, Any]] = [
    {},
    {"l2_weights": 20, "l2_encoder": 0.5, "tol": 1e-2, "rng": 3, "user_features": False},
    {"weights": {}, "l2_encoder": 5.0},
    {
        "weights.user_power": 0.25,
        "weights.popularity_scale": 0.5,
        "discovered": {"grains": [20, 6], "factors": 16},
        "remainder.neighbours": 7,
        "remainder.l2": 33.3,
        "l2_weights": 12,
    },
    {"remainder.neighbours": 0, "remainder.l2": 300, "dtype": "float64"},
]


def a_study(folder: Path, data: DataPlan) -> Study:
    return Study("mine", "Mine", data, SplitPlan(5, 5), (), folder=str(folder))


@pytest.mark.parametrize("parameters", FOUND, ids=range(len(FOUND)))
def test_the_command_fits_what_the_study_found(
    parameters: dict[str, Any], dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset.save("a shop")
    study = a_study(Path(), DataPlan(prepared="a shop"))
    command = fit_command(study, parameters)
    said(*shlex.split(command)[1:])
    fitted = load(tmp_path / "mine-model", Teaser)
    assert fitted.parameters() == make_model("Teaser", parameters).parameters()


def test_a_study_of_tables_leaves_the_prepared_folder_to_name() -> None:
    command = fit_command(a_study(Path(), DataPlan("events")), {})
    assert command == "teaser fit DATA --out mine-model --l2-weights 200 --l2-encoder 500"


STUDY = """
title = "Tiny events"
data = { source = "events", options = { n_events = 120, n_users = 400 } }
split = { validation = 50, test = 40 }
quick = { validation = 20, test = 20, training = 200 }
simulate = { tags = [1], scales = ["robust"] }
models.EASE = { kind = "EASE", grid = { l2 = [20, 100, 500] } }
models.TEASER = { kind = "Teaser", parameters = { tol = 1e-4 } }
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies") / "tiny.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def evaluated(study: Path) -> str:
    """What `evaluate --quick` printed; the results are beside the study."""
    return said("evaluate", study, "--quick")


@pytest.fixture(scope="module")
def shop(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A prepared data set with times, `shop`, in the folder that commands are run in."""
    interactions, items = tables
    days = np.random.default_rng(0).integers(0, 100, interactions.height)
    dated = interactions.with_columns(at=1_700_000_000 + 86_400 * days)
    folder, before = tmp_path_factory.mktemp("own"), Path.cwd()
    Dataset.from_tables(dated, items, time="at").save(folder / "shop")
    Dataset.from_tables(interactions, items).save(folder / "timeless")
    os.chdir(folder)
    yield folder
    os.chdir(before)


def test_a_prepared_folder_gets_a_study_and_is_evaluated(shop: Path) -> None:
    open_study(Path("shop"), kind="time")
    path = shop / "shop-study-time.toml"  # edited, as a person would: two models are enough
    blocks = path.read_text().split("\n\n")
    left_out = ("ItemKNN", "EASE", "RDLAE", "WMF", '"TEASER"]', "+ discovered")
    kept = [b for b in blocks if not any(name in b.splitlines()[0] for name in left_out)]
    path.write_text("\n\n".join(kept).replace('"TEASER", ', ""))
    printed = said("evaluate", "shop", "--split", "time", "--quick")
    results = read_results(shop / "results" / "shop-study-time-quick.json")
    assert isinstance(results, StudyResults)
    assert [model.kind for model in results.models] == ["Popularity", "Teaser"]
    assert results.split.kind == "time"
    assert results.split.test_users > 0
    for note in results.split.notes:
        assert note in printed
    assert "active from then on are new" in printed
    assert "Edit it, and give it in place of shop" in printed
    assert "Best parameters" in printed
    for model in results.models:
        assert model.name in printed
    recommended = results.recommended
    assert recommended is not None
    (command,) = (
        line for line in printed.splitlines() if "teaser fit" in line and "--remainder" in line
    )
    said(*shlex.split(command)[1:])
    fitted = load(shop / "shop-study-time-model", Teaser)
    expected = Teaser.from_parameters(recommended.parameters)
    assert fitted.parameters() == expected.parameters()


def test_tune_takes_a_prepared_folder_prints_the_fit_and_goes_on(shop: Path) -> None:
    given = ("tune", "shop", "--quick", "--remainder-l2", 30, "--l2-encoder", 50, "--out", "t")
    printed = said(*given)
    assert (shop / "t" / "shop-study.toml").exists()
    kept = (shop / "t" / "shop-study-quick.dial.jsonl").read_bytes()
    dial = read_results(shop / "t" / "shop-study-quick.dial.json")
    assert isinstance(dial, DialResults)
    best = dial.recommended
    assert f"{best.value:.4f}, {100 * best.tag_share:.0f} % from tags" in printed
    assert (shop / "t" / "shop-study-quick.dial.svg").read_text().startswith("<svg")
    (command,) = (line for line in printed.splitlines() if "teaser fit" in line)
    said(*shlex.split(command)[1:])
    found = load(shop / "shop-study-model", Teaser)
    asked = {**dial.fixed, **dial.recommended.parameters}
    assert found.parameters() == Teaser.from_parameters(asked).parameters()
    again = said(*given)
    assert (shop / "t" / "shop-study-quick.dial.jsonl").read_bytes() == kept
    # Even the times, which were not measured again.
    assert again.splitlines()[1:] == printed.splitlines()[1:]


def test_a_folder_that_cannot_be_studied_is_one_sentence(shop: Path, study: Path) -> None:
    assert "Prepare it with --time COLUMN" in refused("evaluate", "timeless", "--split", "last")
    assert "Closest: time" in refused("evaluate", "shop", "--split", "tmie")
    assert 'write kind = "time" into' in refused("evaluate", study, "--split", "time").replace(
        "\n", " "
    )
    Path("empty").mkdir()
    for command in ("evaluate", "tune", "simulate"):
        assert "empty" in refused(command, "empty")


def test_evaluate_prints_what_it_writes(study: Path, evaluated: str) -> None:
    path = study.parent / "results" / "tiny-quick.json"
    results = read_results(path)
    assert isinstance(results, StudyResults)
    assert results.quick
    assert results.split.training_users == 200
    assert results.split.test_users == 20
    assert "Tiny events: 20 test users" in evaluated
    for model in results.models:
        found = model.metrics["ndcg@100"]
        row = next(line for line in evaluated.splitlines() if model.name in line)
        assert f"{found.mean:.4f} ± {found.error:.4f}" in row
    (simulated,) = results.simulations
    assert f"{simulated.gain['ndcg@100'].mean:+.4f}" in evaluated
    assert f"teaser report {path}" in evaluated.replace("\n", "")


@pytest.mark.usefixtures("evaluated")
def test_report_takes_the_results_of_studies(study: Path, tmp_path: Path) -> None:
    file = study.parent / "results" / "tiny-quick.json"
    assert said("report", file, "--out", tmp_path / "r").strip() == str(tmp_path / "r/index.html")
    said("report", file.parent, "--tables", "--out", tmp_path / "TABLES.md")
    assert (tmp_path / "TABLES.md").read_text().startswith("<!--")


def test_a_wrong_study_or_value_is_one_sentence(study: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "o")
    for command in ("evaluate", "tune", "simulate", "report"):
        assert "none.toml" in refused(command, tmp_path / "none.toml", *out)
    assert "greater than 0, found -1" in refused("tune", study, *out, "--remainder-l2", -1)
    assert not (tmp_path / "o").exists()
