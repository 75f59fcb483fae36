"""What the commands of experiments print of results."""

from dataclasses import replace
from pathlib import Path

import pytest

from teaser.cli.output import out
from teaser.cli.study import study_output
from teaser.evaluate.study.data_plan import DataPlan
from teaser.evaluate.study.plan import SplitPlan, Study
from teaser.evaluate.study.results import DialResults, StudyResults, read_results

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def results() -> StudyResults:
    found = read_results(ROOT / "experiments" / "results" / "events.json")
    assert isinstance(found, StudyResults)
    return found


@pytest.fixture(scope="module")
def dial() -> DialResults:
    found = read_results(ROOT / "experiments" / "results" / "events.dial.json")
    assert isinstance(found, DialResults)
    return found


def test_best_parameters_of_every_model_and_a_command_for_each_teaser(
    results: StudyResults, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study("mine", "Mine", DataPlan(prepared="shop"), SplitPlan(5, 5), ())
    study_output.show_best(results, study, Path("data"))
    printed = capsys.readouterr().out
    for model in results.models:
        assert model.name in printed
    assert "l2_weights=" in printed
    commands = [line for line in printed.splitlines() if line.startswith("  teaser fit shop ")]
    assert len(commands) == sum(model.kind == "Teaser" for model in results.models)


def test_without_a_teaser_there_is_no_command(
    results: StudyResults, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study("mine", "Mine", DataPlan(prepared="shop"), SplitPlan(5, 5), ())
    others = tuple(model for model in results.models if model.kind != "Teaser")
    study_output.show_best(replace(results, models=others), study, Path("data"))
    assert "teaser fit" not in capsys.readouterr().out


def test_notes_on_the_split_stand_below_the_table(
    results: StudyResults, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = replace(results, split=replace(results.split, notes=("7 users are new.",)))
    study_output.show_models(noted)
    assert capsys.readouterr().out.splitlines()[-1] == "7 users are new."


def test_a_narrow_terminal_gets_fewer_columns_and_whole_names(
    results: StudyResults, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width, has_errors in ((80, False), (160, True)):
        monkeypatch.setattr(out, "width", width)
        study_output.show_models(results)
        study_output.show_simulations(results.simulations)
        printed = capsys.readouterr().out
        assert all(len(line) <= width for line in printed.splitlines())
        assert all(model.name in printed for model in results.models)
        models = printed.partition("Simulated feedback")[0]
        assert ("±" in models) == has_errors
        assert ("long tail" in models) == has_errors


def test_what_the_recommended_setting_is_near_to_is_true(
    dial: DialResults, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", 160)
    study_output.show_dial(dial)
    printed = capsys.readouterr().out
    assert "the most of all within 1 % of the best." in printed
    assert "below the best of all" not in printed
    best = max(setting.value for setting in dial.settings)
    other = replace(dial.recommended, kind="NeighbourEASE", value=2 * best)
    study_output.show_dial(replace(dial, settings=(*dial.settings, other)))
    printed = capsys.readouterr().out
    near = (
        "the most of all within 1 % of the best with tags, which is 50.0 % below the best of all."
    )
    assert near in printed


def test_a_narrow_terminal_shows_whole_numbers_of_the_dial_and_of_parts(
    results: StudyResults,
    dial: DialResults,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for width in (80, 160):
        monkeypatch.setattr(out, "width", width)
        study_output.show_dial(dial)
        study_output.show_parts(results)
        printed = capsys.readouterr().out
        tables = printed.partition("Recommended:")[0] + printed.partition("Where scores")[2]
        assert all(len(line) <= width for line in tables.splitlines())
        assert "…" not in printed
        for setting in dial.settings:
            assert f"{setting.value:.4f}" in printed
        assert ("of personal" in printed) == (width == 160)
        for name in ("l2_weights", "neighbours", "from tags", "discovered"):
            assert name in printed
