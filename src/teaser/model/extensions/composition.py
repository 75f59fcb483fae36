"""The steps of a fit in their order: decoder weights, encoder, sparse encoder, remainder.

Any of them may be left out. Each is the exact solution for what the steps before it found, but
for the joint remainder, which is found together with the encoder and stands alone.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.tagging.user_features import UserFeatures
from teaser.model.extensions.discovered_tags import declared_columns
from teaser.model.extensions.learned_decoder import LearnedDecoder, learn_decoder
from teaser.model.extensions.remainder import (
    Inverse,
    Remainder,
    RemainderMatrix,
    fit_remainder,
    prepare_inverse,
)
from teaser.model.extensions.sparse_encoder import SparseEncoder, sparsify
from teaser.model.extensions.user_features import pad_rows, stack_interactions
from teaser.model.extensions.weights import PLAIN, Weights
from teaser.model.gram.build import build_gram
from teaser.model.gram.cost import FitSize
from teaser.model.gram.weighting import row_weights
from teaser.model.item_table import popularity
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits, Solution
from teaser.model.solver.solve import dispatch, prepare
from teaser.model.solver.system import System
from teaser.model.tag_table import decoder

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
    dtype: str
    rng: int | np.random.Generator | None
    device: str

    @property
    def joint_remainder(self) -> Remainder | None:
        """The options of a remainder that is found together with the encoder."""
        ...


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
    X, n_items = stack_interactions(dataset, user_features), dataset.n_items
    size = FitSize(D.shape[1], kind, plan.solver)
    how |= {"user_power": weights.user_power, "n_items": n_items}
    gram = build_gram(X, plan.gram, size, **how)
    return prepare(
        gram,
        D,
        solver=plan.solver,
        rng=plan.rng,
        row_penalty=row_weights(gram, weights.ridge_power, n_items=n_items),
        column_weight=weights.of_columns(dataset.item_counts),
    )


def fit_parts(
    plan: Plan,
    system: System,
    D: sp.csr_array,
    *,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> Parts:
    """Return what all steps of a plan find.

    Parameters
    ----------
    system
        What `prepare_system` returned.
    D
        The fixed decoder, items x tags, in double precision.
    start
        An encoder to begin from, with the rows of user features.
    overwrite
        Whether the memory of an inverse may be used for the remainder.
    """
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
    return _fit_tags(plan, system, D, limits, start)


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
