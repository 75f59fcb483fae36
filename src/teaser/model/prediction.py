"""New items, which nobody has chosen: what their tags and words say of what only choices can tell.

The decoder has columns that come from choices: discovered groups and popularity. A ridge learns
them from the terms A (tags, and words where content has texts) of the items that were chosen,

    Y_new = mean Y + (A_new - mean A) (A_c'A_c + 10 I)^-1 A_c'Y_c,    c: less the mean

and column j of the remainder, what viewed items add to j, is the cosine of their terms times

    gamma = <R, K> / <K, K>,    K the cosines of chosen items with their nearest ones

so that "because you viewed" then means: because it is close to what you viewed. See
docs/users/model.md.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve

from teaser.model.extensions.content import cosine_rows, count_words

Array = NDArray[Any]
# What can be predicted.
PREDICTED = ("groups", "popularity", "neighbours")
PENALTY = 10.0
# Groups of an item that are kept, and the least membership of one; 1 is that of a central item.
MOST_GROUPS = 20
LEAST_MEMBERSHIP = 0.05
# Items whose cosine with a new one counts: of 3 to 20 the best or within 0.5 % of it.
NEAREST = 3
# Terms of the ridge, the commonest first: the penalty leaves little of rare ones.
_MOST_TERMS = 5_000
# Chosen items that gamma is learned from, and numbers of one block of items.
_SAMPLE = 2_000
_BLOCK = 2**23


def item_terms(
    S: sp.csr_array, table: pl.DataFrame, text: tuple[str, ...]
) -> tuple[sp.csr_array, ...]:
    """Return how often items have terms (items x terms): declared tags; words, if there are texts.

    Parameters
    ----------
    S
        The declared tags (items x tags), with any weights.
    table
        The metadata of the same items.
    text
        The columns of texts, which some items of the fit have.
    """
    tags = binary(S)
    return (tags, count_words(table, text)) if text else (tags,)


def binary(matrix: sp.csr_array) -> sp.csr_array:
    """Return 1 where a matrix has another number than 0."""
    out = sp.csr_array(matrix, dtype=np.float64, copy=True)
    out.eliminate_zeros()
    out.data[:] = 1.0
    return out


def fit_ridge(terms: sp.csr_array, Y: sp.csr_array) -> Callable[[sp.csr_array], Array]:
    """Return a function that predicts Y of further items from their terms, with a free mean.

    Parameters
    ----------
    terms, Y
        The terms of known items, 0 or 1, and their Y (items x columns).
    """
    n, carriers = terms.shape[0], np.bincount(terms.indices, minlength=terms.shape[1])
    common = np.sort(np.argsort(-carriers, kind="stable")[:_MOST_TERMS])
    common = common[carriers[common] > 0]
    A, mean, mean_Y = terms[:, common], carriers[common] / n, Y.sum(axis=0) / n
    M = (A.T @ A).toarray() - n * np.outer(mean, mean)
    M[np.diag_indices_from(M)] += PENALTY
    right = (A.T @ Y).toarray() - n * np.outer(mean, mean_Y)
    B = solve(M, right, assume_a="pos") if len(common) else right
    return lambda new: np.asarray(new[:, common] @ B + (mean_Y - mean @ B))


def strongest(memberships: Array) -> sp.csr_array:
    """Return predicted memberships (items x groups) without weak ones, at most 1."""
    kept = np.minimum(memberships, 1.0)
    if kept.shape[1] > MOST_GROUPS:
        least = -np.partition(-kept, MOST_GROUPS - 1, axis=1)[:, MOST_GROUPS - 1 : MOST_GROUPS]
        kept[kept < least] = 0
    kept[kept < LEAST_MEMBERSHIP] = 0
    return sp.csr_array(kept)


def predict_rows(
    D: sp.csr_array,
    n_declared: int,
    terms: Sequence[sp.csr_array],
    chosen: Array,
    new: Array,
    wanted: Collection[str] = PREDICTED,
) -> sp.csr_array:
    """Return rows of the decoder for new items: their tags, with groups and popularity predicted.

    Parameters
    ----------
    D
        The decoder (items x learned tags): declared tags, discovered ones, popularity.
    terms
        What `item_terms` returned for the same items.
    chosen, new
        The positions of items that somebody chose, and of the new ones.
    wanted
        Which of `PREDICTED` to predict; others stay 0.
    """
    A = binary(sp.csr_array(sp.hstack(terms, format="csr")))
    Y = D[:, n_declared:]
    predict, highest = fit_ridge(A[chosen], Y[chosen]), Y[:, [-1]].max()
    rows = []
    for first in range(0, len(new), height := max(1, _BLOCK // Y.shape[1])):
        some = new[first : first + height]
        found = predict(A[some])
        groups = strongest(found[:, :-1]) * ("groups" in wanted)
        popularity = np.clip(found[:, -1:], 0.0, highest) * ("popularity" in wanted)
        parts = [D[some][:, :n_declared], groups, sp.csr_array(popularity)]
        rows.append(sp.hstack(parts, format="csr"))
    out = sp.csr_array(sp.vstack(rows, format="csr"))
    out.eliminate_zeros()
    return out


def blank_items(terms: Sequence[sp.csr_array], new: Array) -> Array:
    """Return the positions of new items without any term."""
    return np.asarray(new[sum(np.diff(part.indptr) for part in terms)[new] == 0])


def extend_remainder(R: Any, terms: Sequence[sp.csr_array], chosen: Array, new: Array) -> Any:
    """Return the remainder with columns for new items that have none.

    Parameters
    ----------
    R
        The remainder, a dense array or csr, with a row for every item of the fit.
    terms, chosen, new
        As in `predict_rows`.
    """
    if isinstance(R, np.ndarray):
        new = new[new >= R.shape[1]]
    else:
        counts = np.bincount(R.indices, minlength=int(new.max()) + 1)
        new = new[counts[new] == 0]
    if not len(new):
        return R
    added = near_weights(R, cosine_rows(terms), chosen, new)
    shape = (R.shape[0], max(R.shape[1], int(new.max()) + 1))
    if isinstance(R, np.ndarray):
        out = np.zeros(shape, R.dtype)
        out[:, : R.shape[1]] = R
        out[:, new] = added.toarray()
        return out
    kept = sp.csr_array((R.data, R.indices, R.indptr), shape=shape)
    placed = sp.csr_array((added.data, new[added.indices], added.indptr), shape=shape)
    return sp.csr_array(kept + placed)


def near_weights(R: Any, T: sp.csr_array, chosen: Array, new: Array) -> sp.csr_array:
    """Return the columns of the remainder of new items (rows of R x new items).

    Parameters
    ----------
    R
        The remainder, a dense array or csr, with a row for every item of the fit.
    T
        Terms of all items, in rows whose products are cosines.
    chosen, new
        The positions of items that somebody chose, and of the new ones.
    """
    sample = chosen[np.unique(np.linspace(0, len(chosen) - 1, _SAMPLE).astype(np.int64))]
    K = _nearest_cosines(T, chosen, sample, R.shape[0])
    own = R[:, sample]
    product = np.multiply(own, K.toarray()) if isinstance(R, np.ndarray) else own.multiply(K)
    length = float(K.multiply(K).sum())
    gamma = float(product.sum()) / length if length else 0.0
    if gamma <= 0:
        return sp.csr_array((R.shape[0], len(new)), dtype=R.dtype)
    return sp.csr_array(gamma * _nearest_cosines(T, chosen, new, R.shape[0]), dtype=R.dtype)


def _nearest_cosines(T: sp.csr_array, known: Array, items: Array, n_rows: int) -> sp.csr_array:
    """Return the cosines of items with the nearest known ones but themselves (rows x items).

    Parameters
    ----------
    T
        As in `near_weights`.
    n_rows
        The number of rows; that of a known item is its position.
    """
    data, rows, columns = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    of_known, m = sp.csc_array(T[known].T), min(NEAREST, len(known))
    for first in range(0, len(items), height := max(1, _BLOCK // max(1, len(known)))):
        some = items[first : first + height]
        cosines = (T[some] @ of_known).toarray()
        cosines[some[:, None] == known] = 0
        best = np.argpartition(-cosines, m - 1, axis=1)[:, :m]
        data.append(np.take_along_axis(cosines, best, axis=1).ravel())
        rows.append(known[best].ravel())
        columns.append(np.repeat(np.arange(first, first + len(some)), m))
    entries = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
    out = sp.csr_array(entries, shape=(n_rows, len(items)))
    out.eliminate_zeros()
    return out
