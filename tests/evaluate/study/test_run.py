"""A whole study, small: what it writes is what the parts give, and a stopped one goes on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from teaser.data.split import split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.data import read_data
from teaser.evaluate.study.plan import SimulationPlan, Study
from teaser.evaluate.study.run import Run, popularity_curve, run_study, simulate_study, write_json
from teaser.model import EASE, Product, Teaser

TEXT = """
tag_cuts = [12]
solvers = ["cg", "admm"]
[data]
source = "events"
options = { n_events = 120, n_users = 400 }
[split]
validation = 40
test = 60
seed = 5
[simulate]
tags = [1]
strengths = [3, -2]
draws = 2
[models.EASE]
kind = "EASE"
grid = { l2 = [20, 200] }
[models.TEASER]
kind = "Teaser"
grid = { l2_weights = [20, 100], l2_encoder = [20, 100] }
[models.both]
kind = "Product"
parts = ["TEASER", "EASE"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("study") / "tiny.toml"
    path.write_text(TEXT)
    return Study.read(path)


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    run_study(study, data=out, out=out)
    return out


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "tiny.json").read_text())
    return found


def test_the_figures_are_those_of_the_best_cell_on_the_test_people(
    study: Study, results: dict[str, Any], tmp_path: Path
) -> None:
    dataset = read_data(study.data, tmp_path, beside=tmp_path)
    parts = split(dataset, n_validation=40, n_test=60, rng=5)
    teaser = next(m for m in results["models"] if m["name"] == "TEASER")
    best = max(teaser["trials"], key=lambda trial: trial["value"])
    assert best["parameters"].items() <= teaser["parameters"].items()
    model = Teaser(**teaser["parameters"]).fit(parts.training)
    mean = evaluate(model, parts.test).summary()["ndcg@100"].mean
    assert teaser["metrics"]["ndcg@100"]["mean"] == pytest.approx(mean, rel=1e-5)
    ease = next(m for m in results["models"] if m["name"] == "EASE")
    both = Product(model, EASE(**ease["parameters"]).fit(parts.training))
    mean = evaluate(both, parts.test).summary()["ndcg@100"].mean
    product = next(m for m in results["models"] if m["name"] == "both")
    assert product["metrics"]["ndcg@100"]["mean"] == pytest.approx(mean, rel=1e-5)
    assert product["trials"] == []


def test_what_was_used_is_written_down(results: dict[str, Any]) -> None:
    assert results["split"]["seed"] == 5
    assert results["split"]["test_users"] == 60
    assert results["data"]["items"] == 120
    assert results["versions"]["numpy"] == np.__version__
    assert results["seconds"] > 0
    assert results["peak_memory"] > 1e7
    for model in results["models"]:
        assert model["fit"]["seconds"] >= 0
        for summary in model["metrics"].values():
            assert set(summary) == {"mean", "error", "n"}
    assert [m["interactive"] for m in results["models"]] == [False, True, True]


def test_every_two_models_are_compared_on_the_same_people(results: dict[str, Any]) -> None:
    rows = [c for c in results["comparisons"] if c["metric"] == "ndcg@100"]
    assert {(c["a"], c["b"]) for c in rows} == {
        ("EASE", "TEASER"), ("EASE", "both"), ("TEASER", "both"),
    }  # fmt: skip
    means = {m["name"]: m["metrics"]["ndcg@100"]["mean"] for m in results["models"]}
    for row in rows:
        assert row["mean"] == pytest.approx(means[row["b"]] - means[row["a"]], abs=1e-5)
        assert row["low"] <= row["mean"] <= row["high"]


def test_people_are_kept_one_by_one(folder: Path, results: dict[str, Any]) -> None:
    people = pl.read_parquet(folder / "tiny.users.parquet")
    assert people.height == 3 * 60
    means = people.group_by("model").agg(pl.col("ndcg@100").mean())
    kept = dict(means.iter_rows())
    for model in results["models"]:
        assert kept[model["name"]] == pytest.approx(model["metrics"]["ndcg@100"]["mean"], rel=1e-4)


def test_feedback_is_simulated_on_every_interactive_model(results: dict[str, Any]) -> None:
    rows = results["simulations"]
    assert {(r["model"], r["scale"], r["strength"]) for r in rows} == {
        (m, s, k) for m in ("TEASER", "both") for s in ("robust", "paper") for k in (3, -2)
    }
    static = {m["name"]: m["metrics"]["ndcg@100"]["mean"] for m in results["models"]}
    for row in (r for r in rows if r["scale"] == "robust"):
        after = row["metrics"]["ndcg@100"]["mean"]
        assert row["gain"]["ndcg@100"]["mean"] == pytest.approx(
            after - static[row["model"]], abs=2e-5
        )


def test_fewer_tags_and_convergence(results: dict[str, Any]) -> None:
    (row,) = results["by_tags"]
    assert row["n_tags"] < results["data"]["tags"]
    for solver in results["convergence"]:
        assert len(solver["residuals"]) == len(solver["seconds"]) > 0
        assert solver["residuals"][-1] <= 1e-3


def test_a_study_that_has_run_is_not_searched_again(
    study: Study, folder: Path, results: dict[str, Any]
) -> None:
    asked: list[tuple[str, int, str]] = []
    again = run_study(
        study, data=folder, out=folder,
        progress=lambda stage, done, total, doing: asked.append((stage, done, doing)),
    )  # fmt: skip
    assert not [a for a in asked if a[0] == "TEASER" and a[2]]
    for old, new in zip(results["models"], again["models"], strict=True):
        assert new["parameters"] == old["parameters"]
        assert new["metrics"]["ndcg@100"]["mean"] == pytest.approx(
            old["metrics"]["ndcg@100"]["mean"], rel=1e-5
        )


def test_feedback_alone_takes_the_parameters_that_were_found(
    study: Study, folder: Path, results: dict[str, Any]
) -> None:
    plan = SimulationPlan(tags=(1,), strengths=(3,), scales=("robust",), draws=2)
    rows = simulate_study(study, plan, data=folder, out=folder)
    assert [r["model"] for r in rows] == ["TEASER", "both"]
    for row in rows:
        same = next(
            r for r in results["simulations"]
            if (r["model"], r["scale"], r["strength"]) == (row["model"], "robust", 3)
        )  # fmt: skip
        assert row["metrics"]["ndcg@100"]["mean"] == pytest.approx(
            same["metrics"]["ndcg@100"]["mean"], rel=1e-5
        )


def test_a_wrong_parameter_is_found_before_any_work(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("l2_encoder", "l3"))
    wrong = Study.read(path)
    dataset = read_data(wrong.data, tmp_path, beside=tmp_path)
    with pytest.raises(ParameterError, match="no parameter 'l3'"):
        Run.start(wrong, dataset)


def test_the_curve_of_popularity_ends_at_all_recommendations(dataset: Any) -> None:
    order = np.argsort(-dataset.item_counts, kind="stable")
    top = popularity_curve(order[None, :4], dataset)
    assert top[0] == 0
    assert top[-1] == 1
    assert top[4] == 1
    low = popularity_curve(order[None, -4:], dataset)
    assert low[-5] == 0


def test_json_holds_no_number_that_json_does_not_know(tmp_path: Path) -> None:
    write_json(
        tmp_path / "r.json", {"a": float("nan"), "b": np.float32(0.5), "c": (1, np.int64(2))}
    )
    assert json.loads((tmp_path / "r.json").read_text()) == {"a": None, "b": 0.5, "c": [1, 2]}
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
