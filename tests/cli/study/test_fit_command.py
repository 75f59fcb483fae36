"""The command that a study prints: run as it stands, it fits the same parameters."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import said

from teaser import Dataset, Teaser, load
from teaser.cli.study.fit_command import fit_commands
from teaser.evaluate.study.data_plan import DataPlan
from teaser.evaluate.study.plan import SplitPlan, Study
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
    (command,) = fit_commands(study, Path("data"), parameters)
    said(*shlex.split(command)[1:])
    fitted = load(tmp_path / "mine-model", Teaser)
    assert fitted.parameters() == make_model("Teaser", parameters).parameters()


def test_tables_are_prepared_first(
    tables: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    tables[0].write_csv("in/clicks.csv")
    tables[1].write_csv("in/things.csv")
    plan = DataPlan(
        tables={"interactions": "clicks.csv", "items": "things.csv", "positive": "rating >= 4"}
    )
    commands = fit_commands(a_study(Path("in"), plan), Path("data"), {"l2_weights": 5})
    assert commands[0].startswith("teaser prepare in/clicks.csv in/things.csv --positive")
    for command in commands:
        said(*shlex.split(command)[1:])
    expected = Dataset.from_tables(*tables, positive="rating >= 4")
    assert (Dataset.load("mine-data").X != expected.X).nnz == 0


def test_public_data_and_what_no_command_makes() -> None:
    public = a_study(Path(), DataPlan("ml-1m", folder="ml", tables={"positive": "rating >= 5"}))
    assert fit_commands(public, Path("d"), {}) == [
        "teaser prepare d/ml --source ml-1m --positive 'rating >= 5' --out mine-data",
        "teaser fit mine-data --out mine-model --l2-weights 200 --l2-encoder 500",
    ]
    events = a_study(Path(), DataPlan("events"))
    assert fit_commands(events, Path("d"), {})[0] == (
        "teaser prepare --source events --start 2026-01-01 --out mine-data"
    )
    for plan in (DataPlan("events", options={"n_users": 9}), DataPlan("ml-1m", min_items=3)):
        assert fit_commands(a_study(Path(), plan), Path("d"), {})[0].startswith("teaser fit DATA ")
