"""Studies are read from TOML and checked before any work; the quick version is smaller."""

from pathlib import Path

import pytest

from teaser.errors import ParameterError
from teaser.evaluate.study.plan import DialPlan, SplitPlan, Study

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
remainder_l2 = [7, 70]

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
    (simulation,) = study.simulate
    assert simulation.tags == (1,)
    assert simulation.scales == ("robust", "paper")
    assert simulation.among == ("all",)
    assert study.dial == DialPlan(remainder_l2=(7, 70))
    assert study.search.metric == "ndcg@100"


def test_the_quick_version_has_fewer_users_cells_and_draws(tmp_path: Path) -> None:
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
    assert [plan.draws for plan in study.simulate] == [1]
    assert study.tag_cuts == ()


def test_a_slip_is_named_with_the_file(tmp_path: Path) -> None:
    for old, new, said in (
        ("validation = 20", "validaton = 20", "no entry 'validaton'.*validation"),
        ("validation = 20\n", "", "split lacks validation"),
        ('kind = "EASE"', 'type = "EASE"', r"models\[0\] has no entry 'type'"),
        (
            'EASE"\ngrid = { l2_weights = [10, 100, 1000] }',
            'EASE"\ngrid = { l2_weights = 10 }',
            "grid.l2_weights must be a list, found 10",
        ),
        ("l2_weights = [10, 100, 1000]", "l2_weights = []", "grid.l2_weights is empty"),
        ("tol = 1e-2", "l2_weights = 4", "l2_weights both as a parameter and in the grid"),
        ('"TEASER", "EASE"]', '"TEASR", "EASE"]', "'TEASR', which is not above it.*TEASER"),
        ('"TEASER", "EASE"]', '"TEASER", "EASE"]\ngrid = { a = [1] }', "cannot have a grid"),
        ('"TEASER", "EASE"]', '"TEASER"]', "Product and 1 parts"),
        ("[split]", "[spilt]", "no entry 'spilt'.*split"),
        ("tags = [1]", "scales = ['robst']", "'robst'.*robust"),
        ("tags = [1]", "among = ['declred']", "among.*'declred'.*declared"),
        ("tags = [1]", "models = ['TEASR']", "models.*'TEASR'.*TEASER"),
        ("[simulate]", "[[simulate]]\ntags = [2]\n[[simulate]]\nstep = [1]", "no entry 'step'"),
        ("[dial]", "[dial]\nmodel = 'TEASR'", "model.*'TEASR'.*TEASER"),
        ("[dial]", "[dial]\nneighbours = []", "at least one neighbours"),
        (
            "remainder_l2 = [7, 70]",
            "remainder_l2 = [7, -70]",
            "remainder_l2 must be numbers above 0, found -70",
        ),
        ("remainder_l2 = [7, 70]", "remainder_l2 = []", "at least one remainder_l2"),
        (
            "remainder_l2 = [7, 70]",
            "remainder_l2 = 7",
            r"dial.remainder_l2 must be a list, found 7",
        ),
        ("cells = 3", "cell = 3", "no entry 'cell'.*cells"),
        ('source = "events"', 'prepard = "shop"', "no entry 'prepard'.*Closest: prepared"),
        ("validation = 20", "kind = 'user'", "kind must be one of users, last, time.*Closest: use"),
        ("validation = 20", "kind = 'time'\nheld_out = 0.2", "held_out has no meaning with kind"),
        ("validation = 20", "kind = 'last'\ntest_from = 0.9", "test_from has no meaning"),
        ("[simulate]", "[search]\nmetric = 'ndgc@100'\n[simulate]", "'ndgc@100'"),
        ("[simulate]", "[search]\nsampler = 'best'\n[simulate]", "sampler.*'best'"),
        ('title = "A', 'title = A"', "is not a TOML file"),
        ('title = "A', 'folder = "A', "no entry 'folder'"),
        ('[data]\nsource = "events"\noptions = { seed = 3 }', "data = 3", "data must be a table"),
        ('[models.EASE]\nkind = "EASE"\n', "[models]\nEASE = 3\n[other]\n", "tables .models.NAME."),
    ):
        assert old in GOOD
        with pytest.raises(ParameterError, match=rf"(?s)small.toml.*{said}"):
            read(tmp_path, GOOD.replace(old, new))


def test_splits_by_time_need_no_numbers_of_users(tmp_path: Path) -> None:
    for entries, expected in (
        ("kind = 'last'\nmin_interactions = 4", SplitPlan(kind="last", min_interactions=4)),
        ("kind = 'time'", SplitPlan(kind="time", test_from=0.9, validation_from=0.8)),
        (
            "kind = 'time'\ntest_from = 2024-03-01\nvalidation_from = '2024-01-01'",
            SplitPlan(kind="time", test_from="2024-03-01", validation_from="2024-01-01"),
        ),
    ):
        text = GOOD.replace("validation = 20\ntest = 0.1", entries)
        assert read(tmp_path, text).split == expected


def test_parameters_of_option_objects_have_dotted_names(tmp_path: Path) -> None:
    text = GOOD.replace("tol = 1e-2", "decoder = { rounds = 3 }, sparse = {}")
    study = read(tmp_path, text.replace("l2_encoder = [1,", "remainder.l2 = [1,"))
    assert study.models[1].parameters == {"decoder.rounds": 3, "sparse": {}}
    assert study.models[1].grid == {"l2_weights": (10, 100, 1000), "remainder.l2": (1, 5, 9, 13)}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"gone\.toml cannot be read"):
        Study.read(tmp_path / "gone.toml")


def test_the_studies_that_come_along_are_valid() -> None:
    stored = ROOT / "tests" / "evaluate" / "report" / "stored"
    paths = [*sorted((ROOT / "experiments").glob("*.toml")), *stored.glob("*.toml")]
    assert len(paths) >= 7
    for path in paths:
        study = Study.read(path)
        assert study.name == path.stem
        assert study.smaller().models


def test_feedback_may_be_several_tables(tmp_path: Path) -> None:
    more = "[[simulate]]\nmodels = ['TEASER']\namong = ['declared', 'discovered']\n\n[dial]"
    text = GOOD.replace("[simulate]", "[[simulate]]").replace("[dial]", more)
    one, two = read(tmp_path, text).simulate
    assert (one.tags, one.models, one.among) == ((1,), (), ("all",))
    assert (two.models, two.among) == (("TEASER",), ("declared", "discovered"))
    assert [plan.draws for plan in read(tmp_path, text).smaller().simulate] == [1, 1]


def test_the_dial_takes_the_model_it_names_or_the_last_teaser(tmp_path: Path) -> None:
    second = '[models.second]\nkind = "Teaser"\n\n[quick]'
    text = GOOD.replace("[quick]", second)
    names = [
        plan.name
        for given in (text, text.replace("[dial]", "[dial]\nmodel = 'TEASER'"))
        if (plan := read(tmp_path, given).dial_teaser) is not None
    ]
    assert names == ["second", "TEASER"]
    first = read(tmp_path, text).first_teaser
    assert first is not None
    assert first.name == "TEASER"


def test_grids_of_the_studies_share_the_encoder() -> None:
    for path in sorted((ROOT / "experiments").glob("*.toml")):
        for plan in Study.read(path).models:
            names = list(plan.grid)
            if "remainder.l2" in names and plan.parameters.get("remainder.neighbours") != 0:
                assert names[-1] == "remainder.l2", f"{path.name}: {plan.name}"
