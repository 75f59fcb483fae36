"""EDLAE: an autoencoder of low rank, or of full rank in closed form, with a zero diagonal."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.errors import ConvergenceWarning, SolverError
from teaser.model._inverse import invert, item_weights
from teaser.model.base import Model
from teaser.model.build import check_gram, dense_gram
from teaser.model.estimate import check_square
from teaser.model.extensions.weights import PLAIN, Weights, scale_pairs, scale_rows
from teaser.model.gram import column_weights, item_ridge
from teaser.model.solve import Callback, Limits, check_tolerance
from teaser.model.tables import Packed, check_dataset
from teaser.parameters import check_choice, check_count, check_fraction, check_number, check_rng

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Factors:
    """What the alternating directions found: E and D (items x rank), and how it went."""

    encoder: Array
    decoder: Array
    objective: tuple[float, ...]
    converged: bool


class EDLAE(Model):
    """Emphasised denoising linear autoencoder: weights of low rank, their diagonal zero.

    It minimises

        |X - X P(E D')|^2 + |L^(1/2) P(E D')|^2,
        L = l2 I + dropout / (1 - dropout) dM(X'X)

    over E and D (items x rank), where P sets the diagonal to zero and dM keeps only the
    diagonal; `Weights` change both terms as they do for TEASER, which is this model with the
    decoder fixed to the tags.

    Parameters
    ----------
    l2
        lambda, the penalty on item weights: larger trusts only what many users share.
    dropout
        p, the share of a history that is hidden in learning: more shrinks the weights of items
        that many users chose. The paper's model has none.
    weights
        `Weights(user_power=..., ridge_power=..., item_power=..., history_power=...)` weighs users,
        the penalties of items, the items that are predicted, which matters at a low rank only, and
        items of a history.
    rank
        The number of columns of E and D; `"tags"` for the number of tags of the data set,
        popularity among them; `"full"` or None for the closed form.
    gram
        X'X: `"auto"` to count it, or a precomputed array or operator, which is left as it is.
    tol
        Relative change of the objective at which the iterations stop; at least 1e-6 in float32
        and 1e-14 in float64, which rounding allows.
    max_iter
        Iterations after which it gives up, with a `ConvergenceWarning`.
    dtype
        `"float32"` or `"float64"`.
    rng
        Seed or generator for the decoder's start.

    Attributes
    ----------
    encoder_, decoder_
        E and D, items x rank; of the closed form the weights P(E D') (items x items) and a
        decoder without columns.
    own_
        diag(E D'), subtracted from the scores.
    objective_
        The objective after each iteration; empty for the closed form.
    converged_
        Whether the iterations reached the tolerance.

    References
    ----------
    Steck: Autoencoders that don't overfit towards the Identity. 2020.
    """

    encoder_: Array
    decoder_: Array
    own_: Array
    objective_: tuple[float, ...]
    converged_: bool

    learned_arrays = ("encoder", "decoder", "own")

    def __init__(
        self,
        *,
        l2: float = 200.0,
        dropout: float = 0.0,
        weights: Weights | None = None,
        rank: int | str | None = "tags",
        gram: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 50,
        dtype: str = "float32",
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.l2 = l2
        self.dropout = dropout
        self.weights = weights
        self.rank = rank
        self.gram = gram
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.rng = rng

    def fit(self, dataset: Dataset, *, callback: Callback | None = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        callback
            Called with the iteration and the relative change of the objective.
        """
        self.check_parameters()
        check_dataset(dataset)
        rank = self._rank(dataset)
        check_square("EDLAE", dataset.n_items, self.dtype, arrays=1 if rank is None else 2)
        how = self.weights or PLAIN
        G = dense_gram(dataset.X, self.gram, self.dtype, user_power=how.user_power)
        # diag(L): the ridge of each item
        penalty = item_ridge(G.diagonal(), self.l2, how.ridge_power).astype(G.dtype)
        penalty += self.dropout / (1 - self.dropout) * G.diagonal()
        factors = how.of_history(dataset.item_counts)
        if rank is None:
            G.flat[:: len(G) + 1] += penalty
            # B_ij = -C_ij / C_jj with C = (X'X + L)^-1, as for EASE.
            E = item_weights(invert(G))
            E = E if factors is None else scale_pairs(E, factors)
            found = Factors(E, E[:, :0], (), True)
        else:
            rng = np.random.default_rng(self.rng)
            c = column_weights(dataset.item_counts, how.item_power)
            limits = Limits(tol=self.tol, max_iter=self.max_iter, callback=callback)
            found = alternate(G, penalty, rank, limits, rng, column_weight=c)
            if factors is not None:
                E, D = scale_rows(found.encoder, factors), scale_rows(found.decoder, 1 / factors)
                found = replace(found, encoder=E, decoder=D)
        self.keep_items(dataset)
        self.encoder_, self.decoder_ = found.encoder, found.decoder
        self.own_ = np.zeros(len(G)) if rank is None else _rowdot(found.encoder, found.decoder)
        self.objective_, self.converged_ = found.objective, found.converged
        return self

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = self.check_histories(X)
        scores = np.asarray(rows.astype(self.encoder_.dtype) @ self.encoder_)
        if not self.decoder_.shape[1]:
            return scores
        scores = scores @ self.decoder_.T
        # x_i (E D')_ii, what an item says about itself, is no part of the model.
        users = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        own = rows.data * self.own_[rows.indices]
        scores[users, rows.indices] -= own.astype(scores.dtype)
        return scores

    def _rank(self, dataset: Dataset) -> int | None:
        """Return the rank as a number, or None where it is full."""
        if self.rank is None or self.rank == "full":
            return None
        rank = dataset.n_tags + 1 if isinstance(self.rank, str) else int(self.rank)
        return rank if rank < dataset.n_items else None

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_number("l2", self.l2)
        check_fraction("dropout", self.dropout)
        if isinstance(self.rank, str):
            check_choice("rank", self.rank, ("tags", "full"))
        elif self.rank is not None:
            check_count("rank", self.rank)
        check_count("max_iter", self.max_iter)
        check_rng(self.rng)
        check_gram(self.gram, self.dtype)
        self.check_options()
        check_tolerance(self.tol, str(np.dtype(self.dtype)))

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        fit = {"objective": list(self.objective_), "converged": self.converged_}
        return super().pack() | Packed({"fit": fit})

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned."""
        super().unpack(content)
        fit = content.settings["fit"]
        self.objective_, self.converged_ = tuple(fit["objective"]), fit["converged"]


def alternate(
    G: Array,
    penalty: Array,
    rank: int,
    limits: Limits,
    rng: np.random.Generator,
    *,
    column_weight: Array,
) -> Factors:
    """Find E and D (items x rank) by alternating directions with multipliers.

    With H = G + dM(penalty), C = H^-1, W = E D' - dM(b), the weights of columns c and the
    constraint b = diag(E D'), the Lagrangian is tr(W'HW) - 2 tr(W'G dM(c)) +
    2 g'(b - diag(E D')), where D is dM(c) times the decoder. Were it not for the rank, it would be
    least at E D' = M = dM(b) + C (G dM(c) + dM(g)); so E and D are in turn the least squares

        E = M D (D'D)^-1,    D = M'H E (E'H E)^-1,

    in which C G = I - C dM(penalty) and M'H = dM(b) H + dM(c) G + dM(g). Then b follows in closed
    form, and g moves by the constraint's error over diag(C): at full rank the first g is exact.
    """
    tol, max_iter, c = float(limits.tol), limits.max_iter, column_weight

    def column(values: Array) -> Array:
        return np.asarray(values.astype(G.dtype)[:, None])

    g_items = G.diagonal().astype(np.float64)
    h_items = g_items + penalty
    D = _leading_subspace(G, rank, rng)
    inner = D.T @ D
    # H = G + dM(penalty), inverted in place: the second items x items array.
    C = G.copy()
    C.flat[:: len(C) + 1] += penalty
    C = invert(C)
    weight = 1.0 / C.diagonal().astype(np.float64)
    # diag(M) = b demands c - diag(C) penalty c + diag(C) g = 0: g = c (penalty - 1 / diag(C)).
    b, g = np.zeros(len(G)), c * (penalty - weight)
    objective: list[float] = []
    change = np.inf
    for iteration in range(1, max_iter + 1):
        # M = dM(b) + C (G dM(c) + dM(g)) = dM(c + b) + C dM(g - penalty c)
        right = C @ (D * column(g - penalty * c))
        right += D * column(c + b)
        E = _divide(right, inner)
        # M'H E = c * G E + g * E + b * (H E), where HE is G E until the penalty is added.
        HE = G @ E
        right = HE * column(c) + E * column(g)
        HE += E * column(penalty)
        right += HE * column(b)
        outer = E.T @ HE
        D = _divide(right, outer)
        inner = D.T @ D
        own, pull = _rowdot(E, D), _rowdot(HE, D)
        # tr(C G C) - 2 tr(C G W) + tr(W'HW) with W = P(E D') and C = dM(c) here
        fit = (c * c * g_items).sum() - 2 * (c * (pull - h_items * own)).sum()
        # tr(W'HW) = <D'D, E'HE> - 2 pull'own + h'own^2, which needs no items x items array.
        objective.append(float(fit + _sum(inner, outer) + ((h_items * own - 2 * pull) * own).sum()))
        if not np.isfinite(objective[-1]):
            raise SolverError("The objective of EDLAE is no longer finite. Raise l2.")
        if iteration > 1:
            change = abs(objective[-2] - objective[-1]) / abs(objective[-1])
        limits.report(iteration, change)
        if change <= tol:
            break
        # Where the derivative by b is zero: diag(H) b = diag(H E D') - c diag(G) - g.
        b = (pull - c * g_items - g) / h_items
        g = g + weight * (b - own)
    else:
        warnings.warn(
            f"EDLAE stopped after {max_iter} iterations at a change of {change:.1e}, above "
            f"tol={tol:.1e}. Raise max_iter, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Factors(E, D / column(c), tuple(objective), bool(change <= tol))


def _leading_subspace(G: Array, rank: int, rng: np.random.Generator) -> Array:
    """Return an orthonormal basis near the leading eigenvectors of G (items x rank)."""
    basis = rng.standard_normal((len(G), rank), dtype=G.dtype)
    for _ in range(2):
        # Two rounds are enough for a start: the iterations move D themselves.
        basis = np.linalg.qr(G @ basis)[0]
    return basis


def _divide(right: Array, square: Array) -> Array:
    """Return right times the inverse of a symmetric square, factored in double precision."""
    A = square.astype(np.float64)
    A = (A + A.T) / 2
    # Columns that say nothing, where the rank exceeds what the data hold, stay at zero.
    A.flat[:: len(A) + 1] += np.finfo(right.dtype).eps * max(float(np.trace(A)) / len(A), 1e-30)
    try:
        inverse = cho_solve(cho_factor(A, lower=True), np.eye(len(A)))
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(A, hermitian=True)
    return np.asarray(right @ inverse.astype(right.dtype))


def _rowdot(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", A, B, dtype=np.float64))


def _sum(A: Array, B: Array) -> float:
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))
