"""The commands of experiments, from a study to its report."""

import re
from pathlib import Path

import pytest
from commands import refused, said

from teaser.evaluate.study.results import DialResults, StudyResults, read_results

STUDY = """
title = "Tiny events"
data = { source = "events", options = { n_events = 120, n_users = 400 } }
split = { validation = 50, test = 40 }
quick = { validation = 20, test = 20, training = 200 }
simulate = { tags = [1], scales = ["robust"] }
models.EASE = { kind = "EASE", grid = { l2_weights = [20, 100, 500] } }
models.TEASER = { kind = "Teaser", parameters = { tol = 1e-4 } }
"""
PENALTIES = ("--remainder-l2", 30, "--remainder-l2", 90, "--l2-weights", 20, "--l2-encoder", 50)


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
def tuned(study: Path) -> str:
    """What `tune --quick` printed."""
    return said("tune", study, "--quick", *PENALTIES)


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


def test_simulate_takes_the_parameters_that_evaluate_found(study: Path, evaluated: str) -> None:
    printed = said("simulate", study, "--quick", "--tags", "2", "--strength", "5", "--draws", "1")
    rows = [line for line in printed.splitlines() if "TEASER" in line]
    assert len(rows) == 1
    model, scale, step, tags, presses, after, *_ = re.split(r"\s*│\s*", rows[0].strip(" │"))
    assert (model, scale, step, tags, presses) == ("TEASER", "robust", "0.2", "2", "+5")
    assert 0 < float(after.split()[0]) < 1


def test_tune_prints_the_dial_and_draws_it(study: Path, tuned: str) -> None:
    folder = study.parent / "results"
    found = read_results(folder / "tiny-quick.dial.json")
    assert isinstance(found, DialResults)
    assert found.quick
    assert found.users == 20
    tried = {setting.parameters.get("remainder.l2") for setting in found.settings}
    assert tried <= {None, 30.0, 90.0}
    assert len(tried) > 1
    best = found.recommended
    assert f"{best.value:.4f}, {100 * best.tag_share:.0f} % from tags" in tuned
    assert (folder / "tiny-quick.dial.svg").read_text().startswith("<svg")


def test_report_takes_studies_and_dials_in_any_order(
    study: Path, evaluated: str, tuned: str, tmp_path: Path
) -> None:
    files = sorted((study.parent / "results").glob("*.json"))
    assert [path.name for path in files] == ["tiny-quick.dial.json", "tiny-quick.json"]
    assert said("report", *files, "--out", tmp_path / "r").strip() == str(tmp_path / "r/index.html")
    assert (tmp_path / "r" / "pictures" / "tiny-quick-dial.svg").exists()
    said("report", study.parent / "results", "--tables", "--out", tmp_path / "TABLES.md")
    assert (tmp_path / "TABLES.md").read_text().startswith("<!--")


def test_a_wrong_study_or_value_is_one_sentence(study: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "o")
    for command in ("evaluate", "tune", "simulate", "report"):
        assert "none.toml" in refused(command, tmp_path / "none.toml", *out)
    assert "above 0, found -1" in refused("tune", study, *out, "--remainder-l2", -1)
    assert not (tmp_path / "o").exists()
