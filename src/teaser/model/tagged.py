"""What any model with affinities and a decoder of tags can do: profile, recommend, explain."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser import profile as who
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError
from teaser.explain import Explanation, Recommendation
from teaser.model.base import as_histories, check_k, top_k
from teaser.model.catalogue import Catalogued
from teaser.model.catalogue import History as History
from teaser.model.catalogue import decoder as decoder
from teaser.model.catalogue import popularity as popularity
from teaser.model.extensions.user_features import (
    About,
    ManyAbout,
    UserRows,
    place_about,
    place_many_about,
)
from teaser.model.extensions.viewed_items import (
    Person,
    RemainderMatrix,
    Standing,
    len_of,
    viewed_parts,
    viewed_sum,
)
from teaser.profile import DEFAULT_STEERING, PressesLike, Profile, Steering

Array = NDArray[Any]


class TaggedModel(Catalogued):
    """A model whose scores are affinities with tags, summed over the tags of an item.

    For its attributes see `Catalogued`.
    """

    @property
    def user_tags_(self) -> tuple[Tag, ...]:
        """The tags of people that the model has learnt from; none unless the data have them."""
        return () if self._people is None else self._people.tags

    @property
    def user_encoder_(self) -> Array | None:
        """What each tag of people adds to a history (tags of people x tags), or None."""
        return None if self._people is None else self._people.encoder

    @property
    def has_remainder(self) -> bool:
        """Whether viewed items are reasons of their own, beside the tags."""
        return self._remainder is not None

    @abstractmethod
    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of people (people x tags), in double precision."""

    def profile(
        self,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
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
        people
            What is known of the person, as `Tag` or `"feature=value"` of `people_tags_`. It
            counts as one more item of the history for the certainty.
        """
        self.check_fitted()
        places = self._places(history)
        rows = self._matrix([places])
        standing = self._stand(rows, [presses], steering, [about])
        values = standing.values[0]
        known = place_about(about, self._people)
        net = who.place_presses(presses, self._tag_index)
        return Profile(
            tags=self.tags_,
            values=values,
            certainty=steering.certainty(len(places) + bool(known)),
            impacts=why.sum_impacts(values, self._mass, *self._features),
            history=tuple(self.items_[i] for i in places),
            presses={self.tags_[place]: steps for place, steps in net.items()},
            tags_weight=float(standing.tags_weight[0]),
            viewed_weight=float(standing.viewed_weight[0]),
            about=tuple(self.user_tags_[i] for i in known),
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
        about: About | None = None,
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
            about=[about],
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
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> list[list[Recommendation]]:
        """Return the list of each of several people, equal to what `recommend` returns for one."""
        k = check_k(k)
        rows = self._rows(histories)
        standing = self._stand(rows, presses, steering, about)
        lists = []
        for person in range(rows.shape[0]):
            one = Person.of(rows, standing, person)
            scores = self._scores(one)
            seen = one.seen if exclude_history else ()
            best = self.rank(scores, k=k, seen=seen, allowed=allowed)
            lists.append(self._entries(best, one, scores, negative_reasons))
        return lists

    def scores(self, profile: Profile) -> Array:
        """Return the score of every item for a profile, in double precision.

        The tags' part is `tags_weight * (decoder_ @ values)`; where there is a remainder, its rows
        of the history are added, times `viewed_weight`.
        """
        self.check_fitted()
        return self._scores(self._person(profile))

    def viewed_scores(self, profile: Profile) -> Array:
        """Return the part of `scores` that comes from viewed items: zero without a remainder."""
        self.check_fitted()
        return np.asarray(profile.viewed_weight * self._viewed(self._person(profile).seen))

    def rank(
        self,
        scores: Array,
        *,
        k: int = 20,
        seen: Sequence[int] | Array = (),
        allowed: Array | None = None,
    ) -> Array:
        """Return the positions of the k best items by their scores, without those seen.

        For whoever has the scores of a person already, `scores(profile)`; the order is that of
        `recommend`, which also gives the reasons.
        """
        barred = barred_places(allowed, len(self.items_))
        exclude = np.concatenate([barred, np.asarray(seen, dtype=np.int64)])
        return top_k(scores, check_k(k), exclude=exclude, tie=self.popularity_)

    def entries(
        self, places: Array, profile: Profile, scores: Array, *, negative_reasons: bool = True
    ) -> list[Recommendation]:
        """Return items as `recommend` does, with match and reasons.

        Parameters
        ----------
        places
            The positions of the items, in the order wanted.
        profile, scores
            Of one person, the scores those of every item.
        """
        return self._entries(places, self._person(profile), scores, negative_reasons)

    def explain(
        self,
        item_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Explanation:
        """Return the whole score of one item for a person, tag by tag and view by view."""
        self.check_fitted()
        i = self.items_.index_of(item_id)
        rows = self._rows([history])
        one = Person.of(rows, self._stand(rows, [presses], steering, [about]), 0)
        scores = self._scores(one)
        reasons = self._reasons(i, one)
        return Explanation(
            item_id=self.items_[i],
            score=float(scores[i]),
            match=_match(float(scores[i]), float(scores.max())),
            contributions=why.by_tag(reasons),
            reasons=reasons,
            title=self.title(i),
            viewed=why.by_item(reasons),
        )

    def affinity_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the affinities of people given as rows of histories (people x tags)."""
        self.check_fitted()
        return self._stand(as_histories(X, len(self.items_)), presses, steering, about).values

    def score_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the score of every item for people given as rows of histories (people x items)."""
        self.check_fitted()
        rows = as_histories(X, len(self.items_))
        standing = self._stand(rows, presses, steering, about)
        scores = self.decode(standing.values)
        if not self.has_remainder:
            return scores
        viewed = standing.viewed_weight[:, None] * self.decode_viewed(rows)
        return np.asarray(standing.tags_weight[:, None] * scores + viewed)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (people x items)."""
        return np.asarray((self.decoder_ @ affinities.T).T)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (people x items), unweighted."""
        out = np.zeros(rows.shape)
        for person in range(rows.shape[0]):
            seen = rows.indices[rows.indptr[person] : rows.indptr[person + 1]]
            out[person] = self._viewed(seen)
        return out

    def _stand(
        self,
        rows: sp.csr_array,
        presses: Sequence[PressesLike | None] | None,
        steering: Steering,
        about: ManyAbout | None = None,
    ) -> Standing:
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
        known = place_many_about(about, self._people, rows.shape[0])
        raw, lengths = self.encode(rows), np.diff(rows.indptr)
        if self._people is not None and known is not None:
            raw = raw + self._people.encode(known, lengths)
            lengths = lengths + (np.diff(known.indptr) > 0)
        values, factors = who.scaled(raw, lengths.tolist(), len(self.tags_) - 1, steering)
        for row, given in enumerate(presses or ()):
            placed = who.place_presses(given, self._tag_index)
            if placed:
                values[row] = who.press(values[row], placed, steering.step)
        speaks = self._speaks(rows)
        return Standing(
            values,
            np.where(speaks, steering.tags_weight, 1.0),
            np.where(speaks, steering.viewed_weight * factors, 0.0),
        )

    def _speaks(self, rows: sp.csr_array) -> Array:
        """Tell whose history the remainder knows something of: the others have tags alone."""
        if self._remainder is None:
            return np.zeros(rows.shape[0], dtype=bool)
        return np.asarray(np.diff(rows[:, : len_of(self._remainder)].indptr) > 0)

    @property
    def _people(self) -> UserRows | None:
        found: UserRows | None = getattr(self, "user_rows_", None)
        return found

    @property
    def _remainder(self) -> RemainderMatrix | None:
        found: RemainderMatrix | None = getattr(self, "remainder_", None)
        return found

    def _person(self, profile: Profile) -> Person:
        seen = np.array([self.items_.index_of(i) for i in profile.history], dtype=np.int64)
        return Person(profile.values, seen, profile.tags_weight, profile.viewed_weight)

    def _scores(self, one: Person) -> Array:
        scores = np.asarray(self.decoder_ @ one.values)
        if self._remainder is None:
            return scores
        return np.asarray(one.tags_weight * scores + one.viewed_weight * self._viewed(one.seen))

    def _viewed(self, seen: Array) -> Array:
        if self._remainder is None:
            return np.zeros(len(self.items_))
        return viewed_sum(self._remainder, seen, len(self.items_))

    def _entries(
        self, places: Array, one: Person, scores: Array, negative: bool
    ) -> list[Recommendation]:
        highest = float(scores.max())
        return [
            Recommendation(
                item_id=self.items_[i],
                score=float(scores[i]),
                match=_match(float(scores[i]), highest),
                reasons=why.main_reasons(
                    self._reasons(i, one, min_share=why.MIN_SHARE), negative=negative
                ),
                title=self.title(i),
            )
            for i in places.tolist()
        ]

    def _reasons(self, i: int, one: Person, *, min_share: float = 0.0) -> tuple[why.AnyReason, ...]:
        row = slice(self.decoder_.indptr[i], self.decoder_.indptr[i + 1])
        viewed = None
        if self._remainder is not None:
            parts = one.viewed_weight * viewed_parts(self._remainder, one.seen, i)
            viewed = why.Viewed(parts, lambda n: self._name(int(one.seen[n])))
        return why.all_reasons(
            one.values,
            self.decoder_.indices[row],
            self.decoder_.data[row],
            self.tags_,
            scale=one.tags_weight,
            viewed=viewed,
            min_share=min_share,
        )

    def _name(self, place: int) -> tuple[ItemId, str | None]:
        return self.items_[place], self.title(place)


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
