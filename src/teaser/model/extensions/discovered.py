"""Discovered tags: groups of items that the same users choose, as further columns of S.

Where metadata cannot tell items apart, the interactions can. With N = dM(g)^-1/2 G dM(g)^-1/2, an
item is its row of the leading eigenvectors of N times the root of the eigenvalues, at length 1.
Products of rows are cosines. Spherical k-means groups the items at a few grain sizes.
See docs/users/model.md.
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
from teaser.model._arrays import Matrix, sparse_like, to_host
from teaser.model.build import build_gram
from teaser.model.estimate import Estimate, FitSize, dense_rate
from teaser.model.extensions.groups import (
    EXEMPLARS,
    Edits,
    Group,
    Groups,
    central_items,
    earlier_weights,
    label_groups,
    match_groups,
    name_group,
    speaking_titles,
    title_of,
)
from teaser.model.gram import Gram, leading_eigenpairs
from teaser.parameters import Options, check_count, check_number

Array = NDArray[Any]
Discovered = tuple[Dataset, Groups | None]
# The groups of one grain: cosines (items x groups), and earlier names by column.
Grain = tuple[sp.csr_array, Mapping[int, str]]
log = logging.getLogger("teaser")
# The eigenvalues of N lie close together: twice the products of a preconditioner.
_SUBSPACE_ROUNDS = 8
# Products of a block Krylov space, and the relative length below which a direction is nothing new.
_STEPS = 8
_LEAST = 1e-3
_ROUNDING = 1e-6
# The starting items of k-means are drawn in this many parts, each far from those before.
_DRAWS = 64
# Cosines of one block of items with all groups.
_BLOCK_BYTES = 2**26
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


class NormalGram:
    """N = dM(g)^-1/2 G dM(g)^-1/2, where G lives; rows and columns of unchosen items are zero."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.n_items, self.dtype = gram, gram.n_items, gram.dtype
        self._g = gram.diagonal()
        # 1 where g is 0: such rows of G are zero anyway.
        self._scale = (1 / np.sqrt(self._g + (self._g <= 0)))[:, None].astype(self.dtype)

    def apply(self, matrix: Matrix) -> Array:
        """Return N times a dense matrix."""
        out: Array = self._scale * self.gram.apply(self._scale * matrix)
        return out

    def diagonal(self) -> Array:
        """Return diag(N): 1 for every item that was chosen."""
        out: Array = (self._g > 0).astype(self.dtype)
        return out


def embed_items(gram: Gram, factors: int, rng: np.random.Generator) -> Array:
    """Return the items as rows of length 1 (items x factors), zero where N has nothing of them."""
    N = NormalGram(gram)
    if _STEPS * block_width(factors) < gram.n_items:
        U, mu = krylov_eigenpairs(N, factors, rng)
    else:
        U, mu = leading_eigenpairs(N, factors, rng, rounds=_SUBSPACE_ROUNDS)
    rows = to_host(U * np.sqrt(mu).astype(U.dtype))
    # diag(N) is 1, so a length is at most 1, and this is rounding.
    rows[np.linalg.norm(rows, axis=1) < _ROUNDING] = 0
    return unit_rows(rows)


def block_width(factors: int) -> int:
    """Return how many columns each product of `krylov_eigenpairs` has."""
    return max(1, -(-3 * factors // _STEPS))


def krylov_eigenpairs(gram: Gram, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return about `rank` leading eigenvectors and eigenvalues, by a block Krylov space.

    The space is that of B, G B, G^2 B and so on, for few random columns B: three columns for each
    eigenvector in all, where subspace iteration needs nine for the same accuracy.
    """
    g, width = gram.diagonal(), block_width(rank)
    K = np.zeros_like(g, shape=(gram.n_items, _STEPS * width))
    T, n = np.zeros((K.shape[1], K.shape[1])), 0
    start = rng.standard_normal((gram.n_items, width)).astype(gram.dtype)
    block = orthonormal(np.asarray(start, like=g), 0.0)
    while block.shape[1] and n + block.shape[1] <= K.shape[1]:
        old, n = n, n + int(block.shape[1])
        K[:, old:n] = block
        basis = K[:, :n]
        block = gram.apply(block)
        T[:n, old:n] = to_host(basis.T @ block)
        least = _LEAST * float(np.sqrt(np.square(block).sum(axis=0).max()))
        # Twice: what rounding leaves of the basis grows when columns get length 1.
        for _ in range(2):
            block, least = orthonormal(block - basis @ (basis.T @ block), least), _LEAST
    upper = np.triu(T[:n, :n])  # T = K'G K, of which the columns of a block are known down to it
    mu, W = np.linalg.eigh(upper + np.triu(upper, 1).T)
    lead = slice(max(0, n - rank), None)
    U = K[:, :n] @ np.asarray(W[:, lead].astype(gram.dtype), like=g)
    return U, np.asarray(np.maximum(mu[lead], 0.0), like=g)


def orthonormal(matrix: Array, least: float) -> Array:
    """Return an orthonormal basis of the columns, without directions shorter than `least`.

    From the eigenvectors of M'M: a tenth of the time of a QR decomposition.
    """
    if matrix.shape[1] == 0:
        return matrix
    mu, V = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
    keep = mu > max(least**2, 1e-12 * float(mu[-1]))
    return np.asarray(matrix @ (V[:, keep] / np.sqrt(mu[keep])).astype(matrix.dtype), like=matrix)


def unit_rows(matrix: Array) -> Array:
    """Return the rows at length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(length > 0, length, 1), like=matrix)


def draw_centroids(Y: Array, n_groups: int, rng: np.random.Generator, known: Array) -> Array:
    """Return unit vectors to start k-means from (groups x factors): those known, and items.

    Parameters
    ----------
    Y
        The items, rows of length 1.
    n_groups
        How many in all; at most as many as there are items.
    known
        Centroids to begin with. Items far from all others are more likely to be drawn.
    """
    centroids = np.asarray(known[:n_groups], dtype=Y.dtype, like=Y)
    distance = np.full(len(Y), 1.0)
    new = centroids
    missing = n_groups - len(centroids)
    for part in range(_DRAWS, 0, -1):
        if len(new):
            cosine = nearest_groups(Y, new)[1].astype(np.float64)
            distance = np.minimum(distance, np.maximum(1 - cosine, 1e-9))
        size = -(-missing // part)
        new = Y[rng.choice(len(Y), size, replace=False, p=distance / distance.sum())]
        centroids, missing = np.concatenate([centroids, new]), missing - size
    return centroids


def cluster(Y: Array, centroids: Array, *, rounds: int = 30) -> Array:
    """Return the centroids (groups x factors) that spherical k-means ends at.

    Parameters
    ----------
    Y
        The items, rows of length 1; at least as many as there are groups.
    centroids
        Where it begins. A group that loses its items gets the item that is farthest from its own.
    """
    group, cosine = nearest_groups(Y, centroids)
    for n in range(rounds):
        filled = _refilled(group, cosine, len(centroids))
        # The mean direction of the items of each group.
        after = unit_rows(_group_sums(Y, filled, len(centroids)))
        moved = np.flatnonzero(to_host((after != centroids).any(axis=1)))
        centroids = after
        if len(moved) == 0 or n == rounds - 1:
            break
        if isinstance(Y, np.ndarray):
            group, cosine = _move(Y, centroids, moved, filled, cosine)
        else:  # a GPU compares all items with all groups in no time
            group, cosine = nearest_groups(Y, centroids)
    return centroids


def _move(
    Y: Array, centroids: Array, moved: Array, group: Array, cosine: Array
) -> tuple[Array, Array]:
    """Return for each item its nearest group and the cosine with it, once some centroids moved.

    Centroids that stayed are no nearer than before. An item has to be compared with them only
    where its own moved away; all items are compared with those that moved.

    Parameters
    ----------
    group, cosine
        The groups before, and cosines that no centroid that stayed exceeds.
    """
    has_moved = np.zeros(len(centroids), bool)
    has_moved[moved] = True
    own = np.flatnonzero(has_moved[group])
    now = cosine.copy()
    for rows in _blocks(Y, centroids):
        some = own[(own >= rows.start) & (own < rows.stop)]
        now[some] = np.einsum("ij,ij->i", Y[some], centroids[group[some]])
    near, best = nearest_groups(Y, centroids[moved])
    is_nearer = best > now
    out, now_best = np.where(is_nearer, moved[near], group), np.where(is_nearer, best, now)
    away = np.flatnonzero(now_best < cosine)
    out[away], now_best[away] = nearest_groups(Y[away], centroids)
    return out, now_best


def _group_sums(Y: Array, group: Array, n_groups: int) -> Array:
    """Return the sum of the rows of each group (groups x factors)."""
    entries = (np.ones(len(Y), Y.dtype), (group, np.arange(len(Y))))
    members = sp.csr_array(entries, shape=(n_groups, len(Y)))
    return np.asarray(sparse_like(members, Y) @ Y, like=Y)


def nearest_groups(Y: Array, centroids: Array) -> tuple[Array, Array]:
    """Return for each item its nearest group and the cosine with it, in main memory."""
    group, cosine = np.empty(len(Y), np.int64), np.empty(len(Y), Y.dtype)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        group[rows] = to_host(products.argmax(axis=1))
        cosine[rows] = to_host(products.max(axis=1))
    return group, cosine


def cosines(Y: Array, centroids: Array, nearest: int) -> sp.csr_array:
    """Return the positive cosines of each item with its nearest groups (items x groups)."""
    nearest = min(nearest, len(centroids))
    columns = np.empty((len(Y), nearest), np.int64)
    values = np.empty((len(Y), nearest), np.float64)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        place = np.asarray(np.arange(len(products)), like=products)
        for k in range(nearest):
            # Few of many: to find the largest again and again is faster than to sort.
            best = products.argmax(axis=1)
            columns[rows, k], values[rows, k] = to_host(best), to_host(products[place, best])
            products[place, best] = -np.inf
    start = np.arange(0, columns.size + 1, nearest)
    shape = (len(Y), len(centroids))
    out = sp.csr_array((np.maximum(values, 0).ravel(), columns.ravel(), start), shape=shape)
    out.eliminate_zeros()
    out.sort_indices()
    return out


def relative_weights(found: sp.csr_array) -> sp.csr_array:
    """Return cosines (items x groups) divided by the largest of their row, so 1 and less."""
    highest = found.max(axis=1).toarray().ravel()
    out = found.copy()
    out.data = found.data / np.repeat(highest, np.diff(found.indptr))
    return out


def _refilled(group: Array, cosine: Array, n_groups: int) -> Array:
    """Return the groups of items, empty ones given the items that fit worst where they are."""
    sizes = np.bincount(group, minlength=n_groups)
    empty = np.flatnonzero(sizes == 0).tolist()
    group = group.copy()
    for i in np.argsort(cosine, kind="stable").tolist() if empty else ():
        if sizes[group[i]] > 1 and empty:
            sizes[group[i]] -= 1
            group[i] = empty.pop(0)
    return group


def _blocks(Y: Array, centroids: Array) -> Any:
    height = max(1, _BLOCK_BYTES // (len(centroids) * Y.dtype.itemsize))
    return (slice(first, first + height) for first in range(0, len(Y), height))


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
        for grain in grains:  # a group of two and more is worth a name
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


def discover(
    dataset: Dataset,
    options: DiscoveredTags,
    *,
    rng: int | np.random.Generator | None = 0,
    dtype: str = "float32",
    device: str = "cpu",
    gram: Gram | None = None,
    previous: Groups | None = None,
) -> tuple[Dataset, Groups]:
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
    found: dict[float, Grain] = {}
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
            Z = np.asarray(Y[chosen], like=gram.diagonal())
            found[grain] = _find(dataset, Y, Z, chosen, grain, k, options, random, previous)
    groups = _named(dataset, found, options.edits(), previous)
    S = sp.csr_array(sp.hstack([dataset.S, groups.members.astype(np.float32)], format="csr"))
    return replace(dataset, S=S, tags=(*dataset.tags, *groups.tags)), groups


def find_groups(model: Any, dataset: Dataset, previous: Groups | None) -> Discovered:
    """Return the data set that a Teaser learns from, with its groups where it has such.

    Parameters
    ----------
    model
        The Teaser, for its options.
    previous
        Groups of an earlier model, whose names are kept; or None.
    """
    if model.discovered is None:
        return dataset, None
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
    held = _ARRAYS * n_items * width * size.dtype.itemsize
    return found.plus(seconds, {"discovered tags": held})


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
) -> Grain:
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
    return found, {new: names[earlier] for new, earlier in kept.items()}


def _named(
    dataset: Dataset, found: Mapping[float, Grain], edits: Edits, previous: Groups | None
) -> Groups:
    """Return the groups of all grains, with their exemplars, labels and names."""
    S, title = declared_columns(dataset), title_of(dataset)
    former = {} if previous is None else previous.names_of_found
    kept = {name for _, names in found.values() for name in names.values()}
    former = {old: name for old, name in former.items() if name in kept}
    taken = {name.casefold() for name in (*kept, *former)}
    groups: list[Group] = []
    weights: list[sp.csr_array] = [sp.csr_array((dataset.n_items, 0))]
    for grain, (near, names) in found.items():
        W = relative_weights(near)
        central = central_items(near, dataset.item_counts, EXEMPLARS)
        labels = label_groups(W, S)
        sizes = np.bincount(W.indices, minlength=W.shape[1])
        for j, items in enumerate(central):
            column, share = labels[j] or (None, 0.0)
            label = None if column is None else dataset.tags[column]
            titles = speaking_titles(items, title, dataset.items, label)
            name = names.get(j) or name_group(titles, taken)
            taken.add(name.casefold())
            groups.append(
                Group(
                    Tag(DISCOVERED, name),
                    grain,
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
