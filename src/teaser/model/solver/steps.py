"""The steps of an iteration, in place on arrays of items x tags, wherever these lie.

Each is one reading of its arrays by compiled loops: on a GPU, and where numba is installed on a
processor too, in blocks of rows that threads share. Else it is written with numpy's functions.
"""

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.cuda import steps as cuda
from teaser.model.gram.blocks import each_block, inner, rowdot
from teaser.model.gram.operator import kernels_for
from teaser.model.solver.rotated_decoder import RotatedDecoder

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ranks:
    """A diagonal for each column, and one more rank for each row, positive or negative.

    Rows have `level` = t rounded + l2, and `exact` = t eta + l2, one entry a column.

    Attributes
    ----------
    DV
        The directions of the ranks, items x tags.
    t, sink, lift
        One a row: the diagonal, and the weights of the ranks.
    eta, rounded
        One a column.
    l2
        The penalty, of the type of the arrays.
    """

    DV: Any
    t: Array
    eta: Array
    rounded: Array
    l2: Any
    sink: Array
    lift: Array

    def divide(self, R: Array) -> tuple[Array, Array]:
        """Return (R - sink s DV) / level, s = R / level . DV; and lift R / exact . DV, a row."""
        out, lifted = np.empty_like(R), np.empty_like(self.lift)
        fast = _loops(R, self.DV)

        def work(rows: slice) -> None:
            if fast is not None:
                into = (self.sink[rows], self.eta, self.lift[rows], out[rows], lifted[rows])
                fast.own(R[rows], self.DV[rows], self.t[rows], self.rounded, self.l2, *into)
                return
            out[rows] = self._own(R[rows], rows)
            lifted[rows] = self.lift[rows] * rowdot(R[rows], self._lifting(rows))

        each_block(work, R)
        return out, lifted

    def correct(self, X: Array, lifted: Array, first: int, out: Array) -> None:
        """Add lifted DV / exact to the rows of `out` from `first` on, less what X becomes above."""
        fast = _loops(X, self.DV, out)

        def work(within: slice) -> None:
            x = X[within]
            rows = slice(first + within.start, first + within.start + len(x))
            if fast is not None:
                into = (self.sink[rows], self.eta, lifted[rows], out[rows])
                fast.correct(x, self.DV[rows], self.t[rows], self.rounded, self.l2, *into)
                return
            own = lifted[rows, None] * self._lifting(rows)
            own -= self._own(x, rows)
            out[rows] += own

        each_block(work, X)

    def _own(self, R: Array, rows: slice) -> Array:
        DV, level = self.DV[rows], self._level(rows, self.rounded)
        out = R / level
        np.divide(DV, level, out=level)
        out -= (self.sink[rows] * rowdot(out, DV))[:, None] * level
        return np.asarray(out, like=R)

    def _lifting(self, rows: slice) -> Array:
        level = self._level(rows, self.eta)
        np.divide(self.DV[rows], level, out=level)
        return level

    def _level(self, rows: slice, eta: Array) -> Array:
        level = np.outer(self.t[rows], eta)
        level += self.l2
        return level


def finish(out: Array, F: Array, DV: Any, eta: Array, L: Array, l2: Any, taken: Array) -> None:
    """Add (L eta + l2) F - taken DV to `out`, where L and `taken` are one a row."""
    if cuda.in_rows(out, F, DV):
        cuda.finish(out, F, DV, eta, L, l2, taken)
        return
    fast = _loops(out, F, DV)

    def work(rows: slice) -> None:
        if fast is not None:
            fast.finish(out[rows], F[rows], DV[rows], eta, L[rows], l2, taken[rows])
            return
        own = np.outer(L[rows], eta)
        own += l2
        own *= F[rows]
        out[rows] += own
        out[rows] -= taken[rows, None] * DV[rows]

    each_block(work, out)


def damped_squares(DV: Any, h: Array, eta: Array, l2: Any) -> Array:
    """Return the sums of DV^2 / (h eta + l2) over columns, one a row, where h is one a row."""
    out, fast = np.empty(len(h), like=h), _loops(DV)
    # Blocks are those of an array, also where DV is computed.
    like = np.broadcast_to(h[:, None], DV.shape) if isinstance(h, np.ndarray) else DV

    def work(rows: slice) -> None:
        if fast is not None:
            fast.damped_squares(DV[rows], h[rows], eta, l2, out[rows])
            return
        level = np.outer(h[rows], eta)
        level += l2
        out[rows] = rowdot(1 / level, np.square(DV[rows]))

    each_block(work, like)
    return out


def descend(step: Any, P: Array, AP: Array, F: Array, R: Array) -> float:
    """Add `step` P to F, take `step` AP from R, and return the norm of R."""
    if cuda.in_rows(P, AP, F, R):
        return float(np.sqrt(cuda.descend(step, P, AP, F, R)))
    fast = _loops(P, AP, F, R)

    def work(rows: slice) -> float:
        if fast is not None:
            return float(fast.descend(step, P[rows], AP[rows], F[rows], R[rows]))
        F[rows] += step * P[rows]
        R[rows] -= step * AP[rows]
        return inner(R[rows], R[rows])

    return float(np.sqrt(sum(each_block(work, F))))


def advance(step: Any, P: Array, F: Array) -> None:
    """Add `step` P to F."""

    def work(rows: slice) -> None:
        F[rows] += step * P[rows]

    each_block(work, F)


def turn(P: Array, share: Any, Z: Array) -> None:
    """Make P the next direction share P + Z."""
    if cuda.in_rows(P, Z):
        cuda.turn(P, share, Z)
        return

    def work(rows: slice) -> None:
        P[rows] *= share
        P[rows] += Z[rows]

    each_block(work, P)


def _loops(*arrays: Any) -> ModuleType | None:
    """Return the compiled loops for matrices in main memory, in C order and of one type.

    None where numba is not installed, or where the first is so small that loading costs more.
    """
    first = arrays[0]
    if not isinstance(first, np.ndarray | RotatedDecoder) or kernels_for(first.size) is None:
        return None
    held = [A for A in arrays if isinstance(A, np.ndarray)]  # what is computed is in C order
    is_plain = all(A.ndim == 2 and A.flags.c_contiguous and A.dtype == first.dtype for A in held)
    return _kernels() if is_plain else None


@cache
def _kernels() -> ModuleType:
    from teaser.model.solver import kernels

    return kernels
