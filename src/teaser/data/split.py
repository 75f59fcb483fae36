"""Split a data set into what models learn from and what is held out: by users, or by time."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.interactions import as_seconds, with_disliked
from teaser.data.matrix import Ids, read_only, value_matrix
from teaser.errors import DataError, ParameterError, counted
from teaser.parameters import check_count, check_rng, is_number

Array = NDArray[Any]
TimePoint = str | float | date
TEST_FROM = 0.9
VALIDATION_FROM = 0.8


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
        for name in ("history", "held_out", "user_features"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(_sorted(getattr(self, name))))
        shapes = {self.history.shape, self.held_out.shape, (len(self.users), self.n_items)}
        if self.user_features is not None:
            shapes.add((self.user_features.shape[0], self.n_items))
        if len(shapes) > 1 or not (self.held_out.data == 1).all():
            raise DataError(
                "A fold needs a history and held-out items of 0 and 1 for the same users and "
                f"items, and user features of these users: the history is {self.history.shape}, "
                f"the held-out part {self.held_out.shape}, and there are {len(self.users):,} users."
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
        check_count("most", most, least=0)
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
    # One choice is shown and one held out.
    check_count("min_interactions", min_interactions, least=2)
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
    if rng is None:
        raise ParameterError("rng must be a generator or a seed of at least 0, found None.")
    check_rng(rng)
    return np.random.default_rng(rng)


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


def _sorted(matrix: Any) -> sp.csr_array:
    rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def user_count(name: str, wanted: Any, able: int) -> int:
    """Return the number of users, given as a count or a fraction of those that are able."""
    if is_number(wanted) and 0 < wanted < 1:
        return max(1, int(wanted * able + 1e-9))
    if is_number(wanted) and wanted >= 0 and isinstance(wanted, int | np.integer):
        return int(wanted)
    raise ParameterError(
        f"{name} must be a whole number or a fraction between 0 and 1, found {wanted!r}."
    )


def _check_enough(n_users: int, able: int, validated: int, tested: int, least: int) -> None:
    if validated + tested > min(able, n_users - 1):
        raise DataError(
            f"{validated:,} validation and {tested:,} test users are {validated + tested:,}, but "
            f"only {able:,} of {n_users:,} users have at least {least} interactions, and some must "
            "be left for training. Ask for fewer, or lower min_interactions."
        )


def split_last(
    dataset: Dataset,
    *,
    n_validation: int | float | None = None,
    n_test: int | float | None = None,
    min_interactions: int = 5,
    rng: int | np.random.Generator,
) -> Split:
    """Hold out the last interaction of each user for the test, the one before for validation.

    Models learn from all earlier interactions of the same users (weak generalisation), and from
    users that are not evaluated. Of equal times, one is drawn at random. Interactions without a
    time are left out.

    Parameters
    ----------
    n_validation, n_test
        At most how many users to validate and test on: an integer, or a fraction of those with
        enough interactions; all of these when not given. The smaller group is part of the larger.
    min_interactions
        Interactions that an evaluated user needs. At least 3: one to learn from, one to validate
        and one to test.
    rng
        Seed or generator of the drawn users and of the order of equal times.
    """
    generator = as_generator(rng)
    check_count("min_interactions", min_interactions, least=3)
    entries = _Entries.from_dataset(dataset)
    dataset = entries.dataset
    able = np.flatnonzero(np.diff(dataset.X.indptr) >= min_interactions)
    tested = _number("n_test", n_test, len(able))
    validated = _number("n_validation", n_validation, len(able))
    if not len(able):
        raise DataError(
            f"None of {dataset.n_users:,} users has at least {min_interactions} interactions. "
            "Lower min_interactions, or split by time."
        )
    drawn = generator.permutation(able)
    from_end = entries.places_from_end(generator)
    evaluated = np.isin(entries.row, drawn[: max(tested, validated)])
    held = [evaluated & (from_end == place) for place in (0, 1)]
    return Split(
        training=entries.kept(~held[0]),
        earlier=entries.kept(~(held[0] | held[1])),
        test=entries.fold(drawn[:tested], history=from_end > 0, held_out=from_end == 0),
        validation=entries.fold(drawn[:validated], history=from_end > 1, held_out=from_end == 1),
        notes=(
            f"The last interaction of {tested:,} of {dataset.n_users:,} users is held out; models "
            "learn from all that they did before, and from the others.",
            *entries.notes,
        ),
    )


def split_time(
    dataset: Dataset,
    *,
    test_from: TimePoint = TEST_FROM,
    validation_from: TimePoint = VALIDATION_FROM,
    n_validation: int | float | None = None,
    n_test: int | float | None = None,
    min_history: int = 1,
    rng: int | np.random.Generator,
) -> Split:
    """Learn from all before a point in time, and test on what users chose from then on.

    Hyper-parameters are chosen in the same way at an earlier point: models learn from what lies
    before `validation_from`, and are validated on what lies between the two. An item that a user
    chose several times counts at the latest of them. Interactions without a time are left out.

    Parameters
    ----------
    test_from, validation_from
        A date or datetime, also as ISO text (UTC where it has no zone), or unix seconds; or the
        share of all interactions that lie before it, between 0 and 1.
    n_validation, n_test
        At most how many users to validate and test on, an integer or a fraction; all when not
        given.
    min_history
        Interactions before the point that an evaluated user needs. With 0, users that are new
        from then on are evaluated too, with an empty history.
    rng
        Seed or generator of the drawn users.
    """
    generator = as_generator(rng)
    check_count("min_history", min_history, least=0)
    entries = _Entries.from_dataset(dataset)
    point = entries.point("test_from", test_from)
    before = entries.point("validation_from", validation_from)
    if before >= point:
        raise ParameterError(
            f"validation_from ({_as_time(before)}) must lie before test_from ({_as_time(point)})."
        )
    test, notes = entries.window("test", n_test, point, np.inf, min_history, generator)
    validation, _ = entries.window(
        "validation", n_validation, before, point, min_history, generator
    )
    return Split(
        training=entries.kept(entries.time < point),
        earlier=entries.kept(entries.time < before),
        test=test,
        validation=validation,
        notes=(*notes, *entries.notes),
    )


@dataclass(frozen=True, eq=False)
class _Entries:
    """The interactions of a data set one by one, with user position and time."""

    dataset: Dataset
    row: Array
    time: Array
    untimed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on interactions without a time."""
        if not self.untimed:
            return ()
        return (f"{counted(self.untimed, 'interaction')} without a time left out.",)

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> "_Entries":
        """Return the interactions; raise `DataError` where their times are not known."""
        if not sp.issparse(dataset.X):
            raise DataError(
                "Interactions in partitions cannot be split by time. Prepare them as one table."
            )
        if dataset.times is None:
            raise DataError(
                "A split by time needs the time of each interaction, and this data set has none. "
                "Name the column: teaser prepare --time COLUMN (time= of Dataset.from_tables), "
                'or time = "COLUMN" in [data] of a study. Or split by users: kind = "users".'
            )
        row = np.repeat(np.arange(dataset.n_users), np.diff(dataset.X.indptr))
        entries = cls(dataset, row, dataset.times)
        missing = np.isnan(dataset.times)
        if not missing.any():
            return entries
        if missing.all():
            raise DataError('No interaction has a time. Split by users: kind = "users".')
        # What has no time may be later than what is held out: nothing may learn from it.
        timed = entries.kept(~missing)
        return replace(cls.from_dataset(timed), untimed=int(missing.sum()))

    def point(self, name: str, given: Any) -> float:
        """Return a point in time as unix seconds, with interactions before it and after."""
        point = _seconds(name, given)
        if 0 < point < 1:
            order = np.sort(self.time)
            point = float(order[min(int(point * len(order)), len(order) - 1)])
        if not self.time.min() < point <= self.time.max():
            raise DataError(
                f"{name} is {_as_time(point)}, and the interactions lie between "
                f"{_as_time(self.time.min())} and {_as_time(self.time.max())}. "
                "Some must lie before it and some from it on."
            )
        return point

    def places_from_end(self, rng: np.random.Generator) -> Array:
        """Return 0 for the last interaction of each user, 1 for the one before it, and so on."""
        order = np.lexsort((rng.random(len(self.row)), -self.time, self.row))
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order)) - self.dataset.X.indptr[self.row]
        return places

    def kept(self, keep: Array) -> Dataset:
        """Return the data set of some interactions, with the users that have any.

        Disliked items are left out: when they were disliked is not known.
        """
        X = self._matrix(keep)
        less = replace(self.dataset, X=X, times=self.time[keep], disliked=None)
        return less.at(np.flatnonzero(np.diff(X.indptr)))

    def fold(self, rows: Array, *, history: Array, held_out: Array) -> Fold:
        """Return the fold of some users, from the parts of their interactions."""
        rows = np.sort(rows)
        dataset = self.dataset
        return Fold(
            history=self._matrix(history)[rows],
            held_out=chosen(self._matrix(held_out))[rows],
            users=Ids(dataset.users[i] for i in rows.tolist()),
            user_features=None if dataset.Q is None else dataset.Q[rows],
        )

    def window(
        self,
        name: str,
        wanted: int | float | None,
        start: float,
        end: float,
        min_history: int,
        rng: np.random.Generator,
    ) -> tuple[Fold, tuple[str, ...]]:
        """Return the fold of what users chose from `start` on and before `end`, and sentences."""
        past = self.time < start
        held_out = ~past & (self.time < end)
        n_users = self.dataset.n_users
        active = np.bincount(self.row[held_out], minlength=n_users) > 0
        viewed = np.bincount(self.row[past], minlength=n_users)
        able = np.flatnonzero(active & (viewed >= min_history))
        n_active, since = int(active.sum()), _as_time(start)
        if not len(able) and wanted != 0:
            raise DataError(
                f"None of {n_active:,} users who chose something from {since} on has "
                f"{min_history} interactions or more before it. Take another point, or lower "
                "min_history."
            )
        drawn = rng.permutation(able)[: _number(f"n_{name}", wanted, len(able))]
        fold = self.fold(drawn, history=past, held_out=held_out)
        chosen_before = np.bincount(self.dataset.X.indices[past], minlength=self.dataset.n_items)
        unseen = float((chosen_before[fold.held_out.indices] == 0).mean()) if len(drawn) else 0.0
        new = int((active & (viewed == 0)).sum())
        treated = (
            "they are among the evaluated, with an empty history"
            if min_history == 0
            else "they are not evaluated (min_history = 0 evaluates them with an empty history)"
        )
        return fold, (
            f"{name.capitalize()} from {since} on: {fold.n_users:,} users and "
            f"{fold.held_out.nnz:,} held-out interactions, {unseen:.1%} of them with items that "
            "nobody chose before.",
            f"{new:,} of {n_active:,} users active from then on are new: {treated}.",
        )

    def _matrix(self, keep: Array) -> sp.csr_array:
        X = self.dataset.X
        return value_matrix(self.row[keep], X.indices[keep], X.data[keep], X.shape)


def _seconds(name: str, given: Any) -> float:
    """Return unix seconds, or a share between 0 and 1 as it is."""
    if is_number(given) and np.isfinite(given) and given not in (0, 1):
        return float(given)
    found = as_seconds(pl.Series([given])) if isinstance(given, str | date) else pl.Series([None])
    if found[0] is None:
        raise ParameterError(
            f"{name} must be a date such as 2024-01-31, unix seconds, or the share of "
            f"interactions before it between 0 and 1, found {given!r}."
        )
    return float(found[0])


def _as_time(point: float) -> str:
    """Return a point in time to the minute, or as a day at midnight."""
    try:
        when = datetime.fromtimestamp(float(point), tz=UTC)
    except (OverflowError, OSError, ValueError):
        return f"{point:g} s"
    return when.strftime("%Y-%m-%d" if when.time() == datetime.min.time() else "%Y-%m-%d %H:%M")


def _number(name: str, wanted: int | float | None, able: int) -> int:
    return able if wanted is None else min(able, user_count(name, wanted, able))
