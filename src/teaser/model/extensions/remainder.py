"""TEASER with a remainder: what tags leave unexplained, learned as item-to-item weights.

With B = P(E D') + R, R an items x items matrix of zero diagonal,

    f(E, R) = |X - X B|^2 + l1 |B|^2 + l2 |E|^2 + k |R|^2

is minimised by an equation in E alone and a closed form for R. See docs/users/model.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError, ResourceError, SolverError
from teaser.model.checks import check_number, check_share
from teaser.model.extensions.viewed_items import RemainderMatrix, sparsify
from teaser.model.gram.blocks import blocks, chunks, rowdot
from teaser.model.gram.build import as_array, build_gram
from teaser.model.gram.cost import Estimate, dense_rate, memory_of_machine, say_bytes
from teaser.model.gram.gpu import DeviceGram, free_memory, to_host
from teaser.model.gram.operator import RANK, DenseGram, Gram, leading_eigenpairs
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.inverse import invert
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.solution import Limits, Solution
from teaser.model.solver.system import System

Array = NDArray[Any]

# Beyond so many times what it is added to, single precision has lost three digits and more.
_LARGEST_K = 1000


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """Options of a remainder R, items x items, that is added to P(E D').

    It explains what tags leave unexplained, as "because you viewed".

    Parameters
    ----------
    l2
        k, the penalty on R: smaller nears EASE, larger TEASER without a remainder.
    share
        Below 1, R is kept sparse: of each row the largest entries that carry this share of its
        sum of squares.
    """

    l2: float = 1000.0
    share: float = 1.0

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        check_number("remainder.l2", self.l2)
        check_share("remainder.share", self.share)


@dataclass(frozen=True, eq=False)
class Inverse(System):
    """The system of C = (G + ridge I)^-1 in the place of G; shared where l1 + k is the ridge.

    `U` and `mu` are eigenpairs of G.
    """

    ridge: float = 0.0

    @property
    def inverse(self) -> Array:
        """C as an array, items x items."""
        return np.asarray(self.gram.G, like=self.g)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class RemainderEquation:
    """The equation for the encoder once the best remainder is put in.

    With C = (G + (l1 + k) I)^-1, d = diag(C), W = P(E D') and v = diag(C W) it is

        k (W - k C W + k C dM(v / d)) D + l2 E = k (I - C dM(1 / d)) D

    The system is one of C in the place of G.
    """

    system: Inverse
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
        for rows in chunks(F):
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

    def unknowns(self, encoder: Array) -> Array:
        """Return F = E V."""
        g = self.system.g
        return np.asarray(np.asarray(encoder, dtype=g.dtype, like=g) @ self.system.V, like=g)

    def encoder(self, F: Array) -> Array:
        """Return E = F V'."""
        return np.asarray(F @ self.system.V.T, like=F)

    def preconditioner(self) -> Preconditioner:
        """Return that of TEASER for k (I - k C) in the place of the Gram.

        It has the Gram's eigenvectors. What most of the diagonal gives along them anyway is taken
        out of the eigenvalues.
        """
        system, k = self.system, self.k
        diagonal = np.maximum(k * (1 - k * system.g), 0.0).astype(system.g.dtype)
        leading = k * (1 - k / (system.mu + system.ridge)) - np.median(diagonal)
        alike = replace(system, g=diagonal, mu=np.maximum(leading, 0.0))
        return Preconditioner.build(alike, l1=0.0, l2=self.l2)


def prepare_inverse(
    X: Any,
    gram: Any,
    D: sp.csr_array,
    *,
    ridge: float,
    dtype: np.dtype[Any],
    content: sp.csr_array,
    content_weight: float = 0.0,
    device: str = "cpu",
    keep: bool = True,
    share: float = 1.0,
) -> Inverse:
    """Return the inverse and what follows from the decoder, for any penalty on the encoder.

    Parameters
    ----------
    ridge
        l1 + k.
    keep
        Whether the inverse stays while the remainder is made beside it.
    share
        What is kept of the remainder, which must fit too.

    For the others see `build_gram`. A Gram that was given is left as it is.
    """
    given = not isinstance(gram, str)
    arrays = 1 + keep + given
    check_room(X.shape[1], D.shape[1], dtype, arrays=arrays, device=device, share=share)
    operator = build_gram(
        X,
        gram if given else "dense",
        n_tags=D.shape[1],
        dtype=dtype,
        content=content,
        content_weight=content_weight,
        device=device,
    )
    U, mu = leading_eigenpairs(operator, RANK, np.random.default_rng(0))
    system = prepare_remainder(invert_gram(operator, ridge, overwrite=not given), D, ridge)
    return replace(system, U=U, mu=mu)


def invert_gram(gram: Gram, ridge: float, *, overwrite: bool = False) -> Array:
    """Return C = (G + ridge I)^-1 as an array, which is shared over all penalties on the encoder.

    EASE with this ridge is -C dM(1 / diag(C)) off the diagonal.

    Parameters
    ----------
    overwrite
        Whether the array of a Gram that has one may be used for its inverse.
    """
    g = gram.diagonal()
    if isinstance(g, np.ndarray):
        A = gram.G if overwrite and isinstance(gram, DenseGram) else as_array(gram)
        A.flat[:: len(A) + 1] += A.dtype.type(ridge)
        return invert(A)
    # The GPU's library has no inverse from a Cholesky factor; that of LU is symmetric but for
    # rounding.
    unit = np.asarray(np.eye(gram.n_items, dtype=gram.dtype), like=g)
    A = gram.G.copy() if isinstance(gram, DeviceGram) else gram.apply(unit)
    A += gram.dtype.type(ridge) * unit
    del unit
    C = np.linalg.inv(A)
    if not bool(np.isfinite(C).all()) or not bool((C.diagonal() > 0).all()):
        raise SolverError(f"X'X with its penalties is singular in {gram.dtype}. Raise them.")
    C += C.T.copy()
    C *= gram.dtype.type(0.5)
    return np.asarray(C, like=g)


def prepare_remainder(C: Array, D: sp.csr_array, ridge: float) -> Inverse:
    """Return the system of an inverse and a decoder, shared over penalties on the encoder."""
    gram: Gram = DenseGram(C) if isinstance(C, np.ndarray) else DeviceGram(C)
    system = Inverse.build(gram, D, rank=0, rng=np.random.default_rng(0))
    return replace(cast(Inverse, system), ridge=ridge)


def fit_remainder(
    system: Inverse,
    *,
    options: Remainder,
    l2: float,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> tuple[Solution, RemainderMatrix]:
    """Return the encoder and the remainder, in main memory.

    Parameters
    ----------
    system
        Of `prepare_remainder`, whose ridge is l1 + k.
    options
        k, the penalty on the remainder, and the share of each row's sum of squares to keep.
    l2
        The penalty on the encoder.
    overwrite
        Whether the system's memory may be used for the remainder.
    """
    k, share = float(options.l2), float(options.share)
    found = conjugate_gradients(RemainderEquation(system, k, l2), limits, start)
    R = to_host(remainder_weights(system.inverse, system, found.encoder, k=k, overwrite=overwrite))
    solution = replace(found, encoder=to_host(found.encoder))
    return solution, R if share == 1 else sparsify(R, share)


def check_companions(*, solver: str, gram: Any, others: Sequence[str]) -> None:
    """Raise `ParameterError` for other parameters that a remainder cannot be learned with.

    Parameters
    ----------
    others
        The names of the other extensions in use that exclude a remainder.
    """
    if solver != "cg":
        raise ParameterError(
            f"A remainder needs solver='cg', conjugate gradients, found solver={solver!r}."
        )
    if isinstance(gram, str) and gram == "sparse":
        raise ParameterError(
            "A remainder needs X'X as an array, found gram='sparse'. Use gram='auto'."
        )
    if others:
        raise ParameterError(
            f"A remainder cannot be learned together with {' or '.join(others)}. Use one of them."
        )


def check_system(system: System, shape: tuple[int, int], ridge: float | None) -> None:
    """Raise unless a system that was prepared is of this size and ridge; None: of no inverse."""
    if system.D.shape != shape:
        raise ParameterError(
            f"The system was prepared for {system.D.shape[0]:,} items and "
            f"{system.D.shape[1] - 1:,} tags, and the data set has {shape[0]:,} and "
            f"{shape[1] - 1:,}. Prepare it from this data set."
        )
    found = system.ridge if isinstance(system, Inverse) else None
    if (found is None) != (ridge is None) or not np.isclose(found or 0.0, ridge or 0.0, rtol=1e-9):
        said = ("no remainder" if r is None else f"a ridge of {r:g}" for r in (found, ridge))
        raise ParameterError(
            "The system was prepared for {} and the model has {}. With a remainder it can be "
            "shared where l2_weights + remainder.l2 is the same.".format(*said)
        )


def check_room(
    n_items: int,
    n_tags: int,
    dtype: np.dtype[Any],
    *,
    arrays: int,
    device: str = "cpu",
    share: float = 1.0,
) -> None:
    """Raise `ResourceError`, with the numbers and advice, where items x items arrays do not fit.

    Parameters
    ----------
    share
        Below 1, what is kept of the remainder in a sparse matrix comes beside the array.
    """
    # The GPU's inverse is made beside its argument and an identity.
    arrays += 2 if device == "cuda" else 0
    square = n_items**2 * dtype.itemsize
    rest = 7 * n_items * n_tags * dtype.itemsize + 3 * n_tags**2 * 8
    if device == "cpu":  # on a GPU it is kept of what has come back
        rest += _kept_bytes(n_items, dtype, share)
    have = free_memory() if device == "cuda" else memory_of_machine()
    if arrays * square + rest <= have:
        return
    smaller = "dtype='float32', " if dtype == np.float64 else ""
    raise ResourceError(
        f"A remainder of {n_items:,} items needs {say_bytes(arrays * square)} for {arrays} items x "
        f"items array{'s' if arrays > 1 else ''} and {say_bytes(rest)} for the rest, and this "
        f"{'GPU has' if device == 'cuda' else 'machine has'} {say_bytes(have)}. Use {smaller}"
        "fewer items or a larger machine, or no remainder: tags alone need no such array."
    )


def _kept_bytes(n_items: int, dtype: np.dtype[Any], share: float) -> int:
    """Return at most what a sparse remainder takes; one that is whole is the array itself."""
    return int(share * n_items**2 * (dtype.itemsize + 4)) if share < 1 else 0


def check_precision(k: float | None, l1: float, X: Any, dtype: str) -> None:
    """Raise `ParameterError` where k is so large that rounding decides what it leaves of R."""
    count = X.nnz / X.shape[1]
    if k is not None and dtype == "float32" and k > _LARGEST_K * (l1 + count):
        raise ParameterError(
            f"remainder.l2={k:g} is more than {_LARGEST_K:,} times l2_weights={l1:g} and the mean "
            f"count of an item ({count:.3g}): in float32 rounding would decide. Use a smaller one, "
            "dtype='float64', or no remainder, which is nearly the same."
        )


def estimate_remainder(found: Estimate, n_items: int, dtype: str, share: float) -> Estimate:
    """Return what a fit with a remainder takes, from what one with a dense Gram does.

    Gram, inverse and remainder follow each other in one array; entries that are kept of it
    come beside it.
    """
    memory = dict(found.memory)
    if share < 1:
        memory["sparse remainder"] = _kept_bytes(n_items, np.dtype(dtype), share)
    return replace(found, memory=memory, seconds=found.seconds + n_items**3 / dense_rate(dtype))


def remainder_weights(
    C: Array, system: System, encoder: Array, *, k: float, overwrite: bool = False
) -> Array:
    """Return R (items x items), the best remainder of an encoder, with a zero diagonal.

        R = -(E - k C E) D' - C dM(1 / d + k beta + k v / d)    off the diagonal

    Parameters
    ----------
    C
        Of `invert_gram`; it is left as it is unless `overwrite` says that R may take its place.
    """
    d = system.g
    E = np.asarray(encoder, dtype=d.dtype, like=d)
    CE = system.gram.apply(E)
    beta = _diagonal(E, system)
    v = _diagonal(CE, system) - d * beta
    R = np.multiply(C, -(1 / d + k * beta + k * v / d), out=C if overwrite else None)
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
