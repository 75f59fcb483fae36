"""TEASER: a linear model whose user embedding is a profile of item tags."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.reading.partitions import Interactions
from teaser.data.tagging.user_features import UserFeatures
from teaser.errors import ParameterError
from teaser.model.baselines.base import check_number
from teaser.model.encoder import EncoderModel
from teaser.model.extensions.learned_decoder import (
    check_carriers,
    check_decoder,
    learn_decoder,
    more_rounds,
    tag_means,
)
from teaser.model.extensions.remainder import (
    Inverse,
    check_precision,
    check_remainder,
    check_system,
    estimate_remainder,
    fit_remainder,
    prepare_inverse,
)
from teaser.model.extensions.sparse_encoder import (
    check_density,
    pack_encoder,
    sparsify,
    unpack_encoder,
)
from teaser.model.extensions.user_features import (
    UserRows,
    learn_user_rows,
    learned_features,
    match_rows,
    pack_user_rows,
    pad_rows,
    stack_interactions,
    unpack_user_rows,
)
from teaser.model.extensions.viewed_items import (
    Remainder,
    describe_remainder,
    pack_remainder,
    unpack_remainder,
)
from teaser.model.gram.cost import Estimate, estimate, telling_of_memory
from teaser.model.gram.gpu import check_device
from teaser.model.gram.partitioned import estimate_partitions
from teaser.model.solver.conjugate_gradients import Callback, Solution
from teaser.model.solver.solve import build_gram, check_settings, dispatch, prepare
from teaser.model.solver.system import System
from teaser.model.tagged import decoder, popularity

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
        lambda 1, the penalty on item-to-item weights: larger trusts only what many people share.
    l2_encoder
        lambda 2, the penalty on the encoder: larger spreads what an item says over more tags.
    content_weight
        delta, how much sharing a tag counts beside being chosen together: X'X gains delta S S'.
        Helps where interactions are very sparse.
    decoder
        `"tags"`, where a tag counts 1 for every item that carries it, or `"learned"`, where it
        counts as much as the data say it matters for the item.
    l2_decoder
        The penalty on learned weights for being away from 1: larger trusts the tags more.
    rounds
        How often encoder and weights are learned in turn.
    density
        The share of the encoder's entries to keep, such as 0.05; all of them when not given.
        It is then a sparse matrix, which the entries kept are learned for anew.
    l2_remainder
        k, the penalty on a remainder R, items x items, that is added to P(E D') and is told as
        "because you viewed": what tags leave unexplained. Smaller nears EASE, larger TEASER,
        which it is without (the default).
    remainder_share
        Below 1, R is kept sparse: of each row the largest entries that carry this share of its
        sum of squares.
    people
        Whether to learn from what is known of people too, where the data set has it.
    solver
        `"cg"`, exact conjugate gradients, or `"admm"`, the paper's.
    gram
        How to hold X'X: `"auto"`, `"dense"`, `"sparse"`, or a precomputed one.
    tol
        Relative residual at which the solver stops; rankings settle near 1e-3. At least 1e-6 in
        float32 and 1e-14 in float64, which rounding allows.
    max_iter
        Iterations after which it gives up, with a `ConvergenceWarning`.
    dtype
        `"float32"` or `"float64"`.
    rng
        Seed or generator for the preconditioner's start.
    device
        Where to fit and to score batches: `"cpu"`, or `"cuda"` for a GPU by way of CuPy.

    Attributes
    ----------
    encoder_
        E, items x tags, a row for every item that was there at the fit; an array, or a csr
        matrix where a density was given.
    decoder_
        D, items x tags, popularity in the last column; weights where they were learned.
    tags_, items_
        What the columns and rows stand for.
    popularity_
        Item count / highest count.
    remainder_
        R, items x items, of the items that were there at the fit: R_ij is what viewing i adds
        to j. An array, or a csr matrix where a share was given; None without.
    people_tags_, people_encoder_
        The tags of people, and what each adds to a history; () and None without.
    iterations_, residual_, converged_
        How the solver fared.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    iterations_: int
    residual_: float
    converged_: bool
    user_rows_: UserRows | None

    def __init__(
        self,
        *,
        l2_weights: float = 200.0,
        l2_encoder: float = 500.0,
        content_weight: float = 0.0,
        decoder: str = "tags",
        l2_decoder: float = 30.0,
        rounds: int = 3,
        density: float | None = None,
        l2_remainder: float | None = None,
        remainder_share: float = 1.0,
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
        self.decoder = decoder
        self.l2_decoder = l2_decoder
        self.rounds = rounds
        self.density = density
        self.l2_remainder = l2_remainder
        self.remainder_share = remainder_share
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
            A fitted model to begin from: of nearby penalties, or of the same catalogue before
            today's interactions. Items and tags are matched by name. The result is the same to
            within `tol`, and takes fewer iterations.
        system
            What `prepare` returned for this data set, to share over several penalties.
        callback
            Told the iteration and its relative residual.
        """
        with telling_of_memory("The fit"):
            self._check_with(dataset)
            if self.decoder == "learned":
                check_carriers(dataset.S)
            user_features = learned_features(self, dataset)
            begin = None if start is None else _matched(start, dataset, user_features)
            own = system is None
            if system is None:
                system = self._prepare(dataset, keep=False)
            n_rows = dataset.n_items + (0 if user_features is None else len(user_features.tags))
            check_system(system, (n_rows, dataset.n_tags + 1), self.ridge)
            weights, remainder = None, None
            if isinstance(system, Inverse):
                solution, remainder = self._solve_remainder(system, begin, callback, own)
            else:
                solution, weights = self._solve(system, dataset, begin, callback)
            self._take_catalogue(dataset)
            if weights is not None:
                self.decoder_ = weights
                self._index()
            self.encoder_ = solution.encoder[: dataset.n_items]
            self.user_rows_ = learn_user_rows(
                user_features, dataset, solution.encoder, system, self
            )
            self.remainder_ = remainder
            self.iterations_ = solution.iterations
            self.residual_ = solution.residual
            self.converged_ = solution.converged
        return self

    def _check_with(self, dataset: Dataset) -> None:
        self._check()
        self._check_dataset(dataset)
        check_device(self.device, dataset.X)
        check_precision(self.l2_remainder, self.l2_weights, dataset.X, self.dtype)

    @property
    def ridge(self) -> float | None:
        """l2_weights + l2_remainder, the ridge of the inverse that a remainder is found with."""
        if self.l2_remainder is None:
            return None
        check_number("l2_weights", self.l2_weights)
        check_number("l2_remainder", self.l2_remainder)
        return float(self.l2_weights + self.l2_remainder)

    def prepare(self, dataset: Dataset) -> System:
        """Return the part of a fit that does not depend on the penalties.

        It holds the Gram, its leading eigenpairs and the eigenvectors of D'D; pass it to the
        `fit` of every model that differs in `l2_weights` and `l2_encoder` only. With a remainder
        it holds the inverse of X'X + (l2_weights + l2_remainder) I in the place of the Gram, and
        the sum of the two must be the same; `EASE` of that penalty takes its `inverse` too.
        """
        self._check_with(dataset)
        return self._prepare(dataset, keep=True)

    def _prepare(self, dataset: Dataset, *, keep: bool) -> System:
        """Return what the fit needs; `keep` tells whether it is for further fits too."""
        kind = np.dtype(self.dtype)
        user_features = learned_features(self, dataset)
        D = pad_rows(decoder(dataset.S, popularity(dataset)).astype(kind), user_features)
        how: dict[str, Any] = {
            "dtype": kind,
            "content": pad_rows(dataset.S, user_features),
            "content_weight": self.content_weight,
            "device": self.device,
        }
        if self.ridge is not None:
            how |= {"ridge": self.ridge, "keep": keep, "share": self.remainder_share}
            return prepare_inverse(dataset.X, self.gram, D, **how)
        X = stack_interactions(dataset, user_features)
        gram = build_gram(X, self.gram, n_tags=dataset.n_tags + 1, solver=self.solver, **how)
        return prepare(gram, D, solver=self.solver, rng=self.rng)

    def estimate(self, dataset: Dataset) -> Estimate:
        """Return what fitting this data set will take, before anything large is allocated."""
        self._check_with(dataset)
        expect = estimate_partitions if isinstance(dataset.X, Interactions) else estimate
        found = expect(
            stack_interactions(dataset, learned_features(self, dataset)),
            dataset.n_tags + 1,
            solver=self.solver,
            gram=self.gram if self.ridge is None else "dense",
            tol=self.tol,
            dtype=np.dtype(self.dtype),
        )
        if self.ridge is not None:
            return estimate_remainder(found, dataset.n_items, self.dtype, self.remainder_share)
        rounds = self.rounds if self.decoder == "learned" else 0
        return more_rounds(found, rounds=rounds, is_sparse=self.density is not None)

    def memory_estimate(self, dataset: Dataset) -> int:
        """Return the bytes that fitting this data set will take at the peak."""
        return self.estimate(dataset).total_memory

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        self.check_fitted()
        return {
            "kind": "Teaser",
            "items": len(self.items_),
            "tags": dict(Counter(tag.feature for tag in self.tags_)),
            "user_tags": dict(Counter(tag.feature for tag in self.user_tags_)),
            "parameters": self._plain_parameters(),
            "iterations": self.iterations_,
            "residual": self.residual_,
            "converged": self.converged_,
            "remainder": describe_remainder(self.remainder_),
            "roles": dict(self.rules_.roles),
        }

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `teaser.load` reads it back."""
        self.check_fitted()
        kept = self._catalogue()
        user_arrays, user_tables = pack_user_rows(self.user_rows_)
        fared = {
            "iterations": self.iterations_,
            "residual": self.residual_,
            "converged": self.converged_,
        }
        artifact.write(
            folder,
            kind="Teaser",
            settings={"parameters": self._plain_parameters(), "fit": fared, **kept["settings"]},
            arrays={
                **pack_encoder(self.encoder_),
                **pack_remainder(self.remainder_),
                **user_arrays,
                **kept["arrays"],
            },
            tables={**kept["tables"], **user_tables},
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; encoder and remainder stay on disk until used."""
        settings: Mapping[str, Any] = content.settings
        model = cls(**settings["parameters"])
        model._read_catalogue(content)
        model.encoder_ = unpack_encoder(content.arrays, settings["shape"][1])
        learnt, width = model.encoder_.shape
        model.remainder_ = unpack_remainder(content.arrays, learnt)
        model.user_rows_ = unpack_user_rows(content.arrays, content.tables, width)
        model.iterations_ = settings["fit"]["iterations"]
        model.residual_ = settings["fit"]["residual"]
        model.converged_ = settings["fit"]["converged"]
        if width != len(model.tags_) or learnt > len(model.items_):
            raise ValueError("its parts are of different sizes")
        if not np.isfinite(model.residual_):
            raise ValueError("its parts do not fit together")
        return model

    def _solve(
        self, system: System, dataset: Dataset, start: Array | None, callback: Callback | None
    ) -> tuple[Solution, sp.csr_array | None]:
        """Return the encoder, and the weights of the decoder where they are learned."""
        weights = None
        l1, l2 = float(self.l2_weights), float(self.l2_encoder)
        how: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}

        def solve(system: System, start: Array | None) -> Solution:
            return dispatch(
                system, l2_weights=l1, l2_encoder=l2, solver=self.solver, start=start, **how
            )

        if self.decoder == "learned":
            solution, system, weights = learn_decoder(
                system,
                decoder(dataset.S, popularity(dataset)),
                l1=l1,
                l2_decoder=float(self.l2_decoder),
                rounds=self.rounds,
                solve=solve,
                start=start,
            )
        else:
            solution = solve(system, start)
        if self.density is not None:
            solution = sparsify(system, solution, l1=l1, l2=l2, density=self.density, **how)
        return solution, weights

    def _solve_remainder(
        self, system: Inverse, start: Array | None, callback: Callback | None, own: bool
    ) -> tuple[Solution, Remainder]:
        return fit_remainder(
            system,
            k=float(self.l2_remainder or 0.0),
            l2=float(self.l2_encoder),
            tol=self.tol,
            max_iter=self.max_iter,
            share=float(self.remainder_share),
            overwrite=own,
            start=start,
            callback=callback,
        )

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of new items with the mean of the weights that were learned for a tag."""
        if self.decoder != "learned":
            return new
        data = new.data * tag_means(self.decoder_)[new.indices]
        return sp.csr_array((data, new.indices, new.indptr), shape=new.shape)

    def _check(self) -> None:
        settings = self.parameters()
        check_decoder(*(settings.pop(name) for name in ("decoder", "l2_decoder", "rounds")))
        check_density(settings.pop("density"))
        k, share = settings.pop("l2_remainder"), settings.pop("remainder_share")
        if not isinstance(settings.pop("user_features"), bool):
            raise ParameterError(
                f"user_features must be True or False, found {self.user_features!r}."
            )
        check_settings(**settings)
        others = {"decoder='learned'": self.decoder == "learned", "density": self.density}
        named = [name for name, asked in others.items() if asked]
        check_remainder(k, share, solver=self.solver, gram=self.gram, others=named)

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters as json can hold them.

        A given Gram or generator is not kept, nor is the device: it belongs to the machine.
        """
        settings = self.parameters()
        settings["device"] = "cpu"
        settings["gram"] = self.gram if isinstance(self.gram, str) else "auto"
        settings["rng"] = self.rng if isinstance(self.rng, int) else None
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}


def _matched(start: Teaser, dataset: Dataset, user_features: UserFeatures | None) -> Array:
    """Return the encoder of a fitted model in the order of a data set, zero for what is new."""
    if not isinstance(start, Teaser):
        raise ParameterError(f"start must be a fitted Teaser, found a {type(start).__name__}.")
    start.check_fitted()
    return match_rows(start, start.encoder_, dataset, user_features)
