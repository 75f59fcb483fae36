"""The leading eigenvectors and eigenvalues of G, by products with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.gram.blocks import unit_basis
from teaser.model.gram.operator import Gram

Array = NDArray[Any]

# How many leading eigenpairs are used: at least, and where products with G are dear.
RANK = 40
_HIGHEST_RANK = 200


def leading_rank(chosen: float, n_tags: int) -> int:
    """Return how many leading eigenpairs to use, for items that are chosen so often on average.

    More of them save iterations and lengthen each. They cost five products with as many columns.
    """
    return int(min(max(RANK, chosen / 2), _HIGHEST_RANK, max(10, n_tags // 2)))


def leading_eigenpairs(
    gram: Gram, rank: int, rng: np.random.Generator, *, rounds: int = 4
) -> tuple[Array, Array]:
    """Return about `rank` leading eigenvectors and eigenvalues of G by subspace iteration.

    Parameters
    ----------
    rounds
        Products with G before the last: more of them separate eigenvalues that lie closer.
    """
    rank = min(rank, gram.n_items)
    # The last columns converge slowest: ten are computed beyond those that are kept.
    width = min(rank + 10, gram.n_items)
    start = rng.standard_normal((gram.n_items, width)).astype(gram.dtype)
    Q = np.asarray(start, like=gram.diagonal())
    for _ in range(rounds):
        Q = unit_basis(gram.apply(Q))
    small = Q.T @ gram.apply(Q)
    # Rayleigh-Ritz: Q'G Q is symmetric but for rounding; eigh sorts upwards, largest last.
    mu, W = np.linalg.eigh((small + small.T).astype(np.float64) / 2)
    lead = slice(width - rank, None)
    U = Q @ W[:, lead].astype(gram.dtype)
    return U, np.maximum(mu[lead], 0.0)
