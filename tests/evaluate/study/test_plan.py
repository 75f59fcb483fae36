"""Studies are read from TOML and checked before any work; the quick version is smaller."""

from pathlib import Path

import pytest

from teaser.errors import ParameterError
from teaser.evaluate.study.plan import DialPlan, Study

ROOT = Path(__file__).resolve().parents[3]

GOOD = """
title = "A small study"
tag_cuts = [2]

[data]
source = "events"
options = { seed = 3 }

[split]
validation = 20
test = 0.1

[simulate]
tags = [1]

[dial]
k = [7, 70]

[models.EASE]
kind = "EASE"
grid = { l2_weights = [10, 100, 1000] }

[models.TEASER]
kind = "Teaser"
parameters = { tol = 1e-2 }
grid = { l2_weights = [10, 100, 1000], l2_encoder = [1, 5, 9, 13] }

[models.both]
kind = "Product"
parts = ["TEASER", "EASE"]

[quick]
training = 100
cells = 3
"""


def read(folder: Path, text: str) -> Study:
    path = folder / "small.toml"
    path.write_text(text)
    return Study.read(path)


def test_a_study_is_read_as_it_stands(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD)
    assert study.name == "small"
    assert study.data.options == {"seed": 3}
    assert [m.name for m in study.models] == ["EASE", "TEASER", "both"]
    assert study.models[1].grid["l2_encoder"] == (1, 5, 9, 13)
    assert study.simulate is not None
    assert study.simulate.tags == (1,)
    assert study.simulate.scales == ("robust", "paper")
    assert study.dial == DialPlan(k=(7, 70))
    assert study.search.metric == "ndcg@100"


def test_the_quick_version_has_fewer_people_cells_and_draws(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD).smaller()
    assert study.split.training == 100
    assert study.split.validation == 20
    sizes = [1, 1]
    for place, model in enumerate(study.models[:2]):
        for values in model.grid.values():
            sizes[place] *= len(values)
    assert sizes[0] in (2, 3)
    assert 1 <= sizes[1] <= 3
    assert set(study.models[1].grid["l2_weights"]) <= {10, 100, 1000}
    assert study.simulate is not None
    assert study.simulate.draws == 1
    assert study.tag_cuts == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("validation = 20", "validaton = 20", "no entry 'validaton'.*validation"),
        ("validation = 20\n", "", r"\[split\] is not whole.*validation"),
        ('kind = "EASE"', 'type = "EASE"', r"\[models.EASE\] needs a kind"),
        ("l2_weights = [10, 100, 1000]", "l2_weights = 10", "grid.l2_weights must be a list"),
        ("l2_weights = [10, 100, 1000]", "l2_weights = []", "grid.l2_weights must be a list"),
        ("tol = 1e-2", "l2_weights = 4", "both as a parameter and in the grid"),
        ('"TEASER", "EASE"]', '"TEASR", "EASE"]', "'TEASR', which is not above it.*TEASER"),
        ('"TEASER", "EASE"]', '"TEASER"]\ngrid = { a = [1] }', "optima of its parts"),
        ("[split]", "[spilt]", "no entry 'spilt'.*split"),
        ("tags = [1]", "scales = ['robst']", "'robst'.*robust"),
        ("k = [7, 70]", "k = [7, -70]", "k must be numbers above 0, found -70"),
        ("k = [7, 70]", "k = []", "at least one k"),
        ("k = [7, 70]", "k = 7", r"\[dial\] is not whole"),
        ("cells = 3", "cell = 3", "no entry 'cell'.*cells"),
        ("[simulate]", "[search]\nmetric = 'ndgc@100'\n[simulate]", "Unknown metric"),
        ("[simulate]", "[search]\nsampler = 'best'\n[simulate]", "sampler must be one of"),
        ('title = "A', 'title = A"', "is not a TOML file"),
        ('[data]\nsource = "events"\noptions = { seed = 3 }', "data = 3", r"a table \[data\]"),
    ],
)
def test_a_slip_is_named_with_the_file(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ParameterError, match=rf"(?s)small.toml.*{said}"):
        read(tmp_path, GOOD.replace(old, new))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"There is no study .*gone\.toml"):
        Study.read(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda path: path.stem
)
def test_the_studies_that_come_along_are_valid(path: Path) -> None:
    study = Study.read(path)
    assert study.name == path.stem
    assert study.smaller().models


def test_options_of_extensions_are_named_by_a_dot(tmp_path: Path) -> None:
    text = GOOD.replace(
        "parameters = { tol = 1e-2 }\ngrid = { l2_weights = [10, 100, 1000],",
        "parameters = { remainder = { share = 0.9 }, decoder = {} }\n"
        "grid = { remainder.l2 = [5, 50],",
    )
    plan = read(tmp_path, text).models[1]
    assert plan.parameters == {"remainder.share": 0.9, "decoder": {}}
    assert list(plan.grid) == ["remainder.l2", "l2_encoder"]
    assert plan.grid["remainder.l2"] == (5, 50)
    twice = text.replace("share = 0.9", "l2 = 7")
    with pytest.raises(ParameterError, match=r"names remainder\.l2 both"):
        read(tmp_path, twice)
