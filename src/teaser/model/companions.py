"""Which items people chose together, counted at the fit: what "because you viewed" stands on."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.matrix import pack, unpack_mapped
from teaser.data.partitions import Interactions
from teaser.explain import Together
from teaser.model._arrays import in_threads
from teaser.model.tables import Packed

Array = NDArray[Any]

# A pair is kept if at least so many users chose both, so many times as many as were to be expected,
# with so much evidence (a log-likelihood ratio).
LEAST_BOTH, LEAST_LIFT, LEAST_EVIDENCE = 5, 1.25, 2.0
# Of one item those with the most evidence are kept: about so many pairs in all, or so many of each.
_KEPT, _LEAST_KEPT = 2_000_000, 50
# Users are counted until their histories have so many pairs: a few seconds.
_PAIRS = 1e8
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Companions:
    """How often users who chose one item chose another, where that stands out.

    Attributes
    ----------
    rates
        Row j holds the share of those who chose item j that chose item i (items x items).
    shares
        The share of all users that chose each item (items).
    """

    rates: sp.csr_array
    shares: Array

    def of(self, chosen: int, other: int) -> Together | None:
        """Return how often those who chose an item chose the other; None if it does not stand out.

        Parameters
        ----------
        chosen, other
            Positions. Items that were added after the fit are in no pair.
        """
        if max(chosen, other) >= len(self.shares):
            return None
        start, end = self.rates.indptr[chosen : chosen + 2]
        at = start + int(np.searchsorted(self.rates.indices[start:end], other))
        if at == end or self.rates.indices[at] != other:
            return None
        return Together(float(self.rates.data[at]), float(self.shares[other]))

    def bits(self, chosen: Array, others: Array) -> Array:
        """Return log2(share / that of all users) of pairs that stand out, else 0 (chosen x others).

        Parameters
        ----------
        chosen, others
            Positions.
        """
        n, out = len(self.shares), np.zeros((len(chosen), len(others)))
        column = np.full(n, -1)
        column[others[others < n]] = np.flatnonzero(others < n)
        old = np.flatnonzero(chosen < n)
        rates = sp.coo_array(self.rates[chosen[old]])
        asked = column[rates.col] >= 0
        i = rates.col[asked]
        lift = rates.data[asked] / np.maximum(self.shares[i], 1e-12)
        out[old[rates.row[asked]], column[i]] = np.log2(np.maximum(lift, 1.0))
        return out

    def pack(self) -> Packed:
        """Return arrays to be saved."""
        return Packed(arrays=pack("companions", self.rates) | {"shares": self.shares})

    @classmethod
    def unpack(cls, content: Content) -> Self | None:
        """Return what `pack` gave; None where nothing was counted."""
        if "shares" not in content.arrays:
            return None
        shares = content.arrays["shares"]
        return cls(unpack_mapped("companions", content.arrays, len(shares)), shares)


def count_companions(X: Any) -> Companions:
    """Count which items users chose together, given interactions (users x items).

    Those who chose an item are expected to choose another as often as all users do.
    """
    rows = _counted(X)
    by_item = sp.csr_array(rows.T.tocsr())
    counts = np.diff(by_item.indptr)
    shares = counts / max(1, rows.shape[0])
    most = max(_LEAST_KEPT, _KEPT // max(1, len(counts)))

    def work(first: int) -> sp.csr_array:
        both = sp.coo_array(by_item[first : first + _BLOCK] @ rows)
        j, i, n = both.row + first, both.col, both.data
        expected = counts[j] * shares[i]
        # That of a Poisson variable.
        evidence = n * np.log(n / expected) - (n - expected)
        stands_out = (i != j) & (n >= LEAST_BOTH) & (n >= LEAST_LIFT * expected)
        stands_out &= evidence >= LEAST_EVIDENCE
        j, i, n, evidence = j[stands_out], i[stands_out], n[stands_out], evidence[stands_out]
        order = np.lexsort((-evidence, j))  # the most of each item first
        j, i, n = j[order], i[order], n[order]
        kept = np.arange(len(j)) - np.searchsorted(j, j) < most
        j, i, n = j[kept], i[kept], n[kept]
        share = (n / counts[j]).astype(np.float32)
        rates = sp.csr_array((share, (j - first, i)), shape=both.shape)
        rates.sort_indices()
        return rates

    blocks = in_threads(work, range(0, len(counts), _BLOCK))
    return Companions(sp.csr_array(sp.vstack(blocks, format="csr")), shares)


def _counted(X: Any) -> sp.csr_array:
    """Return ones for the choices of all users, or of as many as are counted (users x items)."""
    if isinstance(X, Interactions):
        # Of interactions in partitions these are those of the first parts.
        parts, n_pairs = [], 0.0
        for k in range(len(X.parts)):
            parts.append(X.matrix(k))
            n_pairs += float(np.square(np.diff(parts[-1].indptr), dtype=np.float64).sum())
            if n_pairs >= _PAIRS:
                break
        X = sp.vstack(parts, format="csr")
    rows = sp.csr_array(X)
    n_pairs = float(np.square(np.diff(rows.indptr), dtype=np.float64).sum())
    if n_pairs > _PAIRS:
        n_kept = int(rows.shape[0] * _PAIRS / n_pairs)
        rows = rows[np.linspace(0, rows.shape[0] - 1, max(1, n_kept)).astype(np.int64)]
    return sp.csr_array((rows > 0).astype(np.float32))
