"""The reasons of many lists at once, as columns of a frame.

They are those of `Contributions.reasons`, computed on flat arrays: one entry for each tag of each
listed item, instead of an object for each.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.explain import MIN_SHARE, N_REASONS, BoostReason
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.filters import Boosts
from teaser.model.scores import UserStates
from teaser.model.tables import ItemTable, TagTable
from teaser.recommend import reason_type

Array = NDArray[Any]

# Users whose viewed items are looked up at a time.
_USERS = 64
KINDS = ("tag", "viewed", "boost", "disliked")


@dataclass(frozen=True, eq=False)
class _Entries:
    """Contributions to the scores of listed items, one an entry.

    Attributes
    ----------
    pair
        The listed item that each belongs to, by its number.
    name
        What contributes, by its place among tags, items or boosts.
    part
        What it adds.
    """

    pair: Array
    name: Array
    part: Array

    def sizes(self, n_pairs: int) -> Array:
        """Return the sum of absolute contributions of each listed item."""
        return np.bincount(self.pair, weights=np.abs(self.part), minlength=n_pairs)


@dataclass(frozen=True, eq=False)
class ReasonTable:
    """What the reasons of lists are made from.

    Attributes
    ----------
    items
        The items of the model.
    tags, remainder
        Its tags and its remainder; None where it has none.
    boosts
        The boosts of the request, or None.
    negative
        Whether reasons against an item are among those given.
    """

    items: ItemTable
    tags: TagTable | None
    remainder: RemainderMatrix
    boosts: Boosts | None
    negative: bool = True

    def columns(
        self,
        states: UserStates | None,
        places: Array,
        scores: Array,
        leanings: Array | None = None,
    ) -> dict[str, pl.Series]:
        """Return the columns `general`, `boost`, `other` and `reasons`, one row a listed item.

        Parameters
        ----------
        states
            The users, for a model with tags.
        places, scores
            Positions of the items of each user (users x k), -1 where there is none, and the
            scores of the items that are there.
        leanings
            The leanings of the users (users x tags), which reasons must agree with; None: every
            tag may be a reason.
        """
        user, rank = np.nonzero(places >= 0)
        item = places[user, rank]
        n = len(item)
        boosts = self._boost_entries(item)
        boost = np.bincount(boosts.pair, weights=boosts.part, minlength=n)
        if states is None or self.tags is None:
            # What a score without parts has beside the boosts counts as one contribution.
            total = np.abs(scores - boost) + boosts.sizes(n)
            found = [(2, boosts.pair, boosts.name, boosts.part)]
            return self._frame(np.zeros(n), boost, total, found, [], None)
        tags, general = self._tag_entries(states, user, item)
        viewed = self._viewed_entries(states, places, user, item)
        total = np.abs(general) + tags.sizes(n) + viewed.sizes(n) + boosts.sizes(n)
        sign = np.zeros(len(tags.pair))
        if leanings is not None:
            sign = np.sign(leanings[user[tags.pair], tags.name])
        grouped, several, agrees = self._group(tags, sign)
        found = [
            (0, *grouped),
            *_by_liking(viewed, states, user),
            (2, boosts.pair, boosts.name, boosts.part),
        ]
        if leanings is None:
            return self._frame(general, boost, total, found, several, None)
        # Liked items speak for an item, disliked ones against it.
        liking = [(part < 0) == (kind == 3) for kind, _, _, part in found[1:-1]]
        allowed = np.concatenate([agrees, *liking])
        return self._frame(general, boost, total, found, several, allowed)

    def sizes(self, states: UserStates, places: Array) -> tuple[Array, Array, Array]:
        """Return what makes up the scores of lists, boosts left out.

        Parameters
        ----------
        states, places
            As in `columns`.

        Returns
        -------
        sizes
            The sums of the absolute contributions of each feature, as in `TagTable.features`, and
            of viewed items (listed items x features + 1).
        user, column
            One entry for each tag of each listed item, general appeal left out: whose list it is
            in, and the column of the tag.
        """
        user, rank = np.nonzero(places >= 0)
        item = places[user, rank]
        tags, general = self._tag_entries(states, user, item)
        viewed = self._viewed_entries(states, places, user, item)
        names, numbers = ([], np.zeros(0)) if self.tags is None else self.tags.features
        n, width = len(item), len(names)
        at = tags.pair * width + numbers[tags.name]
        out = np.zeros((n, width + 1))
        out[:, :-1] = np.bincount(at, np.abs(tags.part), minlength=n * width).reshape(n, width)
        out[:, -1] = viewed.sizes(n)
        if self.tags is not None and self.tags.general is not None:
            out[:, numbers[self.tags.general]] = np.abs(general)
        return out, user[tags.pair], tags.name

    def _tag_entries(self, states: UserStates, user: Array, item: Array) -> tuple[_Entries, Array]:
        """Return what the tags of each listed item add, and what general appeal adds."""
        table = self.tags
        if table is None:
            return _no_entries(), np.zeros(len(item))
        pair, place = _row_entries(table.decoder, item)
        column = table.decoder.indices[place]
        who = user[pair]
        # a_j D_ij, times the factor of the tags' part
        part = states.tags_weight[who] * states.values[who, column] * table.decoder.data[place]
        is_general = column == (-1 if table.general is None else table.general)
        general = np.bincount(pair[is_general], part[is_general], minlength=len(item))
        own = ~is_general
        return _Entries(pair[own], column[own], part[own]), general + states.offset[user]

    def _viewed_entries(
        self, states: UserStates, places: Array, user: Array, item: Array
    ) -> _Entries:
        """Return what viewed items add to each listed item, where they add something."""
        if self.remainder is None:
            return _no_entries()
        pair_of = np.full(places.shape, -1)
        pair_of[places >= 0] = np.arange(len(item))
        parts = [
            _viewed(self.remainder, states, places, pair_of, first)
            for first in range(0, len(places), _USERS)
        ]
        if not parts:
            return _no_entries()
        found = _Entries(
            *(np.concatenate([getattr(p, n) for p in parts]) for n in ("pair", "name", "part"))
        )
        adds = found.part != 0
        return _Entries(found.pair[adds], found.name[adds], found.part[adds])

    def _boost_entries(self, item: Array) -> _Entries:
        if self.boosts is None:
            return _no_entries()
        pair, place = _row_entries(self.boosts.parts, item)
        return _Entries(pair, self.boosts.parts.indices[place], self.boosts.parts.data[place])

    def _group(
        self, tags: _Entries, sign: Array
    ) -> tuple[tuple[Array, Array, Array], list[tuple[int, ...]], Array]:
        """Return near-equal tags of an item as one entry, with the sum of what they add.

        The name of an entry is a column, or beyond the columns a place in the list that follows:
        the columns of several tags, the largest contribution first. The last array says which
        entries have the sign that all of their tags should have.

        Parameters
        ----------
        sign
            The sign that the contribution of each entry should have.
        """
        table = self.tags
        own = np.zeros(0, dtype=np.int64)
        if table is not None and len(tags.pair):
            own = np.flatnonzero(table.near_equal_group[tags.name] >= 0)
        if table is None or not len(own):
            return (tags.pair, tags.name, tags.part), [], tags.part * sign > 0
        n = len(table.tags)
        key = tags.pair[own] * n + table.near_equal_group[tags.name[own]]
        # By item and group, the largest contribution first; equals stay in their order.
        order = np.lexsort((-np.abs(tags.part[own]), key))
        own, key = own[order], key[order]
        start = np.flatnonzero(np.diff(key, prepend=-1))
        end = np.append(start[1:], len(own))
        first = np.minimum.reduceat(own, start)  # a group stands where its first tag stood
        name, part = tags.name.copy(), tags.part.copy()
        part[first] = np.add.reduceat(tags.part[own], start)
        low, high = sign.copy(), sign.copy()
        low[first] = np.minimum.reduceat(sign[own], start)
        high[first] = np.maximum.reduceat(sign[own], start)
        agrees = (part * low > 0) & (part * high > 0)
        several: dict[tuple[int, ...], int] = {}
        columns, many = tags.name[own].tolist(), end - start > 1
        spans = zip(start[many].tolist(), end[many].tolist(), strict=True)
        name[first[many]] = [
            n + several.setdefault(tuple(columns[a:b]), len(several)) for a, b in spans
        ]
        kept = np.ones(len(name), dtype=bool)
        kept[own] = False
        kept[first] = True
        return (tags.pair[kept], name[kept], part[kept]), list(several), agrees[kept]

    def _frame(
        self,
        general: Array,
        boost: Array,
        total: Array,
        found: list[tuple[int, Array, Array, Array]],
        several: list[tuple[int, ...]],
        agrees: Array | None,
    ) -> dict[str, pl.Series]:
        """Return the columns.

        Parameters
        ----------
        found
            Kind, listed item, name and part of every contribution, those of tags first.
        agrees
            Which of the tags and viewed items may be reasons; None for all.
        """
        kind = np.concatenate([np.full(len(pair), k) for k, pair, _, _ in found])
        pair, name, part = (np.concatenate([f[n] for f in found]) for n in (1, 2, 3))
        share = np.divide(part, total[pair], out=np.zeros(len(part)), where=total[pair] > 0)
        size = np.abs(share)
        is_boost = kind == KINDS.index("boost")
        allowed = np.ones(len(kind), dtype=bool)
        if agrees is not None:
            allowed[: len(agrees)] = agrees
        is_large = (size >= MIN_SHARE) | is_boost
        kept = np.flatnonzero(allowed & is_large & (self.negative | (share > 0)))
        # By item, boosts first, which are all kept, then the largest share; equals in their order.
        kept = kept[np.lexsort((kept, -size[kept], ~is_boost[kept], pair[kept]))]
        own = pair[kept]
        place = np.arange(len(kept)) - np.searchsorted(own, own)
        kept = kept[(place < N_REASONS) | is_boost[kept]]
        if agrees is not None:
            kept = np.concatenate([kept, _one_more(kept, pair, share, allowed & ~is_boost)])
        kept = kept[np.lexsort((kept, -size[kept], pair[kept]))]
        other = np.bincount(pair, part, minlength=len(total))
        other -= np.bincount(pair[kept], part[kept], minlength=len(total))
        reasons = self._reasons(kind[kept], name[kept], several).with_columns(
            pair=pair[kept], contribution=part[kept], share=share[kept]
        )
        fields = ("kind", "feature", "value", "item_id", "contribution", "share")
        lists = reasons.group_by("pair", maintain_order=True).agg(
            pl.struct(fields).alias("reasons")
        )
        every = pl.DataFrame({"pair": np.arange(len(total))}, schema={"pair": pl.Int64})
        joined = every.join(lists, on="pair", how="left", maintain_order="left")["reasons"]
        empty = pl.Series([[]], dtype=reason_type(self._ids.dtype))
        return {
            "general": pl.Series(general, dtype=pl.Float64),
            "boost": pl.Series(boost, dtype=pl.Float64),
            "other": pl.Series(other, dtype=pl.Float64),
            "reasons": joined.cast(empty.dtype).zip_with(
                joined.is_not_null(), empty.new_from_index(0, len(joined))
            ),
        }

    def _reasons(self, kind: Array, name: Array, several: list[tuple[int, ...]]) -> pl.DataFrame:
        """Return kind, feature, value and item id of reasons."""
        tags = self.tags.tags if self.tags is not None else ()
        first = pl.Series([tags[columns[0]].feature for columns in several], dtype=pl.String)
        joined = [" / ".join(tags[j].value for j in columns) for columns in several]
        features = pl.concat([self._features, first, *self._rest_features])
        values = pl.concat([self._values, pl.Series(joined, dtype=pl.String), *self._rest_values])
        # Tags come first, then several tags together, items, and boosts.
        items = len(tags) + len(several)
        starts = np.array([0, items, items + len(self.items), items])
        place = pl.Series(name + starts[kind], dtype=pl.Int64)
        is_item = (kind == 1) | (kind == 3)
        item = pl.Series(np.where(is_item, name, 0), dtype=pl.Int64)
        is_viewed = pl.Series(is_item)
        return pl.DataFrame(
            {
                "kind": pl.Series(KINDS).gather(pl.Series(kind, dtype=pl.Int64)),
                "feature": features.gather(place),
                "value": values.gather(place),
                "item_id": self._ids.gather(item),
            }
        ).with_columns(item_id=pl.when(is_viewed).then(pl.col("item_id")))

    @cached_property
    def _ids(self) -> pl.Series:
        return self.items.metadata.to_series(0)

    @cached_property
    def _features(self) -> pl.Series:
        tags = self.tags.tags if self.tags is not None else ()
        return pl.Series([tag.feature for tag in tags], dtype=pl.String)

    @cached_property
    def _values(self) -> pl.Series:
        tags = self.tags.tags if self.tags is not None else ()
        return pl.Series([tag.value for tag in tags], dtype=pl.String)

    @cached_property
    def _named(self) -> list[tuple[str | None, str]]:
        names = () if self.boosts is None else self.boosts.names
        return [BoostReason(name, 0.0, 0.0).named for name in names]

    @cached_property
    def _rest_features(self) -> tuple[pl.Series, pl.Series]:
        none = pl.Series([None], dtype=pl.String).new_from_index(0, len(self.items))
        return none, pl.Series([feature for feature, _ in self._named], dtype=pl.String)

    @cached_property
    def _rest_values(self) -> tuple[pl.Series, pl.Series]:
        shown = self._ids.cast(pl.String)
        if self.items.title_column is not None:
            title = self.items.metadata[self.items.title_column].cast(pl.String)
            shown = title.zip_with((title.str.strip_chars() != "").fill_null(False), shown)
        return shown, pl.Series([value for _, value in self._named], dtype=pl.String)


def _one_more(kept: Array, pair: Array, share: Array, own: Array) -> Array:
    """Return the largest of a user's own reasons for each item for which none of those kept is.

    Parameters
    ----------
    kept
        The entries that are reasons.
    pair, share
        The listed item and the share of every entry.
    own
        Which entries may be reasons, and are no boosts.
    """
    speaks = own & (share > 0)
    has_one = np.zeros(int(pair.max(initial=-1)) + 1, dtype=bool)
    has_one[pair[kept[speaks[kept]]]] = True
    rest = np.flatnonzero(speaks & ~has_one[pair])
    rest = rest[np.lexsort((rest, -share[rest], pair[rest]))]
    return rest[np.diff(pair[rest], prepend=-1) > 0]


def _viewed(
    R: RemainderMatrix, states: UserStates, places: Array, pair_of: Array, first: int
) -> _Entries:
    """Return what the viewed items of some users add to their listed items."""
    rows = states.rows[first : first + _USERS]
    user = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    known = rows.indices < R.shape[0]
    user, seen, x = user[known], rows.indices[known], rows.data[known]
    weight = states.viewed_weight[first : first + _USERS]
    places, pair_of = places[first : first + _USERS], pair_of[first : first + _USERS]
    if isinstance(R, np.ndarray):
        listed = (places[user] >= 0) & (places[user] < R.shape[1])
        part = R[seen[:, None], np.where(listed, places[user], 0)].astype(np.float64)
        part = (weight[user] * x)[:, None] * part
        name = np.broadcast_to(seen[:, None], part.shape)
        return _Entries(pair_of[user][listed], name[listed], part[listed])
    # The number of the listed item at each user and item, -1 where it is not listed.
    slot = np.full((rows.shape[0], R.shape[1]), -1, dtype=np.int64)
    here = (places >= 0) & (places < R.shape[1])
    slot[np.nonzero(here)[0], places[here]] = pair_of[here]
    entry, place = _row_entries(R, seen)
    pair = slot[user[entry], R.indices[place]]
    on = pair >= 0
    entry, place = entry[on], place[on]
    # x_i R_ij for each item i of the history
    part = weight[user[entry]] * x[entry] * R.data[place]
    return _Entries(pair[on], seen[entry], part)


def _by_liking(
    viewed: _Entries, states: UserStates, user: Array
) -> list[tuple[int, Array, Array, Array]]:
    """Return viewed items by kind: 1, and 3 for disliked ones.

    Parameters
    ----------
    user
        The user of each listed item.
    """
    rows = states.rows
    if not len(viewed.pair) or not (rows.data < 0).any():
        return [(1, viewed.pair, viewed.name, viewed.part)]
    disliked = np.asarray(rows[user[viewed.pair], viewed.name]).ravel() < 0
    return [
        (kind, viewed.pair[own], viewed.name[own], viewed.part[own])
        for kind, own in ((1, ~disliked), (3, disliked))
    ]


def _row_entries(matrix: sp.csr_array, rows: Array) -> tuple[Array, Array]:
    """Return the entries of some rows: the number of the row among them, and the place in data."""
    length = matrix.indptr[rows + 1] - matrix.indptr[rows]
    number = np.repeat(np.arange(len(rows)), length)
    before = np.cumsum(length) - length
    place = np.arange(len(number)) + np.repeat(matrix.indptr[rows] - before, length)
    return number, place


def _no_entries() -> _Entries:
    none = np.zeros(0, dtype=np.int64)
    return _Entries(none, none, np.zeros(0))
