"""tune and report: what they print and write, and how they refuse."""

import json
from pathlib import Path

import pytest
from commands import refused, said

STUDY = """
data = { source = "events", options = { n_events = 120, n_users = 400 } }
split = { validation = 50, test = 40 }
quick = { validation = 20, test = 20, training = 200 }
models.TEASER = { kind = "Teaser", parameters = { tol = 1e-4 } }
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path


def test_tune_prints_the_dial_and_draws_it(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    penalties = ("--remainder-l2", 30, "--remainder-l2", 90, "--l2-weights", 20, "--l2-encoder", 50)
    text = said("tune", study, "-o", out, "--quick", "--within", 0.02, *penalties)
    assert "Recommended: Teaser(" in text
    assert "within 2 % of the best" in text
    found = json.loads((out / "tiny-quick.dial.json").read_text())
    assert found["quick"]
    tried = {s["parameters"].get("remainder.l2") for s in found["settings"]}
    assert tried <= {None, 30.0, 90.0}
    assert len(tried) > 1
    best = found["recommended"]
    assert f"{best['value']:.4f}, {100 * best['tag_share']:.0f} % from tags" in text
    assert (out / "tiny-quick.dial.svg").read_text().startswith("<svg")


def test_a_wrong_study_or_value_is_one_sentence(study: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "o")
    for command in ("evaluate", "tune", "simulate"):
        assert "none.toml" in refused(command, tmp_path / "none.toml", *out)
    assert "above 0, found -1" in refused("tune", study, *out, "--remainder-l2", -1)
    assert not (tmp_path / "o").exists()


def test_a_report_of_no_results_is_one_sentence(study: Path, tmp_path: Path) -> None:
    assert "tiny.toml" in refused("report", study, "--out", tmp_path / "r")
    assert not (tmp_path / "r").exists()
