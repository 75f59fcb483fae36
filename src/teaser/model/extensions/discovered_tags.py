"""Discovered tags: groups of items that the same users choose, as further columns of S.

Where metadata cannot tell items apart, the interactions can: the items are embedded by the Gram of
the interactions and grouped at a few grain sizes. See docs/users/model.md.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.tags import DISCOVERED, Tag
from teaser.errors import ParameterError
from teaser.model.checks import check_count, check_number
from teaser.model.extensions.group_edits import Edits
from teaser.model.extensions.group_names import (
    central_items,
    label_groups,
    name_group,
    speaking_titles,
    title_of,
)
from teaser.model.extensions.grouping import (
    cluster,
    cosines,
    draw_centroids,
    embed_items,
    relative_weights,
    unit_rows,
)
from teaser.model.extensions.groups import (
    EXEMPLARS,
    Group,
    Groups,
    earlier_weights,
    match_groups,
)
from teaser.model.gram.build import build_gram
from teaser.model.gram.cost import Estimate, FitSize, dense_rate
from teaser.model.gram.gpu import placed
from teaser.model.gram.operator import Gram
from teaser.parameters import Options

Array = NDArray[Any]
Discovered = tuple[Dataset, Groups]

log = logging.getLogger("teaser")

# People with long histories count less for what goes together.
USER_POWER = 0.5
# Rounds of k-means: to where it ends, and few from earlier groups, which are to stay themselves.
_ROUNDS = 30
_ROUNDS_AGAIN = 5
# The groups of an earlier fit are kept as they are if their number is this near to n / grain.
_SAME_NUMBER = 0.1
# Products with the Gram, and arrays of items x factors, that the embedding takes; then rounds of
# k-means in which every item is compared with every group, if comparisons are counted.
_PRODUCTS = 3
_ARRAYS = 6
_WHOLE_ROUNDS = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscoveredTags(Options):
    """Options of tags that the fit finds: groups of items that the same users choose.

    Parameters
    ----------
    grains
        How large groups are, one number for each set of them: n / grain groups, where n is the
        number of items that were chosen often enough.
    factors
        Leading eigenvectors of the normalised Gram that items are compared by.
    nearest
        How many groups of each grain an item belongs to, at most.
    least_count
        Items that were chosen less often belong to no group.
    max_groups
        The most groups of one grain.
    names
        The path of a TOML file that renames, merges or drops groups; see `Groups.write`.
    """

    grains: tuple[float, ...] = (20, 5)
    factors: int = 512
    nearest: int = 3
    least_count: int = 3
    max_groups: int = 4000
    names: str | None = None

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense, `RuleError` for a bad file."""
        grains = self.grains
        if not isinstance(grains, tuple) or not grains or len(set(grains)) < len(grains):
            raise ParameterError(
                "discovered.grains must be a tuple of different numbers such as (100, 20), "
                f"found {grains!r}."
            )
        for grain in grains:
            if isinstance(grain, int | float) and grain <= 1:
                raise ParameterError(
                    f"discovered.grains must be above 1, found {grain:g}: that would be more "
                    "groups than items. A group of two and more is worth a name."
                )
            check_number("discovered.grains", grain, least=1.0)
        for name in ("factors", "nearest", "least_count", "max_groups"):
            check_count(f"discovered.{name}", getattr(self, name))
        if self.max_groups < 2:
            raise ParameterError("discovered.max_groups must be at least 2, found 1.")
        if self.names is not None and not isinstance(self.names, str):
            raise ParameterError(
                f"discovered.names must be the path of a file, found {self.names!r}."
            )
        self.edits()

    def edits(self) -> Edits:
        """Return what the owner's file says, read now; nothing without a file."""
        return Edits() if self.names is None else Edits.read(self.names)

    def counts(self, n_chosen: int) -> dict[float, int]:
        """Return the number of groups of each grain, the coarsest first.

        Parameters
        ----------
        n_chosen
            How many items were chosen often enough to belong to groups.
        """
        out: dict[float, int] = {}
        for grain in sorted(self.grains, reverse=True):
            k = min(int(n_chosen / grain), self.max_groups, n_chosen // 2)
            if k < 2:
                log.info(
                    "grain %g is left out: %s items make no two groups", grain, f"{n_chosen:,}"
                )
            elif k in out.values():
                log.info("grain %g is left out: a coarser one has %s groups too", grain, f"{k:,}")
            else:
                out[grain] = k
        return out


@dataclass(frozen=True, eq=False)
class _Grain:
    """The groups of one grain: cosines (items x groups), and earlier names by column."""

    grain: float
    cosines: sp.csr_array
    kept: Mapping[int, str]


def discover(
    dataset: Dataset,
    options: DiscoveredTags,
    *,
    rng: int | np.random.Generator | None = 0,
    dtype: str = "float32",
    device: str = "cpu",
    gram: Gram | None = None,
    previous: Groups | None = None,
) -> Discovered:
    """Return the data set with further tags, one for each group found, and the groups.

    Parameters
    ----------
    rng
        Seed of the embedding's and of k-means' start.
    dtype, device
        The type to compute in, and where.
    gram
        The Gram of the interactions, such as one on a cluster, used as it is. When not given it
        is made from them, with users of long histories counting less (user_power 0.5).
    previous
        Groups of an earlier fit. Groups that overlap with one of them keep its name.
    """
    options.check()
    if any(tag.discovered for tag in dataset.tags):
        raise ParameterError("The data set has discovered tags already. Use the one without.")
    chosen = dataset.item_counts >= options.least_count
    counts = options.counts(int(chosen.sum()))
    found: list[_Grain] = []
    if counts:
        random = np.random.default_rng(rng)
        if gram is None:
            # Few products with few columns: X'(X M) is faster than a Gram as one array, but on
            # a GPU, which counts in no time.
            size = FitSize(min(options.factors, dataset.n_items), np.dtype(dtype))
            how = "auto" if device == "cuda" else "sparse"
            gram = build_gram(dataset.X, how, size, device=device, user_power=USER_POWER)
        Y = embed_items(gram, options.factors, random)
        is_placed = Y.any(axis=1)
        if (chosen > is_placed).any():  # few factors say nothing of some items
            chosen &= is_placed
            counts = options.counts(int(chosen.sum()))
        for grain, k in counts.items():
            Z = placed(Y[chosen], gram.diagonal())
            found.append(_find(dataset, Y, Z, chosen, grain, k, options, random, previous))
    groups = _named(dataset, found, options.edits(), previous)
    S = sp.csr_array(sp.hstack([dataset.S, groups.members.astype(np.float32)], format="csr"))
    return replace(dataset, S=S, tags=(*dataset.tags, *groups.tags)), groups


def find_groups(
    model: Any,
    dataset: Dataset,
    previous: Groups | None,
    given: Discovered | None,
    system: object = None,
) -> tuple[Dataset, Groups | None]:
    """Return the data set that a Teaser learns from, with its groups where it has such.

    Parameters
    ----------
    model
        The Teaser, for its options.
    previous
        Groups of an earlier model, whose names are kept; or None.
    given
        What `discover` returned for this data set. A prepared `system` needs it, so that both
        are of the same groups.
    """
    if model.discovered is None:
        if given is not None:
            raise ParameterError(
                "Discovered tags were given to a model that has none. "
                "Use Teaser(discovered=DiscoveredTags())."
            )
        return dataset, None
    if given is not None:
        if given[0].items != dataset.items or given[0].n_users != dataset.n_users:
            raise ParameterError(
                "The discovered tags are of another data set. Give what discover(dataset, ...) "
                "returned for this one."
            )
        return given
    if system is not None:
        raise ParameterError(
            "A system is shared, and the discovered tags that it was prepared with are not. Give "
            "both prepare and fit the same discovered=discover(dataset, options)."
        )
    # A Gram of partitions may be on a cluster, or keep to a memory limit.
    gram = None
    if isinstance(dataset.X, Interactions) and not isinstance(model.gram, str):
        gram = model.gram
        if hasattr(gram, "with_user_power"):
            gram = gram.with_user_power(USER_POWER)
    return discover(
        dataset,
        model.discovered,
        rng=model.rng,
        dtype=model.dtype,
        device=model.device,
        gram=gram,
        previous=previous,
    )


def declared_columns(dataset: Dataset) -> sp.csr_array:
    """Return S without discovered tags (items x declared tags)."""
    return dataset.S[:, : n_declared(dataset.tags)]


def n_declared(tags: tuple[Tag, ...]) -> int:
    """Return how many tags metadata declare; they stand before the discovered ones."""
    return next((i for i, tag in enumerate(tags) if tag.discovered), len(tags))


def expected_groups(options: DiscoveredTags | None, dataset: Dataset) -> int:
    """Return how many tags a fit will find, at most."""
    if options is None:
        return 0
    chosen = int((dataset.item_counts >= options.least_count).sum())
    return sum(options.counts(chosen).values())


def estimate_groups(
    found: Estimate, dataset: Dataset, size: FitSize, options: DiscoveredTags
) -> Estimate:
    """Return an estimate of a fit with what finding the groups takes.

    Parameters
    ----------
    found, size
        The estimate, and the size that it is of, with the tags of the groups.
    """
    n_items, width = dataset.n_items, min(options.factors, dataset.n_items)
    # An iteration of the solver takes about two products with a column for each tag.
    seconds = found.seconds * _PRODUCTS * width / (2 * found.iterations * size.n_tags)
    k = expected_groups(options, dataset)
    # Cosines with k groups, and products with the basis of a Krylov space, twice for each block.
    operations = 2 * _WHOLE_ROUNDS * k * width + 36 * width**2
    seconds += n_items * operations / dense_rate(size.dtype.name)
    held = {"discovered tags": _ARRAYS * n_items * width * size.dtype.itemsize}
    return replace(found, memory={**found.memory, **held}, seconds=found.seconds + seconds)


def _find(
    dataset: Dataset,
    Y: Array,
    Z: Array,
    chosen: Array,
    grain: float,
    n_groups: int,
    options: DiscoveredTags,
    rng: np.random.Generator,
    previous: Groups | None,
) -> _Grain:
    """Return the groups of one grain.

    Parameters
    ----------
    Y
        The items (items x factors), rows of length 1.
    Z, chosen
        Those that were chosen often enough, where the Gram lives; which they are (items).
    """
    names, old = list[str](), sp.csr_array((dataset.n_items, 0))
    if previous is not None:
        names, old = earlier_weights(previous, grain, dataset.items)
    # An earlier group is where the items are that it was nearest to.
    own = (old >= 1).astype(Y.dtype)
    centroids = unit_rows(np.asarray(own.T @ Y))
    order = np.argsort(-own.sum(axis=0), kind="stable")
    centroids = centroids[order][: np.count_nonzero(centroids.any(axis=1))]
    if abs(len(centroids) - n_groups) <= _SAME_NUMBER * n_groups:
        n_groups = min(len(centroids), int(chosen.sum()))
    start = draw_centroids(Z, n_groups, rng, centroids)
    centroids = cluster(Z, start, rounds=_ROUNDS_AGAIN if len(centroids) else _ROUNDS)
    # Of few groups an item belongs to few: a group of nearly all items would say nothing.
    found = cosines(Z, centroids, min(options.nearest, max(1, len(centroids) // 4)))
    # Rows of items that were chosen too rarely are empty.
    indptr = np.zeros(dataset.n_items + 1, dtype=np.int64)
    indptr[1:][chosen] = np.diff(found.indptr)
    shape = (dataset.n_items, len(centroids))
    found = sp.csr_array((found.data, found.indices, np.cumsum(indptr)), shape=shape)
    found = found[:, np.bincount(found.indices, minlength=shape[1]) > 1]
    kept = match_groups(old, found)
    return _Grain(grain, found, {new: names[earlier] for new, earlier in kept.items()})


def _named(dataset: Dataset, found: list[_Grain], edits: Edits, previous: Groups | None) -> Groups:
    """Return the groups of all grains, with their exemplars, labels and names."""
    S, title = declared_columns(dataset), title_of(dataset)
    former = {} if previous is None else previous.names_of_found
    kept = {name for each in found for name in each.kept.values()}
    former = {old: name for old, name in former.items() if name in kept}
    taken = {name.casefold() for name in (*kept, *former)}
    groups: list[Group] = []
    weights: list[sp.csr_array] = [sp.csr_array((dataset.n_items, 0))]
    for each in found:
        W = relative_weights(each.cosines)
        central = central_items(each.cosines, dataset.item_counts, EXEMPLARS)
        labels = label_groups(W, S)
        sizes = np.bincount(W.indices, minlength=W.shape[1])
        for j, items in enumerate(central):
            column, share = labels[j] or (None, 0.0)
            label = None if column is None else dataset.tags[column]
            titles = speaking_titles(items, title, dataset.items, label)
            name = each.kept.get(j) or name_group(titles, taken)
            taken.add(name.casefold())
            groups.append(
                Group(
                    Tag(DISCOVERED, name),
                    each.grain,
                    int(sizes[j]),
                    tuple(dataset.items[i] for i in items),
                    label,
                    share,
                )
            )
        weights.append(W)
    now = {group.tag.value for group in groups}
    retired = list[str]()
    if previous is not None:
        gone = (
            *previous.retired,
            *(n for n, of in previous.names_of_found.items() if of not in kept),
        )
        retired = [name for name in dict.fromkeys(gone) if name not in now]
        said = "%d of %d groups kept their names, %d are new"
        log.info(said, len(kept), len(previous.found), len(groups) - len(kept))
        for name in edits.names:
            if name in retired:
                log.warning("%s edits %r, a group that is no more", edits.origin, name)
    return Groups(
        dataset.items,
        tuple(groups),
        sp.csr_array(sp.hstack(weights, format="csr")),
        edits,
        {old: name for old, name in former.items() if old != name},
        tuple(retired),
    )
