"""Results and choices are read as they were written; other files are refused with what to do."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reports import Content

from teaser.errors import DataError
from teaser.evaluate import Recipe, Trial
from teaser.evaluate.metrics import Summary
from teaser.evaluate.study.results import (
    TARGET,
    DialResults,
    StudyResults,
    find_value,
    read_results,
)
from teaser.model.recipe import best_trial

RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results"


@pytest.fixture(scope="module")
def study() -> StudyResults:
    """The results of the study of generated events."""
    found = read_results(RESULTS / "events.json")
    assert isinstance(found, StudyResults)
    return found


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_what_is_written_is_read(path: Path, tmp_path: Path) -> None:
    found = read_results(path)
    assert isinstance(found, DialResults) == path.name.endswith(".dial.json")
    assert found.key == path.name.partition(".")[0]
    found.write(tmp_path / "again.json")
    assert read_results(tmp_path / "again.json") == found
    assert [p.name for p in tmp_path.iterdir()] == ["again.json"]


def test_numbers_are_plain_and_short_and_nan_comes_back(
    study: StudyResults, tmp_path: Path
) -> None:
    odd = replace(study.models[0], metrics={TARGET: Summary(np.float64(1 / 3), math.nan, 3)})
    replace(study, models=(odd,)).write(tmp_path / "odd.json")
    written = json.loads((tmp_path / "odd.json").read_text())["models"][0]["metrics"][TARGET]
    assert written == {"mean": 0.333333, "error": None, "n": 3}
    found = read_results(tmp_path / "odd.json")
    assert isinstance(found, StudyResults)
    assert math.isnan(found.models[0].metrics[TARGET].error)
    assert find_value({"a": Summary(math.nan, math.nan, 0)}, "a") is None


def test_bad_files_are_named_with_what_to_do(tmp_path: Path, study: StudyResults) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(DataError, match=r"r\.json.*teaser evaluate"):
        read_results(path)
    study.write(path)
    content: Content = json.loads(path.read_text())
    wrong: dict[str, str] = {
        "{": "cannot be read as results",
        "[]": "It must be an object",
        json.dumps({k: v for k, v in content.items() if k != "comparisons"}): "lacks comparisons",
        json.dumps({**content, "models": []}): "models must have at least 1",
        json.dumps({**content, "models": [{"name": "x"}]}): r"\[models\.x\] lacks kind",
        json.dumps({**content, "seconds": "long"}): "seconds must be .* number, found 'long'",
    }
    for text, message in wrong.items():
        path.write_text(text)
        with pytest.raises(DataError, match=rf"r\.json.*{message}"):
            read_results(path)


TRIED = (
    Trial("EASE", ndcg=0.5, share=1.0),
    Trial("discovered", {"l2_encoder": 300.0}, 0.44, 0.88),
    Trial("discovered", {"l2_encoder": 3000.0}, 0.465, 0.93),
    Trial("neighbours", reason="it needs 80.0 GB, and this machine has 16.0 GB"),
)


def test_of_one_recipe_the_most_accurate_is_the_best() -> None:
    found = best_trial(t for t in TRIED if t.name == "discovered")
    assert found is TRIED[2]
    assert best_trial(()) is None
    record = Recipe(TRIED, "discovered", "")
    assert [t.name for t in record.table()] == list(dict.fromkeys(t.name for t in TRIED))
    assert record.best("neighbours") is TRIED[-1]
    assert record.best("other") is None
