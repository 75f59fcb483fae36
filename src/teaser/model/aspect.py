"""What any model with affinities and a decoder of tags can do: profile, recommend, explain."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser import profile as who
from teaser.data.dataset import Dataset, ItemId
from teaser.data.rules import Rules
from teaser.data.tables import check_items, read_table
from teaser.data.tags import Tag, encode_tags, resolve_tag
from teaser.errors import DataError, ParameterError, RuleError
from teaser.explain import Explanation, Recommendation
from teaser.model.base import Model, as_histories, check_k, top_k
from teaser.profile import DEFAULT_STEERING, POPULARITY, PressesLike, Profile, Steering

Array = NDArray[Any]
History = Iterable[ItemId]

log = logging.getLogger("teaser")


class AspectModel(Model):
    """A model whose scores are affinities with tags, summed over the tags of an item.

    Attributes
    ----------
    decoder_
        D, items x tags: the tags of each item, and its popularity in the last column.
    tags_
        The tags, in the order of the decoder's columns.
    items_
        The owner's item ids, in the order of the decoder's rows.
    popularity_
        Item count / highest count.
    table_
        The metadata of the items, one row each.
    rules_
        The rules that made the tags, for further items.
    """

    decoder_: sp.csr_array
    tags_: tuple[Tag, ...]
    popularity_: Array
    table_: pl.DataFrame
    rules_: Rules

    @abstractmethod
    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of people (people x tags), in double precision."""

    def profile(
        self,
        history: History,
        presses: PressesLike | None = None,
        *,
        steering: Steering = DEFAULT_STEERING,
    ) -> Profile:
        """Return what the model believes of a person.

        Parameters
        ----------
        history
            Item ids; one that occurs twice counts once.
        presses
            Net presses by `Tag` or `"feature=value"`, whole numbers from -5 to 5.
        steering
            How raw scores become affinities and presses move them.
        """
        self.check_fitted()
        places = self._places(history)
        rows = self._matrix([places])
        values = self._affinities(rows, [presses], steering)[0]
        net = who.place_presses(presses, self._tag_index)
        return Profile(
            tags=self.tags_,
            values=values,
            certainty=steering.certainty(len(places)),
            impacts=why.sum_impacts(values, self._mass, *self._features),
            history=tuple(self.items_[i] for i in places),
            presses={self.tags_[place]: steps for place, steps in net.items()},
        )

    def recommend(
        self,
        history: History,
        presses: PressesLike | None = None,
        *,
        k: int = 20,
        exclude_history: bool = True,
        negative_reasons: bool = True,
        allowed: Array | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> list[Recommendation]:
        """Return the k best items for a person, best first, each with its reasons.

        Equal scores are ordered by popularity, then by place in the catalogue.

        Parameters
        ----------
        allowed
            Which items may be recommended: true or false for each, in the order of `items_`.
            All of them when not given; scores and matches are the same either way.
        """
        return self.recommend_batch(
            [history],
            [presses],
            k=k,
            exclude_history=exclude_history,
            negative_reasons=negative_reasons,
            allowed=allowed,
            steering=steering,
        )[0]

    def recommend_batch(
        self,
        histories: Sequence[History],
        presses: Sequence[PressesLike | None] | None = None,
        *,
        k: int = 20,
        exclude_history: bool = True,
        negative_reasons: bool = True,
        allowed: Array | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> list[list[Recommendation]]:
        """Return the list of each of several people, equal to what `recommend` returns for one."""
        k = check_k(k)
        rows = self._rows(histories)
        values = self._affinities(rows, presses, steering)
        lists = []
        for person, a in enumerate(values):
            scores = self.decoder_ @ a
            seen = rows.indices[rows.indptr[person] : rows.indptr[person + 1]]
            best = self.rank(scores, k=k, seen=seen if exclude_history else (), allowed=allowed)
            lists.append(self.entries(best, a, scores, negative_reasons=negative_reasons))
        return lists

    def rank(
        self,
        scores: Array,
        *,
        k: int = 20,
        seen: Sequence[int] | Array = (),
        allowed: Array | None = None,
    ) -> Array:
        """Return the positions of the k best items by their scores, without those seen.

        For whoever has the scores of a person already, `decoder_ @ profile.values`; the order is
        that of `recommend`, which also gives the reasons.
        """
        barred = barred_places(allowed, len(self.items_))
        exclude = np.concatenate([barred, np.asarray(seen, dtype=np.int64)])
        return top_k(scores, check_k(k), exclude=exclude, tie=self.popularity_)

    def entries(
        self, places: Array, affinities: Array, scores: Array, *, negative_reasons: bool = True
    ) -> list[Recommendation]:
        """Return items as `recommend` does, with match and reasons.

        Parameters
        ----------
        places
            The positions of the items, in the order wanted.
        affinities, scores
            Of one person: with every tag, and of every item.
        """
        highest = float(scores.max())
        return [
            Recommendation(
                item_id=self.items_[i],
                score=float(scores[i]),
                match=_match(float(scores[i]), highest),
                reasons=why.main_reasons(self._reasons(i, affinities), negative=negative_reasons),
                title=self.title(i),
            )
            for i in places.tolist()
        ]

    def explain(
        self,
        item_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        steering: Steering = DEFAULT_STEERING,
    ) -> Explanation:
        """Return the whole score of one item for a person, tag by tag."""
        self.check_fitted()
        i = self.items_.index_of(item_id)
        a = self._affinities(self._rows([history]), [presses], steering)[0]
        scores = self.decoder_ @ a
        reasons = self._reasons(i, a)
        return Explanation(
            item_id=self.items_[i],
            score=float(scores[i]),
            match=_match(float(scores[i]), float(scores.max())),
            contributions={r.tag: r.contribution for r in reasons},
            reasons=reasons,
            title=self.title(i),
        )

    def affinity_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the affinities of people given as rows of histories (people x tags)."""
        self.check_fitted()
        return self._affinities(as_histories(X, len(self.items_)), presses, steering)

    def score_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the score of every item for people given as rows of histories (people x items)."""
        return self.decode(self.affinity_batch(X, presses, steering=steering))

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (people x items)."""
        return np.asarray((self.decoder_ @ affinities.T).T)

    def title(self, place: int) -> str | None:
        """Return the title of the item at a place, where the metadata have one."""
        column = self.rules_.roles.get("title")
        found = self.table_[column][place] if column else None
        return None if found is None else str(found)

    def add_items(self, items: Any) -> Self:
        """Make further items recommendable without fitting again.

        Parameters
        ----------
        items
            A table (file or frame) with the columns that the rules read and the item id, or a
            mapping from item id to its tags. Such items have no popularity yet, and say
            nothing about the taste of whoever views them until the model is fitted again.
        """
        self.check_fitted()
        id_column = self.table_.columns[0]
        if isinstance(items, Mapping):
            ids = self._new_ids(items)
            S, unknown = self._rows_of_tags(items), list[Tag]()
            table = pl.DataFrame({id_column: ids}, schema={id_column: self.table_.dtypes[0]})
        else:
            table, refused = check_items(read_table(items, what="items"), item=id_column)
            if refused:
                raise DataError(f"Nothing was added: {'; '.join(map(str, refused))}.")
            ids = self._new_ids(table[id_column].to_list())
            table = table.with_columns(pl.Series(id_column, ids, dtype=self.table_.dtypes[0]))
            S, unknown = encode_tags(table, self.rules_.tags, self.tags_[:-1])
        if unknown:
            few = ", ".join(map(str, unknown[:3]))
            log.warning("%d tags of the new items are new to the model: %s", len(unknown), few)
        blank = int((np.diff(S.indptr) == 0).sum())
        if blank:
            log.warning("%d of %d new items carry no tag that the model knows", blank, len(ids))
        self._extend(ids, S, table)
        return self

    def _new_ids(self, given: Iterable[Any]) -> list[ItemId]:
        """Return ids of the catalogue's kind, none of which is there already or twice."""
        whole = self.table_.dtypes[0].is_integer()
        ids: list[ItemId] = []
        for name in given:
            plain = int(name) if isinstance(name, np.integer) else name
            if isinstance(plain, str) and whole and plain.strip().lstrip("-").isdecimal():
                plain = int(plain)
            if isinstance(plain, int) and not isinstance(plain, bool) and not whole:
                plain = str(plain)
            if not isinstance(plain, int if whole else str) or isinstance(plain, bool):
                kind = "whole numbers" if whole else "texts"
                raise DataError(f"Item ids here are {kind}, found {name!r}. Nothing was added.")
            ids.append(plain)
        known = [name for name in ids if name in self.items_]
        if known or len(set(ids)) < len(ids):
            said = f"are in the catalogue already: {known[:3]}" if known else "are named twice"
            raise DataError(
                f"{len(known) or len(ids) - len(set(ids))} items {said}. Nothing was added."
            )
        return ids

    @staticmethod
    def _check_dataset(dataset: Dataset) -> None:
        """Raise before any work if this is nothing to learn from."""
        if not isinstance(dataset, Dataset):
            raise ParameterError(
                f"A model is fitted to a Dataset, found a {type(dataset).__name__}. "
                "Make one with Dataset.from_tables."
            )
        if POPULARITY.feature in {tag.feature for tag in dataset.tags}:
            raise RuleError(
                f"A feature is named {POPULARITY.feature!r}, which the model adds itself. "
                "Give that rule another feature name."
            )

    def _take_catalogue(self, dataset: Dataset) -> None:
        """Set the attributes that come from the data set alone."""
        self.popularity_ = popularity(dataset)
        self.decoder_ = decoder(dataset.S, self.popularity_)
        self.tags_ = (*dataset.tags, POPULARITY)
        self.items_ = dataset.items
        self.table_ = dataset.table
        self.rules_ = dataset.rules
        self._index()

    def _index(self) -> None:
        """Prepare look-ups that follow from the tags and the decoder."""
        self._tag_index = {tag: i for i, tag in enumerate(self.tags_)}
        self._mass = np.asarray(self.decoder_.sum(axis=0)).ravel()
        self._features = why.number_features(self.tags_)

    def _extend(self, ids: Sequence[ItemId], S: sp.csr_array, table: pl.DataFrame) -> None:
        try:
            joined = pl.concat([self.table_, table], how="diagonal_relaxed")
        except pl.exceptions.PolarsError as error:
            raise DataError(
                f"The new items do not fit the catalogue's columns: {error}."
            ) from error
        new = decoder(S, np.zeros(len(ids)))
        self.decoder_ = sp.csr_array(sp.vstack([self.decoder_, new], format="csr"))
        self.popularity_ = np.concatenate([self.popularity_, np.zeros(len(ids))])
        self.table_ = joined.select(self.table_.columns)
        self.items_ = self.items_.extended(ids)
        self._index()

    def _rows_of_tags(self, items: Mapping[ItemId, Iterable[Tag | str]]) -> sp.csr_array:
        for name, tags in items.items():
            if isinstance(tags, str | Tag) or not isinstance(tags, Iterable):
                raise ParameterError(f"Item {name!r} needs a list of tags, found {tags!r}.")
        places = [
            sorted({resolve_tag(t, self._tag_index) for t in tags}) for tags in items.values()
        ]
        if any(len(self.tags_) - 1 in row for row in places):
            raise ParameterError(
                "Popularity is counted, not given: leave it out of a new item's tags."
            )
        indptr = np.cumsum([0, *(len(row) for row in places)])
        indices = np.array([j for row in places for j in row], dtype=np.int64)
        return sp.csr_array(
            (np.ones(len(indices)), indices, indptr), shape=(len(places), len(self.tags_) - 1)
        )

    def _places(self, history: History) -> list[int]:
        if isinstance(history, str | bytes) or not isinstance(history, Iterable):
            raise ParameterError(f"A history is a list of item ids, found {history!r}.")
        return list(dict.fromkeys(self.items_.index_of(item_id) for item_id in history))

    def _rows(self, histories: Iterable[History]) -> sp.csr_array:
        self.check_fitted()
        return self._matrix([self._places(history) for history in histories])

    def _matrix(self, histories: Sequence[list[int]]) -> sp.csr_array:
        places = [sorted(history) for history in histories]
        indptr = np.cumsum([0, *(len(row) for row in places)])
        indices = np.array([i for row in places for i in row], dtype=np.int64)
        shape = (len(places), len(self.items_))
        return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape)

    def _affinities(
        self,
        rows: sp.csr_array,
        presses: Sequence[PressesLike | None] | None,
        steering: Steering,
    ) -> Array:
        if not isinstance(steering, Steering):
            raise ParameterError(f"steering must be a Steering, found {steering!r}.")
        if presses is not None and (
            isinstance(presses, Mapping) or not isinstance(presses, Sequence)
        ):
            raise ParameterError("The presses of several people are a list, one mapping for each.")
        if presses is not None and len(presses) != rows.shape[0]:
            raise ParameterError(
                f"There are {rows.shape[0]} histories and {len(presses)} sets of presses."
            )
        lengths = np.diff(rows.indptr).tolist()
        values = who.affinities(self.encode(rows), lengths, len(self.tags_) - 1, steering)
        for row, given in enumerate(presses or ()):
            placed = who.place_presses(given, self._tag_index)
            if placed:
                values[row] = who.press(values[row], placed, steering.step)
        return values

    def _reasons(self, i: int, affinities: Array) -> tuple[why.Reason, ...]:
        row = slice(self.decoder_.indptr[i], self.decoder_.indptr[i + 1])
        return why.all_reasons(
            affinities, self.decoder_.indices[row], self.decoder_.data[row], self.tags_
        )


def popularity(dataset: Dataset) -> Array:
    """Return item count / highest count."""
    counts = dataset.item_counts
    return np.asarray(counts / max(1, counts.max()))


def decoder(S: sp.csr_array, popularity: Array) -> sp.csr_array:
    """Return D = [S | popularity] in double precision (items x tags + 1)."""
    column = sp.csr_array(np.asarray(popularity, dtype=np.float64).reshape(-1, 1))
    return sp.csr_array(sp.hstack([S.astype(np.float64), column], format="csr"))


def barred_places(allowed: Array | None, n_items: int) -> Array:
    """Return the positions of the items that a mask of allowed ones leaves out."""
    if allowed is None:
        return np.zeros(0, dtype=np.int64)
    mask = np.asarray(allowed)
    if mask.dtype != bool or mask.shape != (n_items,):
        raise ParameterError(
            f"allowed must hold true or false for each of {n_items:,} items, "
            f"found {mask.dtype} of shape {mask.shape}."
        )
    return np.flatnonzero(~mask)


def _match(score: float, highest: float) -> float:
    return max(0.0, score) / highest if highest > 0 else 0.0
