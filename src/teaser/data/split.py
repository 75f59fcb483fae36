"""Strong generalisation: people to learn from, people to tune on, people to test on."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.ids import Ids
from teaser.errors import DataError, ParameterError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Fold:
    """People whose choices are partly shown to a model and partly held out.

    Attributes
    ----------
    history
        What a model is shown (people x items), binary; a row may be empty.
    held_out
        What it should find (people x items), binary; disjoint from the history, at least one
        item for everyone.
    users
        The owner's ids of these people, in the order of the rows.
    people
        What is known of them (people x tags of people), binary, or None.
    """

    history: sp.csr_array = field(repr=False)
    held_out: sp.csr_array = field(repr=False)
    users: Ids
    user_features: sp.csr_array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("history", "held_out"):
            object.__setattr__(self, name, _fixed(getattr(self, name), name))
        if self.history.shape != self.held_out.shape or len(self.users) != self.n_users:
            raise DataError(
                f"A fold needs rows of equal people and items: the history is "
                f"{_said(self.history)}, the held-out part {_said(self.held_out)}, and there are "
                f"{len(self.users):,} users."
            )
        if self.user_features is not None:
            object.__setattr__(self, "user_features", _fixed(self.user_features, "user_features"))
            if self.user_features.shape[0] != self.n_users:
                raise DataError(
                    f"A fold of {self.n_users:,} people cannot hold what is known of "
                    f"{self.user_features.shape[0]:,}."
                )
        both = int(self.history.multiply(self.held_out).nnz)
        none = int((np.diff(self.held_out.indptr) == 0).sum())
        if both or none:
            raise DataError(
                f"In a fold everyone has held-out items that are not in the history: {both:,} "
                f"are in both, and {none:,} of {self.n_users:,} people have none."
            )

    @property
    def n_users(self) -> int:
        """How many people it has."""
        return int(self.history.shape[0])

    @property
    def n_items(self) -> int:
        """How many items the catalogue has."""
        return int(self.history.shape[1])

    def shortened(self, most: int, *, rng: int | np.random.Generator) -> "Fold":
        """Return the fold with at most so many items in each history, drawn at random.

        What is taken out of a history is held out instead: with 0, everyone is without history
        and all of their choices are to be found.
        """
        generator = as_generator(rng)
        if not _is_whole(most) or most < 0:
            raise ParameterError(f"most must be a whole number of at least 0, found {most!r}.")
        H = self.history
        person = np.repeat(np.arange(self.n_users), np.diff(H.indptr))
        order = np.lexsort((generator.random(H.nnz), person))
        kept = np.zeros(H.nnz, dtype=bool)
        kept[order] = np.arange(H.nnz) - H.indptr[person] < most
        moved = _part(H, person, ~kept)
        return replace(
            self, history=_part(H, person, kept), held_out=sp.csr_array(self.held_out + moved)
        )


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint groups of people over one catalogue.

    Attributes
    ----------
    training
        The people to learn from, with all of their interactions. Items and tags are those of the
        whole catalogue; how popular an item is counts these people alone.
    validation
        The people to choose hyper-parameters by.
    test
        The people to report on, once.
    """

    training: Dataset
    validation: Fold
    test: Fold


def split(
    dataset: Dataset,
    *,
    n_validation: int | float,
    n_test: int | float,
    min_interactions: int = 5,
    held_out: float = 0.2,
    rng: int | np.random.Generator,
) -> Split:
    """Split a data set by people, and the choices of those evaluated into history and held out.

    Which people, and which of their choices, is drawn at random, as in the paper; the time of
    an interaction plays no part, also where it is known. Of n choices, the whole part of
    `held_out` x n is held out, but at least one and at most n - 1.

    The test people and their held-out choices do not depend on `n_validation`.

    Parameters
    ----------
    n_validation, n_test
        How many people to validate and test on: a whole number, or a fraction of those who have
        enough interactions. 0 leaves the fold empty.
    min_interactions
        Interactions that a person needs to be evaluated; others are learnt from. At least 2.
    held_out
        The share of a person's choices that is held out.
    rng
        Seed or generator of every draw.
    """
    generator = as_generator(rng)
    if not 0 < held_out < 1:
        raise ParameterError(f"held_out must be between 0 and 1, found {held_out!r}.")
    if not _is_whole(min_interactions) or min_interactions < 2:
        raise ParameterError(
            f"min_interactions must be a whole number of at least 2, found {min_interactions!r}: "
            "one choice is shown and one held out."
        )
    able = np.flatnonzero(np.diff(dataset.X.indptr) >= min_interactions)
    tested = _count("n_test", n_test, len(able))
    validated = _count("n_validation", n_validation, len(able))
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
    """Return the generator of a seed, or the one given; no seed at all is refused."""
    if isinstance(rng, np.random.Generator) or (_is_whole(rng) and rng >= 0):
        return np.random.default_rng(rng)
    raise ParameterError(f"rng must be a generator or a seed of at least 0, found {rng!r}.")


def _fold(dataset: Dataset, rows: Array, share: float, rng: np.random.Generator) -> Fold:
    """Hold out a random share of the choices of each of these people."""
    X = sp.csr_array(dataset.X[rows])
    X.sort_indices()
    lengths = np.diff(X.indptr)
    # A product such as 0.29 x 100 may fall just short of the whole number that is meant.
    wanted = np.floor(share * lengths + 1e-9).astype(np.int64)
    wanted = np.clip(wanted, 1, np.maximum(1, lengths - 1))
    person = np.repeat(np.arange(len(rows)), lengths)
    order = np.lexsort((rng.random(X.nnz), person))
    rank = np.arange(X.nnz) - X.indptr[person]
    out = np.zeros(X.nnz, dtype=bool)
    out[order] = rank < wanted[person]
    return Fold(
        history=_part(X, person, ~out),
        held_out=_part(X, person, out),
        users=_named(dataset.users, rows),
        user_features=None if dataset.F is None else dataset.F[rows],
    )


def _part(X: sp.csr_array, person: Array, kept: Array) -> sp.csr_array:
    place = (person[kept], X.indices[kept])
    return sp.csr_array((np.ones(int(kept.sum()), np.float32), place), shape=X.shape)


def _fixed(matrix: Any, name: str) -> sp.csr_array:
    """Return a sorted binary copy that cannot be changed."""
    rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not (rows.data == 1).all():
        raise DataError(f"The {name.replace('_', '-')} part of a fold must hold only 0 and 1.")
    for part in (rows.data, rows.indices, rows.indptr):
        part.flags.writeable = False
    return rows


def _named(users: Ids, rows: Array) -> Ids:
    return Ids(users[i] for i in rows.tolist())


def _count(name: str, wanted: Any, able: int) -> int:
    """Return how many people are wanted, of a count or a fraction."""
    if _is_whole(wanted) and wanted >= 0:
        return int(wanted)
    if isinstance(wanted, float | np.floating) and 0 < wanted < 1:
        return max(1, math.floor(wanted * able + 1e-9))
    raise ParameterError(
        f"{name} must be a whole number of people or a fraction between 0 and 1, found {wanted!r}."
    )


def _check_enough(n_users: int, able: int, validated: int, tested: int, least: int) -> None:
    wanted = validated + tested
    if wanted > able:
        raise DataError(
            f"{validated:,} validation and {tested:,} test users were asked for, {wanted:,} in "
            f"all, but of {n_users:,} users only {able:,} have at least {least} interactions. "
            "Ask for fewer, or lower min_interactions."
        )
    if wanted >= n_users:
        raise DataError(
            f"{validated:,} validation and {tested:,} test users leave none of {n_users:,} users "
            "to learn from. Ask for fewer."
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _said(matrix: sp.csr_array) -> str:
    return " x ".join(f"{n:,}" for n in matrix.shape)
