"""The dial: what is measured, what is recommended, and what is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teaser import Dataset, Teaser
from teaser.data.split import Split, split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.dial import SHOWN, choose_setting, dial_study, measure_dial, tag_share
from teaser.evaluate.study.plan import DialPlan, Study
from teaser.evaluate.study.results import DialSetting, read_results
from teaser.model.baselines.ease import EASE
from teaser.model.extensions.remainder import Remainder
from teaser.model.shared_fit import SharedFits

TEXT = """
[data]
source = "events"
options = { n_events = 120, n_users = 400 }
[split]
validation = 50
test = 40
[quick]
validation = 20
test = 20
training = 200
[models.EASE]
kind = "EASE"
[models.TEASER]
kind = "Teaser"
parameters = { tol = 1e-4, l2_weights = 7.0 }
"""


def a_setting(kind: str, value: float, share: float) -> DialSetting:
    return DialSetting(kind, {"remainder.l2": share}, value, 0.01, share, 1.0)


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=60, n_test=30, min_interactions=4, rng=0)


@pytest.fixture(scope="module")
def dial(parts: Split) -> list[DialSetting]:
    grid = DialPlan(remainder_l2=(5.0, 50.0), l2_weights=(5.0, 20.0), l2_encoder=(5.0, 50.0))
    return measure_dial(SharedFits(parts.training), parts.validation, grid, metric="ndcg@20")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return path


def test_the_tag_share_is_that_of_the_explanations(parts: Split) -> None:
    model = Teaser(
        l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0)
    ).fit(parts.training)
    fold = parts.validation
    lists = evaluate(model, fold, metrics=["ndcg@5"]).lists[:, :5]
    shares = []
    for person in range(fold.n_users):
        row = fold.history[[person]].indices
        history = [model.items_[i] for i in row]
        for place in lists[person].tolist():
            said = model.explain(model.items_[place], history)
            tags = abs(sum(said.contributions.values()))
            shares.append(tags / (tags + abs(sum(said.viewed.values()))))
    found = tag_share(model, fold, lists, shown=5)
    assert found == pytest.approx(np.mean(shares), rel=1e-9)
    assert 0.2 < found < 0.95
    assert tag_share(model, fold, lists, shown=5, memory=1) == pytest.approx(found, rel=1e-12)
    assert tag_share(model, fold, lists, shown=1) != pytest.approx(found, rel=1e-6)


def test_the_ends_have_all_and_nothing_from_tags(parts: Split) -> None:
    lists = np.zeros((parts.validation.n_users, 3), dtype=int)
    assert tag_share(Teaser().fit(parts.training), parts.validation, lists) == 1.0
    assert tag_share(EASE().fit(parts.training), parts.validation, lists) == 0.0
    model = Teaser(remainder=Remainder(neighbours=None, l2=20.0)).fit(parts.training)
    assert tag_share(model, parts.validation, lists - 1) == 1.0


def test_every_point_is_what_a_fit_alone_gives(dial: list[DialSetting], parts: Split) -> None:
    assert (
        len(dial)
        == DialPlan(remainder_l2=(5.0, 50.0), l2_weights=(5.0, 20.0), l2_encoder=(5.0, 50.0)).size
        == 16
    )
    kinds = [s.kind for s in dial]
    assert (kinds.count("TEASER"), kinds.count("remainder"), kinds.count("EASE")) == (4, 8, 4)
    for setting in dial:
        made: Any = EASE if setting.kind == "EASE" else Teaser
        model = made.from_parameters(setting.parameters).fit(parts.training)
        reached = evaluate(model, parts.validation, metrics=["ndcg@20"]).summary()["ndcg@20"]
        assert setting.value == pytest.approx(reached.mean, abs=0.01)
        assert setting.error == pytest.approx(reached.error, abs=0.01)


def test_dearer_remainders_leave_more_to_tags(dial: list[DialSetting]) -> None:
    between = [s for s in dial if s.kind == "remainder"]
    for l1 in (5.0, 20.0):
        for l2 in (5.0, 50.0):
            cheap, dear = (
                next(
                    s.tag_share
                    for s in between
                    if s.parameters == {"l2_weights": l1, "l2_encoder": l2, "remainder.l2": k}
                )
                for k in (5.0, 50.0)
            )
            assert 0 < cheap < dear < 1


def test_equal_ridges_are_one_ease(parts: Split) -> None:
    grid = DialPlan(remainder_l2=(10.0, 20.0), l2_weights=(10.0, 20.0), l2_encoder=(5.0,))
    told: list[tuple[int, int, str]] = []
    found = measure_dial(
        SharedFits(parts.training), parts.validation, grid, callback=lambda *said: told.append(said)
    )
    ridges = sorted(s.parameters["l2_weights"] for s in found if s.kind == "EASE")
    assert ridges == [20.0, 30.0, 40.0]
    assert [done for done, _, _ in told] == list(range(grid.size))
    assert {total for _, total, _ in told} == {grid.size} == {len(found)}
    assert told[0][2] == "TEASER l2_weights=10, l2_encoder=5"


def test_the_most_tags_near_the_best_are_recommended() -> None:
    ease, teaser = a_setting("EASE", 0.5, 0.0), a_setting("TEASER", 0.4, 1.0)
    near, far = a_setting("remainder", 0.496, 0.6), a_setting("remainder", 0.494, 0.8)
    every = [ease, teaser, near, far]
    assert choose_setting(every) is near
    assert choose_setting(every, within=0.02) is far
    assert choose_setting(every, within=0.3) is teaser
    assert choose_setting(every, within=0.0) is near
    better = a_setting("remainder", 0.499, 0.6)
    assert choose_setting([*every, better]) is better
    with pytest.raises(ParameterError, match="No setting has tags"):
        choose_setting([ease])
    with pytest.raises(ParameterError, match=r"within must be from 0 to below 1, found 1\.5"):
        choose_setting(every, within=1.5)


def test_a_senseless_grid_is_refused() -> None:
    wrong: dict[str, dict[str, Any]] = {
        "at least one remainder_l2": {"remainder_l2": ()},
        "l2_weights must be numbers above 0, found 0.0": {"l2_weights": (5.0, 0.0)},
        "l2_encoder must be numbers above 0, found -1.0": {"l2_encoder": (-1.0,)},
        "remainder_l2 must be numbers above 0, found 'a'": {"remainder_l2": ("a",)},
        "remainder_l2 must be numbers above 0, found inf": {"remainder_l2": (np.inf,)},
    }
    for said, given in wrong.items():
        with pytest.raises(ParameterError, match=said):
            DialPlan(**given)


def test_a_quick_grid_is_a_part_of_the_whole() -> None:
    assert DialPlan().thinned() == DialPlan(
        remainder_l2=(300.0, 10000.0), l2_weights=(200.0,), l2_encoder=(1000.0,)
    )


def test_the_dial_of_a_study_is_measured_on_its_validation_users(
    study: Path, tmp_path: Path
) -> None:
    grid = DialPlan(remainder_l2=(30.0, 300.0), l2_weights=(20.0,), l2_encoder=(50.0,))
    stages: list[str] = []
    found = dial_study(
        Study.read(study), data=tmp_path, out=tmp_path / "out", grid=grid,
        progress=lambda stage, done, total, doing: stages.append(stage),
    )  # fmt: skip
    assert set(stages) == {"dial"}
    assert found.users == 50
    assert found.shown == SHOWN
    assert found.recommended in found.settings
    assert [s.kind for s in found.settings].count("EASE") == 2
    assert all(0 <= s.tag_share <= 1 for s in found.settings)
    assert read_results(tmp_path / "out" / "tiny.dial.json").key == found.key == "tiny"
