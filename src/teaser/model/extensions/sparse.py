"""A sparse encoder: which entries are kept, and their values when all the others are zero.

Entries are chosen by how much the objective grows when each alone is set to zero, and then solved
for again: with M the mask of the entries kept,

    M * A(M * E) = M * B

where A and B are those of solver/equation.py. Everything is evaluated in items x tags form.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model._arrays import Matrix, as_dense, blocks, host_csr, sparse_like, to_host
from teaser.model.solve import EncoderEquation, Limits, Solution, System, conjugate_gradients
from teaser.parameters import Options, check_share

Array = NDArray[Any]
Encoder: TypeAlias = Any  # items x tags, a dense array or a csr one
# Entries are left out in at most _STAGES stages, of which the first keeps less than _FIRST. All
# but the last are solved to a tolerance that is _LOOSER times as large.
_STAGES = 4
_FIRST = 0.8
_LOOSER = 3.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SparseEncoder(Options):
    """Options of an encoder of which only the most telling entries are kept.

    Parameters
    ----------
    density
        The share of the entries to keep, above 0 and at most 1.
    """

    density: float = 0.05

    def check(self) -> None:
        """Raise `ParameterError` for a share that keeps nothing or more than all."""
        check_share("sparse.density", self.density)


def sparsify(
    equation: EncoderEquation, found: Solution, *, density: float, limits: Limits
) -> Solution:
    """Return the encoder (csr, items x tags) that is best on its most telling entries.

    Half of the entries are left out at a time, and the others solved for again: entries that
    remain take over from those that are gone, which changes which of them matter.

    Parameters
    ----------
    found
        The dense solution of the equation; its iterations are counted in.
    density
        Which share of the entries may be kept.
    limits
        Residuals are of the equation for the entries kept.
    """
    encoder, iterations = found.encoder, found.iterations
    # For a density of 0.05 in turn 0.4, 0.2, 0.1 and 0.05.
    shares = [density * 2**k for k in range(_STAGES) if density * 2**k < _FIRST] or [density]
    looser = limits.loosened(_LOOSER)
    for share in reversed(shares):
        kept = support(saliency(equation, encoder), share)
        on_support = SupportEquation(equation, kept)
        until, start = limits if share == density else looser, on_support.unknowns(encoder)
        refit = conjugate_gradients(on_support, until, start, is_guess=False)
        encoder, iterations = on_support.encoder(refit.encoder), iterations + refit.iterations
    return replace(refit, encoder=encoder, iterations=iterations)


def saliency(equation: EncoderEquation, encoder: Encoder) -> Array:
    """Return by how much the objective grows when an entry alone is set to zero (items x tags).

    The objective is quadratic, so at its minimum that is E_ij^2 times the operator's diagonal.
    """
    system, l2 = equation.system, equation.l2
    K = _tag_squares(system)
    out = np.square(as_dense(encoder))
    h = to_host(system.g + system.penalty(equation.l1))
    D = host_csr(system.D)
    for rows in blocks(out):
        # (g_i + L_i) (K_jj - D_ij^2) + l2, the operator's diagonal; D_ij is mostly zero.
        level = np.outer(h[rows], K) + l2
        some = D[rows]
        owner = np.repeat(np.arange(some.shape[0]), np.diff(some.indptr))
        level[owner, some.indices] -= h[rows][owner] * np.square(some.data)
        out[rows] *= level
    return out


def support(worth: Array, density: float) -> sp.csr_array:
    """Return the places of the largest entries, a share of them all and at least one, as ones.

    Of equal entries the first are kept.
    """
    n = max(1, int(density * worth.size))
    # The n-th largest entry; a partition takes linear time, a sort would not.
    least = np.partition(worth, worth.size - n, axis=None)[worth.size - n]
    above = int(sum((worth[rows] > least).sum() for rows in blocks(worth)))
    room, parts = n - above, []
    for rows in blocks(worth):
        keep = worth[rows] > least
        ties = np.argwhere(worth[rows] == least)[:room]
        keep[ties[:, 0], ties[:, 1]] = True
        room -= len(ties)
        parts.append(sp.csr_array(keep.astype(worth.dtype)))
    return sp.csr_array(sp.vstack(parts, format="csr"))


class SupportEquation:
    """The equation for the entries of E that are kept; unknowns are a vector of them.

    `kept` is a csr matrix with ones at their places, `rows` the row of each, `weights` the
    decoder's entry there, `diagonal` the operator's. `equation` is that for all entries.
    """

    def __init__(self, equation: EncoderEquation, kept: sp.csr_array) -> None:
        self.equation, self.system = equation, equation.system
        g, dtype, D = self.system.g, self.system.gram.dtype, host_csr(self.system.D)
        self.kept = sp.csr_array(kept, dtype=dtype)
        self.kept.sort_indices()
        columns = self.kept.indices
        rows = np.repeat(np.arange(self.kept.shape[0]), np.diff(self.kept.indptr))
        weights = as_dense(D[rows, columns]).astype(np.float64)
        L = equation.l1 * to_host(self.system.row_penalty).astype(np.float64)
        level = to_host(g).astype(np.float64) + L
        # In double precision: K_jj - D_ij^2 cancels where item i alone carries tag j.
        diagonal = level[rows] * (_tag_squares(self.system)[columns] - np.square(weights))
        diagonal += equation.l2
        self.rows, self.columns = np.asarray(rows, like=g), np.asarray(columns, like=g)
        self.weights = np.asarray(weights.astype(dtype), like=g)
        self.diagonal = np.asarray(diagonal.astype(dtype), like=g)
        self.Dt = sparse_like(sp.csr_array(D.T.tocsr()), g)

    def operator(self, x: Array) -> Array:
        """Return A at the places kept, for an encoder that is x there and 0 elsewhere.

            A(E) = (H D') D - G (beta * D) - (alpha + L beta) * D + l2 E,    H = G E + L E

        with alpha = diag(G E D') - g beta and beta = diag(E D'); D is sparse.
        """
        system, gram = self.system, self.system.gram
        n_items, dtype, L = gram.n_items, gram.dtype, self.system.penalty(self.equation.l1)
        # G E; L E is added only after diag(G E D') is read from it.
        H = gram.apply(self._sparse(x))
        # beta_i = sum of E_ij D_ij over the kept entries of row i.
        beta = np.bincount(self.rows, x * self.weights, minlength=n_items).astype(dtype)
        parts = H[system.row_of, system.D.indices] * system.D.data
        # diag(G E D')_i = sum of (G E)_ij D_ij over the entries of D.
        diagonal = np.bincount(system.row_of, parts, minlength=n_items).astype(dtype)
        H[self.rows, self.columns] += L[self.rows] * x
        removed = gram.apply(system.scaled(beta))
        out = dtype.type(self.equation.l2) * x
        # alpha + L beta
        taken = diagonal + (L - system.g) * beta
        out -= taken[self.rows] * self.weights
        for rows in blocks(H):
            last = min(rows.stop, n_items)
            some = slice(int(self.kept.indptr[rows.start]), int(self.kept.indptr[last]))
            # (H D') D - G (beta * D) in blocks of rows: all of H D' would be items x items.
            seen = (self.Dt @ (system.D @ H[rows].T)).T - removed[rows]
            out[some] += seen[self.rows[some] - rows.start, self.columns[some]]
        return np.asarray(out, like=x)

    def right_hand_side(self) -> Array:
        """Return P(G) C D at the places kept."""
        system = self.system
        B = system.gram.apply(system.scaled(system.column_weight))
        own = (system.g * system.column_weight)[self.rows] * self.weights
        return np.asarray(B[self.rows, self.columns] - own, like=system.g)

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return the inverse of the operator's diagonal."""
        return lambda R: np.asarray(R / self.diagonal, like=R)

    def unknowns(self, encoder: Encoder) -> Array:
        """Return the entries of an encoder at the places kept."""
        values = as_dense(encoder)[to_host(self.rows), self.kept.indices]
        return np.asarray(values, dtype=self.system.gram.dtype, like=self.diagonal)

    def encoder(self, x: Array) -> sp.csr_array:
        """Return the encoder with these entries, in main memory."""
        kept = self.kept
        return sp.csr_array((to_host(x), kept.indices, kept.indptr), shape=kept.shape)

    def _sparse(self, x: Array) -> Matrix:
        """Return the encoder with these entries, a sparse matrix where the Gram lives."""
        if isinstance(x, np.ndarray):
            return self.encoder(x)
        D, indptr = self.system.D, np.asarray(self.kept.indptr, like=x)
        return type(D)((x, self.columns, indptr), shape=self.kept.shape)


def _tag_squares(system: System) -> Array:
    """Return the diagonal of D'D in double precision."""
    D = host_csr(system.D)
    return np.bincount(D.indices, np.square(D.data, dtype=np.float64), minlength=D.shape[1])
