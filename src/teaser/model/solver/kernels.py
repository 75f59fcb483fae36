"""The steps of an iteration, compiled by numba: imported only where numba is installed.

Written with numpy's functions, a step is five to fifteen passes over arrays of items x tags. Here
it is one: a row stays in the cache of a core. `cuda/steps.py` has the same steps for a GPU.
"""

from typing import Any

from numpy.typing import NDArray

from teaser.model.compiled.compiler import compiled

Array = NDArray[Any]


def _own(
    R: Array, DV: Array, t: Array, rounded: Array, l2: float, sink: Array, eta: Array, lift: Array,
    out: Array, lifted: Array,
) -> None:  # fmt: skip
    """Write (R - sink s DV) / level with level = t rounded + l2 and s = R / level . DV.

    `lifted` becomes lift R / exact . DV, where exact = t eta + l2.
    """
    for i in range(R.shape[0]):
        r, d, to, here = R[i], DV[i], out[i], t[i]
        total, up = R.dtype.type(0), R.dtype.type(0)
        for c in range(r.size):
            both = r[c] * d[c]
            total += both / (here * rounded[c] + l2)
            up += both / (here * eta[c] + l2)
        taken = sink[i] * total
        for c in range(r.size):
            to[c] = (r[c] - taken * d[c]) / (here * rounded[c] + l2)
        lifted[i] = lift[i] * up


def _correct(
    X: Array, DV: Array, t: Array, rounded: Array, l2: float, sink: Array, eta: Array,
    lifted: Array, out: Array,
) -> None:  # fmt: skip
    """Add lifted DV / exact to `out`, and take from it what `_own` makes of X."""
    for i in range(X.shape[0]):
        x, d, to, here, more = X[i], DV[i], out[i], t[i], lifted[i]
        total = X.dtype.type(0)
        for c in range(x.size):
            total += x[c] * d[c] / (here * rounded[c] + l2)
        taken = sink[i] * total
        for c in range(x.size):
            own = (x[c] - taken * d[c]) / (here * rounded[c] + l2)
            to[c] += more * d[c] / (here * eta[c] + l2) - own


def _finish(out: Array, F: Array, DV: Array, eta: Array, L: Array, l2: float, taken: Array) -> None:
    """Add (L eta + l2) F - taken DV to `out`."""
    for i in range(F.shape[0]):
        f, d, to, penalty, less = F[i], DV[i], out[i], L[i], taken[i]
        for c in range(f.size):
            to[c] += (penalty * eta[c] + l2) * f[c] - less * d[c]


def _damped_squares(DV: Array, h: Array, eta: Array, l2: float, out: Array) -> None:
    """Write the sum of DV^2 / (h eta + l2) over the columns of each row."""
    for i in range(DV.shape[0]):
        d, here = DV[i], h[i]
        total = DV.dtype.type(0)
        for c in range(d.size):
            total += d[c] * d[c] / (here * eta[c] + l2)
        out[i] = total


def _descend(step: float, P: Array, AP: Array, F: Array, R: Array) -> float:
    """Add `step` P to F, take `step` AP from R, and return the squared norm of R."""
    total = 0.0
    for i in range(P.shape[0]):
        p, ap, f, r = P[i], AP[i], F[i], R[i]
        row = P.dtype.type(0)
        for c in range(p.size):
            f[c] += step * p[c]
            r[c] -= step * ap[c]
            row += r[c] * r[c]
        total += row
    return total


own = compiled(_own, reorder=True)
correct = compiled(_correct, reorder=True)
finish = compiled(_finish, reorder=True)
damped_squares = compiled(_damped_squares, reorder=True)
descend = compiled(_descend, reorder=True)
