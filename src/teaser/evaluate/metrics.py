"""Metrics of lists: recall, nDCG, coverage, diversity, long tail; their errors and differences."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.split import as_generator
from teaser.errors import ParameterError, closest
from teaser.parameters import check_count, check_number

Array = NDArray[Any]

ACCURACY_METRICS = ("recall", "recall_uncapped", "ndcg", "ndcg_uncapped")
LIST_METRICS = ("diversity", "long_tail")
CATALOGUE_METRICS = ("coverage",)
HEAD = 0.5
# What tables and pictures call the metrics, in the order of a report.
METRIC_TITLES = {
    "recall@20": "Recall@20",
    "recall@100": "Recall@100",
    "ndcg@100": "nDCG@100",
    "recall_uncapped@20": "Recall@20, uncapped",
    "recall_uncapped@100": "Recall@100, uncapped",
    "ndcg_uncapped@100": "nDCG@100, uncapped",
    "coverage@20": "coverage@20",
    "diversity@20": "diversity@20",
    "long_tail@20": "long tail@20",
}

_NAME = re.compile(r"([a-z_]+)@([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Metric:
    """A measure and the length of list that it looks at; written `"recall@20"`."""

    kind: str
    k: int

    @classmethod
    def parse(cls, name: str) -> "Metric":
        """Return the metric of a name such as `"ndcg@100"`."""
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        known = (*ACCURACY_METRICS, *LIST_METRICS, *CATALOGUE_METRICS)
        if found is None or found[1] not in known:
            near = closest(str(name).partition("@")[0], known)
            raise ParameterError(
                f"Unknown metric {name!r}; one is written like 'recall@20', with one of "
                f"{', '.join(known)}.{near}"
            )
        return cls(found[1], int(found[2]))

    def __str__(self) -> str:
        return f"{self.kind}@{self.k}"


@dataclass(frozen=True)
class Summary:
    """A mean over users.

    Attributes
    ----------
    mean
        Over the users who have a value; NaN where none has.
    error
        The standard error of the mean; NaN with fewer than two users.
    n
        How many users have a value.
    """

    mean: float
    error: float
    n: int


@dataclass(frozen=True)
class PairedDifference:
    """How much better b is than a on the same users.

    Attributes
    ----------
    mean
        The mean of b - a.
    low, high
        The paired bootstrap interval of that mean.
    n
        How many users have a value of both.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0

    @property
    def is_finite(self) -> bool:
        """Whether there are mean and interval."""
        return all(map(math.isfinite, (self.mean, self.low, self.high)))

    def times(self, factor: float) -> "PairedDifference":
        """Return the difference in another unit, or with -1 that of a and b."""
        low, high = sorted((factor * self.low, factor * self.high))
        return PairedDifference(factor * self.mean, low, high, self.n)


def hits(lists: Array, held_out: sp.csr_array) -> Array:
    """Return which places of the lists hold a held-out item of the user (users x k).

    Parameters
    ----------
    lists
        Positions of items, best first (users x k); -1 after the end of a list.
    held_out
        What each user chose (users x items), binary.
    """
    n_users, n_items = held_out.shape
    user = np.repeat(np.arange(n_users, dtype=np.int64), np.diff(held_out.indptr))
    # One number for each pair of user and item, in 64 bits: users x items may exceed 2**31.
    wanted = user * n_items + held_out.indices
    listed = np.arange(n_users, dtype=np.int64)[:, None] * n_items + lists
    # A place of -1 has the number of the last item of the user before.
    return np.isin(listed, wanted) & (lists >= 0)


def recall(hit: Array, n_held: Array, k: int, *, capped: bool = True) -> Array:
    """Return recall@k of each user; NaN without held-out items.

    Parameters
    ----------
    hit
        The result of `hits`, at least k wide unless the lists are shorter.
    n_held
        How many items each user has held out.
    capped
        Divide by min(k, held out), as Liang et al. (2018) do, so that 1 can be reached; by the
        number held out otherwise.
    """
    most = np.minimum(k, n_held) if capped else n_held
    return _ratio(hit[:, :k].sum(axis=1), most)


def ndcg(hit: Array, n_held: Array, k: int, *, capped: bool = True) -> Array:
    """Return nDCG@k of each user; NaN without held-out items.

    A hit at rank r gains 1 / log2(r + 1); the sum is divided by that of the ideal list.

    Parameters
    ----------
    capped
        The ideal list has min(k, held out) items, as in Liang et al. (2018); all that are held
        out otherwise, so that 1 is out of reach where these are more than k.
    """
    longest = max(hit.shape[1], int(n_held.max(initial=0)))
    # 1 / log2(r + 1) for the ranks r = 1, 2, ...
    gain = 1 / np.log2(np.arange(longest) + 2)
    # ideal[n] is the gain of n hits in the first n places.
    ideal = np.concatenate([[0.0], np.cumsum(gain)])
    most = np.minimum(k, n_held) if capped else n_held
    seen = hit[:, :k]
    # Summed in the order of the ideal, so that a perfect list reaches 1 to the last digit.
    found = np.cumsum(seen * gain[: seen.shape[1]], axis=1)
    return _ratio(found[:, -1] if seen.shape[1] else np.zeros(len(hit)), ideal[most])


def diversity(lists: Array, S: sp.csr_array) -> Array:
    """Return the mean tag distance between the items of each list, from 0 to 1.

    The distance of two items is 1 - c / sqrt(a b), where a and b are the numbers of their tags
    and c the number of those they share: 0 for the same tags, 1 for none in common. It is
    averaged over all pairs of items in the list; items without tags are left out. NaN for a list
    with fewer than two items that have tags.

    Parameters
    ----------
    S
        Which item carries which tag (items x tags); any value but zero counts as one.
    """
    tags = sp.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape)
    carried = np.diff(tags.indptr)
    # Rows of length 1: the product of two is c / sqrt(a b).
    tags.data /= np.sqrt(np.repeat(carried, carried))
    rows = as_rows(lists, S.shape[0])
    n = rows @ (carried > 0).astype(np.float64)
    total = rows @ tags
    # With unit vectors v, the sum of all cosines is |sum v|^2, and n of them are of v with itself.
    squared = np.bincount(_owner(total), weights=total.data**2, minlength=len(lists))
    mean = _ratio(squared - n, n * (n - 1))
    return np.asarray(np.clip(1 - mean, 0.0, 1.0))


def long_tail(lists: Array, tail: Array) -> Array:
    """Return the share of each list that is from the long tail; NaN for an empty list.

    Parameters
    ----------
    tail
        Of `tail_items`: whether each item belongs to it.
    """
    there = lists >= 0
    # A place of -1 reads the last item, so it is masked.
    return _ratio((tail[lists] & there).sum(axis=1), there.sum(axis=1))


def tail_items(counts: Array, *, head: float = HEAD) -> Array:
    """Return which items are in the long tail.

    The head are the most chosen items, the fewest that together make up at least the share
    `head` of all training interactions; items chosen as often as the last of them belong to
    it as well. The tail is the rest, including items that no user chose.

    Parameters
    ----------
    counts
        How many users chose each item.
    """
    falling = np.sort(counts)[::-1]
    made_up = np.cumsum(falling)
    last = int(np.searchsorted(made_up, head * made_up[-1])) if len(counts) else 0
    # At least 1: items that no user chose are always in the tail.
    least = max(1, int(falling[last])) if len(counts) else 1
    return np.asarray(counts < least)


def coverage(lists: Array, n_items: int) -> Summary:
    """Return the share of all items that is in at least one list.

    It belongs to the lists of all users together and grows with their number. Its error is that
    of the jackknife, which leaves each user out in turn.
    """
    rows = as_rows(lists, n_items)
    listed = np.bincount(rows.indices, minlength=n_items)
    share = float((listed > 0).sum() / n_items)
    # Items that only one user has: without this user, coverage falls by their number.
    alone = np.bincount(_owner(rows), weights=listed[rows.indices] == 1, minlength=len(lists))
    n = len(lists)
    # Jackknife: (n - 1) / n times the sum of squared deviations of the n left-out values.
    error = math.sqrt((n - 1) / n * float(((alone - alone.mean()) ** 2).sum())) / n_items
    return Summary(share, error if n > 1 else math.nan, n)


def per_user(
    metrics: Iterable[Metric], lists: Array, held_out: sp.csr_array, training: Dataset | None
) -> dict[str, Array]:
    """Return the values of each user by metric; those over items are left out.

    Parameters
    ----------
    training
        The data of the fit; diversity takes the tags and long tail the counts from it.
    """
    hit = hits(lists, held_out)
    n_held = np.diff(held_out.indptr)
    values: dict[str, Array] = {}
    for metric in metrics:
        kind, k = metric.kind, metric.k
        if kind in ACCURACY_METRICS:
            measure = recall if kind.startswith("recall") else ndcg
            values[str(metric)] = measure(hit, n_held, k, capped="uncapped" not in kind)
        elif kind in LIST_METRICS and training is None:
            raise ParameterError(
                f"{metric} needs the training data set, for its tags and counts. Pass training=."
            )
        elif kind == "diversity" and training is not None:
            values[str(metric)] = diversity(lists[:, :k], training.S)
        elif kind == "long_tail" and training is not None:
            values[str(metric)] = long_tail(lists[:, :k], tail_items(training.item_counts))
    return values


def summarise(values: Array) -> Summary:
    """Return mean and standard error over the users who have a value."""
    there = values[~np.isnan(values)]
    n = len(there)
    if n == 0:
        return Summary(math.nan, math.nan, 0)
    error = float(there.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Summary(float(there.mean()), error, n)


def paired_bootstrap(
    a: Mapping[str, Array],
    b: Mapping[str, Array],
    *,
    rng: int | np.random.Generator,
    n: int = 2000,
    level: float = 0.95,
) -> dict[str, PairedDifference]:
    """Return b - a by metric, with the interval of resampled users.

    Users are drawn with replacement `n` times, the same for all metrics; the interval runs
    between the quantiles of the mean difference. A user without a value of both is left out.

    Parameters
    ----------
    a, b
        Values of the same users in the same order, by metric; metrics of one only are left out.
    level
        The share of resamples within the interval.
    """
    check_count("n", n)
    check_number("level", level, most=1.0)
    names = [name for name in a if name in b]
    if not names or any(a[name].shape != b[name].shape for name in names):
        raise ParameterError("Only values of the same metrics and users can be compared.")
    # User by user: what makes a user easy or hard for both models cancels.
    gaps = np.stack([np.asarray(b[name], dtype=np.float64) - a[name] for name in names], axis=1)
    means = _resampled_means(gaps, as_generator(rng), int(n))
    edges = np.array([(1 - level) / 2, (1 + level) / 2])
    out = {}
    for column, name in enumerate(names):
        drawn = means[:, column][~np.isnan(means[:, column])]
        low, high = np.quantile(drawn, edges) if len(drawn) else (math.nan, math.nan)
        total = summarise(gaps[:, column])
        out[name] = PairedDifference(total.mean, float(low), float(high), total.n)
    return out


def as_rows(lists: Array, n_items: int) -> sp.csr_array:
    """Return lists of positions as a binary matrix (users x items)."""
    user, place = np.nonzero(lists >= 0)
    return sp.csr_array(
        (np.ones(len(user)), (user, lists[user, place])), shape=(len(lists), n_items)
    )


def _resampled_means(gaps: Array, rng: np.random.Generator, n: int) -> Array:
    """Return the mean of every column over users drawn with replacement (n x columns)."""
    there = ~np.isnan(gaps)
    filled = np.where(there, gaps, 0.0)
    means = np.full((n, gaps.shape[1]), np.nan)
    for row in means if len(gaps) else ():
        drawn = rng.integers(0, len(gaps), len(gaps))
        row[:] = _ratio(filled[drawn].sum(axis=0), there[drawn].sum(axis=0))
    return means


def _ratio(part: Array, whole: Array) -> Array:
    """Return part / whole, NaN where the whole is zero."""
    out = np.full(np.shape(whole), np.nan)
    return np.asarray(np.divide(part, whole, out=out, where=np.asarray(whole) > 0))


def _owner(rows: sp.csr_array) -> Array:
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
