"""TEASER: a linear model whose user embedding is a profile of item tags."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import artifact
from teaser.data.dataset import Dataset
from teaser.data.matrix import pack, unpack_mapped
from teaser.data.metadata import UserFeatures
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model._arrays import blocks, to_host
from teaser.model.build import build_gram
from teaser.model.estimate import (
    Estimate,
    FitSize,
    dense_rate,
    estimate,
    explained_memory_error,
    pair_count,
)
from teaser.model.extensions.content import Content, content_rows
from teaser.model.extensions.decoder import (
    LearnedDecoder,
    check_carriers,
    learn_decoder,
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
    Explained,
    Inverse,
    Remainder,
    RemainderMatrix,
    check_inverse,
    check_neighbours,
    describe_remainder,
    estimate_neighbours,
    fit_remainder,
    invert_system,
    neighbour_remainder,
)
from teaser.model.extensions.sparse import (
    Encoder,
    SparseEncoder,
    sparsify,
)
from teaser.model.extensions.user_features import (
    UserRows,
    learn_user_rows,
    learned_features,
    match_rows,
    stack_interactions,
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
        prepared: "Prepared | None" = None,
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
        prepared
            What `prepare` returned for this data set, to share over several penalties. What
            decides in lists is then not measured.
        previous
            Groups of an earlier model, whose names are kept; those of `start` by default.
        callback
            Called with the iteration and its relative residual.
        progress
            Whether to show a bar, in a notebook or a terminal; a `callback` takes its place.
        """
        with explained_memory_error("The fit"):  # it clears the frames below this one
            bar = solver_bar(self.tol, callback, progress=progress)
            return self._learn(dataset, bar, start, prepared, previous)

    def _learn(
        self, dataset: Dataset, bar: Any, start: "Teaser | None", prepared: "Prepared | None",
        previous: Groups | None,
    ) -> Self:  # fmt: skip
        with bar as callback:
            self._check_with(dataset)
            if start is not None:
                if not isinstance(start, Teaser):
                    raise ParameterError(
                        f"start must be a fitted Teaser, found a {type(start).__name__}."
                    )
                start.check_fitted()
                previous = start.groups_ if previous is None else previous
            own = prepared is None
            if prepared is None:
                prepared = _prepare(self, dataset, previous=previous)
            features = learned_features(self, dataset)
            _check_prepared(self, dataset, features, prepared)
            dataset, groups = prepared.dataset, prepared.groups
            limits = Limits(
                tol=self.tol, max_iter=self.max_iter, callback=callback, change=self.settled_change
            )
            begin = None if start is None else _matched(start, dataset, features)
            solution, system, D, R = _fit_parts(self, prepared, limits, begin, overwrite=own)
            factors = self._weights.of_history(dataset.item_counts)
            self.keep_items(dataset, D, {} if groups is None else groups.aliases, factors)
            self.groups_ = groups
            E = solution.encoder[: dataset.n_items]
            self.encoder_ = E if factors is None else scale_rows(E, factors)
            self._remainder = R if factors is None or R is None else scale_pairs(R, factors)
            self._user_rows = learn_user_rows(
                features,
                dataset.X,
                solution.encoder,
                system,
                D,
                l1=float(self.l2_weights),
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

    @property
    def joint_remainder(self) -> Remainder | None:
        """The options of a remainder that is found together with the encoder, or None."""
        is_joint = self.remainder is not None and self.remainder.neighbours is None
        return self.remainder if is_joint else None

    @property
    def _n_near(self) -> int:
        """The number of neighbours that may explain an item."""
        return 0 if self.remainder is None else self.remainder.neighbours or 0

    @property
    def _weights(self) -> Weights:
        return PLAIN if self.weights is None else self.weights

    def prepare(self, dataset: Dataset, *, discovered: Discovered | None = None) -> "Prepared":
        """Return the part of a fit that does not depend on the penalties.

        It is for fits that differ in penalties only, or in a larger `tol`. With a joint remainder
        l2_weights + remainder.l2 must be the same too, or both where weights have a ridge_power.

        Parameters
        ----------
        discovered
            What `discover` returned for this data set; found here when not given.
        """
        self._check_with(dataset)
        with explained_memory_error("Preparing a fit"):
            return _prepare(self, dataset, discovered=discovered, keep=True)

    def estimate(self, dataset: Dataset) -> Estimate:
        """Return what fitting this data set will take, before anything large is allocated."""
        self._check_with(dataset)
        X = stack_interactions(dataset.X, learned_features(self, dataset))
        gram = self.gram if self.joint_remainder is None else "dense"
        n_tags = dataset.n_tags + 1 + expected_groups(self.discovered, dataset)
        size = FitSize(n_tags, np.dtype(self.dtype), self.solver, _has_content(self))
        by_size = estimate_partitions if isinstance(dataset.X, Interactions) else estimate
        found = by_size(X, gram, size, tol=self.tol)
        if self.discovered is not None:
            found = estimate_groups(found, dataset, size, self.discovered)
        if self.joint_remainder is not None:  # the inverse takes the place of the Gram
            return found.plus(dataset.n_items**3 / dense_rate(self.dtype))
        # To find a sparse encoder takes about as long as two more dense ones.
        rounds = 0 if self.decoder is None else self.decoder.rounds
        found = found.repeated(1 + rounds + 2 * (self.sparse is not None))
        if not self._n_near:
            return found
        pairs = pair_count(dataset.X)
        return estimate_neighbours(found, dataset.n_items, self._n_near, self.dtype, pairs=pairs)

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the encoder rows of each history summed (users x tags), in double precision.

        Items that were added after the fit have no row, and add nothing.
        """
        scorer = self._scorer(rows.shape[0])
        return sum_rows(self.encoder_, rows) if scorer is None else scorer.encode(rows)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (users x items)."""
        scorer = self._scorer(len(affinities))
        return super().decode(affinities) if scorer is None else scorer.decode(affinities)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (users x items), unweighted."""
        scorer = self._scorer(rows.shape[0])
        return super().decode_viewed(rows) if scorer is None else scorer.decode_viewed(rows)

    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c, x_i E_i.c, for directions c."""
        out = np.zeros((len(positions), *direction.shape[1:]))
        # Items added after the fit have no row.
        known = positions < self.encoder_.shape[0]
        rows = self.encoder_[positions[known]].astype(np.float64)
        out[known] = (strengths[known] * (rows @ direction).T).T
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

    def _scorer(self, n_users: int) -> DeviceScorer | None:
        """Return encoder and decoder on the GPU, moved there once; None to score users here."""
        if self.device != "cuda" or n_users < _GPU_BATCH:
            return None
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
        arrays = pack("encoder", self.encoder_)
        if self.remainder_ is not None:
            arrays |= pack("remainder", self.remainder_)
        settings = {
            "fit": self._solver_report(),
            "recipe": None if self.recipe_ is None else self.recipe_.as_dict(),
            "dataset": self.dataset_path_,
        }
        packed = super().pack() | Packed(settings, arrays)
        for part in (self.user_rows_, self.groups_):
            packed = packed if part is None else packed | part.pack()
        return packed

    def unpack(self, content: artifact.Content) -> None:
        """Set what `pack` returned; encoder and remainder stay on disk until used."""
        super().unpack(content)
        arrays, fit = content.arrays, content.settings["fit"]
        self.encoder_ = unpack_mapped("encoder", arrays, self.tag_table_.n_learned)
        if any(name.split(".")[0] == "remainder" for name in arrays):
            self._remainder = unpack_mapped("remainder", arrays, len(self.items_))
        self._user_rows = UserRows.unpack(content, self.encoder_.shape[1])
        self.groups_ = Groups.unpack(content)
        recipe = content.settings["recipe"]
        self.recipe_ = None if recipe is None else Recipe.from_dict(recipe)
        self.dataset_path_ = content.settings["dataset"]
        self.iterations_ = fit["iterations"]
        self.residual_ = fit["residual"]
        self.converged_ = fit["converged"]

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
            others += ["solver='admm'"] * (self.solver == "admm")
            others += ["gram='sparse'"] * (isinstance(self.gram, str) and self.gram == "sparse")
            if others:
                raise ParameterError(
                    f"A full remainder cannot be learned with {' and '.join(others)}: its closed "
                    "form is that of a fixed decoder, all entries and X'X as an array. Use "
                    "neighbours, as in Remainder(neighbours=100), or leave these out."
                )


@dataclass(frozen=True, eq=False)
class Prepared:
    """What fits that differ in penalties only share.

    Attributes
    ----------
    dataset, groups
        The data set with discovered tags, and the groups behind these, or None.
    system
        The Gram, its eigenpairs and those of D'D; with a joint remainder the inverse.
    near
        The nearest neighbours of items, by their number.
    """

    dataset: Dataset
    groups: Groups | None
    system: System
    near: dict[int, sp.csr_array] = field(default_factory=dict)


def fixed_decoder(dataset: Dataset, weights: Weights) -> sp.csr_array:
    """Return D = [S | s popularity] in double precision (items x tags)."""
    return decoder(dataset.S, weights.popularity_scale * popularity(dataset))


def _prepare(
    model: Teaser,
    dataset: Dataset,
    *,
    previous: Groups | None = None,
    discovered: Discovered | None = None,
    keep: bool = False,
) -> Prepared:
    """Return what the steps of a fit share and no penalty changes.

    Parameters
    ----------
    keep
        Whether further fits will reuse it.
    """
    kind, weights, joint = np.dtype(model.dtype), model._weights, model.joint_remainder
    features = learned_features(model, dataset)
    if model._n_near:
        check_neighbours(model.dtype, model._n_near, n_items=dataset.n_items)
    dataset, groups = discovered or find_groups(model, dataset, previous)
    if model.decoder is not None:
        check_carriers(dataset.S)
    D = fixed_decoder(dataset, weights).astype(kind)
    content, given = content_rows(model.content, dataset), not isinstance(model.gram, str)
    if joint is not None:
        check_inverse(D.shape, kind, arrays=1 + keep + given, on_gpu=model.device == "cuda")
    # Before the Gram of the fit, so that there are never two of them.
    near = {m: _find_near(model, dataset, m, content) for m in [model._n_near] if m}
    gram = build_gram(
        stack_interactions(dataset.X, features),
        model.gram if given or joint is None else "dense",
        FitSize(D.shape[1], kind, model.solver, has_content=content is not None),
        content=content,
        device=model.device,
        user_power=weights.user_power,
        n_items=dataset.n_items,
    )
    system = System.build(
        gram,
        D,
        solver=model.solver,
        rank=None if joint is None else 0,
        rng=model.rng,
        is_coarse=joint is None and is_coarse(model.tol, model.solver),
        row_penalty=row_weights(gram, weights.ridge_power, n_items=dataset.n_items),
        column_weight=weights.of_columns(dataset.item_counts),
    )
    if joint is not None:
        system = invert_system(system, joint, float(model.l2_weights), overwrite=not given)
    return Prepared(dataset, groups, system, near)


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
    model: Teaser, prepared: Prepared, limits: Limits, start: Array | None, *, overwrite: bool
) -> tuple[Solution, System, sp.csr_array, RemainderMatrix]:
    """Return what the steps of a fit find: the encoder, its system, the decoder, the remainder.

    Parameters
    ----------
    start
        An encoder to begin from, with the rows of user features below those of the items.
    overwrite
        Whether the memory of an inverse may be used for the remainder.
    """
    system, D = prepared.system, fixed_decoder(prepared.dataset, model._weights)
    l1, l2 = float(model.l2_weights), float(model.l2_encoder)
    kappa = 0.0 if model.remainder is None else float(model.remainder.l2)
    if isinstance(system, Inverse):
        solution, R = fit_remainder(
            system, kappa=kappa, l2=l2, limits=limits, start=start, overwrite=overwrite
        )
        return solution, system, D, R

    def solve(system: System, start: Array | None) -> Solution:
        return dispatch(EncoderEquation(system, l1, l2), limits, solver=model.solver, start=start)

    if model.decoder is None:
        solution = solve(system, start)
    else:
        solution, system, D = learn_decoder(
            system, D, l1=l1, options=model.decoder, solve=solve, start=start
        )
    if model.sparse is not None:
        equation = EncoderEquation(system, l1, l2)
        solution = sparsify(equation, solution, density=model.sparse.density, limits=limits)
    if not (m := model._n_near):
        return solution, system, D, None
    if m not in prepared.near:
        content = content_rows(model.content, prepared.dataset)
        prepared.near[m] = _find_near(model, prepared.dataset, m, content)
    L = l1 * to_host(system.row_penalty).astype(np.float64)
    explained = Explained(system.gram, solution.encoder, D, L)
    R = neighbour_remainder(system.gram, prepared.near[m], L + kappa, explained)
    return solution, system, D, R


def _check_prepared(
    model: Teaser, dataset: Dataset, features: UserFeatures | None, prepared: Prepared
) -> None:
    """Raise `ParameterError` unless this was prepared for this data set and these penalties."""
    system, joint = prepared.system, model.joint_remainder
    n_rows = dataset.n_items + (0 if features is None else len(features.tags))
    is_same = prepared.dataset.items == dataset.items and system.D.shape[0] == n_rows
    is_same = is_same and isinstance(system, Inverse) == (joint is not None)
    if isinstance(system, Inverse) and joint is not None:
        wanted = joint.ridge(float(model.l2_weights), system.row_penalty)
        is_same = is_same and np.allclose(system.ridge, wanted)
    if not is_same:
        raise ParameterError(
            "What was prepared is of another data set, or of a model with another remainder or "
            "user features. "
            "Prepare it from this data set and this model. A joint remainder can share it where "
            "l2_weights + remainder.l2 is the same, with ridge_power both."
        )


def _matched(start: Teaser, dataset: Dataset, user_features: UserFeatures | None) -> Array:
    """Return the encoder of a fitted model in the order of a data set, zero for what is new."""
    E, scale = start.encoder_, start.tag_table_.item_scale
    if scale is not None:
        E = scale_rows(E, scale[: E.shape[0]])
    return match_rows(start, E, dataset, user_features)
