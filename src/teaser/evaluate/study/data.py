"""The data set of a study: read, reduced, described."""

import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser.data import demo
from teaser.data.dataset import Dataset
from teaser.data.sources.folder import read_source
from teaser.errors import DataError, ParameterError, TableError
from teaser.evaluate.study.data_plan import OPTIONS_OF_PREPARE, PATH_NAMES, DataPlan
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.results import DataSummary

# A study that names no start is repeated on the same events at any time.
START = date(2026, 1, 1)


def read_data(study: Study, data: Path) -> Dataset:
    """Return the data set of a study; `data` is the folder of the public data sets."""
    plan = study.data
    tables = {
        name: Path(study.folder) / value if name in PATH_NAMES else value
        for name, value in plan.tables.items()
    }
    if plan.prepared:
        dataset = _read_prepared(Path(study.folder) / plan.prepared)
    elif plan.source == "events":
        for name in tables:
            if name != "rules":
                raise ParameterError(f"[data] {name} has no meaning for the generated events.")
        dataset = demo.dataset(**tables, **_generator_options(plan.options))
    elif plan.source:
        dataset = _read_public(plan, data, tables)
    else:
        dataset = _read_own(tables)
    return dataset if plan.min_items is None else with_common_tags(dataset, plan.min_items)


def _read_own(tables: Mapping[str, Any]) -> Dataset:
    try:
        return Dataset.from_tables(**tables)
    except TableError as error:
        if not any(option in str(error) for option in OPTIONS_OF_PREPARE.values()):
            raise
        raise TableError(
            f"{error} These are options of teaser prepare, which a study has not: prepare the "
            'tables, and name the folder in [data]: prepared = "FOLDER".'
        ) from error


def _read_prepared(folder: Path) -> Dataset:
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
    found = read_source(plan.source, folder, **_placed(plan.options, data))
    return Dataset.from_tables(
        found.interactions,
        found.items,
        user=found.user,
        item=found.item,
        **{"rules": found.rules, "positive": found.positive, **tables},
    )


def with_common_tags(dataset: Dataset, least: int) -> Dataset:
    """Return a data set with only the tags that at least so many items carry."""
    carried = np.bincount(dataset.S.indices, minlength=dataset.n_tags)
    kept = np.flatnonzero(carried >= least)
    if not len(kept):
        raise ParameterError(f"No tag is carried by {least} items or more.")
    return replace(dataset, S=dataset.S[:, kept], tags=tuple(dataset.tags[j] for j in kept))


def describe(dataset: Dataset) -> DataSummary:
    """Return the properties of the data that the tables show."""
    features = Counter(tag.feature for tag in dataset.tags)
    return DataSummary(
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        interaction_density=dataset.X.nnz / (dataset.n_users * dataset.n_items),
        tag_density=dataset.S.nnz / (dataset.n_items * dataset.n_tags),
        features=dict(features),
    )


def _generator_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the generator; the events of a study start on a fixed day."""
    known = list(inspect.signature(demo.generate).parameters)
    for name in options:
        if name not in known:
            raise ParameterError(
                f"The generated events have no option {name!r}. Choose from {', '.join(known)}."
            )
    return {"start": START, **options}


def _placed(options: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Return the options of a reader, with files and folders looked up in the data folder."""
    paths = ("imdb", "reviews", "meta")
    return {k: data / v if k in paths else v for k, v in options.items()}
