"""The basis of affinities: centred features, and general appeal told apart from the tags.

The encoder learns raw tag scores p. What is shown are values v, a linear map of p that leaves every
ranking as it is:

    centre    p1_j = p_j - m_f for the tags j of a feature f with one value an item, where
              m_f = sum over its tags of p_j n_j / n, and n_j of n items carry tag j
    general   q = mean p1 of the training users / its length
              v = [p1 - (p1.q) q | omega p1.q],  decoder [D1 | D1 q / omega]

An item that states no value of a centred feature carries the tag "not stated" of it, whose raw
score is 0, so that centring moves all scores of a user by the same constant. The second step moves
none: (p1 - (p1.q) q) D1' + omega (p1.q) (D1 q / omega)' = p1 D1'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions
from teaser.data.tags import Tag
from teaser.explain import number_features
from teaser.profile import GENERAL, NOT_STATED

Array = NDArray[Any]

# How many training users tell the usual size of general appeal.
_SAMPLE = 2_000


@dataclass(frozen=True, eq=False)
class Basis:
    """A linear map from raw tag scores to the values that are shown.

    The columns are those that were learned, then a tag "not stated" for each centred feature that
    some items lack, then general appeal.

    Attributes
    ----------
    group
        The number of the centred feature of each column but the last; -1 where none is.
    share
        n_j / n, the share of the items that carry each learned tag.
    q
        The direction of the average profile (all columns but the last): of length 1, or zero.
    omega
        The factor of general appeal, by which the average user has 1 on the robust scale.
    """

    group: Array
    share: Array
    q: Array
    omega: float

    @property
    def n_learned(self) -> int:
        """The number of columns that the encoder has."""
        return len(self.share)

    def apply(self, raw: Array) -> Array:
        """Return v for rows of raw scores p (rows x learned tags), rows x columns."""
        out = np.zeros((len(raw), len(self.q) + 1))
        out[:, : self.n_learned] = raw
        # The last mean, 0, is that of the columns that are not centred.
        means = np.zeros(self._n_groups + 1)
        # One row at a time: the same bits alone and in a batch, and they stay in the cache.
        for v, p in zip(out, raw, strict=True):
            if self._n_groups:
                means[:-1] = self._means(p)
                v[:-1] -= means[self.group]
            along = v[:-1] @ self.q
            v[:-1] -= along * self.q
            v[-1] = self.omega * along
        return out

    def offset(self, raw: Array) -> Array:
        """Return what centring takes from all scores of a user, sum_f m_f (rows)."""
        return np.array([self._means(p).sum() for p in raw])

    def direction(self, column: int) -> Array:
        """Return the c (learned tags) for which p.c is the value of a column."""
        if column < len(self.q):
            b = -self.q * self.q[column]
            b[column] += 1.0
        else:
            b = self.omega * self.q
        # p1.b = p.b - sum_f m_f (the sum of b over the columns of f)
        sums = np.bincount(self.group + 1, b, minlength=self._n_groups + 1)
        sums[0] = 0.0
        known = self.group[: self.n_learned]
        return np.asarray(b[: self.n_learned] - self.share * sums[known + 1])

    def widen(self, D: sp.csr_array) -> sp.csr_array:
        """Return the decoder of all columns, given that of the learned tags (items x tags)."""
        known = self.group[: self.n_learned]
        places = np.flatnonzero(known >= 0)
        shape = (self.n_learned, self._n_groups)
        belongs = sp.csr_array((np.ones(len(places)), (places, known[places])), shape=shape)
        carried = sp.csr_array((np.ones(D.nnz), D.indices, D.indptr), shape=D.shape) @ belongs
        lacks = carried[:, self.group[self.n_learned :]].toarray() == 0
        D1 = sp.csr_array(sp.hstack([D, sp.csr_array(lacks.astype(np.float64))], format="csr"))
        general = sp.csr_array((D1 @ self.q / self.omega).reshape(-1, 1))
        return sp.csr_array(sp.hstack([D1, general], format="csr"))

    def further_tags(self, tags: Sequence[Tag]) -> tuple[Tag, ...]:
        """Return the tags of the columns that were not learned, given those that were."""
        first = {int(g): tags[j] for j, g in reversed(list(enumerate(self.group[: len(tags)])))}
        features = [first[int(g)].feature for g in self.group[self.n_learned :]]
        return (*(_unused_tag(feature, tags) for feature in features), GENERAL)

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return settings and arrays to be saved."""
        names = ("group", "share", "q")
        arrays = {f"basis.{name}": np.asarray(getattr(self, name)) for name in names}
        return {"omega": self.omega}, arrays

    @classmethod
    def unpack(cls, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self | None:
        """Return what `pack` gave, or None for a model that was saved without a basis."""
        if "basis.q" not in arrays:
            return None
        group, share, q = (np.array(arrays[f"basis.{name}"]) for name in ("group", "share", "q"))
        omega = float(settings["omega"])
        sizes_fit = share.ndim == q.ndim == group.ndim == 1 and len(share) <= len(q) == len(group)
        groups_fit = group.dtype.kind == "i" and ((group >= -1) & (group < len(q))).all()
        if not (sizes_fit and groups_fit and np.isfinite(q).all() and 0 < omega < np.inf):
            raise ValueError("its basis is not whole")
        return cls(group, share, q, omega)

    @cached_property
    def _n_groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        """The columns of centred features, and the number of the feature of each."""
        places = np.flatnonzero(self.group >= 0)
        return places, self.group[places]

    @cached_property
    def _centred_learned(self) -> tuple[Array, Array]:
        """The same of the columns that the encoder has."""
        places, group = self._centred
        known = places < self.n_learned
        return places[known], group[known]

    def _means(self, p: Array) -> Array:
        """Return m_f of each centred feature."""
        places, group = self._centred_learned
        return np.bincount(group, self.share[places] * p[places], minlength=self._n_groups)


def find_basis(tags: Sequence[Tag], D: sp.csr_array, mean: Array, sample: Array) -> Basis:
    """Return the basis of a fitted model.

    Parameters
    ----------
    tags, D
        The learned tags, popularity the last, and their decoder (items x tags).
    mean
        The mean raw scores of the training users (tags).
    sample
        The raw scores of some of them (users x tags), for omega.
    """
    plain = _centring(tags, D)
    centred = plain.apply(mean[None])[0, :-1]
    length = float(np.linalg.norm(centred))
    if length == 0:
        return plain
    basis = replace(plain, q=centred / length)
    return replace(basis, omega=_omega(basis.apply(sample), len(tags) - 1))


def sample_users(X: Any) -> tuple[Array, sp.csr_array]:
    """Return at most 2,000 users, evenly spaced: their positions and rows (users x items).

    Of interactions in partitions they are those of the first parts.
    """
    n_users = X.shape[0]
    if not isinstance(X, Interactions):
        places = np.unique(np.linspace(0, n_users - 1, min(n_users, _SAMPLE)).astype(np.int64))
        return places, sp.csr_array(X[places])
    parts: list[sp.csr_array] = []
    for k in range(len(X.parts)):
        parts.append(X.matrix(k))
        if sum(part.shape[0] for part in parts) >= _SAMPLE:
            break
    rows = sp.csr_array(sp.vstack(parts, format="csr"))[:_SAMPLE]
    return np.arange(rows.shape[0]), rows


def _centring(tags: Sequence[Tag], D: sp.csr_array) -> Basis:
    """Return the basis that centres the features with one value an item, and does no more."""
    features, number = number_features(tags)
    n_items, n_features = D.shape[0], len(features)
    carries = D.data != 0
    rows = np.repeat(np.arange(n_items), np.diff(D.indptr))[carries]
    own = number[D.indices[carries]].astype(np.int64)
    times = np.unique(rows * n_features + own, return_counts=True)
    is_single = np.ones(n_features, dtype=bool)
    is_single[times[0][times[1] > 1] % n_features] = False
    # A learned weight other than 1 would move items of one value by different amounts.
    is_single[own[D.data[carries] != 1]] = False
    # Popularity is the last tag; groups that were found are no values of a feature.
    is_single[number[-1]] = False
    is_single[[n for n, tag in zip(number, tags, strict=True) if tag.discovered]] = False
    group = np.where(is_single, np.cumsum(is_single) - 1, -1)
    stated = np.bincount(own, minlength=n_features)
    lacking = group[is_single & (stated < n_items)]
    carriers = np.bincount(D.indices[carries], minlength=len(tags))
    columns = np.concatenate([group[number], lacking]).astype(np.int64)
    return Basis(columns, carriers / max(1, n_items), np.zeros(len(columns)), 1.0)


def _omega(values: Array, n_personal: int) -> float:
    """Return the factor by which the mean of general appeal / the robust scale is 1."""
    if not n_personal or not len(values):
        return 1.0
    size = np.abs(values)
    scale = np.percentile(size[:, :n_personal], 99, axis=1)
    # As in `robust_scales`: users without personal values have no scale of their own.
    has_scale = scale > 1e-9 * size.max(axis=1)
    mean = float(np.mean(values[has_scale, -1] / scale[has_scale])) if has_scale.any() else 0.0
    return 1.0 / mean if mean > 0 else 1.0


def _unused_tag(feature: str, tags: Sequence[Tag]) -> Tag:
    """Return the tag "not stated" of a feature, under a name that no value of it has."""
    tag, n = Tag(feature, NOT_STATED), 2
    while tag in tags:
        tag, n = Tag(feature, f"{NOT_STATED} ({n})"), n + 1
    return tag
