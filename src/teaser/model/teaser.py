"""TEASER: a linear model whose user embedding is a profile of item tags."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.reading.partitions import Interactions
from teaser.data.tagging.user_features import UserFeatures
from teaser.errors import ParameterError
from teaser.model.checks import check_flag
from teaser.model.encoder import EncoderModel
from teaser.model.extensions.learned_decoder import (
    LearnedDecoder,
    check_carriers,
    learn_decoder,
    more_rounds,
    tag_means,
)
from teaser.model.extensions.options import (
    OPTIONS,
    check_options,
    read_parameters,
)
from teaser.model.extensions.remainder import (
    Inverse,
    Remainder,
    check_companions,
    check_system,
    describe_remainder,
    estimate_remainder,
    fit_remainder,
    pack_remainder,
    prepare_inverse,
    unpack_remainder,
)
from teaser.model.extensions.sparse_encoder import (
    SparseEncoder,
    pack_encoder,
    sparsify,
    unpack_encoder,
)
from teaser.model.extensions.user_features import (
    learn_user_rows,
    learned_features,
    match_rows,
    pack_user_rows,
    pad_rows,
    stack_interactions,
    unpack_user_rows,
)
from teaser.model.gram.build import build_gram
from teaser.model.gram.cost import Estimate, FitSize, estimate, explained_memory_error
from teaser.model.gram.gpu import check_device
from teaser.model.gram.partitioned import estimate_partitions
from teaser.model.item_table import popularity
from teaser.model.packed import Packed
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Callback, Limits, Solution
from teaser.model.solver.solve import check_settings, dispatch, prepare
from teaser.model.solver.system import System
from teaser.model.tag_table import check_tagged, decoder

Array = NDArray[Any]


class Teaser(EncoderModel):
    """Transparent & Explainable Aspect Space Embedding Recommender.

    One learned matrix, the encoder E, turns a history of items into affinities with tags; an
    item's score is the sum of the affinities of its tags. It minimises

        |X - X P(E D')|^2 + l2_weights |P(E D')|^2 + l2_encoder |E|^2

    where X are interactions, D = [S | popularity] the tags of the items, and P sets the diagonal
    to zero, so that no item explains itself.

    Parameters
    ----------
    l2_weights
        lambda 1, the penalty on item-to-item weights: larger trusts only what many users share.
    l2_encoder
        lambda 2, the penalty on the encoder: larger spreads what an item says over more tags.
    content_weight
        delta, how much sharing a tag counts beside being chosen together: X'X gains delta S S'.
        Helps where interactions are very sparse.
    remainder
        `Remainder(l2=..., share=...)` adds item-to-item weights for what tags leave unexplained;
        it cannot be combined with `decoder` or `sparse`. The weights are P(E D') + R then. None,
        the default, learns tags alone.
    decoder
        `LearnedDecoder(l2=..., rounds=...)` learns how much each tag matters for each item. With
        None, the default, a tag counts 1 for every item that carries it.
    sparse
        `SparseEncoder(density=...)` keeps only the most telling entries of the encoder, in a
        sparse matrix. None, the default, keeps all.
    user_features
        Whether to learn from user features too, where the data set has them.
    solver
        `"cg"`, exact conjugate gradients, or `"admm"`, the paper's.
    gram
        How to hold X'X: `"auto"`, `"dense"` or `"sparse"`. A Gram computed before is used as is.
    tol
        Relative residual at which the solver stops; rankings settle near 1e-3. At least 1e-6 in
        float32 and 1e-14 in float64, which rounding allows.
    max_iter
        Iterations after which it gives up, with a `ConvergenceWarning`.
    dtype
        `"float32"` or `"float64"`.
    rng
        Seed of the preconditioner's start. A generator is used as is.
    device
        Where to fit and to score batches: `"cpu"`, or `"cuda"` for a GPU by way of CuPy.

    Attributes
    ----------
    encoder_
        E, items x learned tags, a row for every item that was there at the fit; an array, or a
        csr matrix with `sparse`. The learned tags are declared and discovered ones, and
        popularity: the first columns of `tags_`.
    decoder_
        D, items x tags, weights where they were learned; general appeal in the last column. Its
        first columns are those of the learned tags, `tag_table_.learned_decoder`.
    tags_, items_
        The tags of the columns and the item ids of the rows.
    popularity_
        Item count / highest count.
    remainder_
        R, items x items, of the items that were there at the fit: R_ij is what viewing i adds
        to j. An array, or a csr matrix where a share was given; None without.
    user_tags_, user_encoder_
        The user features, and what each adds to a history; () and None without.
    iterations_, residual_, converged_
        The iterations, the final residual, and whether it reached `tol`.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    iterations_: int
    residual_: float
    converged_: bool

    def __init__(
        self,
        *,
        l2_weights: float = 200.0,
        l2_encoder: float = 500.0,
        content_weight: float = 0.0,
        remainder: Remainder | None = None,
        decoder: LearnedDecoder | None = None,
        sparse: SparseEncoder | None = None,
        user_features: bool = True,
        solver: str = "cg",
        gram: Any = "auto",
        tol: float = 1e-3,
        max_iter: int = 200,
        dtype: str = "float32",
        rng: int | np.random.Generator | None = 0,
        device: str = "cpu",
    ) -> None:
        self.l2_weights = l2_weights
        self.l2_encoder = l2_encoder
        self.content_weight = content_weight
        self.remainder = remainder
        self.decoder = decoder
        self.sparse = sparse
        self.user_features = user_features
        self.solver = solver
        self.gram = gram
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.rng = rng
        self.device = device

    def fit(
        self,
        dataset: Dataset,
        *,
        start: "Teaser | None" = None,
        system: System | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the encoder.

        Parameters
        ----------
        start
            A fitted model to begin from: of nearby penalties, or of the same items before
            today's interactions. Items and tags are matched by name. The result is the same to
            within `tol`, and takes fewer iterations.
        system
            What `prepare` returned for this data set, to share over several penalties.
        callback
            Called with the iteration and its relative residual.
        """
        with explained_memory_error("The fit"):
            self._check_with(dataset)
            if self.decoder is not None:
                check_carriers(dataset.S)
            user_features = learned_features(self, dataset)
            begin = None if start is None else _matched(start, dataset, user_features)
            own = system is None
            if system is None:
                system = self._prepare(dataset, keep=False)
            n_rows = dataset.n_items + (0 if user_features is None else len(user_features.tags))
            check_system(system, (n_rows, dataset.n_tags + 1), self.ridge)
            weights, remainder = None, None
            if isinstance(system, Inverse) and self.remainder is not None:
                solution, remainder = fit_remainder(
                    system,
                    options=self.remainder,
                    l2=float(self.l2_encoder),
                    limits=self._limits(callback),
                    start=begin,
                    overwrite=own,
                )
            else:
                solution, weights = self._solve(system, dataset, begin, callback)
            self.keep_items(dataset, weights)
            self.encoder_ = solution.encoder[: dataset.n_items]
            self._user_rows = learn_user_rows(
                user_features, dataset, solution.encoder, system, self
            )
            self._remainder = remainder
            self.keep_basis(dataset)
            self.iterations_ = solution.iterations
            self.residual_ = solution.residual
            self.converged_ = solution.converged
        return self

    def _check_with(self, dataset: Dataset) -> None:
        self._check()
        check_tagged(dataset)
        check_device(self.device, dataset.X)
        if self.remainder is not None:
            self.remainder.check_precision(self.l2_weights, dataset.X, self.dtype)

    @property
    def ridge(self) -> float | None:
        """l2_weights + remainder.l2, the ridge of the inverse that a remainder is found with."""
        if self.remainder is None:
            return None
        self._check()
        return float(self.l2_weights + self.remainder.l2)

    def prepare(self, dataset: Dataset) -> System:
        """Return the part of a fit that does not depend on the penalties.

        It holds the Gram, its leading eigenpairs and the eigenvectors of D'D; pass it to the
        `fit` of every model that differs in `l2_weights` and `l2_encoder` only. With a remainder
        it holds the inverse of X'X + (l2_weights + remainder.l2) I in the place of the Gram, and
        the sum of the two must be the same; `EASE` of that penalty takes its `inverse` too.
        """
        self._check_with(dataset)
        return self._prepare(dataset, keep=True)

    def _prepare(self, dataset: Dataset, *, keep: bool) -> System:
        """Return what the fit needs; `keep`: whether further fits will reuse it."""
        kind = np.dtype(self.dtype)
        user_features = learned_features(self, dataset)
        D = pad_rows(decoder(dataset.S, popularity(dataset)).astype(kind), user_features)
        how: dict[str, Any] = {
            "content": pad_rows(dataset.S, user_features),
            "content_weight": self.content_weight,
            "device": self.device,
        }
        if self.remainder is not None:
            how |= {"options": self.remainder, "l1": float(self.l2_weights), "keep": keep}
            return prepare_inverse(dataset.X, self.gram, D, **how)
        X = stack_interactions(dataset, user_features)
        gram = build_gram(X, self.gram, self._size(dataset), **how)
        return prepare(gram, D, solver=self.solver, rng=self.rng)

    def estimate(self, dataset: Dataset) -> Estimate:
        """Return what fitting this data set will take, before anything large is allocated."""
        self._check_with(dataset)
        expect = estimate_partitions if isinstance(dataset.X, Interactions) else estimate
        found = expect(
            stack_interactions(dataset, learned_features(self, dataset)),
            self.gram if self.remainder is None else "dense",
            self._size(dataset),
            tol=self.tol,
        )
        if self.remainder is not None:
            return estimate_remainder(found, dataset.n_items, self.dtype, self.remainder)
        rounds = 0 if self.decoder is None else self.decoder.rounds
        return more_rounds(found, rounds=rounds, is_sparse=self.sparse is not None)

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        return {
            **super().describe(),
            **self._solver_report(),
            "remainder": describe_remainder(self.remainder_),
        }

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        user_arrays, user_tables = pack_user_rows(self.user_rows_)
        arrays = {**pack_encoder(self.encoder_), **pack_remainder(self.remainder_), **user_arrays}
        return super().pack() | Packed({"fit": self._solver_report()}, arrays, user_tables)

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned; encoder and remainder stay on disk until used."""
        super().unpack(content)
        arrays, fit = content.arrays, content.settings["fit"]
        self.encoder_ = unpack_encoder(arrays, self.tag_table_.n_learned)
        n_learned, width = self.encoder_.shape
        self._remainder = unpack_remainder(arrays, n_learned)
        self._user_rows = unpack_user_rows(arrays, content.tables, width)
        self.iterations_ = fit["iterations"]
        self.residual_ = fit["residual"]
        self.converged_ = fit["converged"]
        if width != self.tag_table_.n_learned or n_learned > len(self.items_):
            raise ValueError("its parts are of different sizes")
        if not np.isfinite(self.residual_):
            raise ValueError("its residual is not finite")

    @classmethod
    def upgrade(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with options objects in place of tables; see `read_parameters`."""
        return read_parameters(parameters)

    def _solver_report(self) -> dict[str, Any]:
        """Return how the solver ended."""
        return {
            "iterations": self.iterations_,
            "residual": self.residual_,
            "converged": self.converged_,
        }

    def _solve(
        self, system: System, dataset: Dataset, start: Array | None, callback: Callback | None
    ) -> tuple[Solution, sp.csr_array | None]:
        """Return the encoder, and the weights of the decoder where they are learned."""
        weights = None
        l1, l2 = float(self.l2_weights), float(self.l2_encoder)
        limits = self._limits(callback)

        def solve(system: System, start: Array | None) -> Solution:
            return dispatch(
                EncoderEquation(system, l1, l2), limits, solver=self.solver, start=start
            )

        if self.decoder is not None:
            S = decoder(dataset.S, popularity(dataset))
            solution, system, weights = learn_decoder(
                system, S, l1=l1, options=self.decoder, solve=solve, start=start
            )
        else:
            solution = solve(system, start)
        if self.sparse is not None:
            equation = EncoderEquation(system, l1, l2)
            solution = sparsify(equation, solution, density=self.sparse.density, limits=limits)
        return solution, weights

    def _size(self, dataset: Dataset) -> FitSize:
        return FitSize(dataset.n_tags + 1, np.dtype(self.dtype), self.solver)

    def _limits(self, callback: Callback | None) -> Limits:
        return Limits(tol=self.tol, max_iter=self.max_iter, callback=callback)

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of new items with the mean of the weights that were learned for a tag."""
        if self.decoder is None:
            return new
        data = new.data * tag_means(self.tag_table_.learned_decoder)[new.indices]
        return sp.csr_array((data, new.indices, new.indptr), shape=new.shape)

    def _check(self) -> None:
        settings = self.parameters()
        for name in OPTIONS:
            check_options(name, settings.pop(name))
        check_flag("user_features", settings.pop("user_features"))
        check_settings(**settings)
        if self.remainder is not None:
            others = [name for name in ("decoder", "sparse") if getattr(self, name) is not None]
            check_companions(solver=self.solver, gram=self.gram, others=others)


def _matched(start: Teaser, dataset: Dataset, user_features: UserFeatures | None) -> Array:
    """Return the encoder of a fitted model in the order of a data set, zero for what is new."""
    if not isinstance(start, Teaser):
        raise ParameterError(f"start must be a fitted Teaser, found a {type(start).__name__}.")
    start.check_fitted()
    return match_rows(start, start.encoder_, dataset, user_features)
