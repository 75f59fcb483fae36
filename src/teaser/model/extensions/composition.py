"""The steps of a fit in their order: decoder weights, encoder, sparse encoder, remainder.

Any of them may be left out. Each is the exact solution for what the steps before it found, but
for the joint remainder, which is found together with the encoder and stands alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.metadata import UserFeatures
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model.extensions.decoder import LearnedDecoder, learn_decoder
from teaser.model.extensions.discovered import declared_columns
from teaser.model.extensions.remainder import (
    NEAR_POWER,
    Inverse,
    Neighbours,
    Remainder,
    RemainderMatrix,
    check_neighbours,
    fit_remainder,
    learn_neighbours,
    prepare_inverse,
    ridge_of,
)
from teaser.model.extensions.sparse import SparseEncoder, refit_support, sparsify
from teaser.model.extensions.user_features import pad_rows, stack_interactions
from teaser.model.extensions.weights import PLAIN, Weights
from teaser.model.gram.build import build_gram
from teaser.model.gram.cost import FitSize
from teaser.model.gram.gpu import to_host
from teaser.model.gram.operator import Gram
from teaser.model.gram.pairs import how_to_find, nearest
from teaser.model.gram.weighting import row_weights
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits, Solution, Tolerance, may_round
from teaser.model.solver.solve import dispatch, prepare
from teaser.model.solver.system import System
from teaser.model.tables import decoder, popularity

Array = NDArray[Any]


class Plan(Protocol):
    """The hyper-parameters of a Teaser that its steps read."""

    l2_weights: float
    l2_encoder: float
    content_weight: float
    weights: Weights | None
    remainder: Remainder | None
    decoder: LearnedDecoder | None
    sparse: SparseEncoder | None
    solver: str
    gram: Any
    tol: Tolerance
    dtype: str
    rng: int | np.random.Generator | None
    device: str

    @property
    def joint_remainder(self) -> Remainder | None:
        """The options of a remainder that is found together with the encoder."""
        ...


@dataclass(frozen=True, eq=False)
class SharedSystem(System):
    """A system that is shared over penalties, with the neighbours of items once they are known.

    `near` has the neighbours by their number, and `kept` what the last remainder was found with.
    """

    near: dict[int, sp.csr_array] = field(default_factory=dict)
    kept: dict[int, Neighbours] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Parts:
    """What the steps of a fit found, in main memory.

    Attributes
    ----------
    solution
        The encoder, with the rows of user features below those of the items.
    system
        The system of the decoder in use.
    decoder
        D, items x tags, in double precision.
    remainder
        R, items x items, or None.
    """

    solution: Solution
    system: System
    decoder: sp.csr_array
    remainder: RemainderMatrix | None = None


def fixed_decoder(dataset: Dataset, weights: Weights | None) -> sp.csr_array:
    """Return D = [S | s popularity] in double precision (items x tags)."""
    scale = PLAIN.popularity_scale if weights is None else weights.popularity_scale
    return decoder(dataset.S, scale * popularity(dataset))


def prepare_system(
    plan: Plan, dataset: Dataset, user_features: UserFeatures | None, *, keep: bool
) -> System:
    """Return what the steps share and no penalty changes; with a joint remainder, its inverse.

    Parameters
    ----------
    keep
        Whether further fits will reuse it.
    """
    kind, weights = np.dtype(plan.dtype), PLAIN if plan.weights is None else plan.weights
    D = pad_rows(fixed_decoder(dataset, plan.weights).astype(kind), user_features)
    how: dict[str, Any] = {
        "content": pad_rows(declared_columns(dataset), user_features),
        "content_weight": plan.content_weight,
        "device": plan.device,
    }
    if plan.joint_remainder is not None:
        how |= {"options": plan.joint_remainder, "l1": float(plan.l2_weights), "keep": keep}
        how |= {"weights": weights, "item_counts": dataset.item_counts}
        return prepare_inverse(dataset.X, plan.gram, D, **how)
    n_near = 0 if plan.remainder is None else plan.remainder.neighbours or 0
    # Before the Gram of the fit, so that there are never two of them.
    near = {n_near: _find_near(plan, dataset, n_near)} if n_near else {}
    X, n_items = stack_interactions(dataset, user_features), dataset.n_items
    how |= {"user_power": weights.user_power, "n_items": n_items}
    size = FitSize(D.shape[1], kind, plan.solver, has_content=plan.content_weight > 0)
    gram = build_gram(X, plan.gram, size, **how)
    system = prepare(
        gram,
        D,
        solver=plan.solver,
        rng=plan.rng,
        # Further fits may want a smaller residual.
        is_coarse=not keep and plan.solver == "cg" and may_round(plan.tol),
        row_penalty=row_weights(gram, weights.ridge_power, n_items=n_items),
        column_weight=weights.of_columns(dataset.item_counts),
    )
    own = {part.name: getattr(system, part.name) for part in fields(system)}
    return SharedSystem(**own, near=near)


def _find_near(plan: Plan, dataset: Dataset, m: int) -> sp.csr_array:
    """Return the nearest neighbours of each item (items x items)."""
    given = plan.gram
    gram: Gram
    if not isinstance(dataset.X, Interactions) or isinstance(given, str):
        size = FitSize(1, np.dtype(plan.dtype))
        how = how_to_find(given if isinstance(given, str) else "auto", plan.device)
        gram = build_gram(dataset.X, how, size, device=plan.device, user_power=NEAR_POWER)
    elif hasattr(given, "with_user_power"):
        gram = given.with_user_power(NEAR_POWER)
    else:  # counted elsewhere, as by a cluster: its own cosines are all there are
        gram = build_gram(dataset.X, given, FitSize(1, np.dtype(plan.dtype)))
    return nearest(gram, m)


def fit_parts(
    plan: Plan,
    system: System,
    dataset: Dataset,
    *,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> Parts:
    """Return what all steps of a plan find.

    Parameters
    ----------
    system
        What `prepare_system` returned for this data set.
    start
        An encoder to begin from, with the rows of user features.
    overwrite
        Whether the memory of an inverse may be used for the remainder.
    """
    D = fixed_decoder(dataset, plan.weights)
    if isinstance(system, Inverse) and plan.joint_remainder is not None:
        solution, R = fit_remainder(
            system,
            options=plan.joint_remainder,
            l2=float(plan.l2_encoder),
            limits=limits,
            start=start,
            overwrite=overwrite,
        )
        return Parts(solution, system, D, R)
    found = _fit_tags(plan, system, D, limits, start)
    return found if plan.remainder is None else _fit_near(plan, system, dataset, found, limits)


def check_near(plan: Plan, dataset: Dataset) -> None:
    """Raise `ResourceError` where the neighbours of a fit do not fit, before its work."""
    if plan.remainder is not None and plan.remainder.neighbours is not None:
        check_neighbours(plan.dtype, plan.remainder.neighbours, n_items=dataset.n_items)


def _fit_tags(
    plan: Plan, system: System, D: sp.csr_array, limits: Limits, start: Array | None
) -> Parts:
    """Return encoder and decoder: all that tags explain."""
    l1, l2 = float(plan.l2_weights), float(plan.l2_encoder)

    def solve(system: System, start: Array | None) -> Solution:
        return dispatch(EncoderEquation(system, l1, l2), limits, solver=plan.solver, start=start)

    if plan.decoder is not None:
        solution, system, D = learn_decoder(
            system, D, l1=l1, options=plan.decoder, solve=solve, start=start
        )
    else:
        solution = solve(system, start)
    if plan.sparse is not None:
        equation = EncoderEquation(system, l1, l2)
        solution = sparsify(equation, solution, density=plan.sparse.density, limits=limits)
    return Parts(solution, system, D)


def _fit_near(plan: Plan, system: System, dataset: Dataset, tags: Parts, limits: Limits) -> Parts:
    """Return what tags explain, with the remainder of neighbours for what they do not.

    Parameters
    ----------
    system
        The one that was prepared; that of `tags` may have another decoder.
    """
    options = plan.remainder
    if options is None:
        return tags

    def solve(equation: EncoderEquation, start: Any) -> Solution:
        if sp.issparse(start):
            return refit_support(equation, start, limits)
        return dispatch(equation, limits, solver=plan.solver, start=start)

    equation = EncoderEquation(tags.system, float(plan.l2_weights), float(plan.l2_encoder))
    D = sp.csr_array(tags.decoder, copy=True)
    D.resize((tags.system.gram.n_items, D.shape[1]))  # rows of user features are empty
    neighbours = _neighbours(plan, system, dataset, int(options.neighbours or 0))
    solution, R = learn_neighbours(
        equation, tags.solution, neighbours, D, options=options, solve=solve
    )
    return replace(tags, solution=solution, remainder=R)


def _neighbours(plan: Plan, system: System, dataset: Dataset, m: int) -> Neighbours:
    """Return the neighbours and G on them, from the system where it has them."""
    near, kept = (system.near, system.kept) if isinstance(system, SharedSystem) else ({}, {})
    penalty = float(plan.l2_weights) * to_host(system.row_penalty).astype(np.float64)
    if m not in kept:
        if m not in near:
            near[m] = _find_near(plan, dataset, m)
        kept.clear()  # G on the neighbours may be large
        kept[m] = Neighbours.build(
            system.gram, m, penalty=penalty, n_items=dataset.n_items, near=near[m]
        )
    return replace(kept[m], penalty=penalty)


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
            f"A full remainder cannot be learned together with {' or '.join(others)}: its closed "
            "form is that of a fixed decoder and all entries. Use neighbours, as in "
            "Remainder(neighbours=100), or one of them."
        )


def check_system(
    system: System, shape: tuple[int, int], l1: float, options: Remainder | None
) -> None:
    """Raise `ParameterError` unless a prepared system has this shape and ridge.

    Parameters
    ----------
    options
        Of a remainder that needs the inverse; None for a system without one.
    """
    if system.D.shape != shape:
        raise ParameterError(
            f"The system was prepared for {system.D.shape[0]:,} items and "
            f"{system.D.shape[1] - 1:,} tags, and the data set has {shape[0]:,} and "
            f"{shape[1] - 1:,}. Prepare it from this data set."
        )
    found = system.ridge if isinstance(system, Inverse) else None
    wanted = None if options is None else ridge_of(l1, system.row_penalty, options)
    is_same = found is wanted if found is None or wanted is None else np.allclose(found, wanted)
    if not is_same:
        said = ("no inverse" if r is None else f"a ridge of {r.mean():g}" for r in (found, wanted))
        raise ParameterError(
            "The system was prepared for {} and the model has {}. With a full remainder it can be "
            "shared where l2_weights + remainder.l2 is the same, with ridge_power both.".format(
                *said
            )
        )
