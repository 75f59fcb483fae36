"""Two models compared on held-out people: their twins, and they themselves."""

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold, split
from teaser.errors import ConvergenceWarning
from teaser.evaluate.metrics import Metric, coverage, paired_bootstrap, per_user
from teaser.evaluate.protocol import BATCH_MEMORY, batches, evaluate
from teaser.model.ranking import top_k_rows
from teaser.model.solve import coarse_tol
from teaser.model.teaser import Teaser

Array = NDArray[Any]

METRIC = "ndcg@100"
LISTED = 20
# Held-out people: a tenth of those with enough interactions, within these limits.
MIN_INTERACTIONS = 3
LEAST_PEOPLE, MOST_PEOPLE = 50, 1000
# Of fewer people, no difference means anything.
ENOUGH_PEOPLE = 10


@dataclass(frozen=True)
class Comparison:
    """The nDCG@100 of two models on the same people.

    Attributes
    ----------
    before, after
        The mean of the present model and of the candidate.
    low, high
        The interval of `change` by the paired bootstrap, of 95 %.
    people
        How many people were compared.
    """

    before: float
    after: float
    low: float
    high: float
    people: int

    @property
    def change(self) -> float:
        """What the candidate gains, as a share of the present model's."""
        return (self.after - self.before) / self.before if self.before else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the change included."""
        return {**asdict(self), "change": self.change}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """People whom no twin learns from.

    Attributes
    ----------
    fold
        What is shown and what is held out of each.
    rest
        The rows of the other people.
    n_data
        How many users come from the data set; those after them come from the site.
    """

    fold: Fold
    rest: Array
    n_data: int

    @classmethod
    def draw(cls, dataset: Dataset, n_data: int, *, rng: int) -> "HeldOut | None":
        """Hold out some people of a data set whose users are named by position.

        None is returned where too few people have enough interactions.
        """
        able = int((np.diff(dataset.X.indptr) >= MIN_INTERACTIONS).sum())
        n = min(MOST_PEOPLE, max(LEAST_PEOPLE, able // 10), able // 2)
        if n < ENOUGH_PEOPLE:
            return None
        fold = split(
            dataset, n_validation=0, n_test=n, min_interactions=MIN_INTERACTIONS, rng=rng
        ).test
        rest = np.setdiff1d(np.arange(dataset.n_users), list(fold.users))
        return cls(fold, rest, n_data)

    def fit_twin(self, model: Teaser, dataset: Dataset) -> Teaser:
        """Fit a model of the same parameters to the people who are not held out.

        It begins from nothing: at a coarse tolerance, what a model to begin from knows of the
        held-out people, or of the other twin, would remain.
        """
        rows = self.rest[np.diff(dataset.X.indptr)[self.rest] > 0]
        twin = model.clone().set_params(tol=coarse_tol(model.tol, model.solver))
        if twin.discovered is not None:  # a file names groups of the model, not of its twin
            twin.discovered = replace(twin.discovered, names=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return twin.fit(dataset.at(rows))

    def values(self, twin: Teaser) -> Array:
        """Return the nDCG@100 of each held-out person with a twin."""
        return evaluate(twin, self.fold, metrics=[METRIC]).values[METRIC]

    def by_origin(self, before: Array, after: Array, *, rng: int) -> dict[str, Comparison]:
        """Compare people of the data set and of the site apart, where there are enough of them."""
        is_site = np.array(list(self.fold.users)) >= self.n_data
        parts = {"data": ~is_site, "site": is_site}
        return {
            name: compared(before[rows], after[rows], rng=rng)
            for name, rows in parts.items()
            if rows.sum() >= ENOUGH_PEOPLE
        }


def compared(before: Array, after: Array, *, rng: int) -> Comparison:
    """Return two models' values of the same people as one comparison."""
    found = paired_bootstrap({METRIC: before}, {METRIC: after}, rng=rng)[METRIC]
    mean = float(np.nanmean(before))
    relative = found.times(1 / mean if mean else 0.0)
    return Comparison(mean, float(np.nanmean(after)), relative.low, relative.high, found.n)


def lists_of(model: Teaser, fold: Fold, items: Ids) -> Array:
    """Return the lists of a model as positions among the items of a data set (users x 100).

    An item that the model has and the data set has not takes its place in a list, as -1. Facts
    about people are not given.
    """
    own = _places(model, items)
    back = np.full(len(model.items_), -1, dtype=np.int64)
    back[own[own >= 0]] = np.flatnonzero(own >= 0)
    history = _moved(fold.history, own, len(model.items_))
    k = Metric.parse(METRIC).k
    lists = np.full((fold.n_users, k), -1, dtype=np.int64)
    for rows in batches(fold.n_users, len(model.items_), BATCH_MEMORY):
        seen = history[rows]
        best = top_k_rows(model.score_batch(seen), k, exclude=seen, tie=model.popularity_)
        lists[rows] = np.where(best >= 0, back[best], -1)
    return lists


def accuracy_of(lists: Array, fold: Fold) -> Array:
    """Return the nDCG@100 of each person's list."""
    return per_user([Metric.parse(METRIC)], lists, fold.held_out, None)[METRIC]


def coverage_of(lists: Array, n_items: int) -> float:
    """Return the share of the items that is in the first 20 of a list."""
    return coverage(lists[:, :LISTED], n_items).mean


def _places(model: Teaser, items: Ids) -> Array:
    """Return the position of each item in the model, -1 where it has none."""
    found = (model.items_.find(item) for item in items)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def _moved(history: sp.csr_array, places: Array, n_items: int) -> sp.csr_array:
    """Return histories with their columns at other places; those at -1 are left out."""
    row = np.repeat(np.arange(history.shape[0]), np.diff(history.indptr))
    column = places[history.indices]
    kept = column >= 0
    entries = history.data[kept], (row[kept], column[kept])
    return sp.csr_array(entries, shape=(history.shape[0], n_items))
