"""The dial: what is measured, what is recommended, and what is written."""

from pathlib import Path
from typing import Any

import pytest

from teaser import Dataset
from teaser.data.split import Split, split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import SHOWN, evaluate, list_shares
from teaser.evaluate.study.dial import choose_setting, dial_study, match_ease, measure_dial
from teaser.evaluate.study.plan import DataPlan, DialPlan, ModelPlan, SearchPlan, SplitPlan, Study
from teaser.evaluate.study.results import DialResults, DialSetting, read_results
from teaser.evaluate.study.run import StudyRun
from teaser.model.base import KINDS
from teaser.model.shared_fit import SharedFits

GRID = DialPlan(
    remainder_l2=(5.0, 500.0), l2_weights=(5.0, 20.0), l2_encoder=(5.0, 50.0), neighbours=(8,)
)
FIXED = {"weights.user_power": 0.5, "discovered": {"grains": [20, 6], "factors": 16}}
MODELS = (
    ModelPlan("EASE", "EASE", grid={"l2": (10, 40)}),
    ModelPlan("near", "NeighbourEASE", {"neighbours": 8}, {"l2": (10,)}),
    ModelPlan("tags", "Teaser", FIXED),
)

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
grid = { l2 = [30, 300] }
[models."EASE, weighted"]
kind = "EASE"
parameters = { weights = {} }
[models.TEASER]
kind = "Teaser"
parameters = { tol = 1e-4, l2_weights = 7.0 }
[models.last]
kind = "Teaser"
parameters = { tol = 1e-5, weights = { user_power = 0.25 }, remainder = { neighbours = 50 } }
[dial]
remainder_l2 = [30, 300]
l2_weights = [20]
l2_encoder = [50]
neighbours = [6]
"""


def a_setting(kind: str, value: float, share: float) -> DialSetting:
    return DialSetting(kind, {"remainder.l2": share}, value, 0.01, share, 1.0)


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=60, n_test=30, min_interactions=4, rng=0)


@pytest.fixture(scope="module")
def dial(
    dataset: Dataset, parts: Split, tmp_path_factory: pytest.TempPathFactory
) -> list[DialSetting]:
    data, held_out = DataPlan("events"), SplitPlan(60, 30)
    study = Study("x", "x", data, held_out, MODELS, SearchPlan("ndcg@20"), dial=GRID)
    folder, fits = tmp_path_factory.mktemp("dial"), SharedFits(parts.training)
    return measure_dial(StudyRun(study, dataset, parts, fits, folder, "x", lambda *_: None))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return Study.read(path)


def test_every_point_is_what_a_fit_alone_gives(dial: list[DialSetting], parts: Split) -> None:
    kinds = [s.kind for s in dial]
    assert len(dial) == 15
    assert [kinds.count(k) for k in ("TEASER", "remainder", "EASE", "NeighbourEASE")] == [
        4,
        8,
        2,
        1,
    ]
    for setting in dial:
        made: Any = KINDS["Teaser" if setting.has_tags else setting.kind]
        given = FIXED if setting.has_tags else {"neighbours": 8}
        given = {} if setting.kind == "EASE" else given
        model = made.from_parameters({**given, **setting.parameters}).fit(parts.training)
        found = evaluate(model, parts.validation, metrics=["ndcg@20"])
        reached = found.summary()["ndcg@20"]
        assert setting.value == pytest.approx(reached.mean, abs=0.01)
        assert setting.error == pytest.approx(reached.error, abs=0.01)
        shares = list_shares(model, parts.validation, found.lists)
        assert setting.shares == pytest.approx(shares, abs=0.02)


def test_the_most_tags_near_the_best_are_recommended() -> None:
    ease, teaser = a_setting("EASE", 0.5, 0.0), a_setting("TEASER", 0.4, 1.0)
    near, far = a_setting("remainder", 0.496, 0.6), a_setting("remainder", 0.494, 0.8)
    every = [ease, teaser, near, far]
    assert choose_setting(every) is near
    assert choose_setting(every, within=0.02) is far
    assert choose_setting(every, within=0.3) is teaser
    assert choose_setting(every, within=0.0) is near
    assert choose_setting([*every, a_setting("EASE", 0.6, 0.0)]) is far
    better = a_setting("remainder", 0.499, 0.6)
    assert choose_setting([*every, better]) is better
    # Out of reach of the best, near the best with tags.
    far_best = a_setting("NeighbourEASE", 0.55, 0.0)
    assert choose_setting([*every, far_best]) is far
    assert choose_setting([*every, far_best], within=0.3) is teaser
    for other in ("EASE", "NeighbourEASE"):
        with pytest.raises(ParameterError, match="No setting has tags"):
            choose_setting([a_setting(other, 0.5, 0.0)])
    with pytest.raises(ParameterError, match=r"within must be from 0 to below 1, found 1\.5"):
        choose_setting(every, within=1.5)


def test_the_dial_of_a_study_is_measured_on_its_validation_users(
    study: Study, tmp_path: Path
) -> None:
    found = dial_study(study, data=tmp_path, out=tmp_path / "out")
    assert found.users == 50
    assert found.shown == SHOWN
    assert found.recommended in found.settings
    # The first EASE of the study, and the parameters of its last Teaser.
    ease = [s for s in found.settings if s.kind == "EASE"]
    assert [s.parameters for s in ease] == [{"l2": 30}, {"l2": 300}]
    assert found.ease == max(s.value for s in ease)
    assert found.fixed == {"tol": 1e-5, "weights.user_power": 0.25}
    assert found.at_ease == match_ease(found.settings)
    assert all(0 <= s.tag_share <= 1 for s in found.settings)
    read = read_results(tmp_path / "out" / "tiny.dial.json")
    assert isinstance(read, DialResults)
    assert read.key == found.key == "tiny"
    assert read.fixed == found.fixed
    assert read.recommended.shares == pytest.approx(found.recommended.shares, rel=1e-5)
