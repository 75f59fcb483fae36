"""A sparse encoder: which entries to keep, and what they are when all the others are zero.

Entries are chosen by what leaving each out alone would cost at the dense solution, and then
solved for again: with M the mask of the entries kept,

    M * A(M * E) = M * B

where A and B are those of solver.py. Everything is evaluated in items x tags form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import pack
from teaser.errors import ArtifactError, ParameterError, SolverError
from teaser.model.gram.gpu import to_host
from teaser.model.gram.operator import Matrix
from teaser.model.solver.conjugate_gradients import Callback, Solution, lost, warn_not_converged
from teaser.model.solver.system import System, blocks, sparse_like

Array = NDArray[Any]
Encoder: TypeAlias = Any  # items x tags, a dense array or a csr one

# Entries are left out in so many stages, the first of which keeps less than this share; all but
# the last are solved for to a looser tolerance.
_STAGES = 4
_FIRST = 0.8
_LOOSER = 3.0


def sparsify(
    system: System,
    found: Solution,
    *,
    l1: float,
    l2: float,
    density: float,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Return the encoder (csr, items x tags) that is best on its most telling entries.

    Half of the entries are left out at a time, and the others solved for again: what an entry
    says is taken over by others, which is seen only once it is gone.

    Parameters
    ----------
    found
        The dense solution for the same system and penalties; its iterations are counted in.
    density
        Which share of the entries may be kept.
    tol, max_iter, callback
        As in `conjugate_gradients`; residuals are of the equation for the entries kept.
    """
    encoder, iterations = found.encoder, found.iterations
    shares = [density * 2**k for k in range(_STAGES) if density * 2**k < _FIRST] or [density]
    for share in reversed(shares):
        kept = support(saliency(system, encoder, l1=l1, l2=l2), share)
        rows = np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr))
        refit = solve_support(
            SupportProblem.build(system, kept, l1=l1, l2=l2),
            as_dense(encoder)[rows, kept.indices],
            tol=tol if share == density else min(0.5, _LOOSER * tol),
            max_iter=max_iter,
            callback=callback,
        )
        encoder, iterations = refit.encoder, iterations + refit.iterations
    return replace(refit, iterations=iterations)


def saliency(system: System, encoder: Encoder, *, l1: float, l2: float) -> Array:
    """Return by how much the objective grows when an entry alone is set to zero (items x tags).

    The objective is quadratic, so at its minimum that is E_ij^2 times the operator's diagonal.
    """
    K = _tag_squares(system)
    out = np.square(as_dense(encoder))
    g = to_host(system.g)
    D = _host(system.D)
    for rows in blocks(out):
        level = np.outer(g[rows] + l1, K) + l2
        some = D[rows]
        owner = np.repeat(np.arange(some.shape[0]), np.diff(some.indptr))
        level[owner, some.indices] -= (g[rows] + l1)[owner] * np.square(some.data)
        out[rows] *= level
    return out


def support(worth: Array, density: float) -> sp.csr_array:
    """Return the places of the largest entries, a share of them all and at least one, as ones.

    Of equal entries the first are kept.
    """
    n = max(1, int(density * worth.size))
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


@dataclass(frozen=True, eq=False)
class SupportProblem:
    """The equation for the entries of E that are kept; unknowns are a vector of them.

    `kept` is a csr matrix with ones at their places, `rows` the row of each, `weights` the
    decoder's entry there, `diagonal` the operator's.
    """

    system: System
    l1: float
    l2: float
    kept: sp.csr_array
    rows: Array
    columns: Array
    weights: Array
    diagonal: Array
    Dt: Matrix

    @classmethod
    def build(cls, system: System, kept: sp.csr_array, *, l1: float, l2: float) -> "SupportProblem":
        """Prepare what every iteration needs."""
        g, dtype, D = system.g, system.gram.dtype, _host(system.D)
        kept = sp.csr_array(kept, dtype=dtype)
        kept.sort_indices()
        rows = np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr))
        weights = _values_at(D, rows, kept.indices)
        level = to_host(g).astype(np.float64)[rows] + l1
        diagonal = level * (_tag_squares(system)[kept.indices] - np.square(weights)) + l2
        return cls(
            system,
            l1,
            l2,
            kept,
            np.asarray(rows, like=g),
            np.asarray(kept.indices, like=g),
            np.asarray(weights.astype(dtype), like=g),
            np.asarray(diagonal.astype(dtype), like=g),
            sparse_like(sp.csr_array(D.T.tocsr()), g),
        )

    def operator(self, x: Array) -> Array:
        """Return A at the places kept, for an encoder that is x there and 0 elsewhere.

            A(E) = (H D') D - G (beta * D) - (alpha + l1 beta) * D + l2 E,    H = G E + l1 E

        with alpha = diag(G E D') - g beta and beta = diag(E D'); D is sparse.
        """
        system, gram = self.system, self.system.gram
        n_items, dtype = gram.n_items, gram.dtype
        H = gram.apply(self.encoder(x))
        beta = np.bincount(self.rows, x * self.weights, minlength=n_items).astype(dtype)
        parts = H[system.row_of, system.D.indices] * system.D.data
        diagonal = np.bincount(system.row_of, parts, minlength=n_items).astype(dtype)
        H[self.rows, self.columns] += dtype.type(self.l1) * x
        removed = gram.apply(system.scaled(beta))
        out = dtype.type(self.l2) * x
        taken = diagonal + (dtype.type(self.l1) - system.g) * beta
        out -= taken[self.rows] * self.weights
        for rows in blocks(H):
            last = min(rows.stop, n_items)
            some = slice(int(self.kept.indptr[rows.start]), int(self.kept.indptr[last]))
            seen = (self.Dt @ (system.D @ H[rows].T)).T - removed[rows]
            out[some] += seen[self.rows[some] - rows.start, self.columns[some]]
        return np.asarray(out, like=x)

    def right_hand_side(self) -> Array:
        """Return P(G) D at the places kept."""
        system = self.system
        B = system.gram.apply(system.D)[self.rows, self.columns]
        return np.asarray(B - system.g[self.rows] * self.weights, like=system.g)

    def encoder(self, x: Array) -> Matrix:
        """Return the encoder with these entries, a sparse matrix where the Gram lives."""
        if isinstance(x, np.ndarray):
            return sp.csr_array((x, self.kept.indices, self.kept.indptr), shape=self.kept.shape)
        D, indptr = self.system.D, np.asarray(self.kept.indptr, like=x)
        return type(D)((x, self.columns, indptr), shape=self.kept.shape)


def solve_support(
    problem: SupportProblem,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Solve for the entries kept by conjugate gradients, preconditioned by the diagonal.

    The residual is computed anew at the end, and the search goes on for as long as that helps.
    Where rounding allows no smaller residual, it stops before `max_iter`.
    """
    dtype = problem.system.gram.dtype
    B = problem.right_hand_side()
    goal = _length(B) or 1.0
    x = np.asarray(start, dtype=dtype, like=B)
    R = B - problem.operator(x)
    residual, iteration = _length(R) / goal, 0
    while residual > tol and iteration < max_iter:
        before = residual
        x, iteration = _descend(problem, x, R, tol * goal, goal, iteration, max_iter, callback)
        R = B - problem.operator(x)
        residual = _length(R) / goal
        if residual > 0.5 * before:
            break
    if residual > tol:
        warn_not_converged(iteration, max_iter, residual, tol, dtype)
    kept = problem.kept
    encoder = sp.csr_array((to_host(x), kept.indices, kept.indptr), shape=kept.shape)
    return Solution(encoder, iteration, residual, residual <= tol, 2 * residual * goal)


def _descend(
    problem: SupportProblem,
    x: Array,
    R: Array,
    least: float,
    goal: float,
    iteration: int,
    max_iter: int,
    callback: Callback | None,
) -> tuple[Array, int]:
    """Go from x with residual R until that is at most `least`; return where, and the iteration."""
    dtype = problem.system.gram.dtype
    moved, rounding = goal, 0.1 * np.finfo(dtype).eps
    P = R / problem.diagonal
    rz = _dot(R, P)
    while iteration < max_iter:
        AP = problem.operator(P)
        curvature = _dot(P, AP)
        if not 0 < curvature < np.inf:
            raise SolverError(lost(dtype))
        step = dtype.type(rz / curvature)
        x = x + step * P
        R = R - step * AP
        moved += float(step) * _length(AP)
        iteration += 1
        length = _length(R)
        if callback is not None:
            callback(iteration, length / goal)
        if length <= max(least, rounding * moved):
            break
        Z = R / problem.diagonal
        rz, last = _dot(R, Z), rz
        P = Z + dtype.type(rz / last) * P
    return x, iteration


def check_density(density: Any) -> None:
    """Raise `ParameterError` for a share that keeps nothing or more than all."""
    if density is None:
        return
    is_real = isinstance(density, int | float | np.integer | np.floating)
    if isinstance(density, bool) or not is_real or not 0 < density <= 1:
        raise ParameterError(
            "density must be the share of the encoder's entries to keep, above 0 and at most 1 "
            f"such as 0.05, or None for all of them in an array; found {density!r}."
        )


def sum_rows(encoder: Encoder, rows: sp.csr_array) -> Array:
    """Return the encoder's rows summed over each history (people x tags), in double precision.

    Items beyond the encoder's rows add nothing.
    """
    learnt, n_tags = encoder.shape
    raw = np.zeros((rows.shape[0], n_tags))
    for person in range(rows.shape[0]):
        places = rows.indices[rows.indptr[person] : rows.indptr[person + 1]]
        places = places[places < learnt]
        if sp.issparse(encoder):
            some = encoder[places]
            raw[person] = np.bincount(some.indices, some.data, minlength=n_tags)
        else:
            raw[person] = encoder[places].sum(axis=0, dtype=np.float64)
    return raw


def as_dense(encoder: Encoder) -> Array:
    """Return an encoder as an array."""
    return np.asarray(encoder.toarray() if sp.issparse(encoder) else encoder)


def pack_encoder(encoder: Encoder) -> dict[str, Array]:
    """Return an encoder as named arrays to be saved."""
    return pack("encoder", encoder) if sp.issparse(encoder) else {"encoder": np.asarray(encoder)}


def unpack_encoder(arrays: Mapping[str, Array], n_tags: int) -> Encoder:
    """Return the encoder that `pack_encoder` took apart; what was mapped from disk stays there."""
    return arrays["encoder"] if "encoder" in arrays else unpack_mapped("encoder", arrays, n_tags)


def unpack_mapped(name: str, arrays: Mapping[str, Array], n_columns: int) -> sp.csr_array:
    """Return a sparse matrix of its saved parts; what was mapped from disk stays there."""
    try:
        indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
        data = arrays.get(f"{name}.data")
        values = np.ones(len(indices), np.float32) if data is None else data
        shape = (len(indptr) - 1, n_columns)
        sp.csr_array((values, indices, indptr), shape=shape).check_format(full_check=True)
    except (KeyError, ValueError) as error:
        raise ArtifactError(f"The saved {name} is not whole: {error}. Make it again.") from error
    # Made of parts, it would copy those that are views of a larger array, as mapped ones are.
    matrix = sp.csr_array(shape, dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, indices, indptr
    return matrix


def _tag_squares(system: System) -> Array:
    """Return the diagonal of D'D in double precision."""
    D = _host(system.D)
    return np.bincount(D.indices, np.square(D.data, dtype=np.float64), minlength=D.shape[1])


def _values_at(D: sp.csr_array, rows: Array, columns: Array) -> Array:
    """Return the entries of a sparse matrix at places that are sorted by row, zeros included."""
    D = sp.csr_array(D, copy=True)
    D.sort_indices()
    width = D.shape[1]
    own = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr)).astype(np.int64) * width + D.indices
    wanted = rows.astype(np.int64) * width + columns
    place = np.minimum(np.searchsorted(own, wanted), max(0, len(own) - 1))
    if not len(own):
        return np.zeros(len(wanted))
    return np.where(own[place] == wanted, D.data[place], 0.0).astype(np.float64)


def _host(D: Matrix) -> sp.csr_array:
    return D if sp.issparse(D) else sp.csr_array(D.get())


def _dot(a: Array, b: Array) -> float:
    return float((a.astype(np.float64) * b).sum())


def _length(a: Array) -> float:
    return float(np.sqrt(_dot(a, a)))
