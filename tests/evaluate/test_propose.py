"""The study that a prepared data set gets: valid, of a size that fits, and never overwritten."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from teaser import Dataset
from teaser.data.matrix import Ids
from teaser.data.split import split_time
from teaser.errors import ArtifactError, DataError, ParameterError
from teaser.evaluate.choose import ease_penalties
from teaser.evaluate.study import propose
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.propose import open_study, propose_study
from teaser.evaluate.study.run import cells, check_models


def read(folder: Path, dataset: Dataset, kind: str = "users") -> tuple[Study, str]:
    text = propose_study(dataset, folder / "shop", folder, kind=kind)
    (folder / "a.toml").write_text(text)
    return Study.read(folder / "a.toml"), text


def timed(dataset: Dataset) -> Dataset:
    return replace(dataset, times=1e9 + np.random.default_rng(0).permutation(dataset.X.nnz))


def with_items(dataset: Dataset, n_items: int) -> Dataset:
    """The same choices in a catalogue of more items."""
    X = sp.csr_array((dataset.X.data, dataset.X.indices, dataset.X.indptr),
                     shape=(dataset.n_users, n_items))  # fmt: skip
    S = sp.csr_array((np.ones(n_items), (np.arange(n_items), np.arange(n_items) % 3)))
    ids = [f"i{i}" for i in range(n_items)]
    table = pl.DataFrame({"item_id": ids})
    return replace(dataset, X=X, S=S, items=Ids(ids), tags=dataset.tags[:3], table=table)


def test_every_model_of_a_proposal_is_valid(dataset: Dataset, tmp_path: Path) -> None:
    study, _ = read(tmp_path, dataset)
    check_models(study.models)
    assert [(plan.name, plan.kind) for plan in study.models] == [
        ("Popularity", "Popularity"),
        ("ItemKNN", "ItemKNN"),
        ("EASE", "EASE"),
        ("collective EASE", "EASE"),
        ("RDLAE", "RDLAE"),
        ("EASE on neighbours", "NeighbourEASE"),
        ("WMF", "WMF"),
        ("TEASER", "Teaser"),
        ("TEASER + discovered", "Teaser"),
        ("TEASER, recommended", "Teaser"),
    ]
    assert all(len(cells(plan.grid)) <= 48 for plan in study.models)
    grids = {plan.name: plan.grid for plan in study.models}
    assert len(grids["EASE"]["l2"]) == len(ease_penalties(dataset.item_counts.mean())[0])
    # Rivals have the information that our models have.
    for name in ("collective EASE", "RDLAE", "EASE on neighbours", "TEASER, recommended"):
        assert set(grids[name]["content.weight"]) == {0, 0.1, 1, 10}
        assert 0.1 in grids[name]["weights.history_power"]
    assert study.data.prepared == "shop"
    assert study.models[-1].parameters["weights.popularity_scale"] == 0.5
    assert list(study.models[-1].grid)[-1] == "remainder.l2"
    (feedback,) = study.simulate
    assert set(feedback.models) == {"TEASER", "TEASER, recommended"}


def test_the_split_is_sized_to_the_data(dataset: Dataset, tmp_path: Path) -> None:
    split = read(tmp_path, dataset)[0].split
    assert split.min_interactions == 4  # 199 of 300 have five, and 200 are wanted
    able = int((np.diff(dataset.X.indptr) >= 4).sum())
    assert (split.validation, split.test) == (int(0.1 * able), int(0.15 * able))
    few = dataset.at(np.arange(60))
    assert read(tmp_path, few)[0].split.min_interactions == 3
    with pytest.raises(DataError, match="too few for a study; at least 20 are needed"):
        read(tmp_path, dataset.at(np.arange(12)))


def test_splits_by_time_need_times(dataset: Dataset, tmp_path: Path) -> None:
    for kind in ("last", "time"):
        assert read(tmp_path, timed(dataset), kind)[0].split.kind == kind
        with pytest.raises(DataError, match="Prepare it with --time COLUMN, or split by users"):
            read(tmp_path, dataset, kind)


def test_a_split_by_time_needs_enough_users(dataset: Dataset, tmp_path: Path) -> None:
    study, text = read(tmp_path, timed(dataset), "time")
    split = study.split
    assert (" users are few: intervals are wide." in text) == ((split.validation or 0) < 100)
    parts = split_time(timed(dataset), rng=0)
    assert (split.validation, split.test) == (parts.validation.n_users, parts.test.n_users)
    few = timed(dataset).at(np.arange(15))
    with pytest.raises(DataError, match=r"users? with choices before .* too few .*--split last"):
        read(tmp_path, few, "time")


def test_models_that_do_not_fit_are_left_out_with_a_comment(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = with_items(dataset, 26_000)
    study, text = read(tmp_path, large)
    assert "# EASE is left out: it inverts an array of 26,000 x 26,000" in text
    assert "EASE" not in {plan.name for plan in study.models}
    monkeypatch.setattr(propose, "FEW_EASE_ITEMS", dataset.n_items - 1)
    medium, text = read(tmp_path, dataset)
    (ease,) = (plan for plan in medium.models if plan.name == "EASE")
    assert len(cells(ease.grid)) == 3
    (rich,) = (plan for plan in medium.models if plan.name == "collective EASE")
    assert len(rich.grid["content.weight"]) == 2
    assert "# Few penalties: each fit inverts a large array." in text
    monkeypatch.setattr(propose, "SLOW_SECONDS", 0.0)
    slow, text = read(tmp_path, dataset)
    assert [len(cells(plan.grid)) for plan in slow.models[-3:]] == [1, 1, 3]
    assert "# One encoder: a fit is expected to take" in text
    monkeypatch.setattr("teaser.model.estimate.memory_of_machine", lambda: 1000)
    none, text = read(tmp_path, dataset)
    assert "# TEASER, recommended is left out: " in text
    assert not none.simulate


def test_a_study_that_is_there_is_taken_as_it_stands(dataset: Dataset, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    dataset.save(shop)
    out = tmp_path / "out" / "deep"
    study = open_study(shop, out)
    assert study.data.prepared == "../../shop"
    path = out / "shop-study.toml"
    path.write_text(path.read_text().replace('title = "shop"', 'title = "Mine"'))
    assert open_study(shop, out).title == "Mine"
    dataset.save(tmp_path / "other" / "shop")
    with pytest.raises(ParameterError, match="is the study of other data"):
        open_study(tmp_path / "other" / "shop", out)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtifactError):
        open_study(tmp_path / "empty")
    assert not (tmp_path / "empty-study.toml").exists()
