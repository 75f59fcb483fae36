"""Splits by time: leave the last interaction out, or learn from all before a point in time."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.ids import Ids
from teaser.data.sparse_matrix import value_matrix
from teaser.data.split import Fold, Split, as_generator, chosen, is_whole, user_count
from teaser.errors import DataError, ParameterError, counted

Array = NDArray[Any]
TimePoint = str | float | date

TEST_FROM = 0.9
VALIDATION_FROM = 0.8


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
    _at_least("min_interactions", min_interactions, 3)
    entries = _Entries.of(dataset)
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
    _at_least("min_history", min_history, 0)
    entries = _Entries.of(dataset)
    point = entries.point("test_from", test_from)
    before = entries.point("validation_from", validation_from)
    if before >= point:
        raise ParameterError(
            f"validation_from ({_told(before)}) must lie before test_from ({_told(point)})."
        )
    windows = (
        _Window("n_test", "Test", point, np.inf, n_test, min_history),
        _Window("n_validation", "Validation", before, point, n_validation, min_history),
    )
    (test, told), (validation, _) = (entries.window(window, generator) for window in windows)
    return Split(
        training=entries.kept(entries.time < point),
        earlier=entries.kept(entries.time < before),
        test=test,
        validation=validation,
        notes=(*told, *entries.notes),
    )


@dataclass(frozen=True)
class _Window:
    """What is held out: from `start` on and before `end`, of `wanted` users."""

    name: str
    title: str
    start: float
    end: float
    wanted: int | float | None
    min_history: int


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
    def of(cls, dataset: Dataset) -> "_Entries":
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
        return replace(cls.of(timed), untimed=int(missing.sum()))

    def point(self, name: str, given: Any) -> float:
        """Return a point in time as unix seconds, with interactions before it and after."""
        point = _seconds(name, given)
        if 0 < point < 1:
            order = np.sort(self.time)
            point = float(order[min(int(point * len(order)), len(order) - 1)])
        if not self.time.min() < point <= self.time.max():
            raise DataError(
                f"{name} is {_told(point)}, and the interactions lie between "
                f"{_told(self.time.min())} and {_told(self.time.max())}. "
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

    def window(self, window: _Window, rng: np.random.Generator) -> tuple[Fold, tuple[str, ...]]:
        """Return the fold of a window, and what was found there as sentences."""
        past = self.time < window.start
        held_out = ~past & (self.time < window.end)
        n_users = self.dataset.n_users
        active = np.bincount(self.row[held_out], minlength=n_users) > 0
        viewed = np.bincount(self.row[past], minlength=n_users)
        able = np.flatnonzero(active & (viewed >= window.min_history))
        wanted = _number(window.name, window.wanted, len(able))
        if not len(able) and window.wanted != 0:
            raise DataError(
                f"None of {int(active.sum()):,} users who chose something from "
                f"{_told(window.start)} on has {window.min_history} interactions or more before "
                "it. Take another point, or lower min_history."
            )
        fold = self.fold(rng.permutation(able)[:wanted], history=past, held_out=held_out)
        chosen_before = np.bincount(self.dataset.X.indices[past], minlength=self.dataset.n_items)
        unseen = float((chosen_before[fold.held_out.indices] == 0).mean()) if wanted else 0.0
        new = int((active & (viewed == 0)).sum())
        treated = (
            "they are among the evaluated, with an empty history"
            if window.min_history == 0
            else "they are not evaluated (min_history = 0 evaluates them with an empty history)"
        )
        return fold, (
            f"{window.title} from {_told(window.start)} on: {fold.n_users:,} users and "
            f"{fold.held_out.nnz:,} held-out interactions, {unseen:.1%} of them with items that "
            "nobody chose before.",
            f"{new:,} of {int(active.sum()):,} users active from then on are new: {treated}.",
        )

    def _matrix(self, keep: Array) -> sp.csr_array:
        X = self.dataset.X
        return value_matrix(self.row[keep], X.indices[keep], X.data[keep], X.shape)


def _seconds(name: str, given: Any) -> float:
    """Return unix seconds, or a share between 0 and 1 as it is."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip())
        except ValueError:
            raise ParameterError(_bad_point(name, given)) from None
    if isinstance(given, datetime):
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day, tzinfo=UTC).timestamp()
    is_number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    if not is_number or not np.isfinite(given) or given in (0, 1):
        raise ParameterError(_bad_point(name, given))
    return float(given)


def _bad_point(name: str, given: Any) -> str:
    return (
        f"{name} must be a date such as 2024-01-31, unix seconds, or the share of interactions "
        f"before it between 0 and 1, found {given!r}."
    )


def _told(point: float) -> str:
    """Return a point in time to the minute, or as a day at midnight."""
    try:
        when = datetime.fromtimestamp(float(point), tz=UTC)
    except (OverflowError, OSError, ValueError):
        return f"{point:g} s"
    return when.strftime("%Y-%m-%d" if when.time() == datetime.min.time() else "%Y-%m-%d %H:%M")


def _number(name: str, wanted: int | float | None, able: int) -> int:
    return able if wanted is None else min(able, user_count(name, wanted, able))


def _at_least(name: str, value: Any, least: int) -> None:
    if not is_whole(value) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, found {value!r}.")
