"""Evaluation: score users in batches, rank, measure; two evaluations compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold
from teaser.errors import DataError, ParameterError, SolverError
from teaser.evaluate.bonus import Bonus
from teaser.evaluate.metrics import (
    CATALOGUE_METRICS,
    METRIC_TITLES,
    Metric,
    PairedDifference,
    Summary,
    coverage,
    paired_bootstrap,
    per_user,
    summarise,
)
from teaser.model.base import Model
from teaser.model.scores import top_k_rows
from teaser.model.tagged import TaggedModel
from teaser.profile import DEFAULT_STEERING, PressesLike, Steering

Array = NDArray[Any]

PAPER_METRICS = ("recall@20", "recall@100", "ndcg@100")
ALL_METRICS = tuple(METRIC_TITLES)
# How many items of each list count for the shares of the parts of scores.
SHOWN = 20
BATCH_MEMORY = 256 * 2**20
# The scores, a copy of them, the positions, and what the model needs.
_ARRAYS = 4


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of one model on the users of a fold.

    Attributes
    ----------
    model
        The name of the model.
    users
        The users, in the order of the values.
    values
        Each user's value by metric; NaN where it is not defined.
    item_metrics
        Metrics of all lists together, such as coverage.
    lists
        Positions of the recommended items, best first (users x longest k), -1 after the end of
        a list. Of simulated feedback, the lists of all draws, one below the other.
    """

    model: str
    users: Ids = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    item_metrics: Mapping[str, Summary] = field(repr=False)
    lists: Array = field(repr=False)

    def summary(self) -> dict[str, Summary]:
        """Return mean, standard error and number of users by metric."""
        return {name: summarise(v) for name, v in self.values.items()} | dict(self.item_metrics)


def evaluate(
    model: Model | Bonus,
    fold: Fold,
    *,
    training: Dataset | None = None,
    metrics: Sequence[str] | None = None,
    presses: Sequence[PressesLike | None] | None = None,
    steering: Steering | None = None,
    name: str | None = None,
) -> Evaluation:
    """Recommend to the users of a fold, and compare the lists with what they chose.

    The items of a history are left out of its list. Equal scores are ordered by the model's
    `popularity_` where it has one, then by position, as in `recommend`.

    Parameters
    ----------
    training
        The data of the fit; diversity and long tail need it.
    metrics
        Names such as `"recall@20"`; see `evaluate.metrics`. When not given, those of the paper,
        or with `training` also the uncapped ones, coverage, diversity and long tail.
    presses
        The presses of each user, in the order of the fold; models with tags only.
    steering
        How raw scores become affinities and presses move them; models with tags only.
    name
        The name of the model; its class if not given.
    """
    if metrics is None:
        metrics = PAPER_METRICS if training is None else ALL_METRICS
    if isinstance(metrics, str) or not metrics:
        raise ParameterError(
            f"metrics must be a list of names like 'recall@20', found {metrics!r}."
        )
    wanted = [Metric.parse(name) for name in dict.fromkeys(metrics)]
    # One list serves all metrics: shorter lists are its beginning.
    longest = max(metric.k for metric in wanted)
    lists = recommend_lists(model, fold, k=longest, presses=presses, steering=steering)
    return Evaluation(
        model=type(model).__name__ if name is None else name,
        users=fold.users,
        values=per_user(wanted, lists, fold.held_out, training),
        item_metrics={
            str(metric): coverage(lists[:, : metric.k], fold.n_items)
            for metric in wanted
            if metric.kind in CATALOGUE_METRICS
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
) -> dict[str, PairedDifference]:
    """Return by metric how much better b is than a, with a paired bootstrap interval.

    Both must be of the same users. Metrics over items are not means over users and are
    left out; for the parameters see `metrics.paired_bootstrap`.
    """
    if a.users != b.users:
        raise ParameterError(
            f"{a.model} and {b.model} were not evaluated on the same users "
            f"({len(a.users):,} and {len(b.users):,}). Evaluate both on one fold."
        )
    return paired_bootstrap(a.values, b.values, rng=rng, n=n, level=level)


def recommend_lists(
    model: Model | Bonus,
    fold: Fold,
    *,
    k: int,
    presses: Sequence[PressesLike | None] | None = None,
    steering: Steering | None = None,
) -> Array:
    """Return the k best items for each user of a fold (users x k); -1 after the end of a list.

    For the parameters see `evaluate`.
    """
    _check(model, fold, presses, steering)

    def score(rows: slice) -> Array:
        options: dict[str, Any] = {} if presses is None else {"presses": presses[rows]}
        if isinstance(model, TaggedModel):
            known = fold.user_features if model.user_tags_ else None
            options["about"] = None if known is None else known[rows]
            options["steering"] = steering or DEFAULT_STEERING
        scores = model.score_batch(fold.history[rows], **options)
        bad = ~np.isfinite(scores).all(axis=1)
        if bad.any():
            raise SolverError(
                f"{type(model).__name__} scored items as NaN or infinite for {int(bad.sum()):,} "
                f"users, the first of them {fold.users[rows][int(np.argmax(bad))]!r}. Fit it with "
                "larger penalties or in double precision."
            )
        return scores

    return rank_rows(score, fold.history, k, tie=model.popularity_)


def rank_rows(
    score: Callable[[slice], Array], rows: sp.csr_array, k: int, *, tie: Array, seen: bool = False
) -> Array:
    """Return the k best items for each row (rows x k), scored in batches; see `top_k_rows`.

    Parameters
    ----------
    score
        Returns the scores of some of the rows.
    rows
        What each user chose (users x items), which is left out unless `seen`.
    """
    lists = np.full((rows.shape[0], k), -1, dtype=np.int64)
    # 8 bytes: scores in double precision, positions in 64 bits.
    size = max(1, BATCH_MEMORY // (_ARRAYS * 8 * max(1, rows.shape[1])))
    for start in range(0, rows.shape[0], size):
        some = slice(start, start + size)
        exclude = None if seen else rows[some]
        lists[some] = top_k_rows(score(some), k, exclude=exclude, tie=tie)
    return lists


def list_shares(
    model: Model, fold: Fold, lists: Array, *, most: int | None = None
) -> dict[str, float]:
    """Return the mean share of each part in the scores of the first items of lists.

    Of the first `most` users; empty for a model without tags. See `TaggedModel.list_shares`.
    """
    if not isinstance(model, TaggedModel):
        return {}
    known = fold.user_features if model.user_tags_ else None
    about = None if known is None else known[:most]
    return dict(model.list_shares(fold.history[:most], lists[:most], about=about).parts)


def _check(
    model: Model | Bonus,
    fold: Fold,
    presses: Sequence[PressesLike | None] | None,
    steering: Steering | None,
) -> None:
    """Raise before any work if the model cannot be evaluated on this fold."""
    model.check_fitted()
    name = type(model).__name__
    if fold.n_users == 0:
        raise DataError("The fold has no users to evaluate on. Split with more than 0.")
    if len(model.items_) != fold.n_items:
        raise ParameterError(
            f"{name} knows {len(model.items_):,} items and the fold {fold.n_items:,}. "
            "Fit it to the training part of the same split."
        )
    steerable = isinstance(model, TaggedModel)
    takes_presses = steerable or isinstance(model, Bonus)
    if (presses is not None and not takes_presses) or (steering is not None and not steerable):
        raise ParameterError(f"{name} has no tags: leave out presses and steering.")
    if presses is not None and len(presses) != fold.n_users:
        raise ParameterError(
            f"There are {fold.n_users:,} users and {len(presses):,} sets of presses."
        )
