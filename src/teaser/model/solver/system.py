"""What the equation for the encoder needs and no penalty changes: shared by all cells of a grid.

Written against numpy's functions alone, which arrays of a GPU answer too: an array made here is
made `like` the Gram's own.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix, each_block, sparse_like
from teaser.model.gram.operator import RANK, Gram, PairGram, leading_eigenpairs

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class System:
    """The Gram operator and the decoder, and what follows from the two.

    `D` is items x tags, `g` is diag(G), `V` and `eta` are the eigenvectors and eigenvalues of
    D'D, `DV` is D V, `U` and `mu` are leading eigenvectors and eigenvalues of G. Unknowns are
    kept as F = E V, in which D'D is diagonal: an iteration then costs one product with G and
    one with V.
    """

    gram: Gram
    D: Matrix
    row_of: Array
    g: Array
    V: Array
    eta: Array
    DV: Array
    U: Array
    mu: Array

    @classmethod
    def build(
        cls, gram: Gram, D: sp.csr_array, *, rank: int = RANK, rng: np.random.Generator
    ) -> Self:
        """Prepare what every iteration needs; D is in the dtype of `gram`."""
        U, mu = leading_eigenpairs(gram, rank, rng)
        return cls(gram=gram, U=U, mu=mu, **_basis(D, gram.diagonal(), gram.dtype))

    def with_decoder(self, D: sp.csr_array) -> "System":
        """Return the system of the same Gram, whose eigenpairs are kept, and another decoder."""
        basis = _basis(D, self.g, self.gram.dtype)
        return System(gram=self.gram, U=self.U, mu=self.mu, **basis)

    def right_hand_side(self) -> Array:
        """Return B V = P(G) D V."""
        if isinstance(self.gram, PairGram):
            # G (D V) - g * (D V); such a G takes less time than a product with V.
            B = self.gram.apply(self.DV)
            each_block(lambda rows: _subtract_scaled(B[rows], self.g[rows], self.DV[rows]), B)
            return B
        B = self.gram.apply(self.D)
        # P(G) D = G D - g * D, which differs from G D at the entries of D only.
        B[self.row_of, self.D.indices] -= self.D.data * self.g[self.row_of]
        return np.asarray(B @ self.V, like=self.g)

    def rotate(self, encoder: Array) -> Array:
        """Return F = E V, the encoder in the basis of the eigenvectors of D'D."""
        E = np.asarray(encoder, dtype=self.g.dtype, like=self.g)
        return np.asarray(E @ self.V, like=self.g)

    def rotate_back(self, F: Array) -> Array:
        """Return E = F V'."""
        return np.asarray(F @ self.V.T, like=F)

    def scaled(self, weights: Array) -> Matrix:
        """Return D with row i multiplied by weights[i]."""
        D = self.D
        return type(D)((D.data * weights[self.row_of], D.indices, D.indptr), shape=D.shape)


def _basis(D: sp.csr_array, g: Array, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return D, the row of each of its entries, g, and what follows from D'D."""
    # Eigenvectors in double precision: their orthogonality bounds the attainable residual.
    K = (D.T @ D).toarray().astype(np.float64)
    eta, V = np.linalg.eigh(np.asarray(K, like=g))
    V = V.astype(dtype, order="C")
    # K is positive semidefinite: eigenvalues below zero are rounding.
    eta = np.maximum(eta, 0.0).astype(dtype)
    row_of = np.asarray(np.repeat(np.arange(D.shape[0]), np.diff(D.indptr)), like=g)
    D = sparse_like(D, g)
    return {"D": D, "row_of": row_of, "g": g, "V": V, "eta": eta, "DV": D @ V}


def _subtract_scaled(out: Array, weights: Array, A: Array) -> None:
    """Take row i of A times weights[i] out of row i."""
    out -= weights[:, None] * A
