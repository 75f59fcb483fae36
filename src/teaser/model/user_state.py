"""Users as a model scores them: affinities, history, and the scores of all items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError
from teaser.profile import Steering

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class UserState:
    """One user.

    Attributes
    ----------
    values
        Affinities with tags, presses included (tags).
    seen
        The positions of the history's items.
    tags_weight, viewed_weight
        What the tags' part of a score is multiplied by, and what the sum over the history of the
        remainder is.
    """

    values: Array
    seen: Array
    tags_weight: float
    viewed_weight: float


@dataclass(frozen=True, eq=False)
class UserStates:
    """Several users, in the order of their histories.

    Attributes
    ----------
    rows
        Histories, users x items.
    values
        Affinities with tags, presses included (users x tags).
    tags_weight, viewed_weight
        As in `UserState`, one for each user.
    """

    rows: sp.csr_array
    values: Array
    tags_weight: Array
    viewed_weight: Array

    def __getitem__(self, user: int) -> UserState:
        return UserState(
            self.values[user],
            self.rows.indices[self.rows.indptr[user] : self.rows.indptr[user + 1]],
            float(self.tags_weight[user]),
            float(self.viewed_weight[user]),
        )

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
