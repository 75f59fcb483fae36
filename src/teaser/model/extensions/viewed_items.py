"""The remainder at work: what the items of a history add to scores, from an array or sparse."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.sparse_matrix import pack
from teaser.model.extensions.sparse_encoder import unpack_mapped

Array = NDArray[Any]
RemainderMatrix: TypeAlias = Any  # items x items, a dense array or a csr one

_ROWS = 256


def viewed_sum(R: RemainderMatrix, places: Array, n_items: int) -> Array:
    """Return the sum of R's rows of a history for every item (n_items), in double precision.

    Items that R does not know, at the end, add nothing and get nothing.
    """
    out = np.zeros(n_items)
    width = R.shape[1]
    known = places[places < len_of(R)]
    if isinstance(R, np.ndarray):
        out[:width] = R[known].sum(axis=0, dtype=np.float64)
    else:
        rows = R[known]
        out[:width] = np.bincount(rows.indices, weights=rows.data, minlength=width)
    return out


def viewed_parts(R: RemainderMatrix, places: Array, item: int) -> Array:
    """Return what each item of a history adds to one item, in double precision."""
    out = np.zeros(len(places))
    if item >= R.shape[1]:
        return out
    known = places < len_of(R)
    if isinstance(R, np.ndarray):
        out[known] = R[places[known], item]
    else:
        for n in np.flatnonzero(known).tolist():
            out[n] = _entry(R, int(places[n]), item)
    return out


def sparsify(R: Array, share: float) -> sp.csr_array:
    """Keep of each row the largest entries that carry a share of its sum of squares.

    The fewest that do, of equals those that come first.
    """
    data, indices, counts = [], [], []
    for first in range(0, len(R), _ROWS):
        block = np.asarray(R[first : first + _ROWS])
        square = np.square(block, dtype=np.float64)
        order = np.argsort(-square, axis=1, kind="stable")
        carried = np.cumsum(np.take_along_axis(square, order, axis=1), axis=1)
        before = np.pad(carried[:, :-1], ((0, 0), (1, 0)))
        keep = np.zeros(block.shape, dtype=bool)
        np.put_along_axis(keep, order, before < share * carried[:, -1:], axis=1)
        keep &= block != 0
        counts.append(keep.sum(axis=1))
        indices.append(np.nonzero(keep)[1].astype(np.int32))
        data.append(block[keep])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    # Places beyond two billion would make the columns twice as wide too.
    indptr = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    return sp.csr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=R.shape)


def len_of(R: RemainderMatrix) -> int:
    """Return how many items R knows."""
    return int(R.shape[0])


def describe_remainder(R: RemainderMatrix | None) -> dict[str, Any] | None:
    """Return what there is of a remainder as plain values."""
    if R is None:
        return None
    n_items = len_of(R)
    is_sparse = not isinstance(R, np.ndarray)
    entries = int(R.nnz) if is_sparse else n_items * (n_items - 1)
    return {"items": n_items, "entries": entries, "sparse": is_sparse}


def pack_remainder(R: RemainderMatrix | None) -> dict[str, Array]:
    """Return the arrays to be saved."""
    if R is None:
        return {}
    return {"remainder": R} if isinstance(R, np.ndarray) else pack("remainder", R)


def unpack_remainder(arrays: Mapping[str, Array], learnt: int) -> RemainderMatrix | None:
    """Return what `pack_remainder` took apart; it stays on disk until it is used."""
    R: RemainderMatrix | None = arrays.get("remainder")
    if R is None and "remainder.indptr" in arrays:
        R = unpack_mapped("remainder", arrays, learnt)
    if R is not None and R.shape != (learnt, learnt):
        raise ValueError("its remainder is not of the items that were there at the fit")
    return R


def _entry(R: sp.csr_array, row: int, column: int) -> float:
    """Return one entry; the columns of a row are in order."""
    span = slice(R.indptr[row], R.indptr[row + 1])
    place = int(np.searchsorted(R.indices[span], column))
    found = R.indices[span][place : place + 1] == column
    return float(R.data[span][place]) if found.any() else 0.0
