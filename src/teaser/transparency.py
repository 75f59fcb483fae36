"""What decides in lists: the share of each part over people, what a press changes, and the data.

The figures are measured when a model is fitted, on lists of people that it learned from, and are
saved with it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date as day
from typing import Any, Self

import numpy as np
import polars as pl

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.rules import Rules
from teaser.data.tags import feature_label
from teaser.frame import Framed, make_frame

# Beside the features: parts of a score that are none.
OTHER_PARTS = ("general", "popularity", "discovered", "viewed")


@dataclass(frozen=True)
class FeatureSource:
    """A feature, the columns that its tags were made from, and the number of tags."""

    feature: str
    columns: tuple[str, ...]
    n_tags: int


@dataclass(frozen=True)
class DataSources:
    """What a model learned from, and what of the data it did not use.

    Attributes
    ----------
    n_users, n_items, n_interactions
        How many users, items and interactions there were.
    n_disliked
        How many dislikes. The fit does not learn from them; they count in histories.
    strengths
        Whether interactions count by a strength; otherwise each counts 1.
    features
        The declared features of items.
    n_discovered
        How many tags the fit found itself, from who chose what.
    user_features
        The user features of the data; empty without.
    uses_user_features
        Whether the model learned from them.
    shown_columns
        Columns of the items that are displayed, by role. Those that are no column of a feature
        decide nothing.
    unused_columns
        Columns of the items that are not used at all.
    """

    n_users: int
    n_items: int
    n_interactions: int
    n_disliked: int
    strengths: bool
    features: tuple[FeatureSource, ...]
    n_discovered: int
    user_features: tuple[FeatureSource, ...]
    uses_user_features: bool
    shown_columns: Mapping[str, str]
    unused_columns: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, *, uses_user_features: bool) -> Self:
        """Return what a data set has.

        Parameters
        ----------
        uses_user_features
            Whether the model learned from the user features.
        """
        X, rules, known = dataset.X, dataset.rules, dataset.user_features
        counts = Counter(tag.feature for tag in dataset.tags if not tag.discovered)
        _, *columns = dataset.table.columns
        used = {column for rule in rules.tags for column in rule.columns}
        used |= set(rules.roles.values())
        return cls(
            n_users=dataset.n_users,
            n_items=dataset.n_items,
            n_interactions=int(X.nnz),
            n_disliked=0 if dataset.disliked is None else int(dataset.disliked.nnz),
            strengths=_has_strengths(X),
            features=_sources(rules, counts),
            n_discovered=sum(tag.discovered for tag in dataset.tags),
            user_features=()
            if known is None
            else _sources(known.rules, Counter(tag.feature for tag in known.tags)),
            uses_user_features=uses_user_features,
            shown_columns=dict(rules.roles),
            unused_columns=tuple(column for column in columns if column not in used),
        )


@dataclass(frozen=True)
class Impacts:
    """What decides in lists of people, measured.

    Attributes
    ----------
    n_people, k
        How many people's lists were measured, and how long those were at most.
    features
        The share of each declared feature, values that items do not state included.
    general, popularity, discovered, viewed
        The shares of general appeal, popularity, tags that the fit found, and viewed items. All
        shares sum to 1.
    step
        How far one press moves an affinity, on average over people.
    press_change
        How many items of a list one press + exchanges, on average. Each person pressed one tag
        of an item of the list, drawn at random.
    press_changes
        The same by the feature of the tag, where some were drawn.
    """

    n_people: int
    k: int
    features: Mapping[str, float]
    general: float
    popularity: float
    discovered: float
    viewed: float
    step: float
    press_change: float
    press_changes: Mapping[str, float] = field(repr=False)


@dataclass(frozen=True)
class Transparency(Framed):
    """What decides in the lists of a model, and where its data come from.

    The share of a part is its absolute contribution to the score of a listed item over the sum of
    all absolute contributions, as in `Explanation`: the mean over the lists of people that the
    model learned from, without what they chose already.

    Attributes
    ----------
    impacts
        The shares, and what a press changes.
    sources
        What the model learned from.
    version
        The version of this package that fitted it.
    date
        The day of the fit (UTC).
    """

    impacts: Impacts
    sources: DataSources
    version: str
    date: day

    def shares(self) -> list[tuple[str, str | None, float]]:
        """Return kind, feature and share of every part, the largest first; they sum to 1.

        The kind is feature, general, popularity, discovered or viewed; the feature is that of the
        first kind.
        """
        own = [("feature", name, share) for name, share in self.impacts.features.items()]
        others = [(kind, None, float(getattr(self.impacts, kind))) for kind in OTHER_PARTS]
        return sorted([*own, *others], key=lambda part: -part[2])

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a part, the largest share first.

        Its columns are `part` (feature, general, popularity, discovered or viewed), `feature`,
        `share` and `press_change` (how many items of a list one press on a tag of it exchanges).
        """
        changes = self.impacts.press_changes
        rows = (
            (kind, name, share, changes.get("discovered" if kind == "discovered" else name or ""))
            for kind, name, share in self.shares()
        )
        return make_frame(rows, _COLUMNS)

    def sentences(self) -> list[str]:
        """Return the figures and the sources in plain sentences."""
        return [*self._share_sentences(), *self._source_sentences()]

    def _share_sentences(self) -> Iterator[str]:
        found = self.impacts
        shown = (
            f"{_NAMES.get(kind, feature_label(name or ''))} {100 * share:.0f} %"
            for kind, name, share in self.shares()
            if share >= 0.005
        )
        yield (
            f"In the first {found.k} of the lists of {found.n_people:,} people, scores are made "
            f"up of: {', '.join(shown)}."
        )
        yield (
            f"On average, one press moves an affinity by {found.step:.2g} and exchanges "
            f"{found.press_change:.1f} of {found.k} items."
        )

    def _source_sentences(self) -> Iterator[str]:
        own = self.sources
        yield (
            f"The model learned from {own.n_interactions:,} choices of {own.n_users:,} people "
            f"among {own.n_items:,} items."
        )
        for source in own.features:
            columns = ", ".join(source.columns)
            yield f"{feature_label(source.feature)}: {source.n_tags:,} tags, from {columns}."
        if own.unused_columns:
            yield f"Not used: {', '.join(own.unused_columns)}."
        if own.user_features:
            names = ", ".join(source.feature for source in own.user_features)
            yield f"{'Used' if own.uses_user_features else 'Not used'}, of people: {names}."
        yield f"Fitted with version {self.version} on {self.date}."

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        return {**asdict(self), "date": self.date.isoformat()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `as_dict` gave; raise `ValueError` for other values."""
        sources = dict(plain["sources"])
        for name in ("features", "user_features"):
            sources[name] = tuple(
                FeatureSource(each["feature"], tuple(each["columns"]), each["n_tags"])
                for each in sources[name]
            )
        sources["unused_columns"] = tuple(sources["unused_columns"])
        found = cls(
            Impacts(**plain["impacts"]),
            DataSources(**sources),
            plain["version"],
            day.fromisoformat(plain["date"]),
        )
        shares = [share for _, _, share in found.shares()]
        if min(shares) < 0 or not math.isclose(sum(shares), 1.0, abs_tol=1e-6):
            raise ValueError(f"its shares sum to {sum(shares):.6g}, or one is below 0")
        return found


_COLUMNS = {
    "part": pl.String,
    "feature": pl.String,
    "share": pl.Float64,
    "press_change": pl.Float64,
}
_NAMES = {
    "general": "general appeal",
    "popularity": "popularity",
    "discovered": "groups that the system found",
    "viewed": "items viewed before",
}


def _has_strengths(X: Any) -> bool:
    """Whether interactions have another strength than 1."""
    return not (X.is_binary if isinstance(X, Interactions) else bool(np.all(X.data == 1)))


def _sources(rules: Rules, counts: Mapping[str, int]) -> tuple[FeatureSource, ...]:
    """Return the features of a table with their columns; several rules may make one feature."""
    columns: dict[str, list[str]] = {}
    for rule in rules.tags:
        columns.setdefault(rule.name, []).extend(rule.columns)
    return tuple(
        FeatureSource(feature, tuple(dict.fromkeys(columns.get(feature, ()))), n)
        for feature, n in counts.items()
    )
