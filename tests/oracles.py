"""Slow and obvious answers that the fast code is held against."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def without_diagonal(M: Array) -> Array:
    return M - np.diag(np.diag(M))


def half_gradient(G: Array, D: Array, l1: float, l2: float, E: Array) -> Array:
    """A(E) - B, written as in the objective with items x items arrays."""
    H = G + l1 * np.eye(len(G))
    left = without_diagonal(H @ without_diagonal(E @ D.T)) @ D + l2 * E
    return np.asarray(left - without_diagonal(G) @ D)


def objective(X: Array, D: Array, l1: float, l2: float, E: Array) -> float:
    W = without_diagonal(E @ D.T)
    return float(((X - X @ W) ** 2).sum() + l1 * (W**2).sum() + l2 * (E**2).sum())


def exact_encoder(G: Array, D: Array, l1: float, l2: float) -> Array:
    """Solve the linear equation by forming it, one unknown at a time."""
    n, t = D.shape
    zero = half_gradient(G, D, l1, l2, np.zeros((n, t)))
    columns = [
        (half_gradient(G, D, l1, l2, unit.reshape(n, t)) - zero).ravel() for unit in np.eye(n * t)
    ]
    return np.asarray(np.linalg.solve(np.stack(columns, axis=1), -zero.ravel())).reshape(n, t)


def random_problem(seed: int, *, awkward: bool = True) -> tuple[Array, Array]:
    """Interactions and a decoder; awkward ones have every trap that real data have."""
    rng = np.random.default_rng(seed)
    n_users, n_items, n_tags = 50, 14, 7
    X = (rng.random((n_users, n_items)) < 0.3).astype(float)
    D = (rng.random((n_items, n_tags)) < 0.4).astype(float)
    if awkward:
        D[:, 1] = D[:, 0]  # two tags that always go together
        D[3] = 0.0  # an item without tags
        D[:, 2] = 0.0  # a tag without items
        X[:, 5] = 0.0  # an item that nobody chose
        X[7] = 0.0  # a user without history
        D = np.column_stack([D, rng.random(n_items)])  # a real-valued column
    return X, D


def slow_nearest(G: Array, m: int) -> list[list[int]]:
    """The neighbours of each item, every pair one at a time."""
    out = []
    for j in range(len(G)):
        others = [i for i in range(len(G)) if i != j and G[i, j] > 0]
        cosine = {i: round(G[i, j] / np.sqrt(G[i, i] * G[j, j]), 6) for i in others}
        out.append(sorted(sorted(others, key=lambda i: (-cosine[i], i))[:m]))
    return out
