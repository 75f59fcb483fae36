"""A study as a report shows it: order, names, the paper's figures, and files in any order."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from reports import Content, a_dial, reported

from teaser.errors import DataError, ParameterError
from teaser.evaluate.report.tables.reported import Source, read_studies


def test_models_are_in_the_order_and_spelling_of_the_paper(content: Content) -> None:
    study = reported(content)
    assert [study.labels[m.name] for m in study.models] == [
        "EASE",
        "Popularity",
        "TEASER",
        "WMF-S",
        "TEASER × EASE",
    ]
    assert [m.interactive for m in study.models] == [False, False, True, True, True]


def test_a_row_of_the_paper_stands_beside_one_model_only(content: Content) -> None:
    again = {**next(m for m in content["models"] if m["kind"] == "Teaser"), "name": "Second"}
    study = reported({**content, "models": [*content["models"], again]})
    rows = {m.name: study.paper_name(m) for m in study.models}
    assert rows == {
        "ease": "EASE",
        "Popularity": None,
        "teaser": "TEASER",
        "Second": None,
        "wmf-s": "WMF-S",
        "product": "TEASER × EASE",
    }
    assert study.labels["Second"] == "Second"


def test_a_product_of_other_parts_is_not_the_papers(content: Content) -> None:
    next(m for m in content["models"] if m["kind"] == "Product")["parts"] = ["wmf-s", "ease"]
    study = reported(content)
    product = study.labelled("WMF-S × EASE")
    assert product is not None
    assert product.name == "product"
    assert study.paper_name(product) is None


def test_an_unknown_column_of_the_paper_is_named_with_the_closest(content: Content) -> None:
    study = reported({**content, "paper": "ml-20"})
    with pytest.raises(ParameterError, match=r"'ml-20'.*Closest: ml-20m"):
        _ = study.paper
    assert reported({**content, "paper": None}).paper is None


def test_a_folder_stands_for_its_results(results_folder: Path) -> None:
    found = read_studies([results_folder])
    assert [each.key for each in found] == ["small-run-quick", "small-run"]
    assert [each.title.endswith("(quick run)") for each in found] == [True, False]
    assert [each.dial for each in found] == [None, None]


def test_dials_are_sorted_to_their_studies(results_folder: Path, tmp_path: Path) -> None:
    for name in ("small_run.json", "small_run-quick.json"):
        shutil.copy(results_folder / name, tmp_path)
    dial = replace(a_dial(), study="small_run")
    dial.write(tmp_path / "small_run.dial.json")
    for sources in ([tmp_path], sorted(tmp_path.glob("*.json")), [tmp_path / "small_run.json"]):
        found = {study.key: study.dial for study in read_studies(sources)}
        assert found["small-run"] == dial
        assert found.get("small-run-quick") is None
    elsewhere: list[Source] = [results_folder / "small_run.json", dial]
    assert read_studies(elsewhere)[0].dial == dial
    with pytest.raises(ParameterError, match="'small_run' is given without"):
        read_studies([tmp_path / "small_run.dial.json"])
    (tmp_path / "small_run.dial.json").write_text("{")
    with pytest.raises(DataError, match=r"small_run\.dial\.json"):
        read_studies([tmp_path / "small_run.json"])


def test_bad_input_is_named(results_folder: Path, tmp_path: Path, content: Content) -> None:
    with pytest.raises(DataError, match=r"nowhere.json"):
        read_studies([tmp_path / "nowhere.json"])
    with pytest.raises(DataError, match=str(tmp_path)):
        read_studies([tmp_path])
    (tmp_path / "old.json").write_text(json.dumps({**content, "models": []}))
    with pytest.raises(DataError, match=r"old.json.*models is empty"):
        read_studies([tmp_path / "old.json"])
    with pytest.raises(ParameterError, match="given 2 times"):
        read_studies([results_folder, results_folder / "small_run.json"])
    with pytest.raises(ParameterError, match="at least one"):
        read_studies([])
