"""TEASER: a linear model whose user embedding is a profile of item tags."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.data.dataset import Dataset
from teaser.data.metadata import UserFeatures
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model._arrays import blocks, to_host
from teaser.model.build import build_gram
from teaser.model.estimate import Estimate, FitSize, estimate, explained_memory_error, pair_count
from teaser.model.extensions.content import Content, content_rows
from teaser.model.extensions.decoder import (
    LearnedDecoder,
    check_carriers,
    learn_decoder,
    more_rounds,
    tag_means,
)
from teaser.model.extensions.discovered import (
    Discovered,
    DiscoveredTags,
    estimate_groups,
    expected_groups,
    find_groups,
)
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.remainder import (
    NEAR_POWER,
    Inverse,
    Neighbours,
    Remainder,
    RemainderMatrix,
    check_neighbours,
    describe_remainder,
    estimate_neighbours,
    estimate_remainder,
    fit_remainder,
    learn_neighbours,
    pack_remainder,
    prepare_inverse,
    ridge_of,
    unpack_remainder,
)
from teaser.model.extensions.sparse import (
    Encoder,
    SparseEncoder,
    pack_encoder,
    refit_support,
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
from teaser.model.extensions.weights import PLAIN, Weights, scale_pairs, scale_rows
from teaser.model.gpu import DeviceScorer, check_device, cupy
from teaser.model.gram import ContentGram, Gram, nearest, row_weights
from teaser.model.partitioned import estimate_partitions
from teaser.model.recipe import Recipe
from teaser.model.scores import sum_rows
from teaser.model.solve import (
    SETTLED_CHANGE,
    Callback,
    EncoderEquation,
    Limits,
    Solution,
    System,
    Tolerance,
    check_settings,
    dispatch,
    is_coarse,
    solver_bar,
)
from teaser.model.tables import Packed, check_tagged, decoder, popularity
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_flag, options_of

Array = NDArray[Any]

# Moving fewer users than this to a GPU takes longer than scoring them.
_GPU_BATCH = 32


class Teaser(TaggedModel):
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
    content
        `Content(weight=...)` makes items alike by their tags, or by the words of texts, beside
        being chosen together. Helps most where interactions are sparse. None, the default, learns
        from interactions alone.
    weights
        `Weights(user_power=..., ridge_power=...)` weighs users, the penalties of items, and the
        items that are predicted. None, the default, has no weights.
    discovered
        `DiscoveredTags(grains=...)` adds tags that the fit finds: groups of items that the same
        users choose. None, the default, has declared tags alone.
    remainder
        `Remainder(l2=..., neighbours=...)` adds item-to-item weights for what tags leave
        unexplained: the weights are P(E D') + R then. With `neighbours=None` it cannot be
        combined with `decoder`, `sparse` or user features. None, the default, learns tags alone.
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
        How to hold X'X: `"auto"`, `"dense"` or `"sparse"`. A Gram computed before is used as is;
        with `weights.user_power` it has to be of the weighted interactions.
    tol
        Relative residual at which the solver stops, or `"settled"`: when the scores no longer
        change. nDCG@100 is then the same to 0.3 % as at a residual of 1e-3. A number is at
        least 1e-6 in float32 and 1e-14 in float64, which rounding allows.
    max_iter
        Iterations after which it gives up, with a `ConvergenceWarning`.
    dtype
        `"float32"` or `"float64"`.
    rng
        Seed of the preconditioner's start and of discovered groups. A generator is used as is.
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
    groups_
        The groups behind discovered tags, with members and exemplars; None without.
    popularity_
        Item count / highest count.
    remainder_
        R, items x items: R_ij is what viewing i adds to j. Items that were added after the fit
        have columns and no rows. A csr matrix, or an array for all pairs of items; None without.
    user_tags_, user_encoder_
        The user features, and what each adds to a history; () and None without.
    iterations_, residual_, converged_
        The iterations, the final residual, and whether `tol` was reached.
    transparency_
        What decides in lists, what a press changes and where the data come from, measured on
        people of the fit; None where no history was at hand.
    recipe_
        What `teaser.fit` tried, chose and why; None for a model that was fitted otherwise.
    dataset_path_
        The folder of the data set, where the command line fitted the model; else None.

    References
    ----------
    De Pauw, Ruymbeek, Goethals: Modelling Users with Item Metadata for Explainable and
    Interactive Recommendation.
    """

    encoder_: Encoder
    groups_: Groups | None = None
    iterations_: int
    residual_: float
    converged_: bool
    recipe_: Recipe | None = None
    dataset_path_: str | None = None
    # The relative change of scores at which `tol="settled"` stops.
    settled_change: float = SETTLED_CHANGE

    _on_device: tuple[Encoder, sp.csr_array, DeviceScorer] | None = None

    def __init__(
        self,
        *,
        l2_weights: float = 200.0,
        l2_encoder: float = 500.0,
        content: Content | None = None,
        weights: Weights | None = None,
        discovered: DiscoveredTags | None = None,
        remainder: Remainder | None = None,
        decoder: LearnedDecoder | None = None,
        sparse: SparseEncoder | None = None,
        user_features: bool = True,
        solver: str = "cg",
        gram: Any = "auto",
        tol: Tolerance = 1e-3,
        max_iter: int = 200,
        dtype: str = "float32",
        rng: int | np.random.Generator | None = 0,
        device: str = "cpu",
    ) -> None:
        self.l2_weights = l2_weights
        self.l2_encoder = l2_encoder
        self.content = content
        self.weights = weights
        self.discovered = discovered
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
        discovered: Discovered | None = None,
        previous: Groups | None = None,
        callback: Callback | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn the encoder.

        Parameters
        ----------
        start
            A fitted model to begin from: of nearby penalties, or of the same items before
            today's interactions. Items and tags are matched by name. The result is the same to
            within `tol`, and takes fewer iterations. Discovered groups keep the names of its.
        system
            What `prepare` returned for this data set, to share over several penalties. What
            decides in lists is then not measured.
        discovered
            What `discover` returned for this data set, to share over several penalties; found
            by this fit when not given.
        previous
            Groups of an earlier model, whose names are kept; those of `start` by default.
        callback
            Called with the iteration and its relative residual.
        progress
            Whether to show a bar, in a notebook or a terminal; a `callback` takes its place.
        """
        with explained_memory_error("The fit"):  # it clears the frames below this one
            bar = solver_bar(self.tol, callback, progress=progress)
            return self._learn(dataset, bar, start, system, discovered, previous)

    def _learn(
        self, dataset: Dataset, bar: Any, start: "Teaser | None", system: System | None,
        discovered: Discovered | None, previous: Groups | None,
    ) -> Self:  # fmt: skip
        with bar as callback:
            self._check_with(dataset)
            _check_near(self, dataset)
            user_features = learned_features(self, dataset)
            if previous is None:
                previous = getattr(start, "groups_", None)
            dataset, groups = find_groups(self, dataset, previous, discovered, system)
            if self.decoder is not None:
                check_carriers(dataset.S)
            begin = None if start is None else _matched(start, dataset, user_features)
            own = system is None
            if system is None:
                system = _prepare_system(self, dataset, user_features, keep=False)
            n_rows = dataset.n_items + (0 if user_features is None else len(user_features.tags))
            l1, shape = float(self.l2_weights), (n_rows, dataset.n_tags + 1)
            _check_system(system, shape, l1, self.joint_remainder)
            found = _fit_parts(
                self,
                system,
                dataset,
                limits=Limits(
                    tol=self.tol,
                    max_iter=self.max_iter,
                    callback=callback,
                    change=self.settled_change,
                ),
                start=begin,
                overwrite=own,
            )
            solution, aliases = found.solution, {} if groups is None else groups.aliases
            factors = self._weights.of_history(dataset.item_counts)
            self.keep_items(dataset, found.decoder, aliases, factors)
            self.groups_ = groups
            E, R = solution.encoder[: dataset.n_items], found.remainder
            self.encoder_ = E if factors is None else scale_rows(E, factors)
            self._remainder = R if factors is None or R is None else scale_pairs(R, factors)
            self._user_rows = learn_user_rows(
                user_features,
                dataset.X,
                solution.encoder,
                found.system,
                found.decoder,
                l1=l1,
                l2=float(self.l2_encoder),
                user_power=self._weights.user_power,
            )
            self.keep_basis(dataset, measure=own)
            self.iterations_ = solution.iterations
            self.residual_ = solution.residual
            self.converged_ = solution.converged
            self.recipe_ = self.dataset_path_ = None
        return self

    def _check_with(self, dataset: Dataset) -> None:
        self.check_parameters()
        check_tagged(dataset)
        check_device(self.device, dataset.X)
        if self.remainder is not None:
            self.remainder.check_precision(self.l2_weights, dataset.X, self.dtype)

    @property
    def joint_remainder(self) -> Remainder | None:
        """The options of a remainder that is found together with the encoder, or None."""
        is_joint = self.remainder is not None and self.remainder.neighbours is None
        return self.remainder if is_joint else None

    @property
    def ridge(self) -> tuple[float, ...] | None:
        """What the inverse of a joint remainder depends on: l2_weights + remainder.l2.

        With `weights.ridge_power` the two are not added.
        """
        if self.joint_remainder is None:
            return None
        self.check_parameters()
        l1, kappa = float(self.l2_weights), float(self.joint_remainder.l2)
        return (l1, kappa) if self._weights.ridge_power else (l1 + kappa,)

    @property
    def _weights(self) -> Weights:
        return PLAIN if self.weights is None else self.weights

    def prepare(
        self,
        dataset: Dataset,
        *,
        discovered: Discovered | None = None,
        like: System | None = None,
    ) -> System:
        """Return the part of a fit that does not depend on the penalties.

        It holds the Gram, its leading eigenpairs and the eigenvectors of D'D, for fits that differ
        in penalties only, or in a larger `tol`. With a joint remainder it holds the inverse of X'X
        + (l2_weights + remainder.l2) I instead of the Gram; that sum must be the same. With
        discovered tags, give what `discover` returned to this and to every fit. What was prepared
        for the same model with another content saves time, as `like`.
        """
        self._check_with(dataset)
        dataset, _ = find_groups(self, dataset, None, discovered)
        with explained_memory_error("Preparing a fit"):
            about = learned_features(self, dataset)
            return _prepare_system(self, dataset, about, keep=True, like=like)

    def estimate(self, dataset: Dataset) -> Estimate:
        """Return what fitting this data set will take, before anything large is allocated."""
        self._check_with(dataset)
        X = stack_interactions(dataset.X, learned_features(self, dataset))
        gram = self.gram if self.joint_remainder is None else "dense"
        n_tags = dataset.n_tags + 1 + expected_groups(self.discovered, dataset)
        size = FitSize(n_tags, np.dtype(self.dtype), self.solver, _has_content(self))
        if isinstance(dataset.X, Interactions):
            found = estimate_partitions(X, gram, size, tol=self.tol)
        else:
            found = estimate(X, gram, size, tol=self.tol)
        if self.discovered is not None:
            found = estimate_groups(found, dataset, size, self.discovered)
        if self.joint_remainder is not None:
            return estimate_remainder(found, dataset.n_items, self.dtype, self.joint_remainder)
        rounds = 0 if self.decoder is None else self.decoder.rounds
        found = more_rounds(found, rounds=rounds, is_sparse=self.sparse is not None)
        if self.remainder is None:
            return found
        pairs = pair_count(dataset.X)
        return estimate_neighbours(found, dataset.n_items, self.dtype, self.remainder, pairs=pairs)

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the encoder rows of each history summed (users x tags), in double precision.

        Items that were added after the fit have no row, and add nothing.
        """
        if self.device == "cuda" and rows.shape[0] >= _GPU_BATCH:
            return self._scorer().encode(rows)
        return sum_rows(self.encoder_, rows)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (users x items)."""
        if self.device == "cuda" and len(affinities) >= _GPU_BATCH:
            return self._scorer().decode(affinities)
        return super().decode(affinities)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (users x items), unweighted."""
        if self.device == "cuda" and rows.shape[0] >= _GPU_BATCH and self.remainder_ is not None:
            return self._scorer().decode_viewed(rows)
        return super().decode_viewed(rows)

    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c, x_i E_i.c, for a direction c."""
        out = np.zeros(len(positions))
        # Items added after the fit have no row.
        known = positions < self.encoder_.shape[0]
        rows = self.encoder_[positions[known]].astype(np.float64)
        out[known] = strengths[known] * (rows @ direction)
        return out

    def mean_raw(self, dataset: Dataset, sample: Array) -> Array:
        """Return the mean raw tag scores of the training users (tags): mean row of X, times E."""
        X = dataset.X
        if isinstance(X, Interactions):
            return super().mean_raw(dataset, sample)
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / max(1, X.shape[0])
        E, found = self.encoder_, np.zeros(self.encoder_.shape[1])
        for rows in [slice(None)] if sp.issparse(E) else blocks(E):
            found += E[rows].astype(np.float64).T @ mean[rows]
        if self.user_rows_ is not None and dataset.Q is not None:
            found = found + self.user_rows_.mean(dataset.Q, np.diff(X.indptr))
        return found

    def _scorer(self) -> DeviceScorer:
        """Return encoder and decoder on the GPU, moved there once."""
        kept = self._on_device
        # A fit replaces both arrays and `add_items` the decoder, so identity is enough.
        if kept is None or kept[0] is not self.encoder_ or kept[1] is not self.decoder_:
            like = cupy().zeros(1, dtype=self.encoder_.dtype)
            scorer = DeviceScorer(self.encoder_, self.decoder_, self.remainder_, like=like)
            kept = self._on_device = (self.encoder_, self.decoder_, scorer)
        return kept[2]

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        return {
            **super().describe(),
            **self._solver_report(),
            "remainder": describe_remainder(self.remainder_, self.remainder),
            "discovered": None if self.groups_ is None else self.groups_.describe(),
            "recipe": None if self.recipe_ is None else self.recipe_.as_dict(),
        }

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        user_arrays, user_tables = pack_user_rows(self.user_rows_)
        arrays = {**pack_encoder(self.encoder_), **pack_remainder(self.remainder_), **user_arrays}
        settings: dict[str, Any] = {"fit": self._solver_report()}
        if self.recipe_ is not None:
            settings["recipe"] = self.recipe_.as_dict()
        if self.dataset_path_ is not None:
            settings["dataset"] = self.dataset_path_
        packed = super().pack() | Packed(settings, arrays, user_tables)
        return packed if self.groups_ is None else packed | self.groups_.pack()

    def unpack(self, content: artifact.Content) -> None:
        """Set what `pack` returned; encoder and remainder stay on disk until used."""
        super().unpack(content)
        arrays, fit = content.arrays, content.settings["fit"]
        self.encoder_ = unpack_encoder(arrays, self.tag_table_.n_learned)
        n_learned, width = self.encoder_.shape
        self._remainder = unpack_remainder(arrays, n_learned, len(self.items_))
        self._user_rows = unpack_user_rows(arrays, content.tables, width)
        self.groups_ = Groups.unpack(content)
        recipe = content.settings.get("recipe")
        self.recipe_ = None if recipe is None else Recipe.from_dict(recipe)
        self.dataset_path_ = content.settings.get("dataset")
        self.iterations_ = fit["iterations"]
        self.residual_ = fit["residual"]
        self.converged_ = fit["converged"]
        if width != self.tag_table_.n_learned or n_learned > len(self.items_):
            raise ValueError("its parts are of different sizes")
        if not np.isfinite(self.residual_):
            raise ValueError("its residual is not finite")

    def _solver_report(self) -> dict[str, Any]:
        """Return how the solver ended."""
        return {
            "iterations": self.iterations_,
            "residual": self.residual_,
            "converged": self.converged_,
        }

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of new items with the mean of the weights that were learned for a tag."""
        if self.decoder is None:
            return new
        data = new.data * tag_means(self.tag_table_.plain_decoder)[new.indices]
        return sp.csr_array((data, new.indices, new.indptr), shape=new.shape)

    @property
    def _text_columns(self) -> tuple[str, ...]:
        return self.content.text if self.content is not None and _has_content(self) else ()

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        self.check_options()
        settings = self.parameters()
        for name in options_of(type(self)):
            settings.pop(name)
        check_flag("user_features", settings.pop("user_features"))
        check_settings(**settings)
        if self.joint_remainder is not None:
            others = [name for name in ("decoder", "sparse") if getattr(self, name) is not None]
            _check_companions(solver=self.solver, gram=self.gram, others=others)


@dataclass(frozen=True, eq=False)
class SharedSystem(System):
    """A system that is shared over penalties, with the neighbours of items once they are known.

    `near` has the neighbours by their number, and `kept` what the last remainder was found with.
    """

    near: dict[int, sp.csr_array] = field(default_factory=dict)
    kept: dict[int, Neighbours] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Parts:
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


def _prepare_system(
    model: Teaser,
    dataset: Dataset,
    user_features: UserFeatures | None,
    *,
    keep: bool,
    like: System | None = None,
) -> System:
    """Return what the steps share and no penalty changes; with a joint remainder, its inverse.

    Parameters
    ----------
    keep
        Whether further fits will reuse it.
    like
        A system of the same decoder and another Gram.
    """
    kind, weights = np.dtype(model.dtype), PLAIN if model.weights is None else model.weights
    D = pad_rows(fixed_decoder(dataset, model.weights).astype(kind), user_features)
    content = content_rows(model.content, dataset)
    how: dict[str, Any] = {
        "content": None if content is None else pad_rows(content, user_features),
        "device": model.device,
    }
    if model.joint_remainder is not None:
        how |= {"options": model.joint_remainder, "l1": float(model.l2_weights), "keep": keep}
        how |= {"weights": weights, "item_counts": dataset.item_counts}
        return prepare_inverse(dataset.X, model.gram, D, **how)
    n_near = 0 if model.remainder is None else model.remainder.neighbours or 0
    # Before the Gram of the fit, so that there are never two of them.
    near = {n_near: _find_near(model, dataset, n_near, content)} if n_near else {}
    X, n_items = stack_interactions(dataset.X, user_features), dataset.n_items
    how |= {"user_power": weights.user_power, "n_items": n_items}
    size = FitSize(D.shape[1], kind, model.solver, has_content=content is not None)
    gram = build_gram(X, model.gram, size, **how)
    system = System.build(
        gram,
        D,
        solver=model.solver,
        rng=model.rng,
        is_coarse=is_coarse(model.tol, model.solver),
        like=like,
        row_penalty=row_weights(gram, weights.ridge_power, n_items=n_items),
        column_weight=weights.of_columns(dataset.item_counts),
    )
    own = {part.name: getattr(system, part.name) for part in fields(system)}
    return SharedSystem(**own, near=near)


def _has_content(model: Teaser) -> bool:
    return model.content is not None and model.content.weight > 0


def _find_near(
    model: Teaser, dataset: Dataset, m: int, content: sp.csr_array | None
) -> sp.csr_array:
    """Return the nearest neighbours of each item (items x items).

    Parameters
    ----------
    content
        What `content_rows` returned for this model and data set.
    """
    given = model.gram
    gram: Gram
    if not isinstance(dataset.X, Interactions) or isinstance(given, str):
        size = FitSize(1, np.dtype(model.dtype))
        how = "sparse" if model.device == "cpu" else "auto"
        gram = build_gram(dataset.X, how, size, device=model.device, user_power=NEAR_POWER)
    elif hasattr(given, "with_user_power"):
        gram = given.with_user_power(NEAR_POWER)
    else:  # counted elsewhere, as by a cluster: its own cosines are all there are
        gram = build_gram(dataset.X, given, FitSize(1, np.dtype(model.dtype)))
    return nearest(gram if content is None else ContentGram(gram, content), m)


def _fit_parts(
    model: Teaser,
    system: System,
    dataset: Dataset,
    *,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> _Parts:
    """Return what all steps of a fit find.

    Parameters
    ----------
    system
        What `_prepare_system` returned for this data set.
    start
        An encoder to begin from, with the rows of user features.
    overwrite
        Whether the memory of an inverse may be used for the remainder.
    """
    D = fixed_decoder(dataset, model.weights)
    if isinstance(system, Inverse) and model.joint_remainder is not None:
        solution, R = fit_remainder(
            system,
            options=model.joint_remainder,
            l2=float(model.l2_encoder),
            limits=limits,
            start=start,
            overwrite=overwrite,
        )
        return _Parts(solution, system, D, R)
    found = _fit_tags(model, system, D, limits, start)
    return found if model.remainder is None else _fit_near(model, system, dataset, found, limits)


def _check_near(model: Teaser, dataset: Dataset) -> None:
    """Raise `ResourceError` where the neighbours of a fit do not fit, before its work."""
    if model.remainder is not None and model.remainder.neighbours is not None:
        check_neighbours(model.dtype, model.remainder.neighbours, n_items=dataset.n_items)


def _fit_tags(
    model: Teaser, system: System, D: sp.csr_array, limits: Limits, start: Array | None
) -> _Parts:
    """Return encoder and decoder: all that tags explain."""
    l1, l2 = float(model.l2_weights), float(model.l2_encoder)

    def solve(system: System, start: Array | None) -> Solution:
        return dispatch(EncoderEquation(system, l1, l2), limits, solver=model.solver, start=start)

    if model.decoder is not None:
        solution, system, D = learn_decoder(
            system, D, l1=l1, options=model.decoder, solve=solve, start=start
        )
    else:
        solution = solve(system, start)
    if model.sparse is not None:
        equation = EncoderEquation(system, l1, l2)
        solution = sparsify(equation, solution, density=model.sparse.density, limits=limits)
    return _Parts(solution, system, D)


def _fit_near(
    model: Teaser, system: System, dataset: Dataset, tags: _Parts, limits: Limits
) -> _Parts:
    """Return what tags explain, with the remainder of neighbours for what they do not.

    Parameters
    ----------
    system
        The one that was prepared; that of `tags` may have another decoder.
    """
    options = model.remainder
    if options is None:
        return tags

    def solve(equation: EncoderEquation, start: Any) -> Solution:
        if sp.issparse(start):
            return refit_support(equation, start, limits)
        return dispatch(equation, limits, solver=model.solver, start=start)

    equation = EncoderEquation(tags.system, float(model.l2_weights), float(model.l2_encoder))
    D = sp.csr_array(tags.decoder, copy=True)
    D.resize((tags.system.gram.n_items, D.shape[1]))  # rows of user features are empty
    neighbours = _neighbours(model, system, dataset, int(options.neighbours or 0))
    solution, R = learn_neighbours(
        equation, tags.solution, neighbours, D, options=options, solve=solve
    )
    return replace(tags, solution=solution, remainder=R)


def _neighbours(model: Teaser, system: System, dataset: Dataset, m: int) -> Neighbours:
    """Return the neighbours and G on them, from the system where it has them."""
    near, kept = (system.near, system.kept) if isinstance(system, SharedSystem) else ({}, {})
    penalty = float(model.l2_weights) * to_host(system.row_penalty).astype(np.float64)
    if m not in kept:
        if m not in near:
            near[m] = _find_near(model, dataset, m, content_rows(model.content, dataset))
        kept.clear()  # G on the neighbours may be large
        kept[m] = Neighbours.build(
            system.gram, m, penalty=penalty, n_items=dataset.n_items, near=near[m]
        )
    return replace(kept[m], penalty=penalty)


def _check_companions(*, solver: str, gram: Any, others: Sequence[str]) -> None:
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


def _check_system(
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


def _matched(start: Teaser, dataset: Dataset, user_features: UserFeatures | None) -> Array:
    """Return the encoder of a fitted model in the order of a data set, zero for what is new."""
    if not isinstance(start, Teaser):
        raise ParameterError(f"start must be a fitted Teaser, found a {type(start).__name__}.")
    start.check_fitted()
    E, scale = start.encoder_, start.tag_table_.item_scale
    if scale is not None:
        E = scale_rows(E, scale[: E.shape[0]])
    return match_rows(start, E, dataset, user_features)
