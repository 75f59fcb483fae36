"""The one loop over people: score in batches, rank, measure; two evaluations compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.ids import Ids
from teaser.data.split import Fold
from teaser.errors import DataError, ParameterError, SolverError
from teaser.evaluate.metrics import (
    OF_CATALOGUE,
    Difference,
    Metric,
    Summary,
    coverage,
    paired_bootstrap,
    per_person,
    summarise,
)
from teaser.model.base import Model, top_k
from teaser.model.tagged import TaggedModel
from teaser.profile import DEFAULT_STEERING, PressesLike, Steering

Array = NDArray[Any]
Callback = Callable[[int, int], None]

PAPER_METRICS = ("recall@20", "recall@100", "ndcg@100")
ALL_METRICS = (
    *PAPER_METRICS,
    "recall_uncapped@20",
    "recall_uncapped@100",
    "ndcg_uncapped@100",
    "coverage@20",
    "diversity@20",
    "long_tail@20",
)
BATCH_MEMORY = 256 * 2**20

# Scores as the model made them, a copy that may be changed, places, and what the model needs.
_ARRAYS = 4


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one model reached on the people of a fold.

    Attributes
    ----------
    model
        The name of the model.
    users
        The people, in the order of the values.
    values
        Each person's value by metric; NaN where it has no meaning for the person.
    catalogue
        Metrics of all lists together, such as coverage.
    lists
        Positions of the recommended items, best first (people x longest k), -1 after the end of
        a list. Of simulated feedback, the lists of all draws, one below the other.
    """

    model: str
    users: Ids = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    catalogue: Mapping[str, Summary] = field(repr=False)
    lists: Array = field(repr=False)

    def summary(self) -> dict[str, Summary]:
        """Return mean, standard error and number of people by metric."""
        return {name: summarise(v) for name, v in self.values.items()} | dict(self.catalogue)


def evaluate(
    model: Model,
    fold: Fold,
    *,
    training: Dataset | None = None,
    metrics: Sequence[str] | None = None,
    presses: Sequence[PressesLike | None] | None = None,
    steering: Steering | None = None,
    about: bool = True,
    name: str | None = None,
    batch_memory: int = BATCH_MEMORY,
    callback: Callback | None = None,
) -> Evaluation:
    """Recommend to the people of a fold and hold the lists against what they chose.

    The items of a history are left out of its list. Equal scores are ordered by the model's
    `popularity_` where it has one, then by place in the catalogue, as in `recommend`.

    Parameters
    ----------
    training
        What the model was fitted to; diversity and long tail need it.
    metrics
        Names such as `"recall@20"`; see `evaluate.metrics`. When not given, those of the paper,
        or with `training` also the uncapped ones, coverage, diversity and long tail.
    presses
        What each person pressed, in the order of the fold; aspect models only.
    steering
        How raw scores become affinities and presses move them; aspect models only.
    people
        Whether a model that has learnt from what is known of people is told that of the fold's.
    name
        How the evaluation calls the model; its class if not given.
    batch_memory
        About how many bytes the scores of a batch of people may take. It does not change the
        results.
    callback
        Told how many people are done, and of how many.
    """
    wanted = parse_metrics(metrics, training)
    longest = max(metric.k for metric in wanted)
    lists = recommend_lists(
        model,
        fold,
        k=longest,
        presses=presses,
        steering=steering,
        about=about,
        batch_memory=batch_memory,
        callback=callback,
    )
    return Evaluation(
        model=type(model).__name__ if name is None else name,
        users=fold.users,
        values=per_person(wanted, lists, fold.held_out, training),
        catalogue={
            str(metric): coverage(lists[:, : metric.k], fold.n_items)
            for metric in wanted
            if metric.kind in OF_CATALOGUE
        },
        lists=lists,
    )


def compare(
    a: Evaluation,
    b: Evaluation,
    *,
    rng: int | np.random.Generator,
    n: int = 2000,
    level: float = 0.95,
) -> dict[str, Difference]:
    """Return by metric how much better b is than a, with a paired bootstrap interval.

    Both must be of the same people. Metrics of the catalogue are no means over people and are
    left out; for the parameters see `metrics.paired_bootstrap`.
    """
    if a.users != b.users:
        raise ParameterError(
            f"{a.model} and {b.model} were not evaluated on the same people "
            f"({len(a.users):,} and {len(b.users):,}). Evaluate both on one fold."
        )
    return paired_bootstrap(a.values, b.values, rng=rng, n=n, level=level)


def recommend_lists(
    model: Model,
    fold: Fold,
    *,
    k: int,
    presses: Sequence[PressesLike | None] | None = None,
    steering: Steering | None = None,
    about: bool = True,
    batch_memory: int = BATCH_MEMORY,
    callback: Callback | None = None,
) -> Array:
    """Return the k best items for everyone in a fold (people x k); -1 after the end of a list.

    For the parameters see `evaluate`.
    """
    _check(model, fold, presses, steering)
    known = _known(model, fold) if about else None
    tie = model.popularity_
    lists = np.full((fold.n_users, k), -1, dtype=np.int32)
    for rows in batches(fold.n_users, fold.n_items, batch_memory):
        history = fold.history[rows]
        pressed = None if presses is None else presses[rows]
        told = None if known is None else known[rows]
        scores = _scores(model, history, pressed, steering, told)
        _check_scores(model, scores, history.shape, fold.users[rows])
        lists[rows] = rank(scores, k, exclude=history, tie=tie)
        if callback is not None:
            callback(rows.stop, fold.n_users)
    return lists


def rank(scores: Array, k: int, *, exclude: sp.csr_array, tie: Array) -> Array:
    """Return the k best items of every row, as `model.base.top_k` does for one; -1 fills up.

    Parameters
    ----------
    scores
        People x items, finite.
    exclude
        Items that may not be returned (people x items).
    tie
        Decides between equal scores, larger first; then the position does.
    """
    values = np.array(scores, order="C")
    person = np.repeat(np.arange(exclude.shape[0]), np.diff(exclude.indptr))
    values[person, exclude.indices] = -np.inf
    n_items = values.shape[1]
    out = np.full((len(values), k), -1, dtype=np.int64)
    width = min(k, n_items)
    if width == 0 or len(values) == 0:
        return out
    best = np.argpartition(values, n_items - width, axis=1)[:, n_items - width :]
    found = np.take_along_axis(values, best, axis=1)
    order = np.lexsort((best, -tie[best], -found), axis=1)
    out[:, :width] = np.take_along_axis(best, order, axis=1)
    # The partition picks at random among items that tie at the last place, and picks excluded
    # ones when too few are left.
    unclear = (values >= found.min(axis=1, keepdims=True)).sum(axis=1) > width
    unclear |= np.isneginf(found).any(axis=1)
    for row in np.flatnonzero(unclear).tolist():
        seen = exclude.indices[exclude.indptr[row] : exclude.indptr[row + 1]]
        chosen = top_k(values[row], k, exclude=seen, tie=tie)
        out[row] = -1
        out[row, : len(chosen)] = chosen
    return out


def batches(n_users: int, n_items: int, memory: int) -> Iterator[slice]:
    """Yield slices of people whose arrays of scores fit in about so many bytes; one at least."""
    size = max(1, int(memory) // (_ARRAYS * 8 * max(1, n_items)))
    for start in range(0, n_users, size):
        yield slice(start, min(start + size, n_users))


def parse_metrics(names: Sequence[str] | None, training: Dataset | None) -> list[Metric]:
    """Return the metrics of names, each once; see `evaluate` for what no names mean."""
    if names is None:
        names = PAPER_METRICS if training is None else ALL_METRICS
    if isinstance(names, str) or len(names) == 0:
        raise ParameterError(f"metrics must be a list of names like 'recall@20', found {names!r}.")
    return [Metric.parse(name) for name in dict.fromkeys(names)]


def _scores(
    model: Model,
    history: sp.csr_array,
    presses: Sequence[PressesLike | None] | None,
    steering: Steering | None,
    about: sp.csr_array | None,
) -> Array:
    if isinstance(model, TaggedModel):
        how = steering or DEFAULT_STEERING
        return model.score_batch(history, presses, about=about, steering=how)
    return model.score_batch(history)


def _known(model: Model, fold: Fold) -> sp.csr_array | None:
    """Return what is known of the people of a fold, where the model has learnt from such."""
    learnt = model.user_tags_ if isinstance(model, TaggedModel) else ()
    if fold.user_features is None or not learnt:
        return None
    if fold.user_features.shape[1] != len(learnt):
        raise ParameterError(
            f"{type(model).__name__} knows {len(learnt):,} tags of people and the fold "
            f"{fold.user_features.shape[1]:,}. Fit it to the training part of the same split."
        )
    return fold.user_features


def _check(
    model: Model,
    fold: Fold,
    presses: Sequence[PressesLike | None] | None,
    steering: Steering | None,
) -> None:
    """Raise before any work if the model cannot be evaluated on this fold."""
    model.check_fitted()
    name = type(model).__name__
    if fold.n_users == 0:
        raise DataError("The fold has no people to evaluate on. Split with more than 0.")
    if len(model.items_) != fold.n_items:
        raise ParameterError(
            f"{name} knows {len(model.items_):,} items and the fold {fold.n_items:,}. "
            "Fit it to the training part of the same split."
        )
    if not isinstance(model, TaggedModel) and (presses is not None or steering is not None):
        raise ParameterError(f"{name} has no tags to press; presses and steering mean nothing.")
    if presses is not None and len(presses) != fold.n_users:
        raise ParameterError(
            f"There are {fold.n_users:,} people and {len(presses):,} sets of presses."
        )


def _check_scores(
    model: Model, scores: Array, shape: tuple[int, int], users: Sequence[Any]
) -> None:
    name = type(model).__name__
    if np.shape(scores) != shape:
        raise ParameterError(
            f"{name} returned scores of shape {np.shape(scores)} for {shape[0]} people and "
            f"{shape[1]} items."
        )
    bad = ~np.isfinite(scores).all(axis=1)
    if bad.any():
        first = users[int(np.argmax(bad))]
        raise SolverError(
            f"{name} scored items as NaN or infinite for {int(bad.sum()):,} people, the first "
            f"of them {first!r}. Fit it with larger penalties or in double precision."
        )
