"""Results are read as they were written; what is not of a study is refused with what to do."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reports import Content, a_dial, reported

from teaser.errors import DataError
from teaser.evaluate.metrics import Difference, Summary
from teaser.evaluate.study.results import (
    TARGET,
    DialResults,
    Scenario,
    SimulationResult,
    StudyResults,
    circumstances,
    measured,
    personal_share,
    read_results,
    tag_share,
)

RESULTS = Path(__file__).resolve().parents[3] / "experiments" / "results"


@pytest.fixture(scope="module")
def study() -> StudyResults:
    """The results of the study of generated events."""
    found = read_results(RESULTS / "events.json")
    assert isinstance(found, StudyResults)
    return found


@pytest.fixture
def content_of_reports() -> Content:
    """The results of a study as an earlier version wrote them."""
    path = Path(__file__).resolve().parents[1] / "report" / "stored" / "small_run.json"
    found: Content = json.loads(path.read_text(encoding="utf-8"))
    return found


def a_simulation(after: float, gain: Difference) -> SimulationResult:
    return SimulationResult(
        model="m",
        scale="robust",
        step=0.2,
        strength=3,
        n_tags=1,
        draws=1,
        seed=0,
        without_tags=0,
        fewer_tags=0,
        metrics={TARGET: Summary(after, 0.1, 3)},
        gain={TARGET: gain},
    )


def test_what_is_written_is_read_back(study: StudyResults, tmp_path: Path) -> None:
    study.write(tmp_path / "a.json")
    assert read_results(tmp_path / "a.json") == study
    dial = a_dial()
    dial.write(tmp_path / "a.dial.json")
    assert read_results(tmp_path / "a.dial.json") == dial
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.dial.json", "a.json"]


def test_the_results_that_come_along_are_read_by_kind() -> None:
    for path in sorted(RESULTS.glob("*.json")):
        found = read_results(path)
        assert isinstance(found, DialResults) == path.name.endswith(".dial.json")
        assert found.key == path.name.partition(".")[0]


def test_numbers_that_json_does_not_have_come_back_as_nan(tmp_path: Path) -> None:
    odd = replace(a_dial(), within=float("nan"), users=int(np.int64(3)))
    odd.write(tmp_path / "odd.dial.json")
    assert json.loads((tmp_path / "odd.dial.json").read_text())["within"] is None
    found = read_results(tmp_path / "odd.dial.json")
    assert isinstance(found, DialResults)
    assert math.isnan(found.within)
    assert measured({"a": Summary(math.nan, math.nan, 0)}, "a") is None
    assert measured({}, "a") is None


def test_a_gap_turns_with_its_models(study: StudyResults) -> None:
    there, back = study.gap("EASE", "TEASER", TARGET), study.gap("TEASER", "EASE", TARGET)
    assert there is not None
    assert back is not None
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)
    ease, teaser = (study.of_kind(kind) for kind in ("EASE", "Teaser"))
    assert ease is not None
    assert teaser is not None
    gap = teaser.metrics[TARGET].mean - ease.metrics[TARGET].mean
    assert there.mean == pytest.approx(gap, abs=1e-5)
    assert there.low <= there.mean <= there.high
    assert study.gap("EASE", "TEASER", "ndcg@7") is None


def test_scenarios_go_by_kind_of_tag_then_have_plus_and_the_default_first(
    study: StudyResults,
) -> None:
    one = a_simulation(0.2, Difference(0.1, 0.05, 0.2, 3))
    ways = [
        ("discovered", 3, 1, "robust", 0.2),
        ("declared", -3, 1, "robust", 0.2),
        ("declared", 3, 2, "robust", 0.2),
        ("declared", 3, 1, "paper", 0.2),
        ("declared", 3, 1, "robust", 0.4),
        ("declared", 3, 1, "robust", 0.2),
        ("all", -3, 2, "paper", 0.4),
    ]
    simulations = tuple(
        replace(one, among=among, strength=strength, n_tags=n, scale=scale, step=step)
        for among, strength, n, scale, step in ways
    )
    found = replace(study, simulations=simulations).scenarios
    assert found == tuple(Scenario(n, k, scale, step, a) for a, k, n, scale, step in ways[::-1])
    assert [s.is_default for s in found] == [False, True, False, False, True, True, True]


def test_improvement_is_relative_to_the_model_without_presses(study: StudyResults) -> None:
    teaser = study.of_kind("Teaser")
    assert teaser is not None
    default = [s for s in study.simulations if s.model == "TEASER" and s.scenario.is_default]
    simulated = study.simulation("TEASER", default[0].scenario)
    assert simulated is default[0]
    found = simulated.improvement()
    assert found is not None
    after, before = simulated.metrics[TARGET].mean, teaser.metrics[TARGET].mean
    assert found.mean == pytest.approx(100 * (after / before - 1), abs=0.01)
    assert found.low < found.mean < found.high
    assert simulated.improvement("ndcg@7") is None
    assert study.simulation("EASE", simulated.scenario) is None


def test_from_tags_is_declared_and_discovered(study: StudyResults) -> None:
    shares = {"general": 0.3, "declared": 0.2, "discovered": 0.1, "popularity": 0.1, "viewed": 0.3}
    assert tag_share(shares) == pytest.approx(0.3)
    assert personal_share(shares) == pytest.approx(0.5)
    assert (tag_share({}), personal_share({})) == (0, 0)
    model = study.models[0]
    assert replace(model, shares={}).tag_share is None
    assert replace(model, shares=shares).tag_share == pytest.approx(0.3)


def test_results_of_an_earlier_version_have_no_parts(content_of_reports: Content) -> None:
    found = reported(content_of_reports).results
    assert all(m.shares == {} and m.discovered == 0 and m.tag_share is None for m in found.models)
    assert {s.among for s in found.simulations} == {"all"}
    assert found.recommended is None
    named = [{**m, "name": "ours, recommended"} for m in content_of_reports["models"][1:2]]
    more = reported({**content_of_reports, "models": content_of_reports["models"] + named}).results
    assert more.recommended is more.models[-1]


def test_a_model_without_any_accuracy_has_no_relative_improvement() -> None:
    assert a_simulation(0.1, Difference(0.1, 0.0, 0.2, 3)).improvement() is None
    assert a_simulation(0.2, Difference(0.1, math.nan, 0.2, 3)).improvement() is None
    assert a_simulation(0.2, Difference(0.1, 0.05, 0.2, 3)).improvement() == Difference(
        100, 50, 200, 3
    )


def test_titles_of_quick_runs_say_so(study: StudyResults) -> None:
    quick = replace(study, quick=True, study="My study!")
    assert quick.heading == f"{study.title} (quick run)"
    assert quick.key == "My-study-quick"
    assert study.heading == study.title


def test_bad_files_are_named_with_what_to_do(tmp_path: Path, study: StudyResults) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(DataError, match=r"r\.json.*teaser evaluate"):
        read_results(path)
    study.write(path)
    content: Content = json.loads(path.read_text())
    wrong: dict[str, str] = {
        "{": "cannot be read as JSON",
        "[]": "It must be a table",
        json.dumps({k: v for k, v in content.items() if k != "comparisons"}): "lacks comparisons",
        json.dumps({**content, "models": []}): "models is empty",
        json.dumps({**content, "models": [{"name": "x"}]}): r"models\[0\] lacks kind",
        json.dumps({**content, "seconds": "long"}): "seconds must be a number, found 'long'",
    }
    for text, said in wrong.items():
        path.write_text(text)
        with pytest.raises(DataError, match=rf"r\.json.*{said}"):
            read_results(path)
    with pytest.raises(DataError, match="lacks"):
        reported({"study": "x"})


def test_circumstances_name_versions_and_machine() -> None:
    found = circumstances()
    assert found["versions"]["numpy"] == np.__version__
    assert set(found) == {"versions", "commit", "machine"}


def test_a_dial_says_how_near_its_recommendation_is() -> None:
    dial = a_dial()
    best = max(setting.value for setting in dial.settings)
    assert dial.near == "within 1 % of the best"
    far = replace(dial.settings[0], kind="EASE", value=2 * best, tag_share=0.0)
    assert replace(dial, settings=(*dial.settings, far)).near == (
        "within 1 % of the best with tags, which is 50.0 % below the best of all"
    )
