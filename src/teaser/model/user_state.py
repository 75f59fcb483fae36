"""Users as a model scores them: affinities, history, scores of items and their parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.errors import ParameterError
from teaser.explain import PARTS, BoostName, Contributions
from teaser.model.extensions.remainder import RemainderMatrix, viewed_parts, viewed_sum
from teaser.model.tables import ItemTable, TagTable
from teaser.profile import Steering

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class UserState:
    """One user.

    Attributes
    ----------
    values
        Affinities with tags, presses included (tags).
    seen, strengths
        The positions of the history's items, and the strength of each, below 0 if disliked.
    tags_weight, viewed_weight
        What the tags' part of a score is multiplied by, and what the sum over the history of the
        remainder is.
    offset
        What is added to the score of every item: what centring took from all of them, in a model
        for which the sign of a score matters; 0 in others.
    """

    values: Array
    seen: Array
    strengths: Array
    tags_weight: float
    viewed_weight: float
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class UserStates:
    """Several users, in the order of their histories.

    Attributes
    ----------
    rows
        Histories with the strength of each item, users x items.
    values
        Affinities with tags, presses included (users x tags).
    tags_weight, viewed_weight, offset
        As in `UserState`, one for each user.
    """

    rows: sp.csr_array
    values: Array
    tags_weight: Array
    viewed_weight: Array
    offset: Array

    def __getitem__(self, user: int) -> UserState:
        span = slice(self.rows.indptr[user], self.rows.indptr[user + 1])
        return UserState(
            self.values[user],
            self.rows.indices[span],
            self.rows.data[span],
            float(self.tags_weight[user]),
            float(self.viewed_weight[user]),
            float(self.offset[user]),
        )

    def at(self, users: slice) -> "UserStates":
        """Return some of the users."""
        parts = (self.values, self.tags_weight, self.viewed_weight, self.offset)
        return UserStates(self.rows[users], *(part[users] for part in parts))

    def __iter__(self) -> Iterator[UserState]:
        return (self[user] for user in range(self.rows.shape[0]))


@dataclass(frozen=True, eq=False)
class Scored:
    """The score of every item for one user."""

    scores: Array

    @cached_property
    def highest(self) -> float:
        """The highest score of all items."""
        return float(self.scores.max())

    def match(self, item_index: int) -> float:
        """Return the item's score / the highest score, from 0 to 1."""
        score = float(self.scores[item_index])
        # Without a positive score nothing matches.
        return max(0.0, score) / self.highest if self.highest > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The scores of some items for several users, split into parts that sum to them.

    Attributes
    ----------
    parts
        Parts x users x items, in the order of `PARTS`: general appeal, declared tags, discovered
        tags, popularity, viewed items. Values that items do not state count as declared tags.
    listed
        Which of the items are there (users x items): false after the end of a short list.
    """

    parts: Array
    listed: Array

    def __getitem__(self, name: str) -> Array:
        """Return one part by its name (users x items)."""
        return np.asarray(self.parts[PARTS.index(name)])

    @property
    def scores(self) -> Array:
        """The sums of the parts (users x items)."""
        return np.asarray(self.parts.sum(axis=0))

    def shares(self) -> Array:
        """Return |part| / the sum of all |parts| (parts x users x items); 0 where all are 0."""
        size = np.abs(self.parts)
        total = size.sum(axis=0)
        shares: Array = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
        return shares

    def sum_shares(self) -> tuple[Array, int]:
        """Return the sum of the shares over all listed items (parts), and their number.

        Items whose parts are all zero do not count.
        """
        shares, counts = self.shares(), self.listed & (np.abs(self.parts).sum(axis=0) > 0)
        return np.asarray(shares[:, counts].sum(axis=1)), int(counts.sum())


def item_contributions(
    table: TagTable,
    R: RemainderMatrix,
    items: ItemTable,
    item_index: int,
    state: UserState,
    boosts: tuple[tuple[BoostName, float], ...] = (),
) -> Contributions:
    """Return the parts of one item's score for a user.

    Parameters
    ----------
    R
        The remainder, or None.
    boosts
        What each boost of the item adds.
    """
    D = table.decoder
    row = slice(D.indptr[item_index], D.indptr[item_index + 1])
    viewed = None
    if R is not None:
        # x_i R_ij for each item i of the history
        each = state.strengths * viewed_parts(R, state.seen, item_index)
        viewed = why.Viewed(
            state.viewed_weight * each,
            lambda n: items.name(int(state.seen[n])),
            state.strengths < 0,
        )
    return why.find_contributions(
        state.values,
        D.indices[row],
        D.data[row],
        table.tags,
        scale=state.tags_weight,
        general=table.general,
        offset=state.offset,
        viewed=viewed,
        together=table.together,
        boosts=boosts,
    )


def split_scores(
    table: TagTable, R: RemainderMatrix, states: UserStates, places: Array
) -> ScoreParts:
    """Return the parts of the scores of each user's items.

    Parameters
    ----------
    places
        Positions of items (users x items), -1 where there is none.
    """
    listed = places >= 0
    where = np.where(listed, places, 0)
    out = np.zeros((len(PARTS), *places.shape))
    n_items = table.decoder.shape[0]
    # One column for each part but that of viewed items: which tags belong to it (tags x parts).
    belongs = table.kinds[:, None] == np.arange(len(PARTS) - 1)
    for user, state in enumerate(states):
        own = where[user]
        tags = table.decoder[own] @ (state.tags_weight * state.values[:, None] * belongs)
        out[:-1, user] = tags.T
        out[PARTS.index("general"), user] += state.offset
        if R is not None:
            viewed = viewed_sum(R, state.seen, n_items, state.strengths)
            out[-1, user] = state.viewed_weight * viewed[own]
    out[:, ~listed] = 0.0
    return ScoreParts(out, listed)


def check_steered(presses: Any, steering: Any, n_users: int) -> None:
    """Raise `ParameterError` unless these are presses of several users, and a steering."""
    if not isinstance(steering, Steering):
        raise ParameterError(f"steering must be a Steering, found {steering!r}.")
    if presses is None:
        return
    if isinstance(presses, Mapping) or not isinstance(presses, Sequence):
        raise ParameterError("The presses of several users are a list, one mapping for each.")
    if len(presses) != n_users:
        raise ParameterError(f"There are {n_users} histories and {len(presses)} sets of presses.")
