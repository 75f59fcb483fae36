"""The contract of a model with tags: scores, profile, presses, reasons and origins."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser import profile as who
from teaser._version import __version__
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.interactions import with_disliked
from teaser.data.matrix import ItemId
from teaser.data.metadata import read_new_items
from teaser.data.rules import Rules
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.explain import Difference, Explanation, Parts, find_parts
from teaser.leaning import LeaningBase, find_spread
from teaser.model._arrays import kernels_for
from teaser.model.all_lists import ListOptions, list_columns
from teaser.model.base import Model
from teaser.model.companions import Companions, count_companions
from teaser.model.extensions.discovered import n_declared
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.extensions.user_features import (
    About,
    ManyAbout,
    UserRows,
    place_about,
    place_many_about,
)
from teaser.model.filters import (
    NO_FILTERS,
    Filters,
    ResolvedFilters,
    Unknown,
    known_history,
    resolve_filters,
)
from teaser.model.impact import (
    ListShares,
    mean_shares,
    measure_impacts,
    measured_users,
    score_sizes,
)
from teaser.model.prediction import (
    PREDICTED,
    blank_items,
    extend_remainder,
    item_terms,
    predict_rows,
)
from teaser.model.scores import (
    Scored,
    TagMoves,
    UserStates,
    check_steered,
    ordinary_lifts,
    score_parts,
    sum_rows,
    user_blocks,
)
from teaser.model.tables import (
    History,
    Packed,
    TagTable,
    decoder,
    liked_part,
    sample_users,
    some_of_each,
)
from teaser.parameters import check_k
from teaser.profile import DEFAULT_STEERING, N_LIKE, PressesLike, Profile, Steering
from teaser.recommend import Recommendation, RecommendationBatch, Recommendations, reason_column
from teaser.transparency import DataSources, Transparency

Array = NDArray[Any]
# A group with most of a history that is longer tells nothing of a user.
_FEW = 4
# The certainty of a profile is measured on these lengths, each on so many users at least.
_SHORT, _FEWEST = (2, 3, 5, 8), 20


class TaggedModel(Model, abstract=True):
    """A model whose scores are affinities with tags, summed over the tags of an item.

    The remainder adds its sum over the viewed items where the model has one. A subclass defines
    `encode`, `encode_parts` and `fit`, which calls `keep_items` and then `keep_basis`.

    Attributes
    ----------
    transparency_
        What decides in lists, measured at the fit; None where no history was at hand.
    companions_
        Which items people chose together, counted at the fit; None where that was not measured.
    """

    # Whether what centring takes from all scores of a user is added again: scores then keep their
    # sign.
    keeps_offset: ClassVar[bool] = False
    lists_in_threads = True
    lacks_options = ()

    transparency_: Transparency | None = None
    companions_: Companions | None = None

    _tag_table: TagTable | None = None
    _user_rows: UserRows | None = None
    _remainder: RemainderMatrix = None

    @abstractmethod
    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores p of histories (users x learned tags), in double precision."""

    @abstractmethod
    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c (items), or to several (items x c).

        Parameters
        ----------
        positions, strengths
            The items of the history and the strength of each.
        direction
            c (learned tags); the value of a tag is p.c for the tag's own c. Or several, as columns.
        """

    @property
    def tag_table_(self) -> TagTable:
        """The tags of the items."""
        if self._tag_table is None:
            raise self._not_fitted()
        return self._tag_table

    @property
    def tags_(self) -> tuple[Tag, ...]:
        """The tags, in the order of the decoder's columns; general appeal is the last.

        Those that the encoder has too come first: declared ones, discovered ones, popularity.
        """
        return self.tag_table_.tags

    @property
    def decoder_(self) -> sp.csr_array:
        """D, items x tags: the tags of each item, its popularity, and its general appeal."""
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
        """R, items x items: what viewing one item adds to the score of another, or None.

        Items that were added after the fit have columns and no rows.
        """
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

    def keep_items(
        self,
        dataset: Dataset,
        decoder: sp.csr_array | None = None,
        aliases: Mapping[Tag, Tag] | None = None,
        factors: Array | None = None,
    ) -> None:
        """Keep the items and tags of the data set that the model was fitted to.

        Parameters
        ----------
        decoder
            The decoder (items x tags) where its weights were learned.
        aliases
            Earlier names of tags, and the tag that now stands for each.
        factors
            What an item of a history counts (items), by which its own row of the decoder is
            divided; ones by default.
        """
        super().keep_items(dataset)
        table = TagTable.from_dataset(dataset, decoder, aliases)
        self._tag_table = table if factors is None else table.scaled(1.0 / factors)

    def keep_basis(self, dataset: Dataset, *, measure: bool = True) -> None:
        """Centre the tags and tell general appeal apart; see `teaser.model.tables`.

        Items that nobody chose are placed as new ones are; see `teaser.model.prediction`. What then
        decides in lists is measured on the same users; see `Transparency`.

        Parameters
        ----------
        dataset
            The one that the model was fitted to: general appeal is that of its average user.
        measure
            Whether to measure what decides in lists, and to count what is chosen together.
        """
        places, rows = sample_users(dataset.X)
        learned = None if self.user_rows_ is None else dataset.Q
        sample = self._encode_users(rows, None if learned is None else learned[places])
        self._tag_table = self.tag_table_.with_basis(self.mean_raw(dataset, sample), sample)
        self._place(np.flatnonzero(self.item_table_.is_new))
        self._tag_table = replace(self._tag_table, spread=self._measure_spread(rows))
        self.transparency_ = self._measure(dataset, places, rows) if measure else None
        self.companions_ = count_companions(dataset.X) if measure else None

    def mean_raw(self, dataset: Dataset, sample: Array) -> Array:
        """Return the mean raw tag scores of the training users (learned tags).

        Parameters
        ----------
        sample
            The raw tag scores of some of them, of which it is the mean unless a model can do
            better.
        """
        return np.asarray(sample.mean(axis=0) if len(sample) else np.zeros(sample.shape[1]))

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

    def leaning_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the leanings of users given as rows of histories (users x tags).

        They are those of `Profile.leanings`, and 0 for tags that have none.
        """
        states = self.user_states(self.check_histories(X), presses, steering=steering, about=about)
        out = np.zeros((states.rows.shape[0], len(self.tags_)))
        for some in user_blocks(len(out), len(self.item_table_)):
            out[some] = self._leanings(states.at(some))
        return out

    def personal_scores(self, states: UserStates) -> Array:
        """Return the personal part of the scores of several users (users x items).

        Tags and viewed items count, general appeal and boosts do not.
        """
        own = replace(
            states,
            values=self._leaning_base().without_general(states.values),
            offset=np.zeros(len(states.offset)),
        )
        return TaggedModel.score_states(self, own)

    def score_batch(
        self,
        X: Any,
        presses: Sequence[PressesLike | None] | None = None,
        *,
        about: ManyAbout | None = None,
        steering: Steering = DEFAULT_STEERING,
    ) -> Array:
        """Return the score of every item for users given as rows of histories (users x items)."""
        self.check_fitted()
        states = self.user_states(self.check_histories(X), presses, steering=steering, about=about)
        return self._score_block(states, NO_FILTERS)

    def score_states(self, states: UserStates) -> Array:
        """Return the score of every item for several users (users x items)."""
        scores = self.decode(states.values)
        if self.has_remainder:
            viewed = self.decode_viewed(states.rows)
            viewed *= states.viewed_weight[:, None]
            scores = np.ascontiguousarray(scores) * states.tags_weight[:, None]
            scores += viewed
        return np.asarray(scores + states.offset[:, None] if self.keeps_offset else scores)

    def list_shares(
        self,
        X: Any,
        lists: Array,
        *,
        shown: int = 20,
        about: sp.csr_array | None = None,
    ) -> ListShares:
        """Return the mean share of each feature and part in the scores of recommended items.

        Parameters
        ----------
        X
            Histories (users x items).
        lists
            Positions of the recommended items (users x k), -1 after the end of a list.
        shown
            How many items of each list count.
        about
            The user features (users x user tags), or None.
        """
        rows = self.check_histories(X)
        sizes = [np.zeros((0, len(self.tag_table_.features[0]) + 1))]
        for some in user_blocks(rows.shape[0], len(self.item_table_)):
            known = None if about is None else about[some]
            states = self.user_states(rows[some], about=known)
            user, place = np.nonzero(lists[some, :shown] >= 0)
            parts = self._parts(states, user, lists[some][user, place])
            sizes.append(score_sizes(self.tag_table_, parts))
        return mean_shares(self.tag_table_, np.concatenate(sizes))

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (users x items)."""
        D = self.decoder_
        fast = kernels_for(len(affinities) * D.nnz)
        if fast is None:
            return np.asarray((D @ affinities.T).T)  # a D', D being the sparse factor
        scores = np.empty((len(affinities), D.shape[0]))
        fast.dot_rows(D.indptr, D.indices, D.data, affinities, scores)
        return scores

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (users x items), unweighted."""
        if self.remainder_ is None:
            return np.zeros(rows.shape)
        added = sum_rows(self.remainder_, rows)
        # Items that were added after the fit get nothing.
        return np.pad(added, ((0, 0), (0, rows.shape[1] - added.shape[1])))

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
        known = None
        if about is not None:
            known = place_many_about(about, self.user_rows_, rows.shape[0])
        liked = liked_part(rows)
        raw = self._encode_users(rows, known)  # p of each user
        lengths, n_liked = np.diff(rows.indptr), np.diff(liked.indptr)
        if self.user_rows_ is not None and known is not None:
            more = np.diff(known.indptr) > 0  # one more item, for c but not for w
            lengths, n_liked = lengths + more, n_liked + more
        table = self.tag_table_
        values, factors = who.scaled(
            raw,
            self._values(raw, rows, liked, known),
            lengths,
            n_liked=n_liked,
            n_personal=table.n_personal,
            cold=len(table.tags) - 1,
            steering=steering,
            spread=table.spread,
        )
        # A user of whose history the remainder knows nothing is scored by the tags alone.
        n_viewed = 0 if self.remainder_ is None else self.remainder_.shape[0]
        has_viewed = np.diff(rows[:, :n_viewed].indptr) > 0
        weight = np.where(has_viewed, steering.tags_weight, 1.0)
        offset = np.zeros(len(values))
        if self.keeps_offset:
            offset = weight * factors * table.basis.offset(raw)
        states = UserStates(
            rows,
            values,
            weight,
            np.where(has_viewed, steering.viewed_weight * factors, 0.0),  # factors: c / s
            offset,
        )
        placed = [who.place_presses(given, table.index) for given in presses or ()]
        pressed = np.flatnonzero([bool(net) for net in placed])
        if len(pressed):
            found = self.press_moves(states.at(pressed), steering)
            for user, (_, moves) in zip(pressed.tolist(), found, strict=True):
                values[user] = who.press(values[user], placed[user], moves(list(placed[user])))
        return states

    def press_moves(
        self, states: UserStates, steering: Steering
    ) -> Iterator[tuple[float, who.FindMoves]]:
        """Yield the step of each of some users without presses, and what finds moves of tags."""
        table, fixed = self.tag_table_, steering.fixed_step
        if fixed is not None:
            yield from [(fixed, who.same_moves(fixed, len(table.tags)))] * len(states.values)
            return
        scores, rows = self.score_states(states), states.rows
        for user, lift in enumerate(ordinary_lifts(scores, rows).tolist()):
            seen = rows.indices[rows.indptr[user] : rows.indptr[user + 1]]
            moves = TagMoves(scores[user], seen, lift, table.weights_by_tag)
            yield lift / who.MAX_PRESSES, moves

    def pack(self) -> Packed:
        """Return what was learned beside the items, to be saved."""
        measured = None if self.transparency_ is None else self.transparency_.as_dict()
        packed = super().pack() | self.tag_table_.pack() | Packed({"transparency": measured})
        return packed if self.companions_ is None else packed | self.companions_.pack()

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned."""
        super().unpack(content)
        self._tag_table = TagTable.unpack(content)
        measured = content.settings["transparency"]
        self.transparency_ = None if measured is None else Transparency.from_dict(measured)
        self.companions_ = Companions.unpack(content)

    def place_filters(self, filters: Filters) -> ResolvedFilters:
        """Return which items filters allow and what they add, by the positions of items."""
        return resolve_filters(filters, self.recommend, self.item_table_, self.tag_table_)

    def _measure(self, dataset: Dataset, places: Array, rows: sp.csr_array) -> Transparency | None:
        """Return what decides in lists of users, given their positions and choices."""
        chosen = measured_users(np.diff(rows.indptr) > 0)
        users, rows = places[chosen], sp.csr_array(rows[chosen])
        if dataset.disliked is not None:
            rows = with_disliked(rows, dataset.disliked[users])
        about = None if self.user_rows_ is None or dataset.Q is None else dataset.Q[users]
        states = self.user_states(rows, about=about)
        impacts = measure_impacts(self, states)
        if impacts is None:
            return None
        sources = DataSources.of(dataset, uses_user_features=self.user_rows_ is not None)
        return Transparency(impacts, sources, __version__, datetime.now(UTC).date())

    def _measure_spread(self, rows: sp.csr_array) -> float | None:
        """Return how many items make a profile certain, by parts of the choices of users."""
        liked = liked_part(rows)
        able = np.flatnonzero(np.diff(liked.indptr) >= 2 * _SHORT[0])
        chosen = able[measured_users(np.ones(len(able), dtype=bool))]
        liked = sp.csr_array(liked[chosen])
        n_all, whole = np.diff(liked.indptr), self.leaning_batch(liked)
        shorts = []
        for h in _SHORT:
            long = np.flatnonzero(n_all >= 2 * h)
            if len(long) >= _FEWEST:
                part = self.leaning_batch(some_of_each(sp.csr_array(liked[long]), h))
                size = np.linalg.norm(part, axis=1) * np.linalg.norm(whole[long], axis=1)
                says = size > 0
                cosines = (part * whole[long]).sum(axis=1)[says] / size[says]
                shorts.append((h, n_all[long][says], cosines))
        return find_spread(shorts)

    def _encode_users(self, rows: sp.csr_array, known: sp.csr_array | None) -> Array:
        """Return p of users by their histories and user features (users x learned tags)."""
        raw = self.encode(rows)
        if self.user_rows_ is None or known is None:
            return raw
        # w N_f + (1 - w) E_f
        return np.asarray(raw + self.user_rows_.encode(known, np.diff(rows.indptr)))

    def _values(
        self, raw: Array, rows: sp.csr_array, liked: sp.csr_array, known: sp.csr_array | None
    ) -> Array:
        """Return p in the basis that is shown (users x tags).

        General appeal is that of liked items alone: who dislikes a popular item does not
        dislike what is popular.
        """
        table = self.tag_table_
        values, column = table.apply_basis(raw), table.general
        users = np.flatnonzero(np.diff(rows.indptr) > np.diff(liked.indptr))
        if len(users):
            own = self._encode_users(liked[users], None if known is None else known[users])
            values[users, column] = table.apply_basis(own)[:, column]
        return values

    def add_items(self, items: Any, *, predict: Collection[str] = PREDICTED) -> Self:
        """Make further items recommendable without fitting again.

        Parameters
        ----------
        items
            A table (file or frame) with the item id and columns that the rules read, or a
            mapping from item id to its tags. What a missing column would say is not stated. The
            tags predict how popular such items will be and which groups they belong to; an item
            without a known tag is placed by general appeal. New items add nothing to the profile
            of a user who views them until the model is fitted again.
        predict
            What their tags and words predict: `"groups"`, `"popularity"`, and `"neighbours"`,
            the viewed items that they are close to. Nothing leaves declared tags alone.
        """
        for each in predict:
            if each not in PREDICTED:
                raise ParameterError(
                    f"predict must be some of {', '.join(PREDICTED)}, found {each!r}."
                )
        known = self.item_table_
        *tags, counted = self.tag_table_.learned_tags
        new = read_new_items(
            items, known.metadata, known.ids, tuple(tags), self.rules_, counted=(counted,)
        )
        rows = self._weigh(decoder(new.S, np.zeros(len(new.ids))))
        self._tag_table = self.tag_table_.extended(rows)
        self._item_table = known.extended(new.ids, new.table)
        self._place(np.arange(len(known), len(self._item_table)), predict)
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
        given = None if about is None else [about]
        states = self.user_states(rows, steering=steering, about=given)
        values = states.values[0]
        known = [] if about is None else place_about(about, self.user_rows_)
        step, moves = next(self.press_moves(states, steering))
        learned = Profile(
            tags=self.tags_,
            values=values,
            certainty=steering.certainty_of(len(viewed) + bool(known), self.tag_table_.spread),
            impacts=self.tag_table_.impacts(values),
            history=tuple(self.items_[i] for i in viewed),
            presses={},
            step=step,
            find_moves=moves,
            tags_weight=float(states.tags_weight[0]),
            viewed_weight=float(states.viewed_weight[0]),
            about=tuple(self.user_tags_[i] for i in known),
            strengths=() if set(viewed.values()) <= {1.0} else tuple(viewed.values()),
            near_equal_group=self.tag_table_.near_equal_group,
            nested=self.tag_table_.nested,
            index=self.tag_table_.index,
            places=tuple(viewed),
            titles=tuple(self.title(i) or str(self.items_[i]) for i in viewed),
            base=self._leaning_base(),
        )
        return learned if presses is None else self.pressed(learned, presses)

    def pressed(self, learned: Profile, presses: PressesLike) -> Profile:
        """Return a profile without presses, moved by presses: what `profile` returns with them.

        Parameters
        ----------
        learned
            A profile of this model without presses.
        presses
            As in `profile`.
        """
        net = who.place_presses(presses, self.tag_table_.index)
        values = who.press(learned.values, net, learned.moves_of(list(net)))
        return replace(
            learned,
            values=values,
            impacts=self.tag_table_.impacts(values),
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
            seen = state.rows.indices if exclude_history else ()
            best = self.rank_items(scored.scores, k=k, seen=seen, allowed=placed.allowed)
            lists.append(self._entries(best, state, scored, negative_reasons, placed))
        return lists

    def list_block(
        self,
        rows: sp.csr_array,
        about: sp.csr_array | None,
        options: ListOptions,
        placed: ResolvedFilters,
    ) -> tuple[Array, dict[str, pl.Series]]:
        """Return the lists of several users; see `Model.list_block`."""
        states = self.user_states(rows, about=about, steering=options.steering)

        def told(user: Array, item: Array) -> dict[str, Any]:
            parts = self._parts(states, user, item, placed)
            chosen = self._choose(parts, states, user, options.negative_reasons)
            row = parts.row[parts.head[chosen]]
            told = np.bincount(row, parts.contribution[chosen], len(item))
            pairs = zip(row.tolist(), parts.reasons(chosen), strict=True)
            ids = self.item_table_.metadata.to_series(0).dtype
            numbers = (parts.general, parts.boost, parts.sums(parts.added) - told)
            return {
                **dict(zip(("general", "boost", "other"), numbers, strict=True)),
                "reasons": reason_column(pairs, len(item), ids),
            }

        scores = self._score_block(states, placed)
        return list_columns(self.item_table_, rows, scores, options, placed, told)

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
        i = self.items_.index_of(item_id)
        filters: Filters = {"boost": boost, "unknown": unknown}
        state, scored, placed = self._scored(history, presses, about, steering, filters)
        parts = self._parts(state, np.array([0]), np.array([i]), placed)
        return Explanation(
            item_id=self.items_[i],
            score=float(scored.scores[i]),
            match=scored.match(i),
            tags=parts.by_tag(),
            reasons=tuple(parts.reasons()),
            title=self.title(i),
            viewed=parts.by_item(),
            general=float(parts.general[0]),
            boost=float(parts.boost[0]),
            cover=self._cover(i, scored),
        )

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
            raise ParameterError(
                "Both items are {item_id!r}. Name two different ones.",
                problem="same item",
                item_id=item_id,
            )
        filters: Filters = {"boost": boost, "unknown": unknown}
        state, scored, placed = self._scored(history, presses, about, steering, filters)
        parts = self._parts(state, np.array([0, 0]), np.array([i, other]), placed)
        return Difference(
            item_id=self.items_[i],
            other_id=self.items_[other],
            score=float(scored.scores[i]),
            other_score=float(scored.scores[other]),
            parts=find_parts(parts),
            title=self.title(i),
            other_title=self.title(other),
            cover=self._cover(i, scored),
            other_cover=self._cover(other, scored),
        )

    def _scored(
        self,
        history: History,
        presses: PressesLike | None,
        about: About | None,
        steering: Steering,
        filters: Filters,
    ) -> tuple[UserStates, Scored, ResolvedFilters]:
        """Return one user, the scores of all items, and the filters as they were resolved."""
        placed = self.place_filters(filters)
        rows = self.item_table_.rows([known_history(self.item_table_, history, placed)[0]])
        state = self.user_states(rows, [presses], steering=steering, about=[about])
        return state, self._score(state, placed), placed

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

    def viewed_parts(self, learned: Profile, places: Array) -> Array:
        """Return what each item of a history adds to the scores of some items (items x history).

        It adds by the affinities that come from it, and as a neighbour; general appeal does not
        count. Together with what is known of the user the parts sum to the personal part of the
        score without presses.

        Parameters
        ----------
        learned
            A profile without presses.
        places
            The positions of the scored items.
        """
        table, strengths = self.tag_table_, np.ones(len(learned.places))
        if learned.strengths:
            strengths = np.array(learned.strengths)
        if not len(places) or not len(strengths):
            return np.zeros((len(places), len(strengths)))
        seen, weights = np.array(learned.places, dtype=np.int64), self.decoder_[places].toarray()
        if table.general is not None:
            weights[:, table.general] = 0.0
        directions = np.column_stack([table.basis.direction(each) for each in weights])
        added = self.encode_parts(seen, strengths, directions).T
        # Affinities are a multiple of the raw scores, which any of them tells.
        personal, factor = np.abs(learned.values[: table.n_personal]), 0.0
        if len(personal):
            largest = int(personal.argmax())
            history = dict(zip(learned.history, strengths.tolist(), strict=True))
            raw = sum(self.origins(self.tags_[largest], history, learned.about or None).values())
            factor = learned.values[largest] / raw if raw else 0.0
        added *= learned.tags_weight * factor
        if self.remainder_ is not None:
            known = seen < self.remainder_.shape[0]
            rows = self.remainder_[seen[known]][:, places[places < self.remainder_.shape[1]]]
            added[np.ix_(places < self.remainder_.shape[1], known)] += learned.viewed_weight * (
                np.asarray(rows.todense() if sp.issparse(rows) else rows).T * strengths[known]
            )
        return added

    def scores(self, profile: Profile) -> Array:
        """Return the score of every item for a profile, in double precision.

        The tags' part is `tags_weight * (decoder_ @ values)`; where there is a remainder, its rows
        of the history are added, times `viewed_weight`.
        """
        return np.asarray(self.score_states(self._state(profile))[0])

    def viewed_scores(self, profile: Profile) -> Array:
        """Return the part of `scores` that comes from viewed items: zero without a remainder."""
        return np.asarray(profile.viewed_weight * self.decode_viewed(self._state(profile).rows)[0])

    def entries(
        self,
        places: Array,
        profile: Profile,
        scores: Array,
        *,
        negative_reasons: bool = True,
        placed: ResolvedFilters = NO_FILTERS,
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

    def _parts(
        self, states: UserStates, user: Array, item: Array, placed: ResolvedFilters = NO_FILTERS
    ) -> Parts:
        """Return the parts of the scores of some items, each for a user, given the positions."""
        table, R, items = self.tag_table_, self.remainder_, self.item_table_
        return score_parts(table, R, items, states, user, item, placed.boosts)

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

    @property
    def _text_columns(self) -> tuple[str, ...]:
        """The text columns whose words tell items apart."""
        return ()

    def _place(self, new: Array, predict: Collection[str] = PREDICTED) -> None:
        """Place items that nobody chose by what their tags and words predict.

        Parameters
        ----------
        new
            Their positions. Their rows of the decoder have their tags.
        predict
            As in `add_items`.
        """
        table, items = self.tag_table_, self.item_table_
        chosen = np.flatnonzero(~items.is_new)
        if not len(new) or not len(chosen):
            return
        D, first = table.plain_decoder, n_declared(table.learned_tags[:-1])
        terms = item_terms(D[:, :first], items.metadata, self._text_columns)
        rows = predict_rows(D, first, terms, chosen, new, predict)
        self._tag_table = table.with_rows(new, rows, blank_items(terms, new), chosen)
        if self.remainder_ is not None and "neighbours" in predict:
            self._remainder = extend_remainder(self.remainder_, terms, chosen, new)

    def _leaning_base(self) -> LeaningBase:
        table = self.tag_table_
        return LeaningBase(
            table.decoder,
            table.carriers,
            table.group_carriers,
            self.item_table_.popularity,
            table.general,
            self.remainder_,
        )

    def _leanings(self, states: UserStates) -> Array:
        """Return the leanings of some users (users x tags)."""
        scores = np.ascontiguousarray(self.personal_scores(states).T)
        return self.tag_table_.carriers.means(scores).T

    def _choose(self, parts: Parts, states: UserStates, user: Array, negative: bool) -> Array:
        """Return the main reasons of some items, each for a user; see `Parts.main`.

        Groups that are named by items with most of the history would tell nothing.
        """
        table, leanings = self.tag_table_, self._leanings(states)
        liked = liked_part(states.rows)
        named = table.named_by_titles
        group = table.near_equal_group[named]
        own = (table.group_carriers.items[group] @ liked.T).T  # how many liked items carry each
        most = np.maximum(np.diff(liked.indptr), _FEW)
        leanings[:, named] *= 2 * own.toarray() <= most[:, None]
        tags = slice(len(parts.weight))
        leaning = leanings[user[parts.row[tags]], parts.place[tags]]
        return parts.main(leaning, negative=negative)

    def _state(self, profile: Profile) -> UserStates:
        strengths = profile.strengths or (1.0,) * len(profile.history)
        viewed = zip(self.item_table_.positions(profile.history), strengths, strict=True)
        factors = (np.array([x]) for x in (profile.tags_weight, profile.viewed_weight, 0.0))
        return UserStates(self.item_table_.rows([dict(viewed)]), profile.values[None], *factors)

    def _score_block(self, states: UserStates, placed: ResolvedFilters) -> Array:
        """Return the score of every item for several users, boosts included."""
        return placed.boosted(self.score_states(states))

    def _score(self, state: UserStates, placed: ResolvedFilters) -> Scored:
        return Scored(self._score_block(state, placed)[0])

    def _cover(self, item_index: int, scored: Scored) -> why.Cover | None:
        """Return which part of a score the reasons cover; None for all of it."""
        return None

    def _entries(
        self,
        places: Array,
        state: UserStates,
        scored: Scored,
        negative: bool,
        placed: ResolvedFilters,
    ) -> Recommendations:
        """Return some items for one user."""
        if not len(places):
            return Recommendations()
        liked = liked_part(state.rows).indices
        own = self.tag_table_.named_carriers.count_in(liked)
        user = np.zeros(len(places), dtype=np.int64)
        parts = self._parts(state, user, places, placed)
        chosen = self._choose(parts, state, user, negative)
        told: list[list[why.AnyReason]] = [[] for _ in places]
        nearest = liked[np.argsort(-self._likeness(liked, places), kind="stable")]
        rows = parts.row[parts.head[chosen]].tolist()
        for row, reason in zip(rows, parts.reasons(chosen), strict=True):
            told[row].append(self._with_evidence(reason, int(places[row]), own, nearest[row]))
        numbers = (parts.general, parts.boost, parts.sums(parts.added), parts.total)
        columns = (places.tolist(), told, *(each.tolist() for each in numbers))
        entries = Recommendations()
        for i, reasons, general, boost, personal, total in zip(*columns, strict=True):
            other = personal - sum(reason.contribution for reason in reasons)
            entries.append(
                Recommendation(
                    item_id=self.items_[i],
                    score=float(scored.scores[i]),
                    match=scored.match(i),
                    reasons=tuple(reasons),
                    title=self.title(i),
                    general=general,
                    general_share=general / (total or 1.0),
                    boost=boost,
                    other=other,
                    other_share=other / (total or 1.0),
                    cover=self._cover(i, scored),
                )
            )
        return entries

    def _likeness(self, liked: Array, listed: Array) -> Array:
        """Return how alike listed and liked items are by the tags that they share; rare ones more.

        Parameters
        ----------
        liked, listed
            Their positions.
        """
        rows = self.decoder_[liked]
        rows.data = rows.data * self.tag_table_.rarity[rows.indices]
        return np.asarray((self.decoder_[listed] @ rows.T).todense())

    def _with_evidence(
        self, reason: why.AnyReason, place: int, own: Array, liked: Array
    ) -> why.AnyReason:
        """Return a reason with what it can be checked by.

        That is how many liked items carry its tags, with titles for a group, or how often people
        who chose a viewed item chose the listed one.

        Parameters
        ----------
        place
            The position of the listed item.
        own
            How many of the liked items carry each group of near-equal tags.
        liked
            Their positions, those that are most like the listed item first.
        """
        if isinstance(reason, why.ViewedReason) and self.companions_ and reason.contribution > 0:
            viewed = self.items_.index_of(reason.item_id)
            return replace(reason, together=self.companions_.of(viewed, place))
        if not isinstance(reason, why.Reason) or not len(liked):
            return reason
        table = self.tag_table_
        group = int(table.near_equal_group[table.index[reason.tag]])
        if group < 0:
            return reason
        like: tuple[str, ...] = ()
        if reason.tag.is_titles and own[group]:
            items = table.group_carriers.items
            carries = np.zeros(items.shape[1], dtype=np.bool_)
            carries[items.indices[items.indptr[group] : items.indptr[group + 1]]] = True
            shared = liked[carries[liked]]
            like = tuple(self.title(i) or str(self.items_[i]) for i in shared[:N_LIKE].tolist())
        return replace(reason, own=int(own[group]), of=len(liked), like=like)
