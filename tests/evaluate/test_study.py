"""Studies are read from TOML and checked before any work; their data are read and split."""

import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from teaser import Category, Dataset, Rules
from teaser.baselines import Popularity
from teaser.data.split import split
from teaser.errors import ArtifactError, DataError, ParameterError, TableError
from teaser.evaluate.study.data import describe, make_split, read_data, with_common_tags
from teaser.evaluate.study.plan import DataPlan, DialPlan, SplitPlan, Study, complete_data, validate
from teaser.testing import RULES

ROOT = Path(__file__).resolve().parents[2]

GOOD = """
title = "A small study"

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
grid = { l2 = [10, 100, 1000] }

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
    assert (simulation.tags, simulation.scales) == ((1,), ("robust", "paper"))
    assert study.dial == DialPlan(remainder_l2=(7, 70))
    assert study.search.metric == "ndcg@100"
    assert (study.split.validation, study.split.test) == (20, 0.1)
    assert isinstance(study.split.validation, int)  # a number of users, not a share


def test_the_quick_version_has_fewer_users_cells_and_draws(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD).smaller()
    assert (study.split.training, study.split.validation) == (100, 20)
    sizes = [math.prod(map(len, model.grid.values())) for model in study.models[:2]]
    assert sizes[0] in (2, 3)
    assert 1 <= sizes[1] <= 3
    assert [plan.draws for plan in study.simulate] == [1]
    assert DialPlan(neighbours=(20, 50), model="that one").smaller() == DialPlan(
        (50.0, 1000.0), (200.0,), (1000.0,), (20,), model="that one"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("validation = 20", "validaton = 20", r"\[split\] has no entry 'validaton'.*: validation"),
        ("validation = 20\n", "", r"\[split\] lacks validation"),
        ("validation = 20", "validation = 'x'", r"\[split\] validation must be .*, found 'x'"),
        ('kind = "EASE"', 'type = "EASE"', r"\[models\.EASE\] (has no entry 'type'|lacks kind)"),
        ("[10, 100, 1000] }\n\n", "10 }\n\n", r"\[models.EASE.grid\] l2 must be .*, found 10"),
        ("l2 = [10, 100, 1000]", "l2 = []", "l2 must have at least 1"),
        ("tol = 1e-2", "l2_weights = 4", "l2_weights both as a parameter and in the grid"),
        ('"TEASER", "EASE"]', '"TEASR", "EASE"]', "'TEASR', which is not above it.*TEASER"),
        (
            '"TEASER", "EASE"]',
            '"TEASER", "EASE"]\ngrid = { a = [1] }',
            "cannot have a grid",
        ),
        ("tags = [1]", "scales = ['robst']", "scales must be 'robust' or 'paper', found 'robst'"),
        ("tags = [1]", "models = ['TEASR']", "models.*'TEASR'.*TEASER"),
        ("[7, 70]", "[7, -70]", r"\[dial\] remainder_l2 must be greater than 0, found -70"),
        ("[7, 70]", "[7, inf]", r"\[dial\] remainder_l2 must be a finite number"),
        ("validation = 20", "kind = 'user'", "kind must be 'users', 'last' or 'time', found"),
        ("validation = 20", "kind = 'time'\nheld_out = 0.2", "held_out does not go with kind"),
        ("[simulate]", "[search]\nmetric = 'ndgc@100'\n[simulate]", "'ndgc@100'"),
        ('title = "A', 'title = A"', "is not a TOML file"),
        pytest.param("title = ", f"x = {'[' * 100_000}\n", "nested too deep", id="brackets"),
        ('title = "A', 'folder = "A', "no entry 'folder'"),
        ('[data]\nsource = "events"\noptions = { seed = 3 }', "data = 3", "data must be a table"),
        ('[models.EASE]\nkind = "EASE"\n', "[models]\nEASE = 3\n[other]\n", "tables .models.NAME."),
    ],
)
def test_a_slip_is_named_with_file_table_and_entry(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in GOOD
    with pytest.raises(ParameterError, match=rf"(?s)small.toml.*{message}"):
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


def test_feedback_may_be_several_tables(tmp_path: Path) -> None:
    more = "[[simulate]]\nmodels = ['TEASER']\namong = ['declared', 'discovered']\n\n[dial]"
    text = GOOD.replace("[simulate]", "[[simulate]]").replace("[dial]", more)
    one, two = read(tmp_path, text).simulate
    assert (one.tags, one.models, one.among) == ((1,), (), ("all",))
    assert (two.models, two.among) == (("TEASER",), ("declared", "discovered"))


def test_the_dial_takes_the_model_it_names_or_the_last_teaser(tmp_path: Path) -> None:
    text = GOOD.replace("[quick]", '[models.second]\nkind = "Teaser"\n\n[quick]')
    last, named = (
        read(tmp_path, given).dial_teaser
        for given in (text, text.replace("[dial]", "[dial]\nmodel = 'TEASER'"))
    )
    assert last is not None
    assert named is not None
    assert (last.name, named.name) == ("second", "TEASER")


def test_the_studies_that_come_along_are_valid() -> None:
    with pytest.raises(ParameterError, match=r"gone\.toml cannot be read"):
        Study.read("gone.toml")
    paths = sorted((ROOT / "experiments").glob("*.toml"))
    assert len(paths) >= 6
    for path in paths:
        study = Study.read(path)
        assert study.name == path.stem
        assert study.smaller().models
        for plan in study.models:  # one encoder serves all remainders
            if "remainder.l2" in plan.grid and plan.parameters.get("remainder.neighbours") != 0:
                assert list(plan.grid)[-1] == "remainder.l2", f"{path.name}: {plan.name}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"interactions": "a", "strenght": "b"}, "strenght does not go with.*Closest: strength"),
        ({"prepared": "a", "tables": {}}, "tables does not go with prepared"),
        ({"items": "a.csv"}, "needs one of source.*found none"),
        ({"source": "events", "prepared": "shop"}, "found source and prepared"),
        ({"prepared": "shop", "positive": "x > 1"}, "positive does not go with prepared"),
        ({"interactions": 3}, "interactions must be a text, found 3"),
    ],
)
def test_a_slip_in_the_data_is_one_sentence(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        complete_data(given)


def test_a_plan_made_of_options_is_checked_too() -> None:
    assert validate(DialPlan, {"remainder_l2": (5,)}).remainder_l2 == (5,)
    with pytest.raises(ParameterError, match="l2_encoder must be greater than 0, found -1"):
        validate(DialPlan, {"l2_encoder": (-1,)})


def a_study(data: DataPlan) -> Study:
    return Study("a", "A", data, SplitPlan(10, 10), ())


def written(folder: Path, data: str) -> Study:
    """A study with these entries of [data], read from its file."""
    rest = "[split]\nvalidation = 5\ntest = 5\n[models.EASE]\nkind = 'EASE'"
    (folder / "own.toml").write_text(f"[data]\n{data}\n{rest}")
    return Study.read(folder / "own.toml")


def test_events_start_on_a_fixed_day_unless_the_study_says_when(tmp_path: Path) -> None:
    sizes = {"n_events": 60, "n_users": 90}
    usual = read_data(a_study(DataPlan("events", options=sizes, min_items=4)), tmp_path)
    assert usual.n_items == 60
    assert np.bincount(usual.S.indices, minlength=usual.n_tags).min() >= 4
    assert usual.table["date"].dt.year().unique().to_list() == [2026]
    options = "{ n_events = 60, n_users = 90, start = 2030-05-01 }"
    study = written(tmp_path, f"source = 'events'\noptions = {options}")
    later = read_data(study, tmp_path)
    assert later.table["date"].is_between(date(2030, 5, 1), date(2031, 4, 30)).all()
    with pytest.raises(ParameterError, match=r"'n_people'.*n_users"):
        read_data(a_study(DataPlan("events", options={"n_people": 90})), tmp_path)
    with pytest.raises(ParameterError, match="time does not go with the generated events"):
        read_data(a_study(DataPlan("events", tables={"time": "at"})), tmp_path)


def test_a_public_data_set_is_in_the_data_folder(shared_data: Path, tmp_path: Path) -> None:
    usual = DataPlan("goodbooks", folder="goodbooks-5pct")
    strict = replace(usual, tables={"positive": "rating >= 5"})
    few, every = (read_data(a_study(p), shared_data).X.nnz for p in (strict, usual))
    assert 0 < few < every
    timed = DataPlan("movielens", folder="ml-latest-small", tables={"time": "timestamp"})
    assert read_data(a_study(timed), shared_data).times is not None
    with pytest.raises(DataError, match=r"reads ml-1m from .*gone.*--data or TEASER_DATA"):
        read_data(a_study(DataPlan("ml-1m", folder="gone")), tmp_path)


def test_only_common_tags_are_kept(dataset: Dataset) -> None:
    carried = np.bincount(dataset.S.indices, minlength=dataset.n_tags)
    least = int(np.median(carried)) + 1
    found = with_common_tags(dataset, least)
    assert found.tags == tuple(t for t, n in zip(dataset.tags, carried, strict=True) if n >= least)
    assert 0 < found.n_tags < dataset.n_tags
    with pytest.raises(ParameterError, match="No tag is carried by 1000 items"):
        with_common_tags(dataset, 1000)


def test_a_prepared_folder_is_read_from_beside_the_study(dataset: Dataset, tmp_path: Path) -> None:
    dataset.save(tmp_path / "shop")
    found = read_data(written(tmp_path, "prepared = 'shop'"), Path("nowhere"))
    assert (found.users, found.items, found.tags) == (dataset.users, dataset.items, dataset.tags)
    with pytest.raises(DataError, match=r"no such folder\. Make it with teaser prepare"):
        read_data(written(tmp_path, "prepared = 'shpo'"), tmp_path)
    Popularity().fit(dataset).save(tmp_path / "model")
    with pytest.raises(ArtifactError, match="is a Popularity, not a data set"):
        read_data(written(tmp_path, "prepared = 'model'"), tmp_path)


def test_partitions_cannot_be_studied(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2]}).write_parquet(tmp_path / "parts/a.parquet")
    Dataset.from_partitions(tmp_path / "parts").save(tmp_path / "shop")
    with pytest.raises(DataError, match="in partitions, and a study cannot split those"):
        read_data(written(tmp_path, "prepared = 'shop'"), tmp_path)


def test_own_tables_have_the_names_of_from_tables(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    interactions, items = tables
    (tmp_path / "rules").mkdir()
    Rules((Category("town"),)).write(tmp_path / "rules" / "tags.toml")
    interactions.rename({"user_id": "who", "item_id": "what"}).write_csv(tmp_path / "clicks.csv")
    items.rename({"item_id": "what"}).write_parquet(tmp_path / "things.parquet")
    study = written(
        tmp_path,
        "interactions = 'clicks.csv'\nitems = 'things.parquet'\nuser = 'who'\nitem = 'what'\n"
        "positive = 'rating >= 4'\nrules = 'rules/tags.toml'\nstrength = 'rating'\nmin_items = 2",
    )
    found = read_data(study, Path("nowhere"))
    expected = Dataset.from_tables(
        interactions, items, positive="rating >= 4", strength="rating", rules=(Category("town"),)
    )
    assert (found.X != expected.X).nnz == 0
    assert {tag.feature for tag in found.tags} == {"town"}
    with pytest.raises(TableError, match=r"gone\.csv"):
        read_data(written(tmp_path, "interactions = 'gone.csv'"), tmp_path)
    (tmp_path / "r.csv").write_text("1,10,5\n1,11,4\n")
    with pytest.raises(TableError, match=r"--columns user_id.*in \[data\]: prepared = .FOLDER"):
        read_data(written(tmp_path, "interactions = 'r.csv'"), tmp_path)


def test_the_properties_are_those_of_the_data(dataset: Dataset) -> None:
    about = describe(dataset)
    assert about.interaction_density == pytest.approx(dataset.X.toarray().mean())
    assert about.tag_density == pytest.approx(dataset.S.toarray().mean())
    assert sum(about.features.values()) == dataset.n_tags


@pytest.fixture(scope="module")
def timed(tables: tuple[pl.DataFrame, pl.DataFrame]) -> Dataset:
    interactions, items = tables
    days = np.random.default_rng(0).integers(0, 100, interactions.height)
    dated = interactions.with_columns(at=1_700_000_000 + 86_400 * days)
    return Dataset.from_tables(dated, items, rules=RULES, time="at")


def test_by_users_is_the_split_of_the_library(timed: Dataset) -> None:
    found = make_split(timed, SplitPlan(30, 0.2, held_out=0.4, min_interactions=4, seed=3))
    same = split(timed, n_validation=30, n_test=0.2, held_out=0.4, min_interactions=4, rng=3)
    assert found.test.users == same.test.users
    assert (found.test.held_out != same.test.held_out).nnz == 0
    few = make_split(timed, SplitPlan(30, 0.2, seed=3, training=7))
    assert few.training.n_users == 7


def test_the_kinds_by_time_learn_from_users_that_they_evaluate(timed: Dataset) -> None:
    last = make_split(timed, SplitPlan(kind="last", test=20))
    assert last.test.n_users == 20
    assert set(last.test.users) <= set(last.training.users)
    assert last.training.X.nnz > last.search_training.X.nnz
    by_time = make_split(timed, SplitPlan(kind="time", test_from=0.8, validation_from=0.5))
    assert by_time.training.X.nnz == pytest.approx(0.8 * timed.X.nnz, rel=0.05)
    assert set(by_time.test.users) <= set(by_time.training.users)


@pytest.mark.parametrize("kind", ["last", "time"])
def test_a_quick_run_draws_whole_users(timed: Dataset, dataset: Dataset, kind: Any) -> None:
    few = make_split(timed, SplitPlan(kind=kind, training=60, test=10, validation=10))
    assert len(set(few.training.users) | set(few.test.users)) <= 60
    assert 0 < few.test.n_users <= 10
    with pytest.raises(DataError, match=r"this data set has none\. Name the column"):
        make_split(dataset, SplitPlan(kind=kind))
