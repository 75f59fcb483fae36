"""An approximate inverse of the solver's operator, by formulas for matrices of low rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.cuda.steps import in_rows, precondition
from teaser.model.gram.blocks import blocks, chunks, each_block, rowdot
from teaser.model.solver.system import System

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """An approximate inverse of the operator: symmetric, positive, and cheap to apply.

    G is replaced by diag(t) + U diag(mu) U', a few leading eigenpairs and what they leave of the
    diagonal. In the basis of V each column b is then a diagonal plus a low rank,

        eta_b (diag(t + L) + U diag(mu) U') + l2,    L = l1 diag(r),

    inverted by Woodbury's formula with a small matrix `core[b]`.

    That an item may not explain itself changes G (x) D'D by -N G - G N + diag(g) N, where N holds
    D_i'D_i for each row i. On the diagonal part this is -(t + L)_i D_i'D_i. On the leading part
    it is (g - t)_i D_i'D_i where the histories cancel, and nothing good where an item alone
    makes up its tags, so it counts less the larger the item's leverage. Both together are one
    more rank for each row, by the Sherman-Morrison formula: before Woodbury's where positive
    (`sink`), beside it where negative (`lift`), which keeps the whole positive.
    """

    system: System
    l2: float
    t: Array
    core: Array
    sink: Array
    lift: Array

    @classmethod
    def build(cls, system: System, *, l1: float, l2: float) -> "Preconditioner":
        """Prepare the formulas for two penalties."""
        U, mu, eta, dtype = system.U, system.mu, system.eta, system.gram.dtype
        # diag(G - U Diag(mu) U'); U and mu are approximate, so entries may be below zero.
        left = np.maximum(system.g - (np.square(U.astype(np.float64)) * mu).sum(axis=1), 0.0)
        t = (left + l1 * system.row_penalty.astype(np.float64)).astype(dtype)
        whole = system.g + system.penalty(l1)
        upper = np.triu_indices(len(mu))
        inner = np.zeros((len(upper[0]), len(eta)), like=t)
        inside, leverage = np.zeros(len(t), like=t), np.zeros(len(t), like=t)
        for rows in blocks(system.DV):
            squared = np.square(system.DV[rows])
            inverse = 1 / (np.outer(t[rows], eta) + dtype.type(l2))
            # Column b: the upper triangle of U' Diag(1 / (eta_b t + l2)) U, which is symmetric.
            inner += (U[rows][:, upper[0]] * U[rows][:, upper[1]]).T @ inverse
            inside[rows] = rowdot(inverse, squared)
            # (g_i + L_i) D_i ((g_i + L_i) K + l2 I)^-1 D_i', from 0 to 1.
            h = whole[rows]
            leverage[rows] = h * rowdot(1 / (np.outer(h, eta) + dtype.type(l2)), squared)
        core = np.empty((len(eta), len(mu), len(mu)), dtype=dtype, like=t)
        for some in blocks(core):
            root = np.sqrt(np.outer(eta[some], mu))
            scale = root[:, :, None] * root[:, None, :]
            middle = np.zeros_like(scale)
            middle[:, upper[0], upper[1]] = inner.T[some]
            middle[:, upper[1], upper[0]] = inner.T[some]
            identity = np.asarray(np.eye(len(mu)), like=t)
            # Woodbury: root (I + root U' Diag(1 / (eta_b t + l2)) U root)^-1 root, rank x rank.
            core[some] = np.linalg.inv(identity + middle * scale) * scale
        own = np.maximum(1.0 - 2.0 * leverage, 0.0) * (system.g - left) - t
        # Sherman-Morrison: own / (1 + own D_i level^-1 D_i'), the bottom kept positive.
        weight = own / np.maximum(1.0 + own * inside, np.finfo(dtype).eps)
        sink, lift = np.maximum(weight, 0.0), np.maximum(-weight, 0.0)
        return cls(system, l2, t, core, sink.astype(dtype), lift.astype(dtype))

    def apply(self, R: Array) -> Array:
        """Return the preconditioned residual."""
        U, DV = self.system.U, self.system.DV
        if in_rows(R, DV, U):
            how = {"t": self.t, "l2": self.l2, "sink": self.sink, "lift": self.lift}
            return np.asarray(precondition(R, DV, U, self.system.eta, self.core, **how), like=R)
        out = np.empty_like(R)

        def divide(rows: slice) -> None:
            out[rows] = self._own(R[rows], rows)

        # Blocks in threads; products of arrays outside of them, with threads of their own.
        each_block(divide, R)
        # core[b] times column b of U' out, for all tags b at once (rank x tags).
        spread = np.einsum("brs,sb->rb", self.core, U.T @ out)
        for some in chunks(R, 2**24):
            leading = U[some] @ spread

            def change(within: slice, leading: Array = leading, first: int = some.start) -> None:
                rows = slice(first + within.start, first + within.start + len(leading[within]))
                part = out[rows]
                own = (self.lift[rows] * rowdot(part, DV[rows]))[:, None] * DV[rows]
                own /= self._level(rows)
                own -= self._own(leading[within], rows)
                part += own

            each_block(change, leading)
        return out

    def _own(self, R: Array, rows: slice) -> Array:
        """Return the inverse of the diagonal part, with the positive of the further ranks."""
        DV, level = self.system.DV[rows], self._level(rows)
        out = R / level
        level[...] = DV / level
        out -= (self.sink[rows] * rowdot(out, DV))[:, None] * level
        return np.asarray(out, like=R)

    def _level(self, rows: slice) -> Array:
        level = np.outer(self.t[rows], self.system.eta)
        level += self.t.dtype.type(self.l2)
        return level
