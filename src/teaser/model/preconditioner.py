"""An approximate inverse of the solver's operator, by two formulas for matrices of low rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.system import System, blocks, rowdot

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """An approximate inverse of the operator: symmetric, positive, and cheap to apply.

    G is replaced by diag(t) + U diag(mu) U', a few leading eigenpairs and what they leave of the
    diagonal. In the basis of V each column b is then a diagonal plus a low rank,

        eta_b (diag(t + l1) + U diag(mu) U') + l2,

    inverted by Woodbury's formula with a small matrix `core[b]`. That an item may not explain
    itself takes D_i'D_i out of D'D in row i; on the diagonal part this is one more rank for
    each row, put back by the Sherman-Morrison formula with weight `lift[i]`.
    """

    system: System
    l2: float
    t: Array
    core: Array
    lift: Array

    @classmethod
    def build(cls, system: System, *, l1: float, l2: float) -> "Preconditioner":
        """Prepare both formulas for two penalties."""
        U, mu, eta, dtype = system.U, system.mu, system.eta, system.gram.dtype
        left = system.g - (np.square(U.astype(np.float64)) * mu).sum(axis=1)
        t = (np.maximum(left, 0.0) + l1).astype(dtype)
        upper = np.triu_indices(len(mu))
        inner = np.zeros((len(upper[0]), len(eta)), like=t)
        leverage = np.zeros(len(t), like=t)
        for rows in blocks(t):
            inverse = 1 / (np.outer(t[rows], eta) + dtype.type(l2))
            inner += (U[rows][:, upper[0]] * U[rows][:, upper[1]]).T @ inverse
            leverage[rows] = t[rows] * rowdot(inverse, np.square(system.DV[rows]))
        core = np.empty((len(eta), len(mu), len(mu)), dtype=dtype, like=t)
        for some in blocks(core):
            root = np.sqrt(np.outer(eta[some], mu))
            scale = root[:, :, None] * root[:, None, :]
            middle = np.zeros_like(scale)
            middle[:, upper[0], upper[1]] = inner.T[some]
            middle[:, upper[1], upper[0]] = inner.T[some]
            identity = np.asarray(np.eye(len(mu)), like=t)
            core[some] = np.linalg.inv(identity + middle * scale) * scale
        lift = t / np.maximum(1.0 - leverage, np.finfo(dtype).eps)
        return cls(system, l2, t, core, lift.astype(dtype))

    def apply(self, R: Array) -> Array:
        """Return the preconditioned residual."""
        U, DV = self.system.U, self.system.DV
        out = np.empty_like(R)
        seen = np.zeros((U.shape[1], R.shape[1]), dtype=R.dtype, like=R)
        for rows in blocks(R):
            np.divide(R[rows], self._level(rows), out=out[rows])
            seen += U[rows].T @ out[rows]
        spread = np.einsum("brs,sb->rb", self.core, seen)
        for rows in blocks(R):
            part = out[rows]
            change = (self.lift[rows] * rowdot(part, DV[rows]))[:, None] * DV[rows]
            change -= U[rows] @ spread
            change /= self._level(rows)
            part += change
        return out

    def _level(self, rows: slice) -> Array:
        level = np.outer(self.t[rows], self.system.eta)
        level += self.t.dtype.type(self.l2)
        return level
