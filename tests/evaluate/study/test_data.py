"""The data of a study: which, with which tags, and what the tables say of them."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from teaser import Dataset
from teaser.errors import DataError, ParameterError
from teaser.evaluate.study.data import describe, first_users, read_data, with_common_tags
from teaser.evaluate.study.plan import DataPlan, SplitPlan, Study


def a_study(data: DataPlan) -> Study:
    return Study("a", "A", data, SplitPlan(10, 10), ())


def test_events_take_the_options_of_their_generator(tmp_path: Path) -> None:
    plan = DataPlan("events", options={"n_events": 60, "n_users": 90}, min_items=4)
    found = read_data(a_study(plan), tmp_path)
    assert found.n_items == 60
    assert np.bincount(found.S.indices, minlength=found.n_tags).min() >= 4


def test_events_of_a_study_start_on_a_fixed_day_unless_it_says_when(tmp_path: Path) -> None:
    sizes = {"n_events": 60, "n_users": 90}
    usual = read_data(a_study(DataPlan("events", options=sizes)), tmp_path)
    options = {**sizes, "start": date(2030, 5, 1)}
    later = read_data(a_study(DataPlan("events", options=options)), tmp_path)
    assert usual.table["date"].dt.year().unique().to_list() == [2026]
    assert later.table["date"].is_between(date(2030, 5, 1), date(2031, 4, 30)).all()


def test_an_unknown_option_of_the_events_is_named(tmp_path: Path) -> None:
    plan = DataPlan("events", options={"n_people": 90})
    with pytest.raises(ParameterError, match=r"'n_people'.*n_users"):
        read_data(a_study(plan), tmp_path)


def test_a_public_data_set_lies_in_the_data_folder(shared_data: Path) -> None:
    plan = DataPlan("goodbooks", "goodbooks-5pct", positive="rating >= 5")
    strict = read_data(a_study(plan), shared_data)
    usual = read_data(a_study(DataPlan("goodbooks", "goodbooks-5pct")), shared_data)
    assert 0 < strict.X.nnz < usual.X.nnz


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"reads ml-1m from .*gone.*--data or TEASER_DATA"):
        read_data(a_study(DataPlan("ml-1m", "gone")), tmp_path)


def test_only_common_tags_are_kept(dataset: Dataset) -> None:
    carried = np.bincount(dataset.S.indices, minlength=dataset.n_tags)
    least = int(np.median(carried)) + 1
    found = with_common_tags(dataset, least)
    assert 0 < found.n_tags < dataset.n_tags
    assert found.tags == tuple(t for t, n in zip(dataset.tags, carried, strict=True) if n >= least)
    assert np.bincount(found.S.indices).min() >= least
    with pytest.raises(ParameterError, match="No tag is carried by 1000 items"):
        with_common_tags(dataset, 1000)


def test_the_first_users_keep_their_names_and_choices(dataset: Dataset) -> None:
    few = first_users(dataset, 7)
    assert list(few.users) == list(dataset.users)[:7]
    assert (dataset.X[:7] != few.X).nnz == 0
    assert first_users(dataset, 10**6).n_users == dataset.n_users


def test_the_properties_are_those_of_the_data(dataset: Dataset) -> None:
    about = describe(dataset)
    assert about.users == dataset.n_users
    assert about.interaction_density == pytest.approx(dataset.X.toarray().mean())
    assert about.tag_density == pytest.approx(dataset.S.toarray().mean())
    assert sum(about.features.values()) == dataset.n_tags
