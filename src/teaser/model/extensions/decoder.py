"""How much each tag matters for each item: the decoder's weights, learned in turn with the encoder.

The weights D keep the places of the tags and are drawn towards S, the fixed decoder:

    f(E, D) = |X - X P(E D')|^2 + l1 |P(E D')|^2 + l2 |E|^2 + l2_decoder |D - S|^2

For one of the two given, the other is the solution of a linear equation: for D a small one for
each item. Weights and user features change the first two terms as they do without learned
weights of the decoder. See docs/users/model.md.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError
from teaser.model._arrays import blocks, to_host
from teaser.model.solve import Solution, System
from teaser.parameters import Options, check_count, check_number

log = logging.getLogger("teaser")
Array = NDArray[Any]
Solve = Callable[[System, Array | None], Solution]
_CHUNK_BYTES = 2**26


@dataclass(frozen=True, kw_only=True, repr=False)
class LearnedDecoder(Options):
    """Options of a decoder whose weights are learned.

    Parameters
    ----------
    l2
        The penalty on weights for being away from 1: larger trusts the tags more.
    rounds
        How often encoder and weights are learned in turn.
    """

    l2: float = 30.0
    rounds: int = 3

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        check_number("decoder.l2", self.l2)
        check_count("decoder.rounds", self.rounds)


def learn_decoder(
    system: System,
    S: sp.csr_array,
    *,
    l1: float,
    options: LearnedDecoder,
    solve: Solve,
    start: Array | None = None,
) -> tuple[Solution, System, sp.csr_array]:
    """Learn decoder weights and encoder in turn; the encoder is solved for the weights returned.

    Parameters
    ----------
    system
        Prepared for the fixed decoder.
    S
        The fixed decoder in double precision, towards which the weights are drawn.
    l1
        The penalty on item-to-item weights.
    options
        The penalty on the distance to S, and how often the weights are learned, each time for
        the encoder of the last ones.
    solve
        Finds the encoder of a system, from a start near it.
    start
        An encoder to begin from.

    Returns
    -------
    The solution, its iterations those of all rounds; the system of the weights; the weights.
    """
    solution = solve(system, start)
    iterations, weights = solution.iterations, S
    unchosen = to_host(system.g)[: S.shape[0]] == 0
    for left in reversed(range(options.rounds)):
        weights = update_decoder(system, solution.encoder, S, l1=l1, l2_decoder=float(options.l2))
        if not left:
            weights = with_tag_means(weights, unchosen)
        system = system.with_decoder(weights.astype(system.gram.dtype))
        solution = solve(system, solution.encoder)
        iterations += solution.iterations
    return replace(solution, iterations=iterations), system, weights


def update_decoder(
    system: System, encoder: Array, S: sp.csr_array, *, l1: float, l2_decoder: float
) -> sp.csr_array:
    """Return the weights (items x tags) that minimise the objective for an encoder.

    For item i with tags T, column i of P(E D') is E_jT d over all other rows j, so d is the
    ridge regression of x_i on Z = (X E - x_i E_i)_T. With e = E_iT and h = (G E)_iT,

        (M_TT - h e' - e h' + (g_i - L_i) e e' + l I) d = h - g_i e + l S_iT,
        l = l2_decoder / c_i^2

    where M = E'(G + L) E is shared by all items, and c_i is the weight of column i.
    """
    gram = system.gram
    E = np.asarray(encoder, dtype=gram.dtype, like=system.g)
    GE = gram.apply(E)
    # M = E'G E + E'L E, tags x tags: the only part that all items share.
    M = _inner(E, GE) + l1 * _inner(E, system.row_penalty[:, None] * E)
    g = to_host(system.g).astype(np.float64)
    L = l1 * to_host(system.row_penalty).astype(np.float64)
    l2 = l2_decoder / np.square(to_host(system.column_weight).astype(np.float64))
    owner = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    # Only at the entries of S: an item needs no more than its own tags.
    e, h = (_entries(A, owner, S.indices) for A in (E, GE))
    target = h - g[owner] * e + l2[owner] * S.data
    weights = np.zeros(S.nnz)
    for items, places in _batches(S.indptr):
        tags, own, seen = S.indices[places], e[places], h[places]
        # M_TT of each item, then -h e' - e h' + (g_i - L_i) e e' + l I.
        A = M[tags[:, :, None], tags[:, None, :]]
        cross = seen[:, :, None] * own[:, None, :]
        A -= cross
        A -= cross.transpose(0, 2, 1)
        A += (g - L)[items, None, None] * own[:, :, None] * own[:, None, :]
        A += l2[items, None, None] * np.eye(places.shape[1])
        weights[places] = np.linalg.solve(A, target[places][:, :, None])[:, :, 0]
    return sp.csr_array((weights, S.indices, S.indptr), shape=S.shape)


def tag_means(weights: sp.csr_array) -> Array:
    """Return the mean weight of each tag over the items that carry it; 1 where none does."""
    carriers = np.bincount(weights.indices, minlength=weights.shape[1])
    sums = np.bincount(weights.indices, weights.data, minlength=weights.shape[1])
    return np.asarray(np.where(carriers > 0, sums / np.maximum(carriers, 1), 1.0))


def with_tag_means(weights: sp.csr_array, rows: Array) -> sp.csr_array:
    """Return weights in which some items have the mean weights of their tags over the others.

    They are for items without interactions, whose regression would shrink their weights to
    nothing.

    Parameters
    ----------
    rows
        Which items: true or false for each.
    """
    means = tag_means(sp.csr_array(weights[np.flatnonzero(~rows)]))
    is_theirs = np.repeat(rows, np.diff(weights.indptr))
    data = np.where(is_theirs, means[weights.indices], weights.data)
    return sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def check_carriers(S: sp.csr_array) -> None:
    """Raise `ParameterError` if no item has a tag; log how many items have none.

    Such items have popularity alone, whose weight is learned, and keep an empty row without it.
    """
    blank = int((np.diff(S.indptr) == 0).sum())
    if blank == S.shape[0]:
        raise ParameterError(
            "No item carries a tag, so there are no weights to learn. Leave decoder out, or use "
            "rules that find tags."
        )
    if blank:
        log.warning(
            "%d of %d items carry no tag: for them only popularity has a weight to learn",
            *(blank, S.shape[0]),
        )


def _batches(indptr: Array) -> Iterator[tuple[Array, Array]]:
    """Yield items with equally many tags, and the places of their entries (items x tags)."""
    sizes = np.diff(indptr)
    for size in np.unique(sizes[sizes > 0]).tolist():
        items = np.flatnonzero(sizes == size)
        # A batch holds a tags x tags matrix for each item, in double precision: 64 MB.
        height = max(1, _CHUNK_BYTES // (8 * size * size))
        for first in range(0, len(items), height):
            some = items[first : first + height]
            yield some, indptr[some][:, None] + np.arange(size)


def _inner(A: Array, B: Array) -> Array:
    """Return A'B, blocks of rows added in double precision."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for rows in blocks(A, _CHUNK_BYTES):
        total += to_host(A[rows].T @ B[rows])
    return total


def _entries(A: Array, rows: Array, columns: Array) -> Array:
    """Return the named entries in main memory, in double precision."""
    where = (np.asarray(rows, like=A), np.asarray(columns, like=A))
    return to_host(A[where]).astype(np.float64)
