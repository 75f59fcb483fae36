"""Leanings: how far the items with a tag stand above the average item, for one user.

An affinity is what a tag adds while all other tags are held fixed. A leaning is what the items that
carry the tag get in all, so that it can be said of a person: "you lean towards Jazz".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from teaser.data.tags import Tag

Array = NDArray[Any]
# The logarithms of the spreads that are possible: from 0.05 to 1,000 items.
_LOG_SPREADS = (np.log(0.05), np.log(1000.0))


@dataclass(frozen=True)
class LeaningPart:
    """What one tag or one viewed item adds to the leaning towards a tag.

    Attributes
    ----------
    kind
        `"itself"` for the tag that the leaning is towards, `"tag"` for another, `"viewed"` for an
        item of the history.
    name
        The tag, or the id of the viewed item.
    part
        What it adds. The parts of a leaning sum to it.
    """

    kind: Literal["itself", "tag", "viewed"]
    name: Tag | int | str
    part: float


@dataclass(frozen=True, eq=False)
class Carriers:
    """The items that carry each tag, or any tag of each group.

    Attributes
    ----------
    items
        Rows x items, 1 where an item carries the tag. Rows of columns that have no leaning, such as
        general appeal, are empty.
    """

    items: sp.csr_array

    @cached_property
    def counts(self) -> Array:
        """How many items carry each (rows)."""
        return np.diff(self.items.indptr)

    def means(self, numbers: Array) -> Array:
        """Return the mean over the carriers less that over all items; 0 without carriers.

        Parameters
        ----------
        numbers
            One for each item (items), or several (items x columns).
        """
        total = np.asarray(self.items @ numbers)
        shape = (-1,) + (1,) * (total.ndim - 1)
        counts = self.counts.reshape(shape)
        mean = numbers.mean(axis=0) if len(numbers) else 0.0
        found: Array = np.where(counts > 0, total / np.maximum(counts, 1) - mean, 0.0)
        return found

    def rates(self, popularity: Array) -> Array:
        """Return the share of all interactions that are with carriers (rows); 0 without any."""
        total = float(popularity.sum())
        found: Array = np.asarray(self.items @ popularity) / (total if total > 0 else 1.0)
        return found

    def count_in(self, places: Array) -> Array:
        """Return how many of some items carry each (rows)."""
        marked = np.zeros(self.items.shape[1])
        marked[places] = 1.0
        found: Array = np.rint(self.items @ marked).astype(np.int64)
        return found


@dataclass(frozen=True, eq=False)
class LeaningBase:
    """What the leanings of one model's users are computed from.

    Attributes
    ----------
    decoder
        D, items x tags.
    carriers
        The items that carry each tag.
    group_carriers
        The items that carry any tag of each group of near-equal tags.
    popularity
        The count of each item, or a multiple of it (items).
    general
        The column of general appeal, or None.
    remainder
        R, items x items, or None.
    """

    decoder: sp.csr_array
    carriers: Carriers
    group_carriers: Carriers
    popularity: Array
    general: int | None = None
    remainder: Any = None

    def personal_scores(
        self, values: Array, seen: Array, strengths: Array, weights: tuple[float, float]
    ) -> Array:
        """Return the personal part s of every score: tags and viewed items (items).

        Parameters
        ----------
        values
            Affinities with all tags; that with general appeal does not count.
        seen, strengths
            The positions of the history's items, and the strength of each.
        weights
            The factors of the tags' part of a score and of that of the viewed items.
        """
        own = self.without_general(values)
        scores = weights[0] * np.asarray(self.decoder @ own)
        if self.remainder is not None and weights[1]:
            known = seen < self.remainder.shape[0]
            rows, x = self.remainder[seen[known]], strengths[known].astype(np.float64)
            scores[: self.remainder.shape[1]] += weights[1] * np.asarray(x @ rows).ravel()
        return scores

    def parts(
        self,
        column: int,
        values: Array,
        seen: Array,
        strengths: Array,
        weights: tuple[float, float],
    ) -> tuple[Array, Array]:
        """Return what each tag and each item of the history adds to a leaning (tags, items).

        The parameters beside the column of the tag are those of `personal_scores`.
        """
        items, D, n = self.carriers.items, self.decoder, self.decoder.shape[0]
        own = items.indices[items.indptr[column] : items.indptr[column + 1]]
        # 1 / n_j on the carriers of j, less 1 / n on all items
        weight = np.full(n, -1.0 / max(1, n))
        weight[own] += 1.0 / max(1, len(own))
        if not len(own):
            weight[:] = 0.0
        by_tag = weights[0] * self.without_general(values) * np.asarray(weight @ D)
        by_item = np.zeros(len(seen))
        if self.remainder is not None and weights[1]:
            known = seen < self.remainder.shape[0]
            rows = self.remainder[seen[known]]
            added = np.asarray(rows @ weight[: self.remainder.shape[1]], dtype=np.float64)
            by_item[known] = weights[1] * strengths[known] * added
        return by_tag, by_item

    def without_general(self, values: Array) -> Array:
        """Return affinities with 0 for general appeal, in their last dimension."""
        own = np.array(values, dtype=np.float64)
        if self.general is not None:
            own[..., self.general] = 0.0
        return own


def find_spread(shorts: Sequence[tuple[int, Array, Array]]) -> float | None:
    """Return k, by which a profile of h items agrees sqrt(h / (h + k)) with an endless one.

    If each item of a history says the same and something of its own, whose variance is k times
    the square of the former, then the cosine of the leanings from h and from all N items is
    sqrt((1 + k / N) / (1 + k / h)). k is the least-squares fit of its means. None without any.

    Parameters
    ----------
    shorts
        Lengths h, and for users with more items their N and the cosines.
    """
    found = [(h, n, cosines.mean()) for h, n, cosines in shorts if len(n)]
    if not found:
        return None

    def error(log_k: float) -> float:
        k = np.exp(log_k)
        misses = [np.sqrt((1 + k / n) / (1 + k / h)).mean() - mean for h, n, mean in found]
        return float(np.square(misses).sum())

    return float(np.exp(minimize_scalar(error, bounds=_LOG_SPREADS, method="bounded").x))


def find_carriers(decoder: sp.csr_array, apart: Sequence[int]) -> Carriers:
    """Return the items that carry each tag: those with a weight other than 0.

    Parameters
    ----------
    decoder
        Items x tags.
    apart
        Columns that have no leaning: popularity and general appeal.
    """
    keep = decoder.data != 0
    keep &= ~np.isin(decoder.indices, np.asarray(apart, dtype=np.int64))
    rows = np.repeat(np.arange(decoder.shape[0]), np.diff(decoder.indptr))[keep]
    ones = np.ones(len(rows))
    shape = (decoder.shape[1], decoder.shape[0])
    return Carriers(sp.csr_array((ones, (decoder.indices[keep], rows)), shape=shape))


def find_named_carriers(carriers: Carriers, group: Array, discovered: Array) -> Carriers:
    """Return the items that carry what each group of near-equal tags is called by.

    Discovered tags do not count where metadata name the same.

    Parameters
    ----------
    discovered
        Which tags a fit found (tags).
    """
    has_name = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    has_name[group[(group >= 0) & ~discovered]] = True
    unnamed = discovered & (group >= 0) & has_name[np.maximum(group, 0)] if len(has_name) else False
    return find_group_carriers(carriers, np.where(unnamed, -1, group))


def find_group_carriers(carriers: Carriers, group: Array) -> Carriers:
    """Return the items that carry any tag of each group, given the number of each tag's group."""
    own = np.flatnonzero(group >= 0)
    shape = (int(group.max(initial=-1)) + 1, len(group))
    belongs = sp.csr_array((np.ones(len(own)), (group[own], own)), shape=shape)
    found = sp.csr_array(belongs @ carriers.items)
    found.data[:] = 1.0  # an item with two tags of a group counts once
    return Carriers(found)
