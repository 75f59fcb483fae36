"""What people viewed on the site, as rows of interactions below those of the data set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.matrix import Ids, value_matrix
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, counted

if TYPE_CHECKING:
    from teaser.app.people.learning import Visits

MIN_VIEWS = 2


@dataclass(frozen=True, eq=False)
class SiteInteractions:
    """The views of people who viewed enough items of the data set; nobody is named.

    Attributes
    ----------
    X
        The strength of each view (people x items).
    times
        The time of each view in unix seconds, in the order of `X.data`.
    left_out
        People with fewer views than asked for.
    unknown_views, unknown_items
        Views of items that the data set does not have, and the number of such items.
    pressed
        How many people have pressed each tag, by its text; also people who viewed too little.
    """

    X: sp.csr_array = field(repr=False)
    times: NDArray[np.float64] = field(repr=False)
    left_out: int = 0
    unknown_views: int = 0
    unknown_items: int = 0
    pressed: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return int(self.X.shape[0])

    def until(self, moment: float) -> "SiteInteractions":
        """Return the same people with the views that were made by a moment in unix seconds."""
        kept = self.times <= moment
        row = np.repeat(np.arange(self.n_people), np.diff(self.X.indptr))[kept]
        X = value_matrix(row, self.X.indices[kept], self.X.data[kept], self.X.shape)
        return replace(self, X=X, times=self.times[kept])

    def lines(self) -> list[str]:
        """Return what was taken and what was left out, as sentences."""
        found = f"{counted(int(self.X.nnz), 'view')} of {counted(self.n_people, 'visitor')}"
        few = f"{counted(self.left_out, 'visitor')} with too few views left out"
        unknown = (
            f"{counted(self.unknown_views, 'view')} of {counted(self.unknown_items, 'item')} that "
            "the data set does not have left out"
        )
        return [f"{found}; {few}", *([unknown] if self.unknown_views else [])]


def gather(
    visits: Iterable["Visits"], items: Ids, *, min_views: int = MIN_VIEWS
) -> SiteInteractions:
    """Return the views of the site as rows over the items of a data set.

    Parameters
    ----------
    visits
        What people did; see `teaser.app.people.learning`.
    min_views
        People with fewer views of known items are left out: one view says nothing of what is
        chosen together.
    """
    if min_views < 1:
        raise ParameterError(f"min_views must be at least 1, found {min_views}.")
    unknown: Counter[object] = Counter()
    pressed: Counter[str] = Counter()
    people: list[dict[int, tuple[float, datetime]]] = []
    left_out = 0
    for each in visits:
        pressed.update(each.presses.keys())
        row: dict[int, tuple[float, datetime]] = {}
        for view in each.views:
            place = items.find(view.item)
            if place is None:
                unknown[view.item] += 1
            else:
                row[place] = view.strength, view.at
        if len(row) >= min_views:
            people.append(row)
        else:
            left_out += bool(each.views)
    X, times = _matrix(people, len(items))
    return SiteInteractions(X, times, left_out, unknown.total(), len(unknown), pressed)


def no_views(items: Ids) -> SiteInteractions:
    """Return the interactions of nobody."""
    return gather((), items)


def join(dataset: Dataset, site: SiteInteractions) -> Dataset:
    """Return a data set with the people of the site below its users.

    Users are named by their positions. Facts that people gave about themselves are not used: the
    rows of the site have no user features. Nor do they have times.

    Raises
    ------
    ParameterError
        If the interactions are in partitions.
    """
    if isinstance(dataset.X, Interactions):
        raise ParameterError(
            "A refit holds the interactions in memory, and those of this data set are in "
            "partitions. Use teaser fit --start MODEL --out MODEL."
        )
    features, n = dataset.user_features, site.n_people
    return replace(
        dataset,
        X=sp.csr_array(sp.vstack([dataset.X, site.X])),
        users=Ids(range(dataset.n_users + n)),
        user_features=None if features is None else replace(features, Q=_padded(features.Q, n)),
        times=None
        if dataset.times is None
        else np.concatenate([dataset.times, np.full(site.X.nnz, np.nan)]),
        disliked=None if dataset.disliked is None else _padded(dataset.disliked, n),
    )


def _matrix(
    people: list[dict[int, tuple[float, datetime]]], n_items: int
) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return strengths (people x items), and the time of each entry in the same order."""
    rows = np.repeat(np.arange(len(people)), [len(row) for row in people])
    places = np.array([place for row in people for place in sorted(row)], dtype=np.int64)
    entries = [row[place] for row in people for place in sorted(row)]
    strengths = np.array([strength for strength, _ in entries], dtype=np.float32)
    times = np.array([at.timestamp() for _, at in entries], dtype=np.float64)
    return value_matrix(rows, places, strengths, (len(people), n_items)), times


def _padded(matrix: Any, n: int) -> sp.csr_array:
    """Return a matrix with n empty rows below its own."""
    return sp.csr_array(sp.vstack([matrix, sp.csr_array((n, matrix.shape[1]), dtype=matrix.dtype)]))
