"""An approximate inverse of the solver's operator, by formulas for matrices of low rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.cuda.steps import in_rows, precondition
from teaser.model.gram.blocks import chunks
from teaser.model.gram.gpu import to_host
from teaser.model.solver.steps import Ranks, damped_squares
from teaser.model.solver.system import System

Array = NDArray[Any]


# How much of what the leading eigenpairs take from the diagonal is put back. They leave others,
# which are smaller but not on the diagonal; a half or a third took the fewest iterations.
_PUT_BACK = 0.4
# Eigenvalues of D'D are rounded up by at most this; columns of one value share a matrix.
_STEP = 1.1


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """An approximate inverse of the operator: symmetric, positive, and cheap to apply.

    G is replaced by diag(t) + U diag(mu) U', a few leading eigenpairs and a part of the diagonal.
    In the basis of V each column b is then a diagonal plus a low rank,

        eta_b (diag(t + L) + U diag(mu) U') + l2,    L = l1 diag(r),

    inverted by Woodbury's formula with a small matrix. It depends on eta_b alone, so there eta is
    `rounded`, and columns `starts[k]` to `starts[k + 1]` share `core[k]`. In `ranks`, t is t + L.

    That an item may not explain itself changes G (x) D'D by -N G - G N + diag(g) N, where N holds
    D_i'D_i for each row i. On the diagonal part this is -(t + L)_i D_i'D_i. On the leading part
    it is (g - t)_i D_i'D_i where the histories cancel, and nothing good where an item alone
    makes up its tags, so it counts less the larger the item's leverage. Both together are one
    more rank for each row, by the Sherman-Morrison formula: before Woodbury's where positive
    (`sink`), beside it where negative (`lift`), which keeps the whole positive. The latter is
    the larger the nearer a leverage is to one, so it needs eta as it is.
    """

    system: System
    ranks: Ranks
    starts: NDArray[np.int64]
    core: Array

    @classmethod
    def build(cls, system: System, *, l1: float, l2: float) -> "Preconditioner":
        """Prepare the formulas for two penalties."""
        U, mu, dtype = system.U, system.mu, system.gram.dtype
        eta = system.eta
        rounded, starts = _rounded(eta, least=1e-3 * l2 / float(system.g.max() + 1.0))
        # diag(G - U Diag(mu) U'); U and mu are approximate, so entries may be below zero.
        left = np.maximum(system.g - (np.square(U.astype(np.float64)) * mu).sum(axis=1), 0.0)
        left += _PUT_BACK * (system.g - left)
        t = (left + l1 * system.row_penalty.astype(np.float64)).astype(dtype)
        whole = system.g + system.penalty(l1)
        inside = damped_squares(system.DV, t, eta, dtype.type(l2))
        # (g_i + L_i) D_i ((g_i + L_i) K + l2 I)^-1 D_i', from 0 to 1.
        leverage = whole * damped_squares(system.DV, whole, eta, dtype.type(l2))
        core = np.empty((len(starts) - 1, len(mu), len(mu)), dtype=dtype, like=t)
        identity = np.asarray(np.eye(len(mu)), like=t)
        for k, value in enumerate(rounded[starts[:-1]]):
            middle = U.T @ (U / (value * t + dtype.type(l2))[:, None])
            root = np.sqrt(value * mu)
            scale = np.outer(root, root)
            # Woodbury: root (I + root U' Diag(1 / (eta_b t + l2)) U root)^-1 root, rank x rank.
            core[k] = np.linalg.inv(identity + middle * scale) * scale
        own = np.maximum(1.0 - 2.0 * leverage, 0.0) * (system.g - left) - t
        # Sherman-Morrison: own / (1 + own D_i level^-1 D_i'), the bottom kept positive.
        weight = own / np.maximum(1.0 + own * inside, np.finfo(dtype).eps)
        sink, lift = (np.maximum(part, 0.0).astype(dtype) for part in (weight, -weight))
        ranks = Ranks(system.DV, t, eta, rounded, dtype.type(l2), sink, lift)
        return cls(system, ranks, starts, core)

    def apply(self, R: Array) -> Array:
        """Return the preconditioned residual."""
        U, ranks = self.system.U, self.ranks
        if in_rows(R, ranks.DV, U):
            how = {"t": ranks.t, "l2": ranks.l2, "sink": ranks.sink, "lift": ranks.lift}
            parts = (ranks.eta, ranks.rounded, self.starts, self.core)
            return np.asarray(precondition(R, ranks.DV, U, *parts, **how), like=R)
        out, lifted = ranks.divide(R)
        spread = U.T @ out  # rank x tags
        for core, first, last in zip(self.core, self.starts, self.starts[1:], strict=False):
            spread[:, first:last] = core @ spread[:, first:last]
        for rows in chunks(R, 2**24):
            ranks.correct(U[rows] @ spread, lifted, rows.start, out)
        return out


def _rounded(eta: Array, *, least: float) -> tuple[Array, NDArray[np.int64]]:
    """Return values that are sorted upwards, rounded up, and where each of them begins.

    Those below `least` are one value: the penalty outweighs what they count.
    """
    values = to_host(eta).astype(np.float64)
    power = np.floor(np.log(np.maximum(values, least) / least) / np.log(_STEP))
    starts = np.append(np.unique(power, return_index=True)[1], len(values))
    # The last of each is the largest.
    rounded = np.repeat(values[starts[1:] - 1], np.diff(starts)).astype(eta.dtype)
    return np.asarray(rounded, like=eta), starts
