"""The data of a study: which, with which tags, and what the tables say of them."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from teaser import Category, Dataset, Rules
from teaser.errors import ArtifactError, DataError, ParameterError, TableError
from teaser.evaluate.study.data import describe, read_data, with_common_tags
from teaser.evaluate.study.data_plan import DataPlan
from teaser.evaluate.study.plan import SplitPlan, Study
from teaser.model.baselines.popularity import Popularity


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
    usual = DataPlan("goodbooks", folder="goodbooks-5pct")
    strict = replace(usual, tables={"positive": "rating >= 5"})
    few, all_of_them = (read_data(a_study(p), shared_data).X.nnz for p in (strict, usual))
    assert 0 < few < all_of_them
    disliked = replace(usual, tables={"negative": "rating <= 2"})
    assert read_data(a_study(disliked), shared_data).disliked is not None


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"reads ml-1m from .*gone.*--data or TEASER_DATA"):
        read_data(a_study(DataPlan("ml-1m", folder="gone")), tmp_path)


def test_only_common_tags_are_kept(dataset: Dataset) -> None:
    carried = np.bincount(dataset.S.indices, minlength=dataset.n_tags)
    least = int(np.median(carried)) + 1
    found = with_common_tags(dataset, least)
    assert 0 < found.n_tags < dataset.n_tags
    assert found.tags == tuple(t for t, n in zip(dataset.tags, carried, strict=True) if n >= least)
    assert np.bincount(found.S.indices).min() >= least
    with pytest.raises(ParameterError, match="No tag is carried by 1000 items"):
        with_common_tags(dataset, 1000)


def written(folder: Path, data: str) -> Study:
    """A study with these entries of [data], read from its file."""
    rest = "[split]\nvalidation = 5\ntest = 5\n[models.EASE]\nkind = 'EASE'"
    (folder / "own.toml").write_text(f"[data]\n{data}\n{rest}")
    return Study.read(folder / "own.toml")


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
    assert found.X.max() == 5
    with pytest.raises(TableError, match=r"gone\.csv"):
        read_data(written(tmp_path, "interactions = 'gone.csv'"), tmp_path)


def test_a_public_data_set_takes_a_time_and_generated_events_none(shared_data: Path) -> None:
    plan = DataPlan("movielens", folder="ml-latest-small", tables={"time": "timestamp"})
    assert read_data(a_study(plan), shared_data).times is not None
    with pytest.raises(ParameterError, match="time has no meaning for the generated events"):
        read_data(a_study(DataPlan("events", tables={"time": "at"})), shared_data)


def test_the_properties_are_those_of_the_data(dataset: Dataset) -> None:
    about = describe(dataset)
    assert about.users == dataset.n_users
    assert about.interaction_density == pytest.approx(dataset.X.toarray().mean())
    assert about.tag_density == pytest.approx(dataset.S.toarray().mean())
    assert sum(about.features.values()) == dataset.n_tags


def test_tables_that_need_an_option_of_prepare_say_so(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("1,10,5\n1,11,4\n")
    with pytest.raises(TableError, match=r"--columns user_id.*in \[data\]: prepared = .FOLDER"):
        read_data(written(tmp_path, "interactions = 'r.csv'"), tmp_path)
