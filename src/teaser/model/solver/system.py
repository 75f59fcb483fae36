"""What the equation for the encoder needs and no penalty changes: shared by all cells of a grid.

Written against numpy's functions alone, which arrays of a GPU answer too: an array made here is
made `like` the Gram's own.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix, each_block, norm, sparse_like
from teaser.model.gram.gpu import device_gram, to_host
from teaser.model.gram.operator import Gram, PairGram, SparseGram, leading_eigenpairs, leading_rank
from teaser.model.solver.rotated_decoder import RotatedDecoder, rotated

Array = NDArray[Any]

# The part of G C D V that has to be left without the diagonal, for rounded operands.
_LEFT = 0.1


@dataclass(frozen=True, eq=False)
class System:
    """The Gram operator and the decoder, and what follows from the two.

    `D` is items x tags, `g` is diag(G), `V` and `eta` are the eigenvectors and eigenvalues of
    D'D, `DV` is D V, `U` and `mu` are leading eigenvectors and eigenvalues of G. Unknowns are
    kept as F = E V, in which D'D is diagonal: an iteration then costs one product with G and
    one with V.

    `row_penalty` is r and `column_weight` c of gram/weighting.py, one a row: l1 r_i is the
    penalty on row i of P(E D'), and D is the decoder with row j times c_j. Both are ones
    without weights.
    """

    gram: Gram
    D: Matrix
    row_of: Array
    g: Array
    V: Array
    eta: Array
    DV: Array | RotatedDecoder
    U: Array
    mu: Array
    row_penalty: Array
    column_weight: Array

    @classmethod
    def build(
        cls,
        gram: Gram,
        D: sp.csr_array,
        *,
        rank: int | None = None,
        rng: np.random.Generator,
        row_penalty: Array | None = None,
        column_weight: Array | None = None,
        is_coarse: bool = False,
    ) -> Self:
        """Prepare what every iteration needs.

        Parameters
        ----------
        D
            The decoder in the dtype of `gram`, without the weights of columns.
        rank
            How many leading eigenpairs the preconditioner uses; None chooses.
        row_penalty, column_weight
            r and c; ones when not given, and for the rows of D beyond those of c.
        is_coarse
            Whether all fits may round: eigenvectors are then computed in the type of `gram`.
        """
        g = gram.diagonal()
        rank = leading_rank(float(g.mean()), D.shape[1]) if rank is None else rank
        U, mu = leading_eigenpairs(gram, rank, rng)
        r, c = np.ones_like(g), np.ones_like(g)
        if row_penalty is not None:
            r[:] = np.asarray(row_penalty, like=g)
        if column_weight is not None:
            c[: len(column_weight)] = np.asarray(column_weight, like=g)
        basis = _basis(gram, D, g, c, is_coarse=is_coarse)
        return cls(gram=gram, U=U, mu=mu, row_penalty=r, column_weight=c, **basis)

    def with_decoder(self, D: sp.csr_array) -> "System":
        """Return the system of the same Gram, whose eigenpairs are kept, and another decoder.

        D may be of the items alone; rows of user features below are empty.
        """
        return System(
            gram=self.gram,
            U=self.U,
            mu=self.mu,
            row_penalty=self.row_penalty,
            column_weight=self.column_weight,
            **_basis(self.gram, D, self.g, self.column_weight),
        )

    def penalty(self, l1: float) -> Array:
        """Return diag(L) = l1 r, one a row."""
        return np.asarray(self.g.dtype.type(l1) * self.row_penalty, like=self.g)

    def right_hand_side(self, *, is_rounded: bool = False) -> Array:
        """Return B V = P(G) C D V, by operands of two bytes where the Gram has them, if asked."""
        c = self.column_weight
        is_plain = bool((c == 1).all())
        if isinstance(self.gram, PairGram):
            # G (C D V) - g * (C D V); such a G takes less time than a product with V.
            CDV = self.DV if is_plain else rotated(self.scaled(c), self.V, self.gram)
            if is_rounded and isinstance(self.gram, SparseGram):
                B = self.gram.apply_rounded(CDV)
                whole = norm(B)
                each_block(lambda rows: _subtract_scaled(B[rows], self.g[rows], CDV[rows]), B)
                # Where little is left, it may be rounding.
                if norm(B) > _LEFT * whole:
                    return B
            B = self.gram.apply(CDV)
            each_block(lambda rows: _subtract_scaled(B[rows], self.g[rows], CDV[rows]), B)
            return B
        CD = self.D if is_plain else self.scaled(c)
        B = self.gram.apply(CD)
        # P(G) C D = G C D - g * C D, which differs from G C D at the entries of D only.
        B[self.row_of, CD.indices] -= CD.data * self.g[self.row_of]
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


def _basis(
    gram: Gram, D: sp.csr_array, g: Array, c: Array, *, is_coarse: bool = False
) -> dict[str, Any]:
    """Return C D, the row of each of its entries, g, and what follows from the two."""
    missing = len(g) - D.shape[0]
    counts = np.pad(np.diff(D.indptr), (0, missing))
    # Rows that begin where the last one ends are empty.
    starts = np.pad(D.indptr, (0, missing), mode="edge")
    owner = np.repeat(np.arange(len(g)), counts)
    data = (D.data * to_host(c)[owner]).astype(D.dtype)
    D = sp.csr_array((data, D.indices, starts), shape=(len(g), D.shape[1]))
    eta, V = _eigenvectors(D, g, is_coarse=is_coarse)
    D = sparse_like(D, g)
    return {
        "D": D,
        "row_of": np.asarray(owner, like=g),
        "g": g,
        "V": V,
        "eta": eta,
        "DV": rotated(D, V, gram),
    }


def _eigenvectors(D: sp.csr_array, g: Array, *, is_coarse: bool) -> tuple[Array, Array]:
    """Return the eigenvalues of D'D, upwards, and its eigenvectors, in the type of g.

    They are computed in double precision: their orthogonality bounds the attainable residual.
    Coarse fits do without it, in half of the time: in single precision eigenvectors are orthogonal
    to 1e-5, and eigenvalues exact to 1e-6 of the largest.
    """
    if not isinstance(g, np.ndarray):
        eta, V = np.linalg.eigh(device_gram(D, np.float64))
    elif is_coarse:
        # numpy's would compute in double precision.
        eta, V = scipy.linalg.eigh(
            (D.T @ D).toarray(), driver="evd", overwrite_a=True, check_finite=False
        )
    else:
        eta, V = np.linalg.eigh((D.T @ D).toarray().astype(np.float64))
    # D'D is positive semidefinite: eigenvalues below zero are rounding.
    return np.maximum(eta, 0.0).astype(g.dtype), V.astype(g.dtype, order="C")


def _subtract_scaled(out: Array, weights: Array, A: Array) -> None:
    """Take row i of A times weights[i] out of row i."""
    out -= weights[:, None] * A
