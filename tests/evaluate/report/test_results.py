"""Reading results back: order, names, signs, and files that are not results."""

import json
from pathlib import Path
from typing import Any

import pytest

from teaser.errors import DataError, ParameterError
from teaser.evaluate.metrics import Difference
from teaser.evaluate.report.results import (
    MINUS,
    Results,
    Scenario,
    improvement,
    is_clear,
    read_all,
    signed,
    summary,
)

Content = dict[str, Any]


def test_models_are_in_the_order_and_spelling_of_the_paper(content: Content) -> None:
    study = Results.read(content)
    assert [study.labels[m["name"]] for m in study.models] == [
        "EASE",
        "Popularity",
        "TEASER",
        "WMF-S",
        "TEASER ⊙ EASE",
    ]
    assert [bool(m["interactive"]) for m in study.models] == [False, False, True, True, True]


def test_a_row_of_the_paper_stands_beside_one_model_only(content: Content) -> None:
    again = {**next(m for m in content["models"] if m["kind"] == "Teaser"), "name": "Second"}
    study = Results.read({**content, "models": [*content["models"], again]})
    rows = {m["name"]: study.paper_name(m) for m in study.models}
    assert rows == {
        "ease": "EASE",
        "Popularity": None,
        "teaser": "TEASER",
        "Second": None,
        "wmf-s": "WMF-S",
        "product": "TEASER ⊙ EASE",
    }
    assert study.labels["Second"] == "Second"


def test_a_product_of_other_parts_is_not_the_papers(content: Content) -> None:
    product = next(m for m in content["models"] if m["kind"] == "Product")
    product["parts"] = ["wmf-s", "ease"]
    study = Results.read(content)
    assert study.paper_name(product) is None
    assert study.labels["product"] == "WMF-S ⊙ EASE"


def test_a_gap_turns_with_its_models(content: Content) -> None:
    study = Results.read(content)
    there, back = study.gap("ease", "teaser", "ndcg@100"), study.gap("teaser", "ease", "ndcg@100")
    assert there is not None
    assert back is not None
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)
    ease, teaser = (study.labelled(name) for name in ("EASE", "TEASER"))
    assert ease is not None
    assert teaser is not None
    gap = teaser["metrics"]["ndcg@100"]["mean"] - ease["metrics"]["ndcg@100"]["mean"]
    assert there.mean == pytest.approx(gap, abs=1e-5)
    assert there.low <= there.mean <= there.high
    assert study.gap("ease", "teaser", "ndcg@7") is None


def test_scenarios_have_the_default_scale_and_plus_first(content: Content) -> None:
    found = Results.read(content).scenarios
    assert [(s.text, s.scale) for s in found] == [
        ("one tag +3", "robust"),
        ("one tag +3", "paper"),
        ("two tags +3", "robust"),
        ("two tags +3", "paper"),
        (f"one tag {MINUS}3", "robust"),
        (f"one tag {MINUS}3", "paper"),
        (f"two tags {MINUS}3", "robust"),
        (f"two tags {MINUS}3", "paper"),
    ]
    assert [s.is_default for s in found] == [True, False] * 4


def test_improvement_is_relative_to_the_model_without_presses(content: Content) -> None:
    study = Results.read(content)
    teaser = study.labelled("TEASER")
    assert teaser is not None
    pressed = study.pressed("teaser", Scenario(1, 3, "robust", 0.2))
    assert pressed is not None
    found = improvement(pressed)
    assert found is not None
    before = teaser["metrics"]["ndcg@100"]["mean"]
    after = pressed["metrics"]["ndcg@100"]["mean"]
    assert found.mean == pytest.approx(100 * (after / before - 1), abs=0.01)
    assert found.low < found.mean < found.high
    assert improvement(pressed, "ndcg@7") is None
    assert study.pressed("ease", Scenario(1, 3, "robust", 0.2)) is None


def test_a_model_without_any_accuracy_has_no_relative_improvement() -> None:
    values = {"mean": 0.1, "error": 0.1, "n": 3}
    gain = {"mean": 0.1, "low": 0.0, "high": 0.2, "n": 3}
    assert improvement({"metrics": {"ndcg@100": values}, "gain": {"ndcg@100": gain}}) is None


def test_what_json_could_not_hold_comes_back_as_nothing() -> None:
    assert summary({"mean": None, "error": None, "n": 0}) is None
    one = summary({"mean": 0.5, "error": None, "n": 1})
    assert one is not None
    assert one.error != one.error


@pytest.mark.parametrize(
    ("low", "high", "clear"),
    [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (0, 1, False)],
)
def test_a_difference_is_clear_when_zero_is_outside(low: float, high: float, clear: bool) -> None:
    assert is_clear(Difference((low + high) / 2, low, high, 9)) is clear
    assert not is_clear(None)


@pytest.mark.parametrize(
    ("value", "text"), [(1.25, "+1.2"), (-1.26, f"{MINUS}1.3"), (0.01, "0.0"), (-0.04, "0.0")]
)
def test_signs(value: float, text: str) -> None:
    assert signed(value) == text


def test_a_folder_stands_for_its_results(results_folder: Path) -> None:
    found = read_all([results_folder])
    assert [each.key for each in found] == ["small-run-quick", "small-run"]
    assert [each.title.endswith("(quick run)") for each in found] == [True, False]


def test_bad_input_is_named(results_folder: Path, tmp_path: Path, content: Content) -> None:
    with pytest.raises(DataError, match=r"no results .*nowhere.json"):
        read_all([tmp_path / "nowhere.json"])
    with pytest.raises(DataError, match="no results"):
        read_all([tmp_path])
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataError, match=r"broken.json cannot be read"):
        read_all([tmp_path / "broken.json"])
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DataError, match="not the results of a study"):
        read_all([tmp_path / "list.json"])
    old = {k: v for k, v in content.items() if k != "comparisons"}
    (tmp_path / "old.json").write_text(json.dumps(old))
    with pytest.raises(DataError, match="another version; without comparisons"):
        read_all([tmp_path / "old.json"])
    del content["models"][0]["metrics"]
    with pytest.raises(DataError, match=r"models.metrics"):
        read_all([content])
    with pytest.raises(DataError, match="no model was tested"):
        read_all([{**content, "models": []}])
    with pytest.raises(ParameterError, match="given 2 times"):
        read_all([results_folder, results_folder / "small_run.json"])
    with pytest.raises(ParameterError, match="at least one"):
        read_all([])


def test_an_unknown_column_of_the_paper_is_named_with_the_closest(content: Content) -> None:
    study = Results.read({**content, "paper": "ml-20"})
    with pytest.raises(ParameterError, match=r"'ml-20'.*Closest: ml-20m"):
        _ = study.paper
    assert Results.read({**content, "paper": None}).paper is None
