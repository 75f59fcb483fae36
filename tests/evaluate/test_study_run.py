"""A whole study, small: what it writes is what the parts give, and a stopped one goes on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from teaser.baselines import EASE, Product
from teaser.data.split import split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.data import read_data
from teaser.evaluate.study.plan import SimulationPlan, Study
from teaser.evaluate.study.results import (
    ModelResult,
    SimulationResult,
    StudyResults,
    read_results,
)
from teaser.evaluate.study.run import StudyRun, run_study, simulate_study
from teaser.explain import PARTS
from teaser.model import Teaser

TEXT = """
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def results(study: Study, folder: Path) -> StudyResults:
    return run_study(study, data=folder, out=folder)


def value(result: ModelResult | SimulationResult) -> float:
    return result.metrics["ndcg@100"].mean


def model(results: StudyResults, name: str) -> ModelResult:
    return next(m for m in results.models if m.name == name)


def test_the_figures_are_those_of_the_best_cell_on_the_test_users(
    study: Study, results: StudyResults, tmp_path: Path
) -> None:
    parts = split(read_data(study, tmp_path), n_validation=40, n_test=60, rng=5)
    teaser, ease, both = (model(results, name) for name in ("TEASER", "EASE", "both"))
    best = max(teaser.trials, key=lambda trial: trial.value)
    assert best.parameters.items() <= teaser.parameters.items()
    fitted = Teaser(**teaser.parameters).fit(parts.training)
    mean = evaluate(fitted, parts.test).summary()["ndcg@100"].mean
    assert value(teaser) == pytest.approx(mean, rel=1e-5)
    product = Product(fitted, EASE(**ease.parameters).fit(parts.training))
    mean = evaluate(product, parts.test).summary()["ndcg@100"].mean
    assert value(both) == pytest.approx(mean, rel=1e-5)
    assert both.trials == ()


def test_what_was_used_is_written_down(folder: Path, results: StudyResults) -> None:
    assert results.split.seed == 5
    assert results.split.test_users == 60
    assert results.data.items == 120
    assert results.versions["numpy"] == np.__version__
    assert results.seconds > 0
    assert results.peak_memory > 1e7
    assert all(m.fit.seconds >= 0 for m in results.models)
    assert [m.interactive for m in results.models] == [False, True, True]
    written = read_results(folder / "tiny.json")
    assert isinstance(written, StudyResults)
    assert [m.name for m in written.models] == [m.name for m in results.models]
    for old, new in zip(results.models, written.models, strict=True):
        assert value(new) == pytest.approx(value(old), rel=1e-5)


def test_every_two_models_are_compared_on_the_same_users(results: StudyResults) -> None:
    rows = [c for c in results.comparisons if c.metric == "ndcg@100"]
    assert {(c.a, c.b) for c in rows} == {
        ("EASE", "TEASER"), ("EASE", "both"), ("TEASER", "both"),
    }  # fmt: skip
    means = {m.name: value(m) for m in results.models}
    for row in rows:
        assert row.mean == pytest.approx(means[row.b] - means[row.a], abs=1e-5)
        assert row.low <= row.mean <= row.high


def test_users_are_kept_one_by_one(folder: Path, results: StudyResults) -> None:
    users = pl.read_parquet(folder / "tiny.users.parquet")
    assert users.height == 3 * 60
    means = dict(users.group_by("model").agg(pl.col("ndcg@100").mean()).iter_rows())
    for each in results.models:
        assert means[each.name] == pytest.approx(value(each), rel=1e-4)


def test_feedback_is_simulated_on_every_interactive_model(results: StudyResults) -> None:
    rows = results.simulations
    assert {(r.model, r.scale, r.strength) for r in rows} == {
        (m, s, k) for m in ("TEASER", "both") for s in ("robust", "paper") for k in (3, -2)
    }
    for row in (r for r in rows if r.scale == "robust"):
        gain = value(row) - value(model(results, row.model))
        assert row.gain["ndcg@100"].mean == pytest.approx(gain, abs=2e-5)


def test_parts_of_scores_are_kept_for_models_with_tags(results: StudyResults) -> None:
    for each in results.models:
        assert set(each.shares) == (set(PARTS) if each.interactive else set())
        if each.interactive:
            assert sum(each.shares.values()) == pytest.approx(1)
            assert each.tag_share == each.shares["declared"] > 0
            assert each.discovered == 0


def test_a_plan_names_its_models_and_kinds_of_tags(tmp_path: Path) -> None:
    """Discovered tags are pressed where there are some."""
    text = TEXT.partition("[simulate]")[0]
    path = tmp_path / "found.toml"
    path.write_text(
        text
        + """
[simulate]
tags = [1]
scales = ["robust"]
among = ["declared", "discovered"]
models = ["TEASER", "found"]
draws = 1
[models.TEASER]
kind = "Teaser"
[models.other]
kind = "Teaser"
[models.found]
kind = "Teaser"
parameters = { discovered = { grains = [10], factors = 16 }, remainder = { neighbours = 8 } }
"""
    )
    plan = Study.read(path)
    found = run_study(plan, data=tmp_path, out=tmp_path)
    assert [(r.model, r.among) for r in found.simulations] == [
        ("TEASER", "declared"),
        ("found", "declared"),
        ("found", "discovered"),
    ]
    last = model(found, "found")
    assert last.discovered > 0
    assert min(last.shares[part] for part in ("declared", "discovered", "viewed")) > 0
    assert model(found, "TEASER").discovered == 0
    (only,) = plan.simulate
    rows = simulate_study(plan, replace(only, models=("found",)), data=tmp_path, out=tmp_path)
    assert {r.model for r in rows} == {"found"}


def test_a_study_that_has_run_is_not_searched_again(
    study: Study, folder: Path, results: StudyResults
) -> None:
    searched: list[str] = []
    run = StudyRun.start(
        study,
        data=folder,
        out=folder,
        report=lambda doing, share: searched.append(doing),
    )
    for plan in study.models:
        assert run.search(plan).best == model(results, plan.name).parameters
    assert not searched


def test_feedback_alone_takes_the_parameters_that_were_found(
    study: Study, folder: Path, results: StudyResults
) -> None:
    plan = SimulationPlan(tags=(1,), strengths=(3,), scales=("robust",), draws=2)
    rows = simulate_study(study, plan, data=folder, out=folder)
    assert [r.model for r in rows] == ["TEASER", "both"]
    for row in rows:
        same = results.simulation(row.model, row.scenario)
        assert same is not None
        assert value(row) == pytest.approx(value(same), rel=1e-5)


def test_a_wrong_parameter_is_found_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("l2_encoder", "l3"))
    with pytest.raises(ParameterError, match="'l3'"):
        StudyRun.start(Study.read(path), data=tmp_path, out=tmp_path)
