"""The items and tags of a fitted model, and items that are added after the fit."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from teaser import explain as why
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, ItemId, pack, saved_ids, unpack
from teaser.data.partitions import Interactions
from teaser.data.rules import Rules
from teaser.data.tags import (
    DISCOVERED,
    NEAR_EQUAL,
    SAME_NAME,
    Tag,
    name_key,
    tag_frame,
    tags_from,
    word_key,
)
from teaser.errors import ParameterError, RuleError
from teaser.explain import number_features
from teaser.leaning import Carriers, find_carriers, find_group_carriers, find_named_carriers
from teaser.model.extensions.weights import scale_rows
from teaser.parameters import is_number
from teaser.profile import GENERAL, NOT_STATED, POPULARITY

Array = NDArray[Any]

# How many training users tell the usual size of general appeal.
_SAMPLE = 2_000


@dataclass(frozen=True, eq=False)
class Basis:
    """A linear map from raw tag scores to the values that are shown.

    The columns are those that were learned, then a tag "not stated" for each centred feature that
    some items lack, then general appeal.

    Attributes
    ----------
    group
        The number of the centred feature of each column but the last; -1 where none is.
    share
        n_j / n, the share of the items that carry each learned tag.
    q
        The direction of the average profile (all columns but the last): of length 1, or zero.
    omega
        The factor of general appeal, by which the average user has 1 on the robust scale.
    """

    group: Array
    share: Array
    q: Array
    omega: float

    @classmethod
    def plain(cls, n_learned: int) -> Self:
        """Return the basis that leaves raw scores as they are."""
        return cls(np.full(n_learned, -1), np.zeros(n_learned), np.zeros(n_learned), 1.0)

    @property
    def n_learned(self) -> int:
        """The number of columns that the encoder has."""
        return len(self.share)

    def apply(self, raw: Array) -> Array:
        """Return v for rows of raw scores p (rows x learned tags), rows x columns."""
        out = np.zeros((len(raw), len(self.q) + 1))
        out[:, : self.n_learned] = raw
        # The last mean, 0, is that of the columns that are not centred.
        means = np.zeros(self._n_groups + 1)
        # One row at a time: the same bits alone and in a batch, and they stay in the cache.
        for v, p in zip(out, raw, strict=True):
            if self._n_groups:
                means[:-1] = self._means(p)
                v[:-1] -= means[self.group]
            along = v[:-1] @ self.q
            v[:-1] -= along * self.q
            v[-1] = self.omega * along
        return out

    def offset(self, raw: Array) -> Array:
        """Return what centring takes from all scores of a user, sum_f m_f (rows)."""
        return np.array([self._means(p).sum() for p in raw])

    def direction(self, weights: Array) -> Array:
        """Return the c (learned tags) for which p.c is the sum of values by weights (columns)."""
        b = weights[:-1] + (self.omega * weights[-1] - weights[:-1] @ self.q) * self.q
        # p1.b = p.b - sum_f m_f (the sum of b over the columns of f)
        sums = np.bincount(self.group + 1, b, minlength=self._n_groups + 1)
        sums[0] = 0.0
        known = self.group[: self.n_learned]
        return np.asarray(b[: self.n_learned] - self.share * sums[known + 1])

    def widen(self, D: sp.csr_array) -> sp.csr_array:
        """Return the decoder of all columns, given that of the learned tags (items x tags)."""
        known = self.group[: self.n_learned]
        places = np.flatnonzero(known >= 0)
        shape = (self.n_learned, self._n_groups)
        belongs = sp.csr_array((np.ones(len(places)), (places, known[places])), shape=shape)
        carried = sp.csr_array((np.ones(D.nnz), D.indices, D.indptr), shape=D.shape) @ belongs
        lacks = carried[:, self.group[self.n_learned :]].toarray() == 0
        D1 = sp.csr_array(sp.hstack([D, sp.csr_array(lacks.astype(np.float64))], format="csr"))
        general = sp.csr_array((D1 @ self.q / self.omega).reshape(-1, 1))
        return sp.csr_array(sp.hstack([D1, general], format="csr"))

    def further_tags(self, tags: Sequence[Tag]) -> tuple[Tag, ...]:
        """Return the tags of the columns that were not learned, given those that were."""
        first = {int(g): tags[j] for j, g in reversed(list(enumerate(self.group[: len(tags)])))}
        features = [first[int(g)].feature for g in self.group[self.n_learned :]]
        return (*(_unused_tag(feature, tags) for feature in features), GENERAL)

    def pack(self) -> "Packed":
        """Return settings and arrays to be saved."""
        arrays = {"basis.group": self.group, "basis.share": self.share, "basis.q": self.q}
        return Packed({"omega": self.omega}, arrays)

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave."""
        names = ("group", "share", "q")
        group, share, q = (np.array(content.arrays[f"basis.{name}"]) for name in names)
        return cls(group, share, q, float(content.settings["omega"]))

    @cached_property
    def _n_groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        """The learned columns of centred features, and the number of the feature of each."""
        places = np.flatnonzero(self.group[: self.n_learned] >= 0)
        return places, self.group[places]

    def _means(self, p: Array) -> Array:
        """Return m_f of each centred feature."""
        places, group = self._centred
        return np.bincount(group, self.share[places] * p[places], minlength=self._n_groups)


def find_basis(tags: Sequence[Tag], D: sp.csr_array, mean: Array, sample: Array) -> Basis:
    """Return the basis of a fitted model.

    Parameters
    ----------
    tags, D
        The learned tags, popularity the last, and their decoder (items x tags).
    mean
        The mean raw scores of the training users (tags).
    sample
        The raw scores of some of them (users x tags), for omega.
    """
    plain = _centring(tags, D)
    centred = plain.apply(mean[None])[0, :-1]
    length = float(np.linalg.norm(centred))
    if length == 0:
        return plain
    basis = replace(plain, q=centred / length)
    return replace(basis, omega=_omega(basis.apply(sample), len(tags) - 1))


def sample_users(X: Any) -> tuple[Array, sp.csr_array]:
    """Return at most 2,000 users, evenly spaced: their positions and rows (users x items).

    Of interactions in partitions they are those of the first parts.
    """
    n_users = X.shape[0]
    if not isinstance(X, Interactions):
        places = np.unique(np.linspace(0, n_users - 1, min(n_users, _SAMPLE)).astype(np.int64))
        return places, sp.csr_array(X[places])
    parts: list[sp.csr_array] = []
    for k in range(len(X.parts)):
        parts.append(X.matrix(k))
        if sum(part.shape[0] for part in parts) >= _SAMPLE:
            break
    rows = sp.csr_array(sp.vstack(parts, format="csr"))[:_SAMPLE]
    return np.arange(rows.shape[0]), rows


def some_of_each(rows: sp.csr_array, n: int) -> sp.csr_array:
    """Return n entries of each row, drawn at random with a fixed seed."""
    users = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((np.random.default_rng(0).random(rows.nnz), users))
    kept = np.sort(order[np.arange(rows.nnz) - rows.indptr[users] < n])
    return sp.csr_array((rows.data[kept], (users[kept], rows.indices[kept])), shape=rows.shape)


def _centring(tags: Sequence[Tag], D: sp.csr_array) -> Basis:
    """Return the basis that centres the features with one value an item, and does no more."""
    features, number = number_features(tags)
    n_items, n_features = D.shape[0], len(features)
    carries = D.data != 0
    rows = np.repeat(np.arange(n_items), np.diff(D.indptr))[carries]
    own = number[D.indices[carries]].astype(np.int64)
    times = np.unique(rows * n_features + own, return_counts=True)
    is_single = np.ones(n_features, dtype=bool)
    is_single[times[0][times[1] > 1] % n_features] = False
    # A learned weight other than 1 would move items of one value by different amounts.
    is_single[own[D.data[carries] != 1]] = False
    # Popularity is the last tag; groups that were found are no values of a feature.
    is_single[number[-1]] = False
    is_single[[n for n, tag in zip(number, tags, strict=True) if tag.discovered]] = False
    group = np.where(is_single, np.cumsum(is_single) - 1, -1)
    stated = np.bincount(own, minlength=n_features)
    lacking = group[is_single & (stated < n_items)]
    carriers = np.bincount(D.indices[carries], minlength=len(tags))
    columns = np.concatenate([group[number], lacking]).astype(np.int64)
    return Basis(columns, carriers / max(1, n_items), np.zeros(len(columns)), 1.0)


def _omega(values: Array, n_personal: int) -> float:
    """Return the factor by which the mean of general appeal / the robust scale is 1."""
    if not n_personal or not len(values):
        return 1.0
    size = np.abs(values)
    scale = np.percentile(size[:, :n_personal], 99, axis=1)
    # As in `robust_scales`: users without personal values have no scale of their own.
    has_scale = scale > 1e-9 * size.max(axis=1)
    mean = float(np.mean(values[has_scale, -1] / scale[has_scale])) if has_scale.any() else 0.0
    return 1.0 / mean if mean > 0 else 1.0


def _unused_tag(feature: str, tags: Sequence[Tag]) -> Tag:
    """Return the tag "not stated" of a feature, under a name that no value of it has."""
    tag, n = Tag(feature, NOT_STATED), 2
    while tag in tags:
        tag, n = Tag(feature, f"{NOT_STATED} ({n})"), n + 1
    return tag


# The items of a history; a mapping gives the strength of each, below 0 for a disliked one.
History = Iterable[ItemId] | Mapping[Any, float]

log = logging.getLogger("teaser")


@dataclass(frozen=True, eq=False)
class Packed:
    """Settings that JSON can hold, arrays and tables, each by its name; `|` joins two of them."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __or__(self, other: "Packed") -> "Packed":
        return Packed(
            {**self.settings, **other.settings},
            {**self.arrays, **other.arrays},
            {**self.tables, **other.tables},
        )


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The items that a model can recommend.

    Attributes
    ----------
    ids
        The owner's item ids, in the order of the scores.
    metadata
        The metadata of the items, one row each; the first column holds the ids.
    popularity
        Item count / highest count.
    title_column
        The column of the metadata that holds titles, or None.
    """

    ids: Ids
    metadata: pl.DataFrame
    popularity: Array
    title_column: str | None = None

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Self:
        """Return the items of a data set."""
        title_column = dataset.rules.roles.get("title")
        return cls(dataset.items, dataset.table, popularity(dataset), title_column)

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave; raise `ValueError` where its parts do not fit together."""
        metadata, counted = content.tables["items"], np.array(content.arrays["popularity"])
        if counted.shape != (len(metadata),) or counted.dtype.kind != "f":
            raise ValueError("its items and their popularity are of different sizes")
        title_column = content.settings["title"]
        return cls(saved_ids(metadata.to_series(0), "items"), metadata, counted, title_column)

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        return Packed(
            {"title": self.title_column},
            {"popularity": self.popularity},
            {"items": self.metadata},
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_new(self) -> Array:
        """Which items nobody has chosen, added after the fit or before (items)."""
        return np.asarray(self.popularity == 0)

    def title(self, item_index: int) -> str | None:
        """Return the title of the item at a position, where the metadata have one."""
        return self._titles[item_index] if self.title_column else None

    @cached_property
    def _titles(self) -> list[str | None]:
        given = self.metadata[self.title_column].to_list() if self.title_column else []
        return [str(x) if x is not None and str(x).strip() else None for x in given]

    def name(self, item_index: int) -> tuple[ItemId, str | None]:
        """Return the id and the title of the item at a position."""
        return self.ids[item_index], self.title(item_index)

    def positions(self, history: History) -> list[int]:
        """Return the positions of a history's items, each once, in the order of the history."""
        return list(self.strengths(history))

    def strengths(self, history: History) -> dict[int, float]:
        """Return the strength of each item of a history, by position, in its order.

        It is 1 unless the history is a mapping. A disliked item has a strength below 0; an item
        of strength 0 is not in the history.
        """
        if isinstance(history, str | bytes) or not isinstance(history, Iterable):
            raise ParameterError(f"A history is a list of item ids, found {history!r}.")
        if not isinstance(history, Mapping):
            return dict.fromkeys((self.ids.index_of(item_id) for item_id in history), 1.0)
        for item_id, strength in history.items():
            if not is_number(strength) or not math.isfinite(strength):
                raise ParameterError(
                    f"The strength of an item must be a finite number, found {strength!r} for "
                    f"{item_id!r}. A disliked item has one below 0."
                )
        found = {self.ids.index_of(item_id): float(x) for item_id, x in history.items()}
        return {place: x for place, x in found.items() if x != 0}

    def rows(self, histories: Sequence[Sequence[int] | Mapping[int, float]]) -> sp.csr_array:
        """Return histories as a matrix (users x items), in double precision.

        Parameters
        ----------
        histories
            Positions, each once, or mappings from positions to strengths.
        """
        weighted = [h if isinstance(h, Mapping) else dict.fromkeys(h, 1.0) for h in histories]
        positions = [sorted(history) for history in weighted]
        indptr = np.cumsum([0, *(len(row) for row in positions)])
        indices = np.array([i for row in positions for i in row], dtype=np.int64)
        pairs = zip(weighted, positions, strict=True)
        data = np.array([history[i] for history, row in pairs for i in row], dtype=np.float64)
        return sp.csr_array((data, indices, indptr), shape=(len(positions), len(self)))

    def barred(self, allowed: Array | None) -> Array:
        """Return the positions of the items that a mask of allowed items leaves out."""
        if allowed is None:
            return np.zeros(0, dtype=np.int64)
        mask = np.asarray(allowed)
        if mask.dtype != bool or mask.shape != (len(self),):
            raise ParameterError(
                f"allowed must hold true or false for each of {len(self):,} items, "
                f"found {mask.dtype} of shape {mask.shape}."
            )
        return np.flatnonzero(~mask)

    def extended(self, ids: Sequence[ItemId], metadata: pl.DataFrame) -> "ItemTable":
        """Return a table with further items, which have no popularity yet.

        Parameters
        ----------
        metadata
            That of all items, the new ones last.
        """
        counted = np.concatenate([self.popularity, np.zeros(len(ids))])
        return ItemTable(self.ids.extended(ids), metadata, counted, self.title_column)


def liked_part(rows: sp.csr_array) -> sp.csr_array:
    """Return histories without disliked items, those of a strength below 0 (users x items)."""
    if not (rows.data < 0).any():
        return rows
    liked = sp.csr_array(
        (np.maximum(rows.data, 0.0), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape
    )
    liked.eliminate_zeros()
    return liked


def popularity(dataset: Dataset) -> Array:
    """Return item count / highest count."""
    counts = dataset.item_counts
    return np.asarray(counts / max(1, counts.max()))


@dataclass(frozen=True, eq=False)
class TagTable:
    """The tags of items.

    Attributes
    ----------
    tags
        The tags, in the order of the decoder's columns: declared ones, discovered ones,
        popularity; from `with_basis` on also tags named "not stated", and general appeal last.
    decoder
        D, items x tags: the tags of each item, its popularity, and its general appeal.
    rules
        The rules that made the tags, for further items.
    basis
        How raw tag scores become values of these tags. It centres nothing before `with_basis`.
    aliases
        Earlier names of tags, and the tag that now stands for each.
    item_scale
        What each row of the decoder is multiplied by, with `Weights.history_power`; None for 1.
    spread
        How many items make a profile certain; see `teaser.leaning.find_spread`. None where there
        were too few users to measure it.
    """

    tags: tuple[Tag, ...]
    decoder: sp.csr_array
    rules: Rules
    basis: Basis
    aliases: Mapping[Tag, Tag] = field(default_factory=dict)
    item_scale: Array | None = None
    spread: float | None = None

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        weights: sp.csr_array | None = None,
        aliases: Mapping[Tag, Tag] | None = None,
    ) -> Self:
        """Return the tags of a data set, whose basis is to be found.

        Parameters
        ----------
        weights
            The decoder (items x tags) where its weights were learned.
        """
        D = decoder(dataset.S, popularity(dataset)) if weights is None else weights
        tags = (*dataset.tags, POPULARITY)
        return cls(tags, D, dataset.rules, Basis.plain(len(tags)), dict(aliases or {}))

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave; raise `ValueError` where its parts do not fit together."""
        n_items, n_tags = content.settings["shape"]
        tags = tags_from(content.tables["tags"])
        D = unpack("decoder", content.arrays, (n_items, n_tags)).astype(np.float64)
        if (n_items, n_tags) != (len(content.tables["items"]), len(tags)):
            raise ValueError("its decoder, items and tags are of different sizes")
        basis = Basis.unpack(content)
        aliases = {Tag(*old): Tag(*new) for old, new in content.settings["aliases"]}
        rules = Rules.from_dict(content.settings["rules"])
        scale = content.arrays.get("item_scale")
        scale = None if scale is None else np.array(scale)
        return cls(tags, D, rules, basis, aliases, scale, content.settings["spread"])

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        named = [[astuple(old), astuple(new)] for old, new in self.aliases.items()]
        own = Packed(
            {
                "rules": self.rules.as_dict(),
                "shape": list(self.decoder.shape),
                "aliases": named,
                "spread": self.spread,
            },
            pack("decoder", self.decoder),
            {"tags": tag_frame(self.tags)},
        )
        if self.item_scale is not None:
            own |= Packed(arrays={"item_scale": self.item_scale})
        return own | self.basis.pack()

    @property
    def n_learned(self) -> int:
        """The number of columns of the encoder: declared and discovered tags, and popularity."""
        return self.basis.n_learned

    @property
    def n_personal(self) -> int:
        """The number of declared and discovered tags, which are the first columns."""
        return self.n_learned - 1

    @property
    def popularity(self) -> int:
        """The column of popularity."""
        return self.n_learned - 1

    @property
    def general(self) -> int:
        """The column of general appeal, the last."""
        return len(self.tags) - 1

    @property
    def learned_tags(self) -> tuple[Tag, ...]:
        """The tags of the encoder's columns; popularity is the last."""
        return self.tags[: self.n_learned]

    @cached_property
    def learned_decoder(self) -> sp.csr_array:
        """The columns of the decoder that the encoder has too (items x learned tags)."""
        return sp.csr_array(self.decoder[:, : self.n_learned])

    @property
    def plain_decoder(self) -> sp.csr_array:
        """`learned_decoder` before its rows were scaled."""
        D = self.learned_decoder
        if self.item_scale is None:
            return D
        data = D.data / np.repeat(self.item_scale, np.diff(D.indptr))
        return sp.csr_array((data, D.indices, D.indptr), shape=D.shape)

    @cached_property
    def index(self) -> dict[Tag, int]:
        """The column of each tag, also by its earlier names."""
        own = {tag: i for i, tag in enumerate(self.tags)}
        older = {old: own[new] for old, new in self.aliases.items() if new in own}
        return {**older, **own}

    @cached_property
    def mass(self) -> Array:
        """The sum of the absolute weights of each tag over all items (tags); general appeal 0."""
        sums = np.asarray(abs(self.decoder).sum(axis=0)).ravel()
        sums[self.general] = 0.0
        return sums

    def impacts(self, affinities: Array) -> dict[str, float]:
        """Return each feature's share of sum_j |a_j| sum_i D_ij; they sum to 1 unless all are 0.

        General appeal is no feature.
        """
        features, numbers = self.features
        parts = np.abs(affinities) * self.mass
        shares = np.bincount(numbers, parts, minlength=len(features)) / (float(parts.sum()) or 1.0)
        pairs = zip(features, shares.tolist(), strict=True)
        return {feature: share for feature, share in pairs if feature != GENERAL.feature}

    @cached_property
    def weights_by_tag(self) -> sp.csr_array:
        """The positive weights of declared and discovered tags in their items (tags x items)."""
        found = sp.csr_array(self.decoder.T.tocsr())
        is_apart = np.arange(len(self.tags)) >= self.n_personal
        owner = np.repeat(is_apart, np.diff(found.indptr))
        found.data = np.where(owner, 0.0, np.maximum(found.data, 0.0))
        found.eliminate_zeros()
        return found

    @cached_property
    def features(self) -> tuple[list[str], Array]:
        """The names of the features, and for each tag the number of its feature."""
        return why.number_features(self.tags)

    @cached_property
    def kinds(self) -> Array:
        """The part of a score that each column belongs to, by its place in `PARTS` (tags)."""
        names = ["discovered" if tag.discovered else "declared" for tag in self.tags]
        names[self.popularity] = "popularity"
        names[self.general] = "general"
        return np.array([why.PARTS.index(name) for name in names])

    @cached_property
    def near_equal_group(self) -> Array:
        """The number of each tag's group of near-equal tags (tags).

        Two tags, also of different features, are near-equal if the items that carry both are more
        than 0.8 of those that carry either; or if their names are the same but for plural, case
        and what stands before a colon, and at least half the items of the rarer one carry both.
        The number is -1 for popularity, general appeal and tags named "not stated".
        """
        n, both, carriers = self.n_personal, *self._shared_items
        i, j = both.coords
        near = both.data > NEAR_EQUAL * (carriers[i] + carriers[j] - both.data)
        named = [pair for pair, share in self._same_name.items() if share >= SAME_NAME]
        more = np.array(named, dtype=np.int64).reshape(-1, 2).T
        i, j = np.concatenate([i[near], more[0]]), np.concatenate([j[near], more[1]])
        links = sp.coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
        out = np.full(len(self.tags), -1, dtype=np.int64)
        if n:
            out[:n] = connected_components(links, directed=False)[1]
        return out

    @cached_property
    def nested(self) -> sp.csr_array:
        """Which two tags lie one inside the other (declared and discovered tags, both ways).

        More than 0.8 of the items of the rarer one carry the other too. Two tags of the same name,
        but for plural, case and what stands before a colon, are among them, and two groups that
        are named by the same item.
        """
        both, _ = self._shared_items
        pairs = [*self._same_name, *self._same_item()]
        named = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        i, j = (
            np.concatenate([own, named[a], named[b]])
            for own, a, b in zip(both.coords, (0, 1), (1, 0), strict=True)
        )
        found = sp.csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=both.shape)
        found.data[:] = True
        return found

    def _same_item(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of discovered tags that are named by the same item."""
        by_item: dict[str, list[int]] = {}
        for j, tag in enumerate(self.tags[: self.n_personal]):
            for name in tag.value.split(", ") if tag.discovered else ():
                by_item.setdefault(name, []).append(j)
        for own in by_item.values():
            yield from combinations(own, 2)

    @cached_property
    def carriers(self) -> Carriers:
        """The items that carry each tag; popularity and general appeal have none."""
        return find_carriers(self.decoder, [self.popularity, self.general])

    @cached_property
    def rarity(self) -> Array:
        """log(1 + items / carriers) of each tag; 0 for popularity, general appeal and unused."""
        counts = self.carriers.counts
        n_items = self.decoder.shape[0]
        return np.where(counts > 0, np.log1p(n_items / np.maximum(1, counts)), 0.0)

    @cached_property
    def named_by_titles(self) -> Array:
        """The positions of the discovered tags that are named by titles of items."""
        named = np.array([tag.is_titles for tag in self.tags]) & (self.near_equal_group >= 0)
        return np.flatnonzero(named)

    @cached_property
    def group_carriers(self) -> Carriers:
        """The items that carry any tag of each group of near-equal tags."""
        return find_group_carriers(self.carriers, self.near_equal_group)

    @cached_property
    def named_carriers(self) -> Carriers:
        """The items that carry what each group of near-equal tags is called by."""
        discovered = np.array([tag.discovered for tag in self.tags], dtype=bool)
        return find_named_carriers(self.carriers, self.near_equal_group, discovered)

    @cached_property
    def _same_name(self) -> dict[tuple[int, int], float]:
        """Pairs of tags of the same name, and the share of the rarer one's items with both."""
        by_name: dict[str, list[int]] = {}
        for j, tag in enumerate(self.tags[: self.n_personal]):
            if not tag.discovered and not tag.is_bare:
                for key in {name_key(tag.value), word_key(tag.value)}:
                    by_name.setdefault(key, []).append(j)
        items, found = self.carriers.items, {}
        for own in by_name.values():
            for a, b in combinations(own, 2):
                one, other = (items.indices[items.indptr[j] : items.indptr[j + 1]] for j in (a, b))
                shared = len(np.intersect1d(one, other, assume_unique=True))
                found[a, b] = shared / max(1, min(len(one), len(other)))
        return found

    @cached_property
    def _shared_items(self) -> tuple[sp.coo_array, Array]:
        """How many items two declared or discovered tags share, and how many each has.

        Only of pairs that are nested: others share too few items to be of interest.
        """
        own = sp.csr_array(self.decoder[:, : self.n_personal])
        ones = (own.data != 0).astype(np.int32)
        return nested_pairs(sp.csr_array((ones, own.indices, own.indptr), shape=own.shape))

    def apply_basis(self, raw: Array) -> Array:
        """Return raw scores of tags (users x learned tags) as values of all tags."""
        return self.basis.apply(raw)

    def direction(self, column: int) -> Array:
        """Return the c (learned tags) for which the value of a column is p.c."""
        weights = np.zeros(len(self.tags))
        weights[column] = 1.0
        return self.basis.direction(weights)

    def with_basis(self, mean: Array, sample: Array) -> "TagTable":
        """Return a table whose values are centred, with general appeal told apart.

        Parameters
        ----------
        mean, sample
            The mean raw scores of the training users, and those of some of them.
        """
        tags, D = self.learned_tags, self.learned_decoder
        basis = find_basis(tags, D, mean, sample)
        named = (*tags, *basis.further_tags(tags))
        return replace(self, tags=named, decoder=basis.widen(D), basis=basis)

    def extended(self, rows: sp.csr_array) -> "TagTable":
        """Return a table with rows of the decoder (items x learned tags) for further items.

        How popular they will be is not known: they are scaled as the median item is.
        """
        scale = self.item_scale
        if scale is not None:
            usual = float(np.median(scale))
            rows, scale = rows * usual, np.append(scale, np.full(rows.shape[0], usual))
        D = sp.csr_array(sp.vstack([self.decoder, self.basis.widen(rows)], format="csr"))
        return replace(self, decoder=D, item_scale=scale)

    def with_rows(
        self, places: Array, rows: sp.csr_array, blank: Array, chosen: Array
    ) -> "TagTable":
        """Return a table with other rows of the decoder for some items.

        Parameters
        ----------
        places, rows
            The positions of the items, and their rows (items x learned tags), not scaled.
        blank
            The positions of those of which nothing is known: they get the general appeal of the
            mean item, and nothing else.
        chosen
            The positions of the items that this mean is over.
        """
        scale = self.item_scale
        if scale is not None:  # how popular they will be is not known
            scale = scale.copy()
            scale[places] = np.median(scale[chosen])
            rows = rows * float(scale[places[0]])
        wide = self.basis.widen(rows)
        usual = float(self.decoder[:, [self.general]].toarray()[chosen].mean())
        is_blank = np.isin(places, blank)
        others = np.setdiff1d(np.arange(self.decoder.shape[0]), places)
        own = (places[~is_blank], places[is_blank])
        n = len(own[1])
        mean = (np.full(n, usual), np.full(n, self.general), np.arange(n + 1))
        blanks = sp.csr_array(mean, shape=(n, wide.shape[1]))
        stacked = [self.decoder[others], wide[~is_blank], blanks]
        order = np.argsort(np.concatenate([others, *own]))
        D = sp.csr_array(sp.vstack(stacked, format="csr"))[order]
        return replace(self, decoder=D, item_scale=scale)

    def scaled(self, scale: Array) -> "TagTable":
        """Return a table whose decoder has row i multiplied by scale[i]; before `with_basis`."""
        return replace(self, decoder=scale_rows(self.decoder, scale), item_scale=scale)


def nested_pairs(carried: sp.csr_array) -> tuple[sp.coo_array, Array]:
    """Return how many items two tags share, of nested ones both ways, and how many each has.

    Two tags are nested if more than 0.8 of the items of the rarer one carry the other too.

    Parameters
    ----------
    carried
        Items x tags, 1 where an item carries a tag, 0 where it does not.
    """
    n = int(carried.shape[1])
    carriers = np.bincount(carried.indices, carried.data, minlength=n)
    both = sp.coo_array(carried.T @ carried)
    i, j = both.coords
    inside = (both.data > 0) & (both.data > NEAR_EQUAL * np.minimum(carriers[i], carriers[j]))
    pairs = (both.data[inside].astype(np.float64), (i[inside], j[inside]))
    return sp.coo_array(pairs, shape=(n, n)), carriers


def decoder(S: sp.csr_array, popularity: Array) -> sp.csr_array:
    """Return D = [S | popularity] in double precision (items x tags + 1)."""
    column = sp.csr_array(np.asarray(popularity, dtype=np.float64).reshape(-1, 1))
    return sp.csr_array(sp.hstack([S.astype(np.float64), column], format="csr"))


def check_tagged(dataset: Any) -> None:
    """Raise unless a model with tags can learn from this data set."""
    check_dataset(dataset, partitions=True)
    features = {tag.feature for tag in dataset.tags}
    for own in (POPULARITY.feature, GENERAL.feature, DISCOVERED):
        if own in features:
            raise RuleError(
                f"A feature is named {own!r}, which the model adds itself. "
                "Give that rule another feature name."
            )


def check_dataset(dataset: Any, *, partitions: bool = False) -> None:
    """Raise `ParameterError` unless this is a data set that the model can learn from.

    Parameters
    ----------
    partitions
        Whether the model can read interactions that are stored in partitions.
    """
    if not isinstance(dataset, Dataset):
        raise ParameterError(
            f"A model is fitted to a Dataset, found a {type(dataset).__name__}. "
            "Make one with Dataset.from_tables."
        )
    if not partitions and not sp.issparse(dataset.X):
        raise ParameterError(
            "The interactions of this data set are in partitions, and only Teaser, "
            "NeighbourEASE and WMFS can learn from those. Make a data set with Dataset.from_tables."
        )
