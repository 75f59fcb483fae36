"""The tags of a fitted model's items: the decoder, the names of its columns, and the rules."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from teaser import explain as why
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.infer import check_roles
from teaser.data.matrix import pack, unpack
from teaser.data.rules import Rules
from teaser.data.tags import DISCOVERED, NEAR_EQUAL, Tag, tag_frame, tags_from
from teaser.errors import RuleError
from teaser.model.basis import Basis, find_basis
from teaser.model.checks import check_dataset
from teaser.model.item_table import popularity
from teaser.model.packed import Packed
from teaser.profile import GENERAL, POPULARITY

Array = NDArray[Any]
# One of so many items tells that two tags are not nested, where they are many.
_EVERY = 4


@dataclass(frozen=True, eq=False)
class TagTable:
    """The tags of items.

    Attributes
    ----------
    tags
        The tags, in the order of the decoder's columns: declared ones, discovered ones,
        popularity; with a basis also tags named "not stated", and general appeal last.
    decoder
        D, items x tags: the tags of each item, its popularity, and its general appeal.
    rules
        The rules that made the tags, for further items.
    basis
        How raw tag scores become values of these tags; None where both are the same.
    aliases
        Earlier names of tags, and the tag that now stands for each.
    """

    tags: tuple[Tag, ...]
    decoder: sp.csr_array
    rules: Rules
    basis: Basis | None = None
    aliases: Mapping[Tag, Tag] = field(default_factory=dict)

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        weights: sp.csr_array | None = None,
        aliases: Mapping[Tag, Tag] | None = None,
    ) -> Self:
        """Return the tags of a data set, without a basis.

        Parameters
        ----------
        weights
            The decoder (items x tags) where its weights were learned.
        """
        D = decoder(dataset.S, popularity(dataset)) if weights is None else weights
        return cls((*dataset.tags, POPULARITY), D, dataset.rules, aliases=dict(aliases or {}))

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave; raise `ValueError` where its parts do not fit together."""
        n_items, n_tags = content.settings["shape"]
        tags = tags_from(content.tables["tags"])
        D = unpack("decoder", content.arrays, (n_items, n_tags)).astype(np.float64)
        if (n_items, n_tags) != (len(content.tables["items"]), len(tags)):
            raise ValueError("its decoder, items and tags are of different sizes")
        basis = Basis.unpack(content.settings, content.arrays)
        if basis is not None and len(basis.q) + 1 != n_tags:
            raise ValueError("its basis does not fit its tags")
        named = content.settings.get("aliases", [])
        aliases = {Tag(*old): Tag(*new) for old, new in named}
        rules = Rules.from_dict(content.settings["rules"])
        check_roles(rules.roles, content.tables["items"].columns)
        return cls(tags, D, rules, basis, aliases)

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        own = Packed(
            {"rules": self.rules.as_dict(), "shape": list(self.decoder.shape)},
            pack("decoder", self.decoder),
            {"tags": tag_frame(self.tags)},
        )
        if self.aliases:
            named = [[astuple(old), astuple(new)] for old, new in self.aliases.items()]
            own |= Packed({"aliases": named})
        return own if self.basis is None else own | self.basis.pack()

    @property
    def n_learned(self) -> int:
        """The number of columns of the encoder: declared and discovered tags, and popularity."""
        return len(self.tags) if self.basis is None else self.basis.n_learned

    @property
    def n_personal(self) -> int:
        """The number of declared and discovered tags, which are the first columns."""
        return self.n_learned - 1

    @property
    def popularity(self) -> int:
        """The column of popularity."""
        return self.n_learned - 1

    @property
    def general(self) -> int | None:
        """The column of general appeal, the last, or None without a basis."""
        return None if self.basis is None else len(self.tags) - 1

    @property
    def learned_tags(self) -> tuple[Tag, ...]:
        """The tags of the encoder's columns; popularity is the last."""
        return self.tags[: self.n_learned]

    @cached_property
    def learned_decoder(self) -> sp.csr_array:
        """The columns of the decoder that the encoder has too (items x learned tags)."""
        if self.basis is None:
            return self.decoder
        return sp.csr_array(self.decoder[:, : self.n_learned])

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
        if self.general is not None:
            sums[self.general] = 0.0
        return sums

    @cached_property
    def features(self) -> tuple[list[str], Array]:
        """The names of the features, and for each tag the number of its feature."""
        return why.number_features(self.tags)

    @cached_property
    def kinds(self) -> Array:
        """The part of a score that each column belongs to, by its place in `PARTS` (tags)."""
        names = ["discovered" if tag.discovered else "declared" for tag in self.tags]
        names[self.popularity] = "popularity"
        if self.general is not None:
            names[self.general] = "general"
        return np.array([why.PARTS.index(name) for name in names])

    @cached_property
    def together(self) -> Array:
        """The number of each tag's group of near-equal tags (tags).

        Two tags are near-equal if the items that carry both are more than 0.8 of those that carry
        either. It is -1 for popularity, general appeal and tags named "not stated".
        """
        n, both, carriers = self.n_personal, *self._shared_items
        i, j = both.coords
        near = both.data > NEAR_EQUAL * (carriers[i] + carriers[j] - both.data)
        links = sp.coo_array((np.ones(int(near.sum())), (i[near], j[near])), shape=(n, n))
        out = np.full(len(self.tags), -1, dtype=np.int64)
        if n:
            out[:n] = connected_components(links, directed=False)[1]
        return out

    @cached_property
    def nested(self) -> sp.csr_array:
        """Which two tags lie one inside the other (declared and discovered tags, both ways).

        More than 0.8 of the items of the rarer one carry the other too.
        """
        both, _ = self._shared_items
        return sp.csr_array((np.ones(both.nnz, dtype=bool), both.coords), shape=both.shape)

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
        return raw if self.basis is None else self.basis.apply(raw)

    def direction(self, column: int) -> Array:
        """Return the c (learned tags) for which the value of a column is p.c."""
        if self.basis is not None:
            return self.basis.direction(column)
        return np.asarray(np.arange(self.n_learned) == column, dtype=np.float64)

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
        """Return a table with rows of the decoder (items x learned tags) for further items."""
        wide = rows if self.basis is None else self.basis.widen(rows)
        return replace(self, decoder=sp.csr_array(sp.vstack([self.decoder, wide], format="csr")))


def nested_pairs(carried: sp.csr_array) -> tuple[sp.coo_array, Array]:
    """Return how many items two tags share, of nested ones both ways, and how many each has.

    Two tags are nested if more than 0.8 of the items of the rarer one carry the other too. A part
    of the items tells for most pairs that they are not; for the rest all items are counted.

    Parameters
    ----------
    carried
        Items x tags, 1 where an item carries a tag, 0 where it does not.
    """
    n = int(carried.shape[1])
    carriers = np.bincount(carried.indices, carried.data, minlength=n)
    some = sp.csr_array(carried[::_EVERY])
    left = carriers - np.bincount(some.indices, some.data, minlength=n)
    seen = sp.coo_array(some.T @ some)
    i, j = seen.coords
    # At most, they share what they share of the part, and all that the rarer has beyond it.
    most = seen.data + np.minimum(left[i], left[j])
    own = (i != j) & (carriers[i] <= carriers[j]) & (most > NEAR_EQUAL * carriers[i])
    # Tags that hardly occur in the part may lie inside one that they do not meet there.
    open_ = np.union1d(i[own], np.flatnonzero(left > NEAR_EQUAL * carriers))
    counted = sp.coo_array(sp.csr_array(carried[:, open_]).T @ carried)
    i, j = open_[counted.coords[0]], counted.coords[1]
    inside = (i != j) & (counted.data > NEAR_EQUAL * np.minimum(carriers[i], carriers[j]))
    i, j, shared = i[inside], j[inside], counted.data[inside]
    used = np.flatnonzero(carriers)
    rows, columns = (np.concatenate([one, other, used]) for one, other in ((i, j), (j, i)))
    both = np.concatenate([shared, shared, carriers[used]])
    # A pair is found from both sides where both were counted.
    _, first = np.unique(rows * n + columns, return_index=True)
    pairs = (both[first].astype(np.float64), (rows[first], columns[first]))
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
