"""The contract of a model with tags: profile, presses, reasons and origins."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser import profile as who
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.ids import ItemId
from teaser.data.tagging.rule_set import Rules
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.explain import Explanation, Recommendation
from teaser.model.base import Model
from teaser.model.checks import check_k
from teaser.model.extensions.remainder import RemainderMatrix, viewed_parts, viewed_sum
from teaser.model.extensions.user_features import (
    About,
    ManyAbout,
    UserRows,
    place_about,
    place_many_about,
)
from teaser.model.item_table import History
from teaser.model.new_items import read_new_items
from teaser.model.packed import Packed
from teaser.model.tag_table import TagTable, decoder
from teaser.model.user_state import Scored, UserState, UserStates, check_steered
from teaser.profile import DEFAULT_STEERING, PressesLike, Profile, Steering

Array = NDArray[Any]


class TaggedModel(Model, abstract=True):
    """A model whose scores are affinities with tags, summed over the tags of an item.

    A subclass defines `fit`, which calls `keep_items`, and `encode` with `encode_parts`.
    """

    _tag_table: TagTable | None = None
    _user_rows: UserRows | None = None
    _remainder: RemainderMatrix = None

    @abstractmethod
    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of histories (users x tags), in double precision."""

    @abstractmethod
    def encode_parts(self, positions: Sequence[int], column: int) -> Array:
        """Return what each item of a history, by position, adds to the raw score of one tag."""

    @property
    def tag_table_(self) -> TagTable:
        """The tags of the items."""
        if self._tag_table is None:
            raise self._not_fitted()
        return self._tag_table

    @property
    def tags_(self) -> tuple[Tag, ...]:
        """The tags, in the order of the decoder's columns; popularity is the last."""
        return self.tag_table_.tags

    @property
    def decoder_(self) -> sp.csr_array:
        """D, items x tags: the tags of each item, and its popularity in the last column."""
        return self.tag_table_.decoder

    @property
    def rules_(self) -> Rules:
        """The rules that made the tags, for further items."""
        return self.tag_table_.rules

    @property
    def user_rows_(self) -> UserRows | None:
        """What was learned of the user tags, or None."""
        return self._user_rows

    @property
    def remainder_(self) -> RemainderMatrix:
        """R, items x items: what viewing one item adds to the score of another, or None."""
        return self._remainder

    @property
    def user_tags_(self) -> tuple[Tag, ...]:
        """The user tags that the model has learned from; none unless the data have them."""
        return () if self.user_rows_ is None else self.user_rows_.tags

    @property
    def user_encoder_(self) -> Array | None:
        """What each user tag adds to a history (user tags x tags), or None."""
        return None if self.user_rows_ is None else self.user_rows_.encoder

    @property
    def has_remainder(self) -> bool:
        """Whether viewed items are reasons of their own, beside the tags."""
        return self.remainder_ is not None

    def keep_items(self, dataset: Dataset, decoder: sp.csr_array | None = None) -> None:
        """Keep the items and tags of the data set that the model was fitted to.

        Parameters
        ----------
        decoder
            The decoder (items x tags) where its weights were learned.
        """
        super().keep_items(dataset)
        self._tag_table = TagTable.from_dataset(dataset, decoder)

    def add_items(self, items: Any) -> Self:
        """Make further items recommendable without fitting again.

        Parameters
        ----------
        items
            A table (file or frame) with the columns that the rules read and the item id, or a
            mapping from item id to its tags. Such items have no popularity yet, and add nothing
            to the profile of a user who views them until the model is fitted again.
        """
        known = self.item_table_
        new = read_new_items(items, known, self.tags_, self.rules_)
        rows = self._weigh(decoder(new.S, np.zeros(len(new.ids))))
        self._tag_table = self.tag_table_.extended(rows)
        self._item_table = known.extended(new.ids, new.table)
        return self

    def profile(
        self,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Profile:
        """Return the affinities of a user, with what they were computed from.

        Parameters
        ----------
        history
            Item ids; one that occurs twice counts once.
        presses
            Net presses by `Tag` or `"feature=value"`, whole numbers from -5 to 5.
        about
            What is known of the user, as `Tag` or `"feature=value"` of `user_tags_`. It counts
            as one more item of the history for the certainty.
        steering
            How raw scores become affinities and presses move them.
        """
        positions = self.item_table_.positions(history)
        rows = self.item_table_.rows([positions])
        state = self.user_states(rows, [presses], steering=steering, about=[about])[0]
        known = place_about(about, self.user_rows_)
        net = who.place_presses(presses, self.tag_table_.index)
        return Profile(
            tags=self.tags_,
            values=state.values,
            certainty=steering.certainty(len(positions) + bool(known)),
            impacts=why.sum_impacts(state.values, self.tag_table_.mass, *self.tag_table_.features),
            history=tuple(self.items_[i] for i in positions),
            presses={self.tags_[place]: steps for place, steps in net.items()},
            tags_weight=state.tags_weight,
            viewed_weight=state.viewed_weight,
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
        """Return the k best items for a user, best first, each with its reasons.

        Parameters
        ----------
        history, presses, about, steering
            See `profile`.
        k, exclude_history, allowed
            See `Model.recommend`.
        negative_reasons
            Whether reasons against an item are among those given.
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
        """Return the list of each of several users, equal to what `recommend` returns for one."""
        k = check_k(k)
        rows = self._rows(histories)
        lists = []
        for state in self.user_states(rows, presses, steering=steering, about=about):
            scored = self._score(state)
            seen = state.seen if exclude_history else ()
            best = self.rank_items(scored.scores, k=k, seen=seen, allowed=allowed)
            lists.append(self._entries(best, state, scored, negative_reasons))
        return lists

    def explain(
        self,
        item_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Explanation:
        """Return the whole score of one item for a user, tag by tag and view by view."""
        i = self.items_.index_of(item_id)
        rows = self._rows([history])
        state = self.user_states(rows, [presses], steering=steering, about=[about])[0]
        return self._explanation(i, state, self._score(state))

    def origins(
        self, tag: Tag | str, history: History, about: About | None = None
    ) -> dict[Any, float]:
        """Return where an affinity comes from: what each item of the history adds to the raw score.

        What is known of the user follows, each with its `Tag` as the key. The parts sum to the
        raw score p of the tag, of which the affinity is a multiple.
        """
        column = resolve_tag(tag, self.tag_table_.index)
        positions = self.item_table_.positions(history)
        added = self.encode_parts(positions, column).tolist()
        parts: dict[Any, float] = dict(zip((self.items_[i] for i in positions), added, strict=True))
        known = place_about(about, self.user_rows_)
        if self.user_rows_ is not None:
            parts |= self.user_rows_.origins(known, column, len(positions))
        return parts

    def scores(self, profile: Profile) -> Array:
        """Return the score of every item for a profile, in double precision.

        The tags' part is `tags_weight * (decoder_ @ values)`; where there is a remainder, its rows
        of the history are added, times `viewed_weight`.
        """
        return self.score_state(self._state(profile))

    def viewed_scores(self, profile: Profile) -> Array:
        """Return the part of `scores` that comes from viewed items: zero without a remainder."""
        return np.asarray(profile.viewed_weight * self._viewed(self._state(profile).seen))

    def entries(
        self, places: Array, profile: Profile, scores: Array, *, negative_reasons: bool = True
    ) -> list[Recommendation]:
        """Return items as `recommend` does, with match and reasons.

        Parameters
        ----------
        places
            The positions of the items, in the order wanted.
        profile, scores
            Of one user, the scores those of every item.
        """
        return self._entries(places, self._state(profile), Scored(scores), negative_reasons)

    def affinity_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the affinities of users given as rows of histories (users x tags)."""
        return self.user_states(
            self.check_histories(X), presses, steering=steering, about=about
        ).values

    def score_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the score of every item for users given as rows of histories (users x items)."""
        states = self.user_states(self.check_histories(X), presses, steering=steering, about=about)
        scores = self.decode(states.values)
        if not self.has_remainder:
            return scores
        viewed = states.viewed_weight[:, None] * self.decode_viewed(states.rows)
        return np.asarray(states.tags_weight[:, None] * scores + viewed)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (users x items)."""
        return np.asarray((self.decoder_ @ affinities.T).T)  # a D', D being the sparse factor

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (users x items), unweighted."""
        out = np.zeros(rows.shape)
        for user in range(rows.shape[0]):
            out[user] = self._viewed(rows.indices[rows.indptr[user] : rows.indptr[user + 1]])
        return out

    def user_states(
        self,
        rows: sp.csr_array,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        steering: Steering = DEFAULT_STEERING,
        about: ManyAbout | None = None,
    ) -> UserStates:
        """Return users as they are scored, given their histories (users x items)."""
        check_steered(presses, steering, rows.shape[0])
        known = place_many_about(about, self.user_rows_, rows.shape[0])
        raw, lengths = self.encode(rows), np.diff(rows.indptr)  # p and h of each user
        if self.user_rows_ is not None and known is not None:
            raw = raw + self.user_rows_.encode(known, lengths)  # w N_f + (1 - w) E_f
            lengths = lengths + (np.diff(known.indptr) > 0)  # one more item, for c but not for w
        values, factors = who.scaled(raw, lengths.tolist(), len(self.tags_) - 1, steering)
        for row, given in enumerate(presses or ()):
            placed = who.place_presses(given, self.tag_table_.index)
            if placed:
                values[row] = who.press(values[row], placed, steering.step)  # a' = a + step n
        # A user of whose history the remainder knows nothing is scored by the tags alone.
        n_viewed = 0 if self.remainder_ is None else self.remainder_.shape[0]
        has_viewed = np.diff(rows[:, :n_viewed].indptr) > 0
        return UserStates(
            rows,
            values,
            np.where(has_viewed, steering.tags_weight, 1.0),
            np.where(has_viewed, steering.viewed_weight * factors, 0.0),  # factors: c / s
        )

    def score_state(self, state: UserState) -> Array:
        """Return the score of every item for one user, in double precision."""
        scores = np.asarray(self.decoder_ @ state.values)  # sum_j a_j D_ij for every item i
        if self.remainder_ is None:
            return scores
        return np.asarray(
            state.tags_weight * scores + state.viewed_weight * self._viewed(state.seen)
        )

    def reasons(
        self, item_index: int, state: UserState, *, min_share: float = 0.0
    ) -> tuple[why.AnyReason, ...]:
        """Return the reasons for one item's score, those with less than `min_share` left out."""
        D = self.decoder_
        row = slice(D.indptr[item_index], D.indptr[item_index + 1])
        viewed = None
        if self.remainder_ is not None:
            parts = state.viewed_weight * viewed_parts(self.remainder_, state.seen, item_index)
            viewed = why.Viewed(parts, lambda n: self.item_table_.name(int(state.seen[n])))
        return why.all_reasons(
            state.values,
            D.indices[row],
            D.data[row],
            self.tags_,
            scale=state.tags_weight,
            viewed=viewed,
            min_share=min_share,
        )

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        return {
            **super().describe(),
            "tags": dict(Counter(tag.feature for tag in self.tags_)),
            "user_tags": dict(Counter(tag.feature for tag in self.user_tags_)),
            "roles": dict(self.rules_.roles),
        }

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        return super().pack() | self.tag_table_.pack()

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned; raise `ValueError` where it does not fit the items."""
        super().unpack(content)
        self._tag_table = TagTable.unpack(content)

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of the decoder of new items, given their tags."""
        return new

    def _rows(self, histories: Sequence[History]) -> sp.csr_array:
        items = self.item_table_
        return items.rows([items.positions(history) for history in histories])

    def _state(self, profile: Profile) -> UserState:
        seen = np.array(self.item_table_.positions(profile.history), dtype=np.int64)
        return UserState(profile.values, seen, profile.tags_weight, profile.viewed_weight)

    def _score(self, state: UserState) -> Scored:
        return Scored(self.score_state(state))

    def _viewed(self, seen: Array) -> Array:
        if self.remainder_ is None:
            return np.zeros(len(self.items_))
        return viewed_sum(self.remainder_, seen, len(self.items_))

    def _entries(
        self, places: Array, state: UserState, scored: Scored, negative: bool
    ) -> list[Recommendation]:
        return [
            Recommendation(
                item_id=self.items_[i],
                score=float(scored.scores[i]),
                match=scored.match(i),
                reasons=why.main_reasons(
                    self.reasons(i, state, min_share=why.MIN_SHARE), negative=negative
                ),
                title=self.title(i),
            )
            for i in places.tolist()
        ]

    def _explanation(self, i: int, state: UserState, scored: Scored) -> Explanation:
        reasons = self.reasons(i, state)
        return Explanation(
            item_id=self.items_[i],
            score=float(scored.scores[i]),
            match=scored.match(i),
            contributions=why.by_tag(reasons),
            reasons=reasons,
            title=self.title(i),
            viewed=why.by_item(reasons),
        )
