"""Slow and obvious answers that the fast code is held against."""

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class WeightedProblem:
    """The objective with all weights and extensions, as one long vector of residuals.

    `features` is Q, users x features; `content` is sqrt(weight) T, items x terms, which counts
    times the mean of diag(X'wX). `D` is items x tags.
    """

    X: Array
    D: Array
    l1: float
    l2: float
    kappa: float = 0.0
    user_power: float = 0.0
    ridge_power: float = 0.0
    item_power: float = 0.0
    features: Array | None = None
    content: Array | None = None

    @property
    def w(self) -> Array:
        h = (self.X != 0).sum(axis=1)
        return np.asarray((np.maximum(h, 1) / h[h > 0].mean()) ** -self.user_power)

    @property
    def both_inputs(self) -> Array:
        return self.X if self.features is None else np.hstack([self.X, self.features])

    @property
    def l1_rows(self) -> Array:
        g = (self.w[:, None] * self.both_inputs**2).sum(axis=0)
        return np.asarray(self.l1 * (g / g[: len(self.D)].mean()) ** self.ridge_power)

    @property
    def mean_diagonal(self) -> float:
        return float((self.w[:, None] * self.X**2).sum(axis=0).mean())

    @property
    def c(self) -> Array:
        n = np.maximum((self.X != 0).sum(axis=0), 1)
        return np.asarray((n / n.mean()) ** (-self.item_power / 2))

    def residuals(self, E: Array, R: Array | None = None, D: Array | None = None) -> Array:
        """What is squared and summed; `R` is items x items with a zero diagonal."""
        D = self.D if D is None else D
        n = len(D)
        B = E @ D.T
        B[:n] = without_diagonal(B[:n])
        R = np.zeros((n, n)) if R is None else R
        B[:n] += R
        roots = np.sqrt(self.w)[:, None]
        parts = [
            roots * (self.X - self.both_inputs @ B) * self.c,
            np.sqrt(self.l1_rows)[:, None] * B * self.c,
            np.sqrt(self.l2) * E,
            np.sqrt(self.kappa) * R * self.c,
        ]
        if self.content is not None:
            scaled = np.sqrt(self.mean_diagonal) * self.content.T
            parts.append((scaled - scaled @ B[:n]) * self.c)
        return np.concatenate([part.ravel() for part in parts])

    def encoder(self, kept: Array | None = None, R: Array | None = None) -> Array:
        """The encoder that is best on the entries kept, by least squares."""
        shape = (self.both_inputs.shape[1], self.D.shape[1])
        kept = np.ones(shape, bool) if kept is None else kept
        return least_squares(lambda E: self.residuals(E, R), kept)

    def both(self) -> tuple[Array, Array]:
        """The encoder and the remainder that are best together."""
        n, t = self.D.shape
        free = np.ones((n, t + n), bool)
        free[:, t:] = ~np.eye(n, dtype=bool)
        found = least_squares(lambda M: self.residuals(M[:, :t], M[:, t:]), free)
        return found[:, :t], found[:, t:]


def slow_content(terms: list[list[str]]) -> Array:
    """T of items with these terms: tf-idf, one row and one term at a time, rows of length 1."""
    known = sorted({term for own in terms for term in own})
    T = np.zeros((len(terms), len(known)))
    for i, own in enumerate(terms):
        for j, term in enumerate(known):
            if term in own:
                n_with = sum(term in other for other in terms)
                T[i, j] = (1 + np.log(own.count(term))) * np.log(len(terms) / n_with)
        T[i] /= np.linalg.norm(T[i]) or 1.0
    return T


def content_of(S: Array) -> Array:
    """T of the tags alone."""
    return slow_content([[f"{j:04}" for j in np.flatnonzero(row)] for row in S])


def least_squares(residuals: Callable[[Array], Array], free: Array) -> Array:
    """The array that minimises the sum of squares of affine residuals, zero where not free."""
    zero = residuals(np.zeros(free.shape))
    places = np.flatnonzero(free)
    columns = []
    for place in places:
        unit = np.zeros(free.size)
        unit[place] = 1.0
        columns.append(residuals(unit.reshape(free.shape)) - zero)
    out = np.zeros(free.size)
    J = np.stack(columns, axis=1)
    out[places] = np.linalg.solve(J.T @ J, -J.T @ zero)
    return out.reshape(free.shape)


def slow_nearest(G: Array, m: int) -> list[list[int]]:
    """The neighbours of each item, every pair one at a time."""
    out = []
    for j in range(len(G)):
        others = [i for i in range(len(G)) if i != j and G[i, j] > 0]
        cosine = {i: round(G[i, j] / np.sqrt(G[i, i] * G[j, j]), 6) for i in others}
        out.append(sorted(sorted(others, key=lambda i: (-cosine[i], i))[:m]))
    return out
