"""TEASER with a remainder: what tags leave unexplained, learned as item-to-item weights.

With B = P(E D') + R, R an items x items matrix of zero diagonal,

    f(E, R) = |X - X B|^2 + l1 |B|^2 + l2 |E|^2 + k |R|^2

is minimised by an equation in E alone and a closed form for R. See docs/model.md.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.dense import invert
from teaser.model.gram import DenseGram, Gram
from teaser.model.preconditioner import Preconditioner
from teaser.model.solver import Callback, Solution, solve_equation
from teaser.model.system import System, blocks, chunk_height, rowdot

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class RemainderProblem:
    """The equation for the encoder once the best remainder is put in.

    With C = (G + (l1 + k) I)^-1, d = diag(C), W = P(E D') and v = diag(C W) it is

        k (W - k C W + k C dM(v / d)) D + l2 E = k (I - C dM(1 / d)) D

    The system is one of C in the place of G.
    """

    system: System
    k: float
    l2: float

    def operator(self, F: Array) -> Array:
        """Return the left-hand side in the basis of V, with one product with C and one with V."""
        system, DV, eta, d = self.system, self.system.DV, self.system.eta, self.system.g
        beta = rowdot(F, DV)
        out = system.gram.apply(F)
        v = rowdot(out, DV) - d * beta
        removed = system.gram.apply(system.scaled(beta + v / d))
        k = self.k
        for first in range(0, len(F), height := chunk_height(F)):
            rows = slice(first, first + height)
            part = out[rows]
            part *= -k * k * eta
            part += (k * k) * (removed[rows] @ system.V)
            part += F[rows] * (k * eta + self.l2)
            part -= (k * beta[rows])[:, None] * DV[rows]
        return out

    def right_hand_side(self) -> Array:
        """Return k B0 D V, where B0 is EASE with the ridge l1 + k."""
        system = self.system
        spread = system.gram.apply(system.scaled(1 / system.g))
        return np.asarray(self.k * (system.DV - spread @ system.V), like=system.g)

    def preconditioner(self) -> Preconditioner:
        """Return that of TEASER for the diagonal of k (I - k C), in the place of the Gram's."""
        system = self.system
        diagonal = np.maximum(self.k * (1 - self.k * system.g), 0.0).astype(system.g.dtype)
        flat = replace(system, g=diagonal, U=system.U[:, :0], mu=system.mu[:0])
        return Preconditioner.build(flat, l1=0.0, l2=self.l2)


def invert_gram(gram: Gram, ridge: float) -> Array:
    """Return C = (G + ridge I)^-1 as an array, which is shared over all penalties on the encoder.

    EASE with this ridge is -C dM(1 / diag(C)) off the diagonal.
    """
    if isinstance(gram, DenseGram):
        G = gram.G
    else:
        G = gram.apply(np.eye(gram.n_items, dtype=gram.dtype))
    A = np.array(G, order="C", copy=True)
    A.flat[:: len(A) + 1] += ridge
    return invert(A)


def prepare_remainder(C: Array, D: sp.csr_array) -> System:
    """Return the system of an inverse and a decoder, shared over penalties on the encoder."""
    return System.build(DenseGram(C), D, rank=0, rng=np.random.default_rng(0))


def remainder_encoder(
    system: System,
    *,
    k: float,
    l2: float,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve for the encoder.

    Parameters
    ----------
    system
        Of `prepare_remainder`, whose ridge was l1 + k.
    k, l2
        The penalties on remainder and encoder.
    """
    return solve_equation(
        RemainderProblem(system, k, l2),
        tol=tol,
        max_iter=max_iter,
        start=start,
        callback=callback,
    )


def remainder_weights(C: Array, system: System, encoder: Array, *, k: float) -> Array:
    """Return R (items x items), the best remainder of an encoder, with a zero diagonal.

        R = -(E - k C E) D' - C dM(1 / d + k beta + k v / d)    off the diagonal

    Parameters
    ----------
    C
        Of `invert_gram`; it is left as it is.
    """
    d = system.g
    E = np.asarray(encoder, dtype=d.dtype, like=d)
    CE = system.gram.apply(E)
    beta = _diagonal(E, system)
    v = _diagonal(CE, system) - d * beta
    R = C * -(1 / d + k * beta + k * v / d)
    rest = E - k * CE
    Dt = system.D.T.tocsr()
    for rows in blocks(R):
        R[rows] -= rest[rows] @ Dt
    np.fill_diagonal(R, 0.0)
    return np.asarray(R, like=d)


def _diagonal(E: Array, system: System) -> Array:
    """Return diag(E D'), the product of each row with its item's tags."""
    D, row_of = system.D, system.row_of
    parts = E[row_of, D.indices] * D.data
    return np.bincount(row_of, weights=parts, minlength=len(E)).astype(E.dtype)
