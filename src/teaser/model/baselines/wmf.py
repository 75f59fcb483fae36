"""WMF and WMF-S: weighted matrix factorisation, with learned item factors or with the tags."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.errors import MissingPackageError, SolverError
from teaser.model._inverse import invert
from teaser.model.base import Model
from teaser.model.tables import Packed, check_dataset, check_tagged, decoder, liked_part, popularity
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_count, check_number, check_rng

Array = NDArray[Any]


class WMF(Model):
    """Weighted matrix factorisation by alternating least squares, through `implicit`.

    It minimises

        sum_ui c_ui (x_ui - u_u v_i)^2 + l2 (|U|^2 + |V|^2),    c_ui = 1 + alpha x_ui

    The factors of an unseen user are the least-squares solution for the history, with the items'
    factors fixed. Strengths of interactions are not used: x_ui is 1 for each of them, and
    disliked items are left out.

    Parameters
    ----------
    factors
        How many factors a user and an item have.
    l2
        lambda, the penalty on the factors of users and items.
    alpha
        How much more an item of the history weighs than one that was not chosen.
    max_iter
        Iterations of alternating least squares.
    rng
        Seed or generator for the start.

    Attributes
    ----------
    factors_
        V, items x factors.
    inverse_
        (V'V + l2 I)^-1, with which users are folded in.

    References
    ----------
    Hu, Koren, Volinsky: Collaborative Filtering for Implicit Feedback Datasets. 2008.
    """

    factors_: Array
    inverse_: Array

    learned_arrays = ("factors", "inverse")

    def __init__(
        self,
        *,
        factors: int = 64,
        l2: float = 10.0,
        alpha: float = 10.0,
        max_iter: int = 15,
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.factors = factors
        self.l2 = l2
        self.alpha = alpha
        self.max_iter = max_iter
        self.rng = rng

    def fit(self, dataset: Dataset) -> Self:
        """Learn the factors of the items."""
        self.check_parameters()
        check_dataset(dataset)
        factors = self._learn(dataset.X).astype(np.float64)
        if not np.isfinite(factors).all():
            raise SolverError("The factors of WMF are no longer finite. Raise l2.")
        inverse = ridge_inverse(factors, self.l2)
        self.keep_items(dataset)
        self.factors_, self.inverse_ = factors, inverse
        return self

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = liked_part(self.check_histories(X))
        users = fold_in(rows, self.factors_, self.inverse_, float(self.alpha))
        return np.asarray(users @ self.factors_.T)

    def _learn(self, X: sp.csr_array) -> Array:
        """Return the item factors that `implicit` finds."""
        try:
            from implicit.cpu.als import AlternatingLeastSquares
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise MissingPackageError("WMF", "implicit", extra="evaluate") from error
        # implicit reads stored values as c_ui, and takes 1 where none is stored. A history counts
        # its items alike, and so does the fit: strengths are not used.
        weights = np.full(X.nnz, 1 + self.alpha, np.float32)
        weighted = sp.csr_matrix((weights, X.indices, X.indptr), shape=X.shape)
        # implicit solves users in parallel; BLAS threads below that would compete for the cores.
        with threadpool_limits(1, "blas"):
            learner = AlternatingLeastSquares(
                factors=int(self.factors),
                regularization=float(self.l2),
                alpha=1.0,
                iterations=int(self.max_iter),
                random_state=int(np.random.default_rng(self.rng).integers(2**31)),
            )
            learner.fit(weighted, show_progress=False)
        return np.asarray(learner.item_factors)

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_count("factors", self.factors)
        check_number("l2", self.l2)
        check_number("alpha", self.alpha)
        check_count("max_iter", self.max_iter)
        check_rng(self.rng)


class WMFS(TaggedModel):
    """WMF-S: weighted matrix factorisation with the items' factors fixed to their tags.

    Nothing is learned of the items. A user's tag scores p minimise

        sum_i c_i (x_i - D_i p)^2 + l2 |p|^2,    c_i = 1 + alpha x_i

    over all items, with D = [S | popularity]: one ridge regression a user. x_i is 1 for the items
    of the history, or their strength; disliked items are left out. It is solved in the space of
    the history or of the tags, whichever is smaller.

    Parameters
    ----------
    l2
        lambda, the penalty on tag scores: larger makes them smaller and more alike.
    alpha
        How much more an item of the history weighs than one that was not chosen.

    Attributes
    ----------
    inverse_
        (D'D + l2 I)^-1, tags x tags.
    n_learned_
        How many items were there at the fit; those added since add nothing to a profile.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    inverse_: Array
    n_learned_: int

    learned_arrays = ("inverse",)

    def __init__(self, *, l2: float = 10.0, alpha: float = 10.0) -> None:
        self.l2 = l2
        self.alpha = alpha

    def fit(self, dataset: Dataset) -> Self:
        """Prepare the ridge regressions."""
        self.check_parameters()
        check_tagged(dataset)
        inverse = ridge_inverse(decoder(dataset.S, popularity(dataset)), self.l2)
        self.keep_items(dataset)
        self.inverse_, self.n_learned_ = inverse, dataset.n_items
        self.keep_basis(dataset)
        return self

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_number("l2", self.l2)
        check_number("alpha", self.alpha)

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the tag scores that fit each history best (users x learned tags).

        Items that were added after the fit add nothing.
        """
        known = liked_part(rows)[:, : self.n_learned_]
        D = self.tag_table_.learned_decoder
        return fold_in(known, D, self.inverse_, float(self.alpha))

    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c for directions c."""
        known = positions < self.n_learned_
        out = np.zeros((len(positions), *direction.shape[1:]))
        x = np.maximum(strengths[known], 0.0)  # disliked items add nothing
        own = _times(self.tag_table_.learned_decoder[positions[known]], np.sqrt(x))
        Z = np.asarray(own @ self.inverse_)
        # p.c = c'Z'(I + alpha T)^-1 r, a sum over the items that the entries of r stand for
        solved = _in_history(Z, own, self.alpha, Z @ direction)
        out[known] = (_target(x, self.alpha) * solved.T).T
        return out

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        return super().pack() | Packed({"n_learned": self.n_learned_})

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned."""
        super().unpack(content)
        self.n_learned_ = content.settings["n_learned"]


def ridge_inverse(Y: Any, l2: float) -> Array:
    """Return (Y'Y + l2 I)^-1 in double precision (factors x factors), Y dense or sparse."""
    # The part of the normal equations that all users share.
    gram = Y.T @ Y
    A = np.array(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64, order="C")
    A.flat[:: len(A) + 1] += float(l2)
    return invert(A)


def fold_in(rows: sp.csr_array, Y: Any, inverse: Array, alpha: float) -> Array:
    """Return the factors of users (users x factors) that fit their histories best.

    With K = (Y'Y + l2 I)^-1, the strengths x of the h items of a history and their factors times
    the roots of the strengths, Y_h, the normal equations are (K^-1 + alpha Y_h'Y_h) p = Y_h'r with
    r = (1 + alpha x) sqrt(x). By Woodbury's identity

        p = K Y_h' (I + alpha Y_h K Y_h')^-1 r,

    which has h unknowns. A history longer than the number of factors is solved by the normal
    equations instead.

    Parameters
    ----------
    rows
        Histories, users x items: 1, or the strength of an item.
    Y
        Factors of the items (items x factors), dense or sparse.
    """
    out = np.zeros((rows.shape[0], Y.shape[1]))
    for u in np.flatnonzero(np.diff(rows.indptr)).tolist():
        history = slice(rows.indptr[u], rows.indptr[u + 1])
        x = rows.data[history].astype(np.float64)
        own = _times(Y[rows.indices[history]], np.sqrt(x))
        out[u] = _one_user(np.asarray(own @ inverse), own, inverse, alpha, _target(x, alpha))
    return out


def _one_user(Z: Array, own: Any, inverse: Array, alpha: float, target: Array) -> Array:
    """Return K Y_h'(I + alpha Y_h K Y_h')^-1 r for Z = Y_h K and the target r."""
    h, n_factors = Z.shape
    # The smaller of two equations: h unknowns by Woodbury, or one for each factor.
    if h <= n_factors:
        return np.asarray(Z.T @ _in_history(Z, own, alpha, target))
    square = own.T @ own
    square = square.toarray() if sp.issparse(square) else square
    # (K^-1 + alpha Y_h'Y_h) p = Y_h'r, both sides multiplied by K.
    left = np.eye(n_factors) + alpha * (inverse @ square)
    return np.asarray(np.linalg.solve(left, Z.T @ target))


def _target(strengths: Array, alpha: float) -> Array:
    """Return r = (1 + alpha x) sqrt(x), the weighted target c_i x_i over the root of x_i."""
    return np.asarray((1 + alpha * strengths) * np.sqrt(strengths))


def _times(rows: Any, factors: Array) -> Any:
    """Return rows, dense or sparse, each multiplied by its factor."""
    return sp.diags_array(factors) @ rows if sp.issparse(rows) else factors[:, None] * rows


def _in_history(Z: Array, own: Any, alpha: float, right: Array) -> Array:
    """Return (I + alpha Y_h K Y_h')^-1 right for Z = Y_h K."""
    if not len(right):
        return right
    A = alpha * np.asarray(own @ Z.T)
    A.flat[:: len(A) + 1] += 1
    # I + alpha Y_h K Y_h' is symmetric positive definite.
    try:
        return np.asarray(cho_solve(cho_factor(A, lower=True), right))
    except np.linalg.LinAlgError as error:
        raise SolverError(f"The saved inverse of this model is none: {error}.") from error
