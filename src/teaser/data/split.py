"""What is learned from and what is held out; strong generalisation: disjoint users."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.disliked import with_disliked
from teaser.data.ids import Ids
from teaser.data.sparse_matrix import fixed, value_matrix
from teaser.errors import DataError, ParameterError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Fold:
    """Users whose choices are partly shown to a model and partly held out.

    Attributes
    ----------
    history
        What a model is shown (users x items): the strengths of the interactions, 1 where the
        data set has none, and those of disliked items, below 0; a row may be empty.
    held_out
        What it should find (users x items), binary; disjoint from the history, at least one
        item for every user.
    users
        The owner's ids of the users, in the order of the rows.
    user_features
        The features of the users (users x user tags), binary, or None.
    """

    history: sp.csr_array = field(repr=False)
    held_out: sp.csr_array = field(repr=False)
    users: Ids
    user_features: sp.csr_array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", _strengths(self.history))
        object.__setattr__(self, "held_out", _binary(self.held_out, "held_out"))
        if self.history.shape != self.held_out.shape or len(self.users) != self.n_users:
            raise DataError(
                f"The parts of a fold must have equal shapes: the history is "
                f"{_shape(self.history)}, the held-out part {_shape(self.held_out)}, and there are "
                f"{len(self.users):,} users."
            )
        if self.user_features is not None:
            object.__setattr__(self, "user_features", _binary(self.user_features, "user_features"))
            if self.user_features.shape[0] != self.n_users:
                raise DataError(
                    f"A fold of {self.n_users:,} users needs as many rows of user features, found "
                    f"{self.user_features.shape[0]:,}."
                )
        both = int(self.history.multiply(self.held_out).nnz)
        none = int((np.diff(self.held_out.indptr) == 0).sum())
        if both or none:
            raise DataError(
                "Every user of a fold needs held-out items, and they must not be in the history: "
                f"{both:,} are in both, and {none:,} of {self.n_users:,} users have none."
            )

    @property
    def n_users(self) -> int:
        """The number of users."""
        return int(self.history.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.history.shape[1])

    def shortened(self, most: int, *, rng: int | np.random.Generator) -> "Fold":
        """Return the fold with at most `most` items in each history, drawn at random.

        Items taken out of a history are held out instead. With 0, no user has a history and all
        choices are held out. Disliked items are neither drawn nor held out: they stay.
        """
        generator = as_generator(rng)
        if not is_whole(most) or most < 0:
            raise ParameterError(f"most must be a whole number of at least 0, found {most!r}.")
        disliked = self.history.minimum(0)
        liked = _sorted(self.history - disliked)
        kept, moved = _drawn(liked, np.full(self.n_users, most), generator)
        held_out = sp.csr_array(self.held_out + chosen(moved))
        return replace(self, history=sp.csr_array(kept + disliked), held_out=held_out)


@dataclass(frozen=True, eq=False)
class Split:
    """What to learn from, and what is held out to choose hyper-parameters and to test.

    Attributes
    ----------
    training
        What tested models learn from. Items and tags are those of the whole data set; popularity
        counts these interactions only. No held-out interaction of the test is among them.
    validation
        The users to choose hyper-parameters with.
    test
        The users to report on, once.
    earlier
        What models learn from while hyper-parameters are chosen, where that is less than
        `training`: in a split by time, what lies before the validation. None if it is `training`.
    notes
        Sentences on how users were treated, for reports.
    """

    training: Dataset
    validation: Fold
    test: Fold
    earlier: Dataset | None = None
    notes: tuple[str, ...] = ()

    @property
    def search_training(self) -> Dataset:
        """What models learn from while hyper-parameters are chosen."""
        return self.training if self.earlier is None else self.earlier


def split(
    dataset: Dataset,
    *,
    n_validation: int | float,
    n_test: int | float,
    min_interactions: int = 5,
    held_out: float = 0.2,
    rng: int | np.random.Generator,
) -> Split:
    """Split a data set by users, and the choices of evaluated users into history and held-out.

    Users and their held-out choices are drawn at random, as in the paper; the time of an
    interaction is not used. Of n choices, floor(`held_out` x n) are held out, but at least one
    and at most n - 1.

    The test users and their held-out choices do not depend on `n_validation`.

    Parameters
    ----------
    n_validation, n_test
        The number of users to validate and test on: an integer, or a fraction of those with
        enough interactions. 0 leaves the fold empty.
    min_interactions
        Interactions that an evaluated user needs; users with fewer are in training. At least 2.
    held_out
        The share of a user's choices that is held out.
    rng
        Seed or generator of every draw.
    """
    generator = as_generator(rng)
    if not 0 < held_out < 1:
        raise ParameterError(f"held_out must be between 0 and 1, found {held_out!r}.")
    if not is_whole(min_interactions) or min_interactions < 2:
        raise ParameterError(
            f"min_interactions must be a whole number of at least 2, found {min_interactions!r}: "
            "one choice is shown and one held out."
        )
    able = np.flatnonzero(np.diff(dataset.X.indptr) >= min_interactions)
    tested = user_count("n_test", n_test, len(able))
    validated = user_count("n_validation", n_validation, len(able))
    _check_enough(dataset.n_users, len(able), validated, tested, min_interactions)
    drawn = generator.permutation(able)
    test = np.sort(drawn[:tested])
    validation = np.sort(drawn[tested : tested + validated])
    rest = np.setdiff1d(np.arange(dataset.n_users), drawn[: tested + validated])
    test_fold = _fold(dataset, test, held_out, generator)
    return Split(
        training=dataset.at(rest),
        validation=_fold(dataset, validation, held_out, generator),
        test=test_fold,
    )


def as_generator(rng: Any) -> np.random.Generator:
    """Return the generator of a seed, or the one given; None is refused."""
    if isinstance(rng, np.random.Generator) or (is_whole(rng) and rng >= 0):
        return np.random.default_rng(rng)
    raise ParameterError(f"rng must be a generator or a seed of at least 0, found {rng!r}.")


def _fold(dataset: Dataset, rows: Array, share: float, rng: np.random.Generator) -> Fold:
    """Hold out a random share of the choices of each of these users."""
    X = sp.csr_array(dataset.X[rows])
    X.sort_indices()
    lengths = np.diff(X.indptr)
    # 0.29 x 100 is slightly below 29 in floating point.
    wanted = np.floor(share * lengths + 1e-9).astype(np.int64)
    held_out, history = _drawn(X, np.clip(wanted, 1, np.maximum(1, lengths - 1)), rng)
    disliked = None if dataset.disliked is None else dataset.disliked[rows]
    return Fold(
        history=with_disliked(history, disliked),
        held_out=chosen(held_out),
        users=Ids(dataset.users[i] for i in rows.tolist()),
        user_features=None if dataset.Q is None else dataset.Q[rows],
    )


def _drawn(
    X: sp.csr_array, counts: Array, rng: np.random.Generator
) -> tuple[sp.csr_array, sp.csr_array]:
    """Return `counts` random entries of each row of X, and the rest."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((rng.random(X.nnz), row))
    drawn = np.zeros(X.nnz, dtype=bool)
    drawn[order] = np.arange(X.nnz) - X.indptr[row] < counts[row]
    first, rest = (
        value_matrix(row[part], X.indices[part], X.data[part], X.shape) for part in (drawn, ~drawn)
    )
    return first, rest


def chosen(X: sp.csr_array) -> sp.csr_array:
    """Return which items were chosen, as ones in place of strengths."""
    return sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)


def _strengths(matrix: Any) -> sp.csr_array:
    """Return a sorted, read-only copy of a history, without strengths of 0."""
    rows = _sorted(matrix)
    if not np.isfinite(rows.data).all():
        raise DataError("The history of a fold must contain only finite numbers.")
    return fixed(rows)


def _sorted(matrix: Any) -> sp.csr_array:
    rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _binary(matrix: Any, name: str) -> sp.csr_array:
    """Return a sorted, binary, read-only copy."""
    rows = _sorted(matrix)
    if not (rows.data == 1).all():
        raise DataError(f"The {name.replace('_', '-')} part of a fold must contain only 0 and 1.")
    return fixed(rows)


def user_count(name: str, wanted: Any, able: int) -> int:
    """Return the number of users, given as a count or a fraction of those that are able."""
    if is_whole(wanted) and wanted >= 0:
        return int(wanted)
    if isinstance(wanted, float | np.floating) and 0 < wanted < 1:
        return max(1, math.floor(wanted * able + 1e-9))
    raise ParameterError(
        f"{name} must be a whole number or a fraction between 0 and 1, found {wanted!r}."
    )


def _check_enough(n_users: int, able: int, validated: int, tested: int, least: int) -> None:
    wanted = validated + tested
    if wanted > able:
        raise DataError(
            f"{validated:,} validation and {tested:,} test users are {wanted:,}, but only "
            f"{able:,} of {n_users:,} users have at least {least} interactions. "
            "Ask for fewer, or lower min_interactions."
        )
    if wanted >= n_users:
        raise DataError(
            f"{validated:,} validation and {tested:,} test users leave none of {n_users:,} users "
            "for training. Ask for fewer."
        )


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; bool is not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _shape(matrix: sp.csr_array) -> str:
    return " x ".join(f"{n:,}" for n in matrix.shape)
