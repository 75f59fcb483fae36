"""The data set of a study: read, reduced, described, split."""

import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser.data import demo
from teaser.data.dataset import Dataset
from teaser.data.sources.folder import read_source
from teaser.data.split import Split, split, split_last, split_time
from teaser.errors import DataError, ParameterError, TableError
from teaser.evaluate.study.plan import (
    FILE_ARGUMENTS,
    SPLITS,
    DataPlan,
    SplitPlan,
    Study,
)

# Without a start of its own, a study is repeated on the same events at any time.
START = date(2026, 1, 1)
# Options of readers that name files in the data folder.
_PATHS = ("imdb", "reviews", "meta")


@dataclass(frozen=True)
class DataSummary:
    """The size of a data set; `features` counts the tags of each feature."""

    users: int
    items: int
    tags: int
    interactions: int
    interaction_density: float
    tag_density: float
    features: Mapping[str, int]


def read_data(study: Study, data: Path) -> Dataset:
    """Return the data set of a study; `data` is the folder of the public data sets."""
    plan = study.data
    tables = {
        name: Path(study.folder) / value if name in FILE_ARGUMENTS else value
        for name, value in plan.tables.items()
    }
    if plan.prepared:
        dataset = read_prepared(Path(study.folder) / plan.prepared)
    elif plan.source == "events":
        dataset = _generate_events(plan, tables)
    elif plan.source:
        dataset = _read_public(plan, data, tables)
    else:
        dataset = _read_own(tables)
    return dataset if plan.min_items is None else with_common_tags(dataset, plan.min_items)


def make_split(dataset: Dataset, plan: SplitPlan) -> Split:
    """Return the split that a study plans: by users, by last interactions, or by time."""
    sizes: dict[str, Any] = {"n_validation": plan.validation, "n_test": plan.test}
    options = {name: getattr(plan, name) for name in SPLITS[plan.kind]}
    if plan.kind == "users":
        parts = split(dataset, **sizes, **options, rng=plan.seed)
        if not plan.training:
            return parts
        first = np.arange(min(plan.training, parts.training.n_users))
        return replace(parts, training=parts.training.at(first))
    if 0 < plan.training < dataset.n_users:
        # Evaluated users are learned from too, so that whole users are drawn before the split.
        drawn = np.random.default_rng(plan.seed).permutation(dataset.n_users)[: plan.training]
        dataset = dataset.at(np.sort(drawn))
    splitting = split_last if plan.kind == "last" else split_time
    return splitting(dataset, **sizes, **options, rng=plan.seed)


def with_common_tags(dataset: Dataset, least: int) -> Dataset:
    """Return a data set with only the tags that at least so many items carry."""
    carried = np.bincount(dataset.S.indices, minlength=dataset.n_tags)
    kept = np.flatnonzero(carried >= least)
    if not len(kept):
        raise ParameterError(f"No tag is carried by {least} items or more.")
    return replace(dataset, S=dataset.S[:, kept], tags=tuple(dataset.tags[j] for j in kept))


def describe(dataset: Dataset) -> DataSummary:
    """Return the properties of the data that the tables show."""
    return DataSummary(
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        interaction_density=dataset.X.nnz / (dataset.n_users * dataset.n_items),
        tag_density=dataset.S.nnz / (dataset.n_items * dataset.n_tags),
        features=dict(Counter(tag.feature for tag in dataset.tags)),
    )


def _read_own(tables: Mapping[str, Any]) -> Dataset:
    try:
        return Dataset.from_tables(**tables)
    except TableError as error:
        raise TableError(
            f"{error} Options are of teaser prepare, not of a study: prepare the tables, and name "
            'the folder in [data]: prepared = "FOLDER".'
        ) from error


def read_prepared(folder: Path) -> Dataset:
    """Return the data set of a prepared folder; raise `DataError` where it cannot be studied."""
    if not folder.is_dir():
        raise DataError(
            f"The study reads the prepared data set {folder}, and there is no such folder. Make "
            "it with teaser prepare; a path in [data] is relative to the study's file."
        )
    dataset = Dataset.load(folder)
    if not sp.issparse(dataset.X):
        raise DataError(
            f"The interactions of {folder} are in partitions, and a study cannot split those. "
            "Prepare a table of some of the users."
        )
    return dataset


def _read_public(plan: DataPlan, data: Path, tables: Mapping[str, Any]) -> Dataset:
    folder = data / plan.folder
    if not folder.is_dir():
        raise DataError(
            f"The study reads {plan.source} from {folder}, and there is no such folder. "
            "Say where the data sets are with --data or TEASER_DATA."
        )
    options = {k: data / v if k in _PATHS else v for k, v in plan.options.items()}
    return read_source(plan.source, folder, **options).dataset(**tables)


def _generate_events(plan: DataPlan, tables: Mapping[str, Any]) -> Dataset:
    if unused := ", ".join(tables.keys() - {"rules"}):
        raise ParameterError(f"[data] {unused} does not go with the generated events.")
    options = {"start": START, **plan.options}
    known = inspect.signature(demo.generate).parameters
    if unknown := ", ".join(options.keys() - known.keys()):
        raise ParameterError(
            f"The generated events have no option {unknown!r}. Choose from {', '.join(known)}."
        )
    if isinstance(options["start"], str):  # a date of TOML
        options["start"] = date.fromisoformat(options["start"])
    return demo.dataset(**tables, **options)
