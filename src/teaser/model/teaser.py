"""TEASER: a linear model whose user embedding is a profile of item tags."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.artifact import Content
from teaser.data.dataset import Dataset, Ids, ItemId, pack, tag_frame, tags_from, unpack
from teaser.data.partitions import Interactions
from teaser.data.rules import Rules
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.model.aspect import AspectModel, decoder, popularity
from teaser.model.device import DeviceScorer
from teaser.model.estimate import Estimate, estimate
from teaser.model.solve import build_gram, check_settings, dispatch, prepare
from teaser.model.solver import Callback
from teaser.model.streamed import estimate_partitions
from teaser.model.system import System
from teaser.profile import POPULARITY

Array = NDArray[Any]

# Fewer people than this are scored sooner than they are moved to a GPU.
_BATCH = 32


class Teaser(AspectModel):
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
    solver
        `"cg"`, exact conjugate gradients, or `"admm"`, the paper's.
    gram
        How to hold X'X: `"auto"`, `"dense"`, `"sparse"`, or a precomputed one.
    tol
        Relative residual at which the solver stops; rankings settle near 1e-3.
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
        E, items x tags, a row for every item that was there at the fit.
    decoder_
        D, items x tags, popularity in the last column.
    tags_, items_
        What the columns and rows stand for.
    popularity_
        Item count / highest count.
    iterations_, residual_, converged_
        How the solver fared.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    encoder_: Array
    iterations_: int
    residual_: float
    converged_: bool

    def __init__(
        self,
        *,
        l2_weights: float = 200.0,
        l2_encoder: float = 500.0,
        content_weight: float = 0.0,
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
        self._check()
        self._check_dataset(dataset)
        begin = None if start is None else _matched(start, dataset)
        if system is None:
            system = self.prepare(dataset)
        elif system.D.shape != (dataset.n_items, dataset.n_tags + 1):
            raise ParameterError(
                f"The system was prepared for {system.D.shape[0]:,} items and "
                f"{system.D.shape[1] - 1:,} tags, and the data set has {dataset.n_items:,} and "
                f"{dataset.n_tags:,}. Prepare it from this data set."
            )
        solution = dispatch(
            system,
            l2_weights=self.l2_weights,
            l2_encoder=self.l2_encoder,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            start=begin,
            callback=callback,
        )
        self._take_catalogue(dataset)
        self.encoder_ = solution.encoder
        self.iterations_ = solution.iterations
        self.residual_ = solution.residual
        self.converged_ = solution.converged
        return self

    def prepare(self, dataset: Dataset) -> System:
        """Return the part of a fit that does not depend on the penalties.

        It holds the Gram, its leading eigenpairs and the eigenvectors of D'D; pass it to the
        `fit` of every model that differs in `l2_weights` and `l2_encoder` only.
        """
        self._check()
        self._check_dataset(dataset)
        kind = np.dtype(self.dtype)
        gram = build_gram(
            dataset.X,
            self.gram,
            n_tags=dataset.n_tags + 1,
            dtype=kind,
            content=dataset.S,
            content_weight=self.content_weight,
            device=self.device,
        )
        D = decoder(dataset.S, popularity(dataset)).astype(kind)
        return prepare(gram, D, solver=self.solver, rng=self.rng)

    def estimate(self, dataset: Dataset) -> Estimate:
        """Return what fitting this data set will take, before anything large is allocated."""
        self._check()
        self._check_dataset(dataset)
        expect = estimate_partitions if isinstance(dataset.X, Interactions) else estimate
        return expect(
            dataset.X,
            dataset.n_tags + 1,
            solver=self.solver,
            gram=self.gram,
            tol=self.tol,
            dtype=np.dtype(self.dtype),
        )

    def memory_estimate(self, dataset: Dataset) -> int:
        """Return the bytes that fitting this data set will take at the peak."""
        return self.estimate(dataset).total_memory

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the encoder rows of each history summed (people x tags), in double precision.

        Items that were added after the fit have no row, and add nothing.
        """
        if self.device == "cuda" and rows.shape[0] >= _BATCH:
            return self._scorer().encode(rows)
        raw = np.zeros((rows.shape[0], self.encoder_.shape[1]))
        for person in range(rows.shape[0]):
            places = rows.indices[rows.indptr[person] : rows.indptr[person + 1]]
            learnt = places[places < self.encoder_.shape[0]]
            raw[person] = self.encoder_[learnt].sum(axis=0, dtype=np.float64)
        return raw

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (people x items)."""
        if self.device == "cuda" and len(affinities) >= _BATCH:
            return self._scorer().decode(affinities)
        return super().decode(affinities)

    def origins(self, tag: Tag | str, history: Iterable[ItemId]) -> dict[ItemId, float]:
        """Return where an affinity comes from: what each item of the history adds to the raw score.

        The parts sum to the raw score p of the tag, of which the affinity is a multiple.
        """
        self.check_fitted()
        column = resolve_tag(tag, self._tag_index)
        learnt = self.encoder_.shape[0]
        return {
            self.items_[i]: float(self.encoder_[i, column]) if i < learnt else 0.0
            for i in self._places(history)
        }

    def describe(self) -> dict[str, Any]:
        """Return what it holds as plain values, for programs."""
        self.check_fitted()
        return {
            "kind": "Teaser",
            "items": len(self.items_),
            "tags": dict(Counter(tag.feature for tag in self.tags_)),
            "parameters": self._plain_parameters(),
            "iterations": self.iterations_,
            "residual": self.residual_,
            "converged": self.converged_,
            "roles": dict(self.rules_.roles),
        }

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder; `teaser.load` reads it back."""
        self.check_fitted()
        artifact.write(
            folder,
            kind="Teaser",
            settings={
                "parameters": self._plain_parameters(),
                "rules": self.rules_.as_dict(),
                "shape": list(self.decoder_.shape),
                "fit": {
                    "iterations": self.iterations_,
                    "residual": self.residual_,
                    "converged": self.converged_,
                },
            },
            arrays={
                "encoder": self.encoder_,
                "popularity": self.popularity_,
                **pack("decoder", self.decoder_),
            },
            tables={"items": self.table_, "tags": tag_frame(self.tags_)},
        )

    @classmethod
    def from_content(cls, content: Content) -> Self:
        """Return the model that was saved; the encoder stays on disk until it is used."""
        settings: Mapping[str, Any] = content.settings
        model = cls(**settings["parameters"])
        model.encoder_ = content.arrays["encoder"]
        model.popularity_ = np.array(content.arrays["popularity"])
        rows, columns = settings["shape"]
        model.decoder_ = unpack("decoder", content.arrays, (rows, columns)).astype(np.float64)
        model.tags_ = tags_from(content.tables["tags"])
        model.table_ = content.tables["items"]
        model.items_ = Ids(model.table_.to_series(0).to_list())
        model.rules_ = Rules.from_dict(settings["rules"])
        model.iterations_ = settings["fit"]["iterations"]
        model.residual_ = settings["fit"]["residual"]
        model.converged_ = settings["fit"]["converged"]
        n_items, n_tags = len(model.items_), len(model.tags_)
        learnt, width = model.encoder_.shape
        if (rows, columns, width) != (n_items, n_tags, n_tags) or learnt > n_items:
            raise ValueError("its parts are of different sizes")
        if not np.isfinite(model.residual_) or len(model.popularity_) != n_items:
            raise ValueError("its parts do not fit together")
        model._index()
        return model

    def _scorer(self) -> DeviceScorer:
        """Return encoder and decoder on the GPU, moved there once."""
        kept = self.__dict__.get("_on_device")
        if kept is None or kept[0] is not self.encoder_ or kept[1] is not self.decoder_:
            scorer = DeviceScorer(self.encoder_, self.decoder_)
            kept = (self.encoder_, self.decoder_, scorer)
            self._on_device = kept
        scorer_kept: DeviceScorer = kept[2]
        return scorer_kept

    def _check(self) -> None:
        check_settings(**self.parameters())

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters as json can hold them.

        A given Gram or generator is not kept, nor is the device: it belongs to the machine.
        """
        settings = self.parameters()
        settings["device"] = "cpu"
        settings["gram"] = self.gram if isinstance(self.gram, str) else "auto"
        settings["rng"] = self.rng if isinstance(self.rng, int) else None
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in settings.items()}


def _matched(start: Teaser, dataset: Dataset) -> Array:
    """Return the encoder of a fitted model in the order of a data set, zero for what is new."""
    if not isinstance(start, Teaser):
        raise ParameterError(f"start must be a fitted Teaser, found a {type(start).__name__}.")
    start.check_fitted()
    learnt = start.items_[: start.encoder_.shape[0]]
    rows = {item_id: place for place, item_id in enumerate(learnt)}
    columns = {tag: place for place, tag in enumerate(start.tags_)}
    items = [rows.get(item_id, -1) for item_id in dataset.items]
    tags = [columns.get(tag, -1) for tag in (*dataset.tags, POPULARITY)]
    if items == list(range(len(learnt))) and tags == list(range(len(columns))):
        return start.encoder_
    encoder = np.asarray(start.encoder_)[np.ix_(items, tags)]
    encoder[np.array(items) < 0] = 0
    encoder[:, np.array(tags) < 0] = 0
    return encoder
