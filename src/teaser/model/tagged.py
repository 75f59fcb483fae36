"""The contract of a model with tags: profile, presses, reasons and origins."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, Unpack

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser import profile as who
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.difference import Difference, find_parts
from teaser.errors import SameItemError
from teaser.explain import Contributions, Explanation
from teaser.model.checks import check_k
from teaser.model.extensions.user_features import About, ManyAbout, place_about
from teaser.model.item_table import History
from teaser.model.lists.all_lists import ListOptions, list_columns, rank_block
from teaser.model.lists.best_items import Best
from teaser.model.lists.reason_table import ReasonTable
from teaser.model.lists.selection import NOTHING_ASKED, Filters, Placed, Unknown, known_history
from teaser.model.new_items import read_new_items
from teaser.model.tag_scores import TagScores
from teaser.model.tag_table import decoder
from teaser.model.user_state import Scored, UserState, UserStates, item_contributions
from teaser.profile import DEFAULT_STEERING, PressesLike, Profile, Steering
from teaser.reason import MIN_SHARE, main_reasons
from teaser.recommendation import Recommendation, RecommendationBatch, Recommendations

Array = NDArray[Any]


class TaggedModel(TagScores, abstract=True):
    """A model whose scores are affinities with tags, summed over the tags of an item.

    A subclass defines `fit`, which calls `keep_items` and, once it can encode, `keep_basis`; and
    `encode` with `encode_parts`.
    """

    lacks_options = ()

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
        new = read_new_items(items, known, self.tag_table_.learned_tags, self.rules_)
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
            Item ids; one that occurs twice counts once. A mapping gives the strength of each. A
            disliked item has one below 0: it counts against its tags, says nothing of general
            appeal, and counts for the certainty. An item of strength 0 is not in the history.
        presses
            Net presses by `Tag` or `"feature=value"`, whole numbers from -5 to 5. A name without
            `=` is that of a feature with one tag, such as `"general appeal"`, or the value of one.
        about
            What is known of the user, as `Tag` or `"feature=value"` of `user_tags_`. It counts
            as one more item of the history for the certainty.
        steering
            How raw scores become affinities and presses move them.
        """
        viewed = self.item_table_.strengths(history)
        rows = self.item_table_.rows([viewed])
        state = self.user_states(rows, [presses], steering=steering, about=[about])[0]
        known = place_about(about, self.user_rows_)
        net = who.place_presses(presses, self.tag_table_.index)
        return Profile(
            tags=self.tags_,
            values=state.values,
            certainty=steering.certainty(len(viewed) + bool(known)),
            impacts=why.sum_impacts(state.values, self.tag_table_.mass, *self.tag_table_.features),
            history=tuple(self.items_[i] for i in viewed),
            presses={self.tags_[place]: steps for place, steps in net.items()},
            tags_weight=state.tags_weight,
            viewed_weight=state.viewed_weight,
            about=tuple(self.user_tags_[i] for i in known),
            strengths=() if set(viewed.values()) <= {1.0} else tuple(viewed.values()),
            together=self.tag_table_.together,
            nested=self.tag_table_.nested,
            index=self.tag_table_.index,
        )

    def pressed(self, learned: Profile, presses: PressesLike, step: float) -> Profile:
        """Return a profile without presses, moved by presses: what `profile` returns with them.

        Parameters
        ----------
        learned
            A profile of this model without presses.
        presses
            As in `profile`.
        step
            How far one press moves an affinity.
        """
        net = who.place_presses(presses, self.tag_table_.index)
        values = who.press(learned.values, net, step)
        return replace(
            learned,
            values=values,
            impacts=why.sum_impacts(values, self.tag_table_.mass, *self.tag_table_.features),
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
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
        **filters: Unpack[Filters],
    ) -> Recommendations:
        """Return the k best items for a user, best first, each with its reasons.

        Parameters
        ----------
        history, presses, about, steering
            See `profile`.
        k, exclude_history, filters
            See `Model.recommend`.
        negative_reasons
            Whether reasons against an item are among those given.
        """
        batch = self.recommend_batch(
            [history],
            [presses],
            k=k,
            exclude_history=exclude_history,
            negative_reasons=negative_reasons,
            about=[about],
            steering=steering,
            **filters,
        )
        return batch.only()

    def recommend_batch(
        self,
        histories: Sequence[History],
        presses: Sequence[PressesLike | None] | None = None,
        *,
        k: int = 20,
        exclude_history: bool = True,
        negative_reasons: bool = True,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
        **filters: Unpack[Filters],
    ) -> RecommendationBatch:
        """Return the list of each of several users, equal to what `recommend` returns for one."""
        k = check_k(k)
        self.check_fitted()
        placed = self.place_filters(filters)
        known = [known_history(self.item_table_, history, placed) for history in histories]
        rows = self.item_table_.rows([viewed for viewed, _ in known])
        lists = RecommendationBatch()
        lists.ignored = placed.ignored + sum(n for _, n in known)
        for state in self.user_states(rows, presses, steering=steering, about=about):
            scored = self._score(state, placed)
            seen = state.seen if exclude_history else ()
            best = self.rank_items(scored.scores, k=k, seen=seen, allowed=placed.allowed)
            lists.append(self._entries(best, state, scored, negative_reasons, placed))
        return lists

    def list_block(
        self, rows: sp.csr_array, about: sp.csr_array | None, options: ListOptions, placed: Placed
    ) -> tuple[Array, dict[str, pl.Series]]:
        """Return the lists of several users; see `Model.list_block`."""
        best, states = self._best(rows, about, options, placed)
        user, columns = list_columns(self.item_table_, best)
        if options.reasons:
            table = ReasonTable(
                self.item_table_,
                self.tag_table_,
                self.remainder_,
                placed.boosts,
                options.negative_reasons,
            )
            columns |= table.columns(states, best.places, columns["score"].to_numpy())
        return user, columns

    def explain(
        self,
        item_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
        boost: Mapping[Any, float] | None = None,
        unknown: Unknown = "raise",
    ) -> Explanation:
        """Return the whole score of one item for a user, tag by tag and view by view.

        Parameters
        ----------
        history, presses, about, steering
            See `profile`.
        boost, unknown
            See `Filters`.
        """
        self.check_fitted()
        i, placed = (
            self.items_.index_of(item_id),
            self.place_filters({"boost": boost, "unknown": unknown}),
        )
        rows = self.item_table_.rows([known_history(self.item_table_, history, placed)[0]])
        state = self.user_states(rows, [presses], steering=steering, about=[about])[0]
        return self._explanation(i, state, self._score(state, placed), placed)

    def compare(
        self,
        item_id: ItemId,
        other_id: ItemId,
        history: History,
        presses: PressesLike | None = None,
        *,
        about: About | None = None,
        steering: Steering = DEFAULT_STEERING,
        boost: Mapping[Any, float] | None = None,
        unknown: Unknown = "raise",
    ) -> Difference:
        """Return why one item stands above another for a user: the difference of their scores.

        Parameters
        ----------
        item_id, other_id
            Two different items. The difference is the score of the first less that of the other.
        history, presses, about, steering, boost, unknown
            See `explain`.
        """
        self.check_fitted()
        i, other = self.items_.index_of(item_id), self.items_.index_of(other_id)
        if i == other:
            raise SameItemError(item_id)
        placed = self.place_filters({"boost": boost, "unknown": unknown})
        rows = self.item_table_.rows([known_history(self.item_table_, history, placed)[0]])
        state = self.user_states(rows, [presses], steering=steering, about=[about])[0]
        return self._difference((i, other), state, self._score(state, placed), placed)

    def origins(
        self, tag: Tag | str, history: History, about: About | None = None
    ) -> dict[Any, float]:
        """Return where an affinity comes from: what each item of the history adds to it, unscaled.

        What is known of the user follows, each with its `Tag` as the key. The parts sum to the
        value of the tag before scaling, of which the affinity without presses is a multiple.
        """
        column = resolve_tag(tag, self.tag_table_.index)
        direction = self.tag_table_.direction(column)
        viewed = self.item_table_.strengths(history)
        if column == self.tag_table_.general:
            viewed = {place: x for place, x in viewed.items() if x > 0}  # as in `user_states`
        positions = np.array(list(viewed), dtype=np.int64)
        added = self.encode_parts(positions, np.array(list(viewed.values())), direction).tolist()
        parts: dict[Any, float] = dict(zip((self.items_[i] for i in viewed), added, strict=True))
        known = place_about(about, self.user_rows_)
        if self.user_rows_ is not None:
            parts |= self.user_rows_.origins(known, direction, len(viewed))
        return parts

    def scores(self, profile: Profile) -> Array:
        """Return the score of every item for a profile, in double precision.

        The tags' part is `tags_weight * (decoder_ @ values)`; where there is a remainder, its rows
        of the history are added, times `viewed_weight`.
        """
        return self.score_state(self._state(profile))

    def viewed_scores(self, profile: Profile) -> Array:
        """Return the part of `scores` that comes from viewed items: zero without a remainder."""
        return np.asarray(profile.viewed_weight * self._viewed(self._state(profile)))

    def entries(
        self,
        places: Array,
        profile: Profile,
        scores: Array,
        *,
        negative_reasons: bool = True,
        placed: Placed = NOTHING_ASKED,
    ) -> Recommendations:
        """Return items as `recommend` does, with match and reasons.

        Parameters
        ----------
        places
            The positions of the items, in the order wanted.
        profile, scores
            Of one user, the scores those of every item, boosts included.
        placed
            The filters that the list was made with, for the boosts.
        """
        scored = Scored(scores)
        return self._entries(places, self._state(profile), scored, negative_reasons, placed)

    def contributions(
        self, item_index: int, state: UserState, placed: Placed = NOTHING_ASKED
    ) -> Contributions:
        """Return the parts of one item's score for a user."""
        return item_contributions(
            self.tag_table_,
            self.remainder_,
            self.item_table_,
            item_index,
            state,
            placed.boosts_of(item_index),
        )

    def describe(self) -> dict[str, Any]:
        """Return what the model holds as plain values, for programs."""
        return {
            **super().describe(),
            "tags": dict(Counter(tag.feature for tag in self.tag_table_.learned_tags)),
            "user_tags": dict(Counter(tag.feature for tag in self.user_tags_)),
            "roles": dict(self.rules_.roles),
        }

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of the decoder of new items, given their tags."""
        return new

    def _state(self, profile: Profile) -> UserState:
        seen = np.array(self.item_table_.positions(profile.history), dtype=np.int64)
        strengths = np.array(profile.strengths) if profile.strengths else np.ones(len(seen))
        return UserState(
            profile.values, seen, strengths, profile.tags_weight, profile.viewed_weight
        )

    def _best(
        self, rows: sp.csr_array, about: sp.csr_array | None, options: ListOptions, placed: Placed
    ) -> tuple[Best, UserStates | None]:
        """Return the best items of several users, and these; None without reasons where not known.

        The parameters are those of `list_block`.
        """
        states = self.user_states(rows, about=about, steering=options.steering)
        scores = self._score_block(states, placed)
        return rank_block(self.item_table_, rows, scores, options, placed), states

    def _score_block(self, states: UserStates, placed: Placed) -> Array:
        """Return the score of every item for several users, boosts included."""
        return placed.boosted(self.score_states(states))

    def _score(self, state: UserState, placed: Placed) -> Scored:
        return Scored(placed.boosted(self.score_state(state)))

    def _entries(
        self, places: Array, state: UserState, scored: Scored, negative: bool, placed: Placed
    ) -> Recommendations:
        entries = Recommendations()
        for i in places.tolist():
            parts = self.contributions(i, state, placed)
            reasons = main_reasons(parts.reasons(min_share=MIN_SHARE), negative=negative)
            entries.append(
                Recommendation(
                    item_id=self.items_[i],
                    score=float(scored.scores[i]),
                    match=scored.match(i),
                    reasons=reasons,
                    title=self.title(i),
                    general=parts.general,
                    general_share=parts.general_share,
                    boost=parts.boost,
                )
            )
        return entries

    def _explanation(self, i: int, state: UserState, scored: Scored, placed: Placed) -> Explanation:
        parts = self.contributions(i, state, placed)
        return Explanation(
            item_id=self.items_[i],
            score=float(scored.scores[i]),
            match=scored.match(i),
            tags=parts.by_tag(),
            reasons=parts.reasons(),
            title=self.title(i),
            viewed=parts.by_item(),
            general=parts.general,
            boost=parts.boost,
        )

    def _difference(
        self, pair: tuple[int, int], state: UserState, scored: Scored, placed: Placed
    ) -> Difference:
        i, other = pair
        parts = (self.contributions(place, state, placed) for place in pair)
        return Difference(
            item_id=self.items_[i],
            other_id=self.items_[other],
            score=float(scored.scores[i]),
            other_score=float(scored.scores[other]),
            parts=find_parts(*parts),
            title=self.title(i),
            other_title=self.title(other),
        )
