"""WMF and WMF-S: weighted matrix factorisation, with learned item factors or with the tags."""

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from teaser import artifact
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.errors import ParameterError, SolverError, install_command
from teaser.model.baselines.base import (
    PlainModel,
    check_count,
    check_dataset,
    check_number,
    check_rng,
    plain_parameters,
)
from teaser.model.solver.inverse import invert
from teaser.model.tagged import TaggedModel, decoder, popularity

Array = NDArray[Any]


class WMF(PlainModel):
    """Weighted matrix factorisation by alternating least squares, through `implicit`.

    It minimises

        sum_ui c_ui (x_ui - u_u v_i)^2 + l2 (|U|^2 + |V|^2),    c_ui = 1 + alpha x_ui

    An unseen person's factors are the least squares for the history, the items' factors given.

    Parameters
    ----------
    factors
        How many factors a person and an item have.
    l2
        The penalty on factors.
    alpha
        How much more an item of the history weighs than one that was not chosen.
    iterations
        Rounds of alternating least squares.
    rng
        Seed or generator for the start.

    Attributes
    ----------
    factors_
        V, items x factors.
    inverse_
        (V'V + l2 I)^-1, with which people are folded in.

    References
    ----------
    Hu, Koren, Volinsky: Collaborative Filtering for Implicit Feedback Datasets. 2008.
    """

    factors_: Array
    inverse_: Array

    _learnt = ("factors", "inverse")

    def __init__(
        self,
        *,
        factors: int = 64,
        l2: float = 10.0,
        alpha: float = 10.0,
        iterations: int = 15,
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.factors = factors
        self.l2 = l2
        self.alpha = alpha
        self.iterations = iterations
        self.rng = rng

    def fit(self, dataset: Dataset) -> Self:
        """Learn the factors of the items."""
        self._check()
        check_dataset(dataset)
        factors = self._learn(dataset.X).astype(np.float64)
        if not np.isfinite(factors).all():
            raise SolverError("The factors of WMF are no longer finite. Raise l2.")
        inverse = ridge_inverse(factors, self.l2)
        self._take_catalogue(dataset)
        self.factors_, self.inverse_ = factors, inverse
        return self

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (people x items)."""
        rows = self._histories(X)
        users = fold_in(rows, self.factors_, self.inverse_, float(self.alpha))
        return np.asarray(users @ self.factors_.T)

    def _learn(self, X: sp.csr_array) -> Array:
        """Return the item factors that `implicit` finds."""
        als, threads = _need("implicit.cpu.als"), _need("threadpoolctl")
        weighted = sp.csr_matrix(X.astype(np.float32) * np.float32(1 + self.alpha))
        # It solves people in parallel; threads of the algebra below would only be in the way.
        with threads.threadpool_limits(1, "blas"):
            learner = als.AlternatingLeastSquares(
                factors=int(self.factors),
                regularization=float(self.l2),
                alpha=1.0,
                iterations=int(self.iterations),
                random_state=int(np.random.default_rng(self.rng).integers(2**31)),
            )
            learner.fit(weighted, show_progress=False)
        return np.asarray(learner.item_factors)

    def _check(self) -> None:
        check_count("factors", self.factors)
        check_number("l2", self.l2)
        check_number("alpha", self.alpha)
        check_count("iterations", self.iterations)
        check_rng(self.rng)

    def _check_whole(self) -> None:
        n_factors = self.factors_.shape[1]
        if len(self.factors_) != len(self.items_) or self.inverse_.shape != (n_factors, n_factors):
            raise ValueError("its factors do not fit its items")


class WMFS(TaggedModel):
    """WMF-S: weighted matrix factorisation with the items' factors fixed to their tags.

    Nothing is learned of the items. A person's tag scores p minimise

        sum_i c_i (x_i - D_i p)^2 + l2 |p|^2,    c_i = 1 + alpha x_i

    over all items, D = [S | popularity]; a ridge regression for every person, solved in the
    space of the history where that is the smaller one.

    Parameters
    ----------
    l2
        The penalty on tag scores: larger makes them smaller and more alike.
    alpha
        How much more an item of the history weighs than one that was not chosen.

    Attributes
    ----------
    inverse_
        (D'D + l2 I)^-1, tags x tags.
    n_learnt_
        How many items were there at the fit; those added since say nothing about a taste.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    inverse_: Array
    n_learnt_: int

    def __init__(self, *, l2: float = 10.0, alpha: float = 10.0) -> None:
        self.l2 = l2
        self.alpha = alpha

    def fit(self, dataset: Dataset) -> Self:
        """Prepare the ridge regressions."""
        check_number("l2", self.l2)
        check_number("alpha", self.alpha)
        self._check_dataset(dataset)
        inverse = ridge_inverse(decoder(dataset.S, popularity(dataset)), self.l2)
        self._take_catalogue(dataset)
        self.inverse_, self.n_learnt_ = inverse, dataset.n_items
        return self

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the tag scores that fit each history best (people x tags).

        Items that were added after the fit add nothing.
        """
        known = rows[:, : self.n_learnt_]
        return fold_in(known, self.decoder_, self.inverse_, float(self.alpha))

    def origins(self, tag: Tag | str, history: Iterable[ItemId]) -> dict[ItemId, float]:
        """Return where an affinity comes from: what each item of the history adds to the raw score.

        The parts sum to the raw score p of the tag, of which the affinity is a multiple.
        """
        self.check_fitted()
        column = resolve_tag(tag, self._tag_index)
        named = self._places(history)
        places = np.array([i for i in named if i < self.n_learnt_], dtype=np.int64)
        Z = np.asarray(self.decoder_[places] @ self.inverse_)
        # p = (1 + alpha) K D'(I + alpha T)^-1 1, a sum over the items that the last 1 stands for
        parts = (1 + self.alpha) * _in_history(Z, self.decoder_[places], self.alpha, Z[:, column])
        found = dict(zip(places.tolist(), parts.tolist(), strict=True))
        return {self.items_[i]: found.get(i, 0.0) for i in named}

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        self.check_fitted()
        return {
            "kind": "WMFS",
            "items": len(self.items_),
            "tags": dict(Counter(tag.feature for tag in self.tags_)),
            "parameters": plain_parameters(self),
            "roles": dict(self.rules_.roles),
        }

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `teaser.load` reads it back."""
        self.check_fitted()
        kept = self._catalogue()
        said = {"parameters": plain_parameters(self), "learnt": self.n_learnt_}
        artifact.write(
            folder,
            kind="WMFS",
            settings={**said, **kept["settings"]},
            arrays={"inverse": self.inverse_, **kept["arrays"]},
            tables=kept["tables"],
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved."""
        settings: Mapping[str, Any] = content.settings
        model = cls(**settings["parameters"])
        model._read_catalogue(content)
        model.inverse_ = content.arrays["inverse"]
        model.n_learnt_ = settings["learnt"]
        if model.inverse_.shape != (len(model.tags_), len(model.tags_)):
            raise ValueError("its parts are of different sizes")
        if not 0 <= model.n_learnt_ <= len(model.items_):
            raise ValueError("its parts do not fit together")
        return model


# Cells of an array of history items x factors: near 256 MB in double precision.
_CELLS = 2**25


def ridge_inverse(Y: Any, l2: float) -> Array:
    """Return (Y'Y + l2 I)^-1 in double precision (factors x factors), Y dense or sparse."""
    gram = Y.T @ Y
    A = np.array(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64, order="C")
    A.flat[:: len(A) + 1] += float(l2)
    return invert(A)


def fold_in(rows: sp.csr_array, Y: Any, inverse: Array, alpha: float) -> Array:
    """Return the factors of people (people x factors) that fit their histories best.

    With K = (Y'Y + l2 I)^-1 and the factors Y_h of the h items of a history, the normal equations
    are (K^-1 + alpha Y_h'Y_h) p = (1 + alpha) Y_h'1. By Woodbury's identity

        p = (1 + alpha) K Y_h' (I + alpha Y_h K Y_h')^-1 1,

    an equation of h unknowns; for a longer history than there are factors, one of as many as
    there are factors.

    Parameters
    ----------
    rows
        Histories, people x items.
    Y
        Factors of the items (items x factors), dense or sparse.
    """
    out = np.zeros((rows.shape[0], Y.shape[1]))
    for users in _groups(np.diff(rows.indptr), _CELLS // Y.shape[1]):
        histories = [rows.indices[rows.indptr[u] : rows.indptr[u + 1]] for u in users]
        if sp.issparse(Y):
            # K times an item's factors is the same for everybody who chose it.
            items = np.unique(np.concatenate(histories))
            spread = np.asarray(Y[items] @ inverse)
        for u, places in zip(users, histories, strict=True):
            own = Y[places]
            Z = spread[np.searchsorted(items, places)] if sp.issparse(Y) else own @ inverse
            out[u] = (1 + alpha) * _one_person(Z, own, inverse, alpha)
    return out


def _one_person(Z: Array, own: Any, inverse: Array, alpha: float) -> Array:
    """Return K Y_h'(I + alpha Y_h K Y_h')^-1 1 for Z = Y_h K."""
    h, n_factors = Z.shape
    if h <= n_factors:
        return np.asarray(Z.T @ _in_history(Z, own, alpha, np.ones(h)))
    square = own.T @ own
    square = square.toarray() if sp.issparse(square) else square
    left = np.eye(n_factors) + alpha * (inverse @ square)
    return np.asarray(np.linalg.solve(left, Z.sum(axis=0)))


def _in_history(Z: Array, own: Any, alpha: float, right: Array) -> Array:
    """Return (I + alpha Y_h K Y_h')^-1 right for Z = Y_h K."""
    if not len(right):
        return right
    A = alpha * np.asarray(own @ Z.T)
    A.flat[:: len(A) + 1] += 1
    return np.asarray(cho_solve(cho_factor(A, lower=True), right))


def _groups(lengths: Array, most: int) -> list[list[int]]:
    """Return people with a history in groups whose histories have `most` items or a bit more."""
    users = np.flatnonzero(lengths)
    group = np.cumsum(lengths[users]) // max(1, most)
    return [users[group == g].tolist() for g in np.unique(group)]


def _need(module: str) -> Any:
    """Import a package of the extra `evaluate`, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"WMF is learned by the package implicit, and {module} cannot be imported: {error}. "
            f"Install it: {install_command('evaluate')}"
        ) from error
